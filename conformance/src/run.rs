//! Runs a table of checks against one address, within its time and with room for each check to be readied and cleared up.

use std::time::Duration;

use tokio::time::Instant;

use crate::check::{Check, Failure};
use crate::report::{CheckResult, Status};

/// What checks are run against.
pub(crate) trait Subject: Sized {
    /// Most time for one thing to happen; a check takes no more than twice that.
    fn limit(&self) -> Duration;

    /// Why a check is left out, if it is.
    fn left_out(&self, check: &Check<Self>) -> Option<&'static str>;

    /// Clears away what the check before has left; an error says why this one can't be exercised.
    async fn make_ready(&self, check: &Check<Self>) -> Result<(), String>;

    /// Ends what a check has left running.
    async fn clean_up(&self);
}

/// The checks whose id or title holds one of these texts; all, when there is none.
pub(crate) fn chosen<C>(checks: Vec<Check<C>>, only: &[String]) -> Vec<Check<C>> {
    let wanted = |check: &Check<C>| {
        only.is_empty()
            || only.iter().any(|part| {
                let part = part.to_lowercase();
                check.id.contains(&part) || check.title.to_lowercase().contains(&part)
            })
    };
    checks.into_iter().filter(wanted).collect()
}

/// Runs checks one after the other; `said` hears each line as it becomes true.
pub(crate) async fn judge<C: Subject>(
    subject: &C,
    checks: &[Check<C>],
    deadline: Instant,
    said: &mut dyn FnMut(&str),
) -> Vec<CheckResult> {
    let mut results = Vec::new();
    for check in checks {
        let result = one(subject, check, deadline).await;
        said(&result.line());
        results.push(result);
    }
    results
}

async fn one<C: Subject>(subject: &C, check: &Check<C>, deadline: Instant) -> CheckResult {
    let begun = Instant::now();
    let result = |status, detail| CheckResult {
        id: check.id,
        title: check.title,
        rule: check.rule,
        status,
        detail,
        took: begun.elapsed(),
    };
    if let Some(reason) = subject.left_out(check) {
        return result(Status::Skipped, reason.to_owned());
    }
    if begun >= deadline {
        return result(Status::Failed, "the total time is over".to_owned());
    }
    if let Err(reason) = subject.make_ready(check).await {
        return result(Status::Failed, format!("could not be exercised: {reason}"));
    }
    let until = deadline.min(begun + subject.limit() * 2);
    let verdict = tokio::time::timeout_at(until, (check.run)(subject)).await;
    subject.clean_up().await;
    match verdict {
        Ok(Ok(detail)) => result(Status::Passed, detail),
        Ok(Err(Failure::Wrong(detail))) => result(Status::Failed, detail),
        Ok(Err(Failure::NotExercised(detail))) => {
            result(Status::Failed, format!("could not be exercised: {detail}"))
        }
        Err(_) => result(Status::Failed, format!("no verdict within {} s", begun.elapsed().as_secs())),
    }
}
