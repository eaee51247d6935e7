//! The endings that are no answer, and the bill: what goes to standard error.

use ask_contract::{Abstention, Answer, Done, Failure, Refusal};

use super::{TRUNCATED, headline};
use crate::style::Style;
use crate::{neutral, words};

/// Looked, could not answer.
pub(crate) fn abstention(ending: &Abstention, style: Style) -> String {
    let mut text = format!("{} {}", style.strong("No answer:"), neutral::block(&ending.text).trim());
    if !ending.searched_terms.is_empty() {
        let terms: Vec<_> =
            ending.searched_terms.iter().map(|term| format!("“{}”", neutral::line(term))).collect();
        text.push_str("\nSearched the catalog for ");
        text.push_str(&terms.join(", "));
        text.push('.');
    }
    text
}

/// A tool refused; worded so that nobody takes it for an empty result.
pub(crate) fn refusal(ending: &Refusal, style: Style) -> String {
    let by =
        ending.source.as_deref().map_or_else(String::new, |source| format!(" by {}", neutral::line(source)));
    let heading = style.bad(format!("Refused{by}: {}.", words::refusal(ending.what)));
    let detail = neutral::block(&ending.detail);
    format!("{heading}\n{}\nThis says nothing about the data: the question was not answered.", detail.trim())
}

/// A failure that is no refusal.
pub(crate) fn failure(ending: &Failure, style: Style) -> String {
    let heading = style.bad(format!("Failed: {}.", words::failure(ending.kind)));
    let detail = neutral::block(&ending.detail);
    if detail.trim().is_empty() { heading.to_string() } else { format!("{heading}\n{}", detail.trim()) }
}

/// What must be told of an answer whose rows alone go to standard output.
pub(crate) fn beside_rows(answer: &Answer, style: Style) -> String {
    let mut lines = Vec::new();
    lines.extend(answer.headline.as_ref().map(headline::line));
    if !answer.text.trim().is_empty() {
        lines.push(neutral::block(&answer.text).trim_end().to_owned());
    }
    if answer.result.as_ref().is_some_and(|result| result.truncated) {
        lines.push(TRUNCATED.to_owned());
    }
    lines.extend(
        answer.caveats.iter().map(|caveat| style.warn(format!("! {}", neutral::block(caveat))).to_string()),
    );
    lines.join("\n")
}

/// What the ask took, on one line.
pub(crate) fn summary(done: &Done) -> String {
    let hops = words::count(done.hops.into(), "model call", "model calls");
    let steps = words::count(done.steps, "step", "steps");
    let model = neutral::line(&done.model);
    format!("{}, {hops}, {steps}, {model} ({})", words::span(done.ms), neutral::line(&done.effort))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;
    use ask_contract::{ErrorKind, RefusalKind};

    const PLAIN: Style = Style::new(false);
    const EVIL: &str = "\u{1b}[2Jx\u{202E}";

    #[test]
    fn an_abstention_names_the_terms_searched() {
        let ending = Abstention {
            text: "The catalog has nothing on it.".to_owned(),
            searched_terms: vec!["customer satisfaction".to_owned(), EVIL.to_owned()],
        };
        assert_eq!(
            abstention(&ending, PLAIN),
            "No answer: The catalog has nothing on it.\n\
             Searched the catalog for “customer satisfaction”, “\u{FFFD}[2Jx\u{FFFD}”."
        );
    }

    #[test]
    fn a_refusal_can_not_be_taken_for_no_results() {
        let ending = Refusal {
            what: RefusalKind::Access,
            detail: EVIL.to_owned(),
            source: Some("support".to_owned()),
        };
        assert_eq!(
            refusal(&ending, PLAIN),
            "Refused by support: you may not see this.\n\u{FFFD}[2Jx\u{FFFD}\n\
             This says nothing about the data: the question was not answered."
        );
    }

    #[test]
    fn a_failure_says_what_failed() {
        let ending = Failure { kind: ErrorKind::Model, detail: EVIL.to_owned() };
        assert_eq!(failure(&ending, PLAIN), "Failed: the model failed.\n\u{FFFD}[2Jx\u{FFFD}");
    }

    #[test]
    fn caveats_go_beside_the_rows() {
        let told = beside_rows(&sample::answer(), PLAIN);
        assert!(told.ends_with("! Tickets before 2024 lack a team.\n! SLA is disputed."), "{told}");
    }
}
