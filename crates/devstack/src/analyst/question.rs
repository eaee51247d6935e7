//! A question as words, each of which gets the role it plays as the question is understood.

use std::ops::Range;

use super::words::{Word, is_filler, is_stop, words};

/// What a word does in the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Joins others, says nothing of its own.
    Joining,
    /// Tells what kind of answer is wanted: how many, which, top five.
    Cue,
    /// Part of a period or of a time grain.
    Time,
    /// What to group by or to pick from.
    Dimension,
    /// What to compute.
    Measure,
    /// A value to filter by.
    Value,
    /// A table, a column or a source.
    Place,
    /// Stands for something said before.
    Reference,
}

/// The question's words with their roles.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    pub(crate) words: Vec<Word>,
    roles: Vec<Option<Role>>,
}

impl Question {
    /// Reads the words of `text`; those that join others have their role at once.
    pub(crate) fn new(text: &str) -> Self {
        let words = words(text);
        let roles = words.iter().map(|word| is_stop(&word.lower).then_some(Role::Joining)).collect();
        Self { words, roles }
    }

    /// Gives `role` to the words of a range.
    pub(crate) fn mark(&mut self, range: Range<usize>, role: Role) {
        for slot in self.roles.iter_mut().take(range.end).skip(range.start) {
            *slot = Some(role);
        }
    }

    /// Takes over the roles that words have in a copy of this question.
    pub(crate) fn take_roles_of(&mut self, copy: &Self) {
        for (own, other) in self.roles.iter_mut().zip(&copy.roles) {
            if own.is_none() {
                *own = *other;
            }
        }
    }

    /// The role of the word at `at`.
    pub(crate) fn role(&self, at: usize) -> Option<Role> {
        self.roles.get(at).copied().flatten()
    }

    /// The word at `at` in lower case; empty past the end.
    pub(crate) fn lower(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.lower.as_str())
    }

    /// The places of words without a role.
    pub(crate) fn free(&self) -> Vec<usize> {
        (0..self.words.len()).filter(|at| self.role(*at).is_none()).collect()
    }

    /// The stems of the words without a role.
    pub(crate) fn free_stems(&self) -> Vec<String> {
        let stem = |at: usize| self.words.get(at).map(|word| word.stem.clone());
        self.free().into_iter().filter_map(stem).collect()
    }

    /// Where a run of words in lower case first stands.
    pub(crate) fn find(&self, phrase: &str) -> Option<usize> {
        let wanted: Vec<&str> = phrase.split_whitespace().collect();
        (0..self.words.len())
            .find(|start| wanted.iter().zip(*start..).all(|(word, at)| self.lower(at) == *word))
    }

    /// Whether one of these runs of words, separated by `|`, stands anywhere.
    pub(crate) fn has_any(&self, phrases: &str) -> bool {
        phrases.split('|').any(|phrase| self.find(phrase).is_some())
    }

    /// Gives `role` to the words of these runs, separated by `|`; tells whether any was there.
    pub(crate) fn mark_any(&mut self, phrases: &str, role: Role) -> bool {
        let mut any = false;
        for phrase in phrases.split('|') {
            if let Some(start) = self.find(phrase) {
                self.mark(start..start + phrase.split_whitespace().count(), role);
                any = true;
            }
        }
        any
    }

    /// The words, as written, that nothing explained: neither a role, nor a word of asking, nor `explained`.
    pub(crate) fn unexplained(&self, explained: impl Fn(&Word) -> bool) -> Vec<String> {
        let free = self.free().into_iter();
        free.filter_map(|at| self.words.get(at))
            .filter(|word| !is_filler(&word.lower) && !explained(word))
            .map(|word| word.raw.clone())
            .collect()
    }
}
