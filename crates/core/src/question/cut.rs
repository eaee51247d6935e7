//! Cutting a question out of texts and JSON.

use std::borrow::Cow;

use serde_json::{Map, Value};
use unicode_segmentation::UnicodeSegmentation as _;

use super::fold::Folded;

/// What stands where the question was cut out.
pub const CUT_MARK: &str = "[question]";

/// A question of fewer words is a term: it may stand in search terms, subjects and whatever came from tools.
const SENTENCE_WORDS: usize = 4;

/// Cuts one question out of texts.
#[derive(Debug)]
pub struct QuestionCut {
    needle: Vec<char>,
    /// The question itself, for one that has no letters at all.
    literal: Option<String>,
    is_sentence: bool,
}

impl QuestionCut {
    /// Prepares to cut `question`.
    pub fn new(question: &str) -> Self {
        let needle = Folded::plain(question).letters;
        let words = question.unicode_words().count();
        let literal = needle.is_empty().then(|| question.trim().to_owned()).filter(|text| !text.is_empty());
        let is_sentence = match literal {
            Some(_) => question.split_whitespace().count() >= SENTENCE_WORDS,
            None => words >= SENTENCE_WORDS,
        };
        Self { needle, literal, is_sentence }
    }

    /// Whether the question is a sentence, and so is cut out everywhere, or a mere term.
    pub const fn is_sentence(&self) -> bool {
        self.is_sentence
    }

    /// The text without the question.
    pub fn cut<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if let Some(literal) = &self.literal {
            return if text.contains(literal.as_str()) {
                Cow::Owned(text.replace(literal.as_str(), CUT_MARK))
            } else {
                Cow::Borrowed(text)
            };
        }
        if text.len() < self.needle.len() && text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut spans = self.find(&Folded::plain(text));
        if text.contains(['\\', '%', '&']) {
            spans.extend(self.find(&Folded::unescaped(text)));
        }
        if spans.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replace(text, spans)) }
    }

    /// Cuts the question out of a text in place.
    pub fn cut_string(&self, text: &mut String) {
        if let Cow::Owned(cut) = self.cut(text) {
            *text = cut;
        }
    }

    /// Cuts the question out of every string of a JSON value, names of members included.
    pub fn cut_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.cut_string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.cut_value(item)),
            Value::Object(members) => self.cut_members(members),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Cuts the question out of every string of a JSON object, names of members included.
    pub fn cut_members(&self, members: &mut Map<String, Value>) {
        let renamed: Vec<(String, String)> = members
            .keys()
            .filter_map(|name| match self.cut(name) {
                Cow::Owned(cut) => Some((name.clone(), cut)),
                Cow::Borrowed(_) => None,
            })
            .collect();
        for (was, now) in renamed {
            if let Some(value) = members.remove(&was) {
                members.insert(now, value);
            }
        }
        members.values_mut().for_each(|value| self.cut_value(value));
    }

    fn find(&self, text: &Folded) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let Some((first, _)) = self.needle.split_first() else { return found };
        let mut at = 0;
        while let Some(window) = text.letters.get(at..at + self.needle.len()) {
            let whole_words = || {
                text.starts_word.get(at).copied().unwrap_or(true)
                    && text.starts_word.get(at + self.needle.len()).copied().unwrap_or(true)
            };
            if window.first() == Some(first)
                && window == self.needle.as_slice()
                && (self.is_sentence || whole_words())
            {
                if let (Some(from), Some(to)) =
                    (text.spans.get(at), text.spans.get(at + self.needle.len() - 1))
                {
                    found.push((from.0, to.1));
                }
                at += self.needle.len();
            } else {
                at += 1;
            }
        }
        found
    }
}

fn replace(text: &str, mut spans: Vec<(usize, usize)>) -> String {
    spans.sort_unstable();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (from, to) in spans {
        if from >= at {
            out.push_str(text.get(at..from).unwrap_or_default());
            out.push_str(CUT_MARK);
        }
        at = at.max(to);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: &str = "Which café team resolves tickets fastest?";

    #[track_caller]
    fn is_cut(text: &str) {
        let cut = QuestionCut::new(QUESTION).cut(text).into_owned();
        assert!(cut.contains(CUT_MARK), "{text:?} became {cut:?}");
        assert!(!cut.to_lowercase().contains("fastest"), "{text:?} became {cut:?}");
    }

    #[test]
    fn the_question_is_cut_in_any_writing() {
        is_cut(QUESTION);
        is_cut("which CAFÉ team resolves tickets FASTEST");
        is_cut("Which  café\n team\tresolves\u{a0}tickets fastest?");
        is_cut("Which cafe\u{301} team resolves tickets fastest?");
        is_cut("Ｗｈｉｃｈ café team resolves tickets fastest?");
        is_cut("which_cafe_team_resolves_tickets_fastest");
        is_cut("whichcaféteamresolvesticketsfastest");
        is_cut("Wh\u{200b}ich café team re\u{ad}solves tickets fastest?");
    }

    #[test]
    fn the_question_is_cut_in_any_escaping() {
        is_cut(r"Which caf\u00e9 team resolves tickets fastest?");
        is_cut(r#"{\"q\":\"Which caf\\u00e9 team\\nresolves tickets fastest?\"}"#);
        is_cut(r"\u0057hich café team resolves tickets f\x61stest");
        is_cut("Which%20caf%C3%A9%20team%20resolves%20tickets%20fastest%3F");
        is_cut("Which caf&#233; team&nbsp;resolves tickets f&#x61;stest?");
        is_cut(r"Which\ncafé\tteam resolves tickets fastest");
    }

    #[test]
    fn what_stands_around_it_stays() {
        let cut = QuestionCut::new(QUESTION);
        let text = format!("You asked: {QUESTION} And I say: {QUESTION} Billing.");
        assert_eq!(cut.cut(&text), format!("You asked: {CUT_MARK}? And I say: {CUT_MARK}? Billing."));
        assert_eq!(cut.cut("Which team resolves tickets fastest?"), "Which team resolves tickets fastest?");
        assert!(matches!(cut.cut("Billing"), Cow::Borrowed("Billing")));
    }

    #[test]
    fn json_is_cut_to_its_leaves_and_names() {
        let cut = QuestionCut::new(QUESTION);
        let mut value = serde_json::json!({"a": [{"sql": format!("SELECT '{QUESTION}'")}], QUESTION: 1});
        cut.cut_value(&mut value);
        assert_eq!(value, serde_json::json!({"a": [{"sql": "SELECT '[question]?'"}], "[question]?": 1}));
    }

    #[test]
    fn a_term_is_cut_as_whole_words_only() {
        let cut = QuestionCut::new("open tickets");
        assert!(!cut.is_sentence());
        assert_eq!(cut.cut("There are 7 Open Tickets."), "There are 7 [question].");
        assert_eq!(cut.cut("reopen ticketsystem"), "reopen ticketsystem");
    }

    #[test]
    fn words_are_counted_in_any_script() {
        assert!(QuestionCut::new("去年的净收入是多少").is_sentence());
        assert!(!QuestionCut::new("net revenue 2025").is_sentence());
        assert!(QuestionCut::new("net revenue in 2025").is_sentence());
    }

    #[test]
    fn a_question_without_letters_is_cut_as_it_stands() {
        let cut = QuestionCut::new(" ?! ?! ?! ?! ");
        assert_eq!(cut.cut("so: ?! ?! ?! ?!"), format!("so: {CUT_MARK}"));
    }
}
