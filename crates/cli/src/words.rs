//! The sentences for what the events say as structure.

use ask_contract::{Branch, BranchRole, ErrorKind, Milestone, Phase, RefusalKind};

use crate::neutral;

/// A milestone as a person could be told it, on one line.
pub(crate) fn milestone(milestone: &Milestone) -> String {
    let subject = milestone.subject.as_deref().map(|subject| format!("“{}”", neutral::line(subject)));
    let source = milestone.source.as_deref().map(neutral::line);
    match (milestone.phase, subject, source) {
        (Phase::Grounding, Some(subject), None) => format!("Looking up {subject} in the catalog"),
        (Phase::Grounding, Some(subject), Some(source)) => format!("Looking up {subject} for {source}"),
        (Phase::Grounding, None, _) => "Looking up what the words mean".to_owned(),
        (Phase::Discovering, Some(subject), Some(source)) => format!("Looking at {subject} in {source}"),
        (Phase::Discovering, Some(subject), None) => format!("Looking for data on {subject}"),
        (Phase::Discovering, None, Some(source)) => format!("Looking at what {source} holds"),
        (Phase::Discovering, None, None) => "Looking at what data there is".to_owned(),
        (Phase::Querying, Some(subject), Some(source)) => format!("Asking {source} about {subject}"),
        (Phase::Querying, Some(subject), None) => format!("Asking about {subject}"),
        (Phase::Querying, None, Some(source)) => format!("Asking {source}"),
        (Phase::Querying, None, None) => "Asking the data".to_owned(),
        (Phase::Reconciling, Some(subject), _) => format!("Putting the results on {subject} together"),
        (Phase::Reconciling, None, _) => "Putting the results together".to_owned(),
    }
}

/// What a branch is called, on one line; the run's own has no name, since it is the ask itself.
pub(crate) fn branch(branch: &Branch) -> Option<String> {
    let source = branch.source.as_deref().map(|source| neutral::line(source).into_owned());
    match branch.role {
        BranchRole::Supervisor => None,
        BranchRole::Grounding => Some(source.unwrap_or_else(|| "catalog".to_owned())),
        BranchRole::Source => Some(source.unwrap_or_else(|| "a source".to_owned())),
        BranchRole::Divergence => Some("without the catalog".to_owned()),
    }
}

/// What a refusal means to the person.
pub(crate) const fn refusal(kind: RefusalKind) -> &'static str {
    match kind {
        RefusalKind::Access => "you may not see this",
        RefusalKind::Guard => "this may not be run here by anyone",
        RefusalKind::RateLimit => "too many calls for now",
    }
}

/// What a failure means to the person.
pub(crate) const fn failure(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::MaxSteps => "it took more steps or time than allowed",
        ErrorKind::Model => "the model failed",
        ErrorKind::Transport => "a source could not be reached, or no longer accepts the sign-in",
        ErrorKind::Internal => "the service failed or is shutting down",
    }
}

/// Milliseconds as a person reads them.
pub(crate) fn span(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1000, ms % 1000 / 100) }
}

/// A count with its noun.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ask_contract::BranchId;

    #[test]
    fn every_milestone_has_its_own_sentence() {
        let mut said = std::collections::BTreeSet::new();
        for phase in [Phase::Grounding, Phase::Discovering, Phase::Querying, Phase::Reconciling] {
            for subject in [None, Some("Resolution\u{1b} Time".to_owned())] {
                let event = Milestone {
                    branch_id: BranchId::new("b"),
                    phase,
                    subject,
                    source: Some("support".to_owned()),
                };
                let sentence = milestone(&event);
                assert!(!sentence.contains('\u{1b}'));
                assert!(said.insert(sentence.clone()), "{sentence}");
            }
        }
    }

    #[test]
    fn spans_are_short() {
        assert_eq!([0, 999, 1000, 26_049].map(span), ["0 ms", "999 ms", "1.0 s", "26.0 s"]);
    }
}
