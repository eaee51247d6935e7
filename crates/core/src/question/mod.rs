//! Keeps the question out of everything but `accepted`.
//!
//! A model repeats what it is asked: in a search term, in SQL, in its answer. The question is personal, so its text is cut
//! out of every later event. What counts as "the text" is the sequence of its letters and digits: casing, spacing,
//! punctuation, Unicode form and escaping do not make it another one.

mod cut;
mod fold;

pub use cut::{CUT_MARK, QuestionCut};
