//! The fiscal year as the catalog defines it, and the months that it is counted in.

use super::{
    entity::{Entity, EntityKind},
    facts::Facts,
    words::stems,
};

/// The term that defines the fiscal year.
pub(crate) fn fiscal_year(facts: &Facts) -> Option<&Entity> {
    let name = stems("fiscal year");
    facts.of_kind(EntityKind::Term).find(|term| {
        stems(&term.display) == name || term.synonyms.iter().any(|synonym| stems(synonym) == name)
    })
}

/// How the fiscal year lies in the calendar; the calendar year where nothing defines it.
pub(crate) fn fiscal_of(facts: &Facts) -> Fiscal {
    let defined = fiscal_year(facts).and_then(|term| Fiscal::defined_by(&term.description));
    defined.unwrap_or(Fiscal::CALENDAR)
}

/// How the fiscal year lies in the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fiscal {
    /// The month on whose first day it starts, 1 to 12.
    pub(crate) month: u8,
    /// It is named after the calendar year in which it ends.
    pub(crate) named_by_end: bool,
}

impl Fiscal {
    /// The calendar year itself: what is assumed where nobody says otherwise.
    pub(crate) const CALENDAR: Self = Self { month: 1, named_by_end: false };

    /// Reads it from the words of a definition.
    pub(crate) fn defined_by(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let words: Vec<&str> =
            lower.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let starts = words.iter().position(|word| word.starts_with("start") || word.starts_with("begin"))?;
        let month = words.iter().skip(starts).find_map(|word| month_named(word))?;
        Some(Self { month, named_by_end: lower.contains("year in which it ends") })
    }

    pub(crate) fn first_year(self, year: i32) -> i32 {
        if self.named_by_end && self.month > 1 { year - 1 } else { year }
    }
}

/// The months in lower case.
pub(crate) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The number of the month that a word names, in full or by three letters.
pub(crate) fn month_named(word: &str) -> Option<u8> {
    let exact = |(name, number): (&&str, u8)| {
        let short = word.len() == 3 || word == "sept";
        (*name == word || (short && name.starts_with(word))).then_some(number)
    };
    MONTHS.iter().zip(1_u8..).find_map(exact)
}
