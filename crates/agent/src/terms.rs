//! The words of a question that are worth looking up.

/// Words that carry no subject of their own.
const FILLERS: &str = "a about above across after again all also am an and any are as at be because been before being \
    below between both but by can could define defined definition did different do does doing down during each every \
    explain few for from further get give had has have having he her here hers him his how however i if in into is it \
    its itself just kindly know let like list many may me mean meaning means might more most much must my no nor not now \
    of off often on once one only or other our ours out over own per please same shall she should show so some still \
    such tell than that the their theirs them then there these they this those through to too under until up us use \
    very want was we were what whats when where whether which while who whom whose why will with within without would \
    you your yours delete drop update insert remove truncate calculate calculated compute";

/// Words of a look-up at most; a longer run of words is looked up in overlapping pieces.
const WORDS_A_TERM: usize = 3;

/// The look-ups for a question, in its order, without repeats, at most `max`.
///
/// A look-up has at most three words, so that no look-up is the question itself when that is a sentence.
pub(crate) fn search_terms(question: &str, max: usize) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for run in runs_of_words(question) {
        let mut start = 0;
        loop {
            let piece = run.get(start..run.len().min(start + WORDS_A_TERM)).unwrap_or_default();
            let term = piece.join(" ");
            if !term.is_empty() && !terms.contains(&term) {
                terms.push(term);
            }
            if start + WORDS_A_TERM >= run.len() {
                break;
            }
            start = (start + WORDS_A_TERM - 1).min(run.len() - WORDS_A_TERM);
        }
    }
    terms.truncate(max);
    terms
}

/// The question's words between fillers and punctuation, in lower case.
fn runs_of_words(question: &str) -> Vec<Vec<String>> {
    let mut runs = vec![Vec::new()];
    for token in question.split_whitespace() {
        let word = token.trim_matches(|letter: char| !letter.is_alphanumeric());
        let ends_run = token.ends_with([',', ';', ':', '.', '?', '!']);
        let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word).to_lowercase();
        if word.is_empty() || FILLERS.split_whitespace().any(|filler| filler == word) {
            runs.push(Vec::new());
        } else if let Some(run) = runs.last_mut() {
            run.push(word);
        }
        if ends_run {
            runs.push(Vec::new());
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_looked_up_and_fillers_are_not() {
        for (question, expected) in [
            ("What does Resolution Time mean?", vec!["resolution time"]),
            (
                "What is our customer satisfaction score for support?",
                vec!["customer satisfaction score", "support"],
            ),
            (
                "Which support team resolves tickets fastest?",
                vec!["support team resolves", "resolves tickets fastest"],
            ),
            (
                "And what is that team's average resolution time?",
                vec!["team average resolution", "average resolution time"],
            ),
            ("What was net revenue in fiscal year 2025?", vec!["net revenue", "fiscal year 2025"]),
            ("How many?", vec![]),
            ("  ", vec![]),
        ] {
            assert_eq!(search_terms(question, 8), expected, "{question}");
        }
    }

    #[test]
    fn no_look_up_is_a_whole_sentence_and_all_words_are_covered() {
        let question = "support team resolves tickets fastest lately";
        let terms = search_terms(question, 8);
        assert!(terms.iter().all(|term| term.split(' ').count() <= 3), "{terms:?}");
        assert!(question.split(' ').all(|word| terms.iter().any(|term| term.contains(word))), "{terms:?}");
    }
}
