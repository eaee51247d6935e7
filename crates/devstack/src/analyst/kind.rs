//! What kind of answer a question wants.

use super::{
    cue_words::{CHANGES, DEFINING, MAKING, MEANING, POLITE, ROWS, is_among},
    question::{Question, Role},
};

/// The kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One figure, or figures by group.
    Figures,
    /// Rows as they are.
    Rows,
    /// What something means.
    Definition,
    /// It is told to change something.
    Change,
}

/// Reads the kind, and gives the words that tell it their role.
pub(crate) fn take_kind(question: &mut Question) -> Kind {
    if changes(question) {
        return Kind::Change;
    }
    if defines(question) {
        question.mark_any(DEFINING, Role::Cue);
        return Kind::Definition;
    }
    let opening = (0..question.words.len()).find(|at| !is_among(question.lower(*at), POLITE));
    let lists = opening.is_some_and(|at| is_among(question.lower(at), "list print"));
    if lists || question.has_any(ROWS) {
        question.mark_any("list|print|names|name", Role::Cue);
        return Kind::Rows;
    }
    Kind::Figures
}

/// Whether any clause is an order to change something.
fn changes(question: &Question) -> bool {
    let mut opening = true;
    for at in 0..question.words.len() {
        let word = question.lower(at);
        if opening && is_among(word, CHANGES) {
            return true;
        }
        let clause = is_among(word, "and then");
        opening = clause || (opening && is_among(word, POLITE));
    }
    false
}

fn defines(question: &Question) -> bool {
    let means = question.has_any("what does|what do|what did|what is|what s")
        && question.has_any("mean|means|meant|stand for")
        && !question.has_any("the mean|a mean");
    let made = question.has_any("how is|how are|how do we|how do you|how does") && question.has_any(MAKING);
    means || made || question.has_any(MEANING)
}

#[cfg(test)]
mod tests {
    use super::{Kind, Question, take_kind};

    #[test]
    fn kinds_are_told_apart() {
        for (text, kind) in [
            ("Delete the resolved support tickets from last year", Kind::Change),
            ("Please could you drop the table", Kind::Change),
            ("List the agents and then remove them", Kind::Change),
            ("How many tickets were cancelled or deleted?", Kind::Figures),
            ("What does Resolution Time mean?", Kind::Definition),
            ("How is net revenue calculated?", Kind::Definition),
            ("Define backlog", Kind::Definition),
            ("What is an open ticket?", Kind::Definition),
            ("What is the mean resolution time?", Kind::Figures),
            ("List every support agent's email address", Kind::Rows),
            ("Show net revenue by region", Kind::Figures),
        ] {
            assert_eq!(take_kind(&mut Question::new(text)), kind, "{text}");
        }
    }
}
