//! One check: what it is called, the rule it proves, how it is run and how it may end.

use futures_util::future::LocalBoxFuture;

use crate::ctx::Ctx;

/// Why a check did not pass.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What is judged broke the rule.
    Wrong(String),
    /// The rule could not be put to the test; counts as failed.
    NotExercised(String),
}

/// A detail for people, or why not.
pub(crate) type Verdict = Result<String, Failure>;

/// An entry of the table of checks.
pub(crate) struct Check<C = Ctx> {
    /// Stable and dotted: `theme.what`.
    pub(crate) id: &'static str,
    /// The assertion in words.
    pub(crate) title: &'static str,
    /// Where the contract says so.
    pub(crate) rule: &'static str,
    /// Whether it judges the model and not the service; left out unless asked for.
    pub(crate) behaviour: bool,
    /// What a service may lack, and is then not judged by.
    pub(crate) addition: Option<crate::offered::Addition>,
    /// The assertion.
    pub(crate) run: for<'a> fn(&'a C) -> LocalBoxFuture<'a, Verdict>,
}

/// Fails with what is wrong.
pub(crate) fn wrong<T>(detail: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Wrong(detail.into()))
}

/// Says that the rule could not be put to the test.
pub(crate) fn not_exercised<T>(detail: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::NotExercised(detail.into()))
}

/// Fails unless the condition holds.
pub(crate) fn ensure(holds: bool, detail: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::Wrong(detail())) }
}

/// Fails with all that was found, if anything was.
pub(crate) fn ensure_none(found: Vec<String>) -> Result<(), Failure> {
    let more = found.len().saturating_sub(3);
    let mut text = found.into_iter().take(3).collect::<Vec<_>>().join("; ");
    if text.is_empty() {
        return Ok(());
    }
    if more > 0 {
        text.push_str("; and ");
        text.push_str(&more.to_string());
        text.push_str(" more");
    }
    Err(Failure::Wrong(text))
}

impl From<crate::http::HttpError> for Failure {
    fn from(err: crate::http::HttpError) -> Self {
        Self::Wrong(with_sources(&err))
    }
}

impl From<crate::model::ControlError> for Failure {
    fn from(err: crate::model::ControlError) -> Self {
        Self::NotExercised(with_sources(&err))
    }
}

fn with_sources(err: &dyn std::error::Error) -> String {
    let mut text = err.to_string();
    let mut source = err.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

macro_rules! check {
    ($id:literal, $title:literal, $rule:literal, $run:path) => {
        $crate::check::Check {
            id: $id,
            title: $title,
            rule: $rule,
            behaviour: false,
            addition: None,
            run: |ctx| ::std::boxed::Box::pin($run(ctx)),
        }
    };
}
pub(crate) use check;
