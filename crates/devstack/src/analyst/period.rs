//! Periods of time, and the spans that they are made of.

use time::{Date, Duration};

/// A span that periods and groups are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grain {
    Day,
    Month,
    Quarter,
    Year,
    FiscalQuarter,
    FiscalYear,
}

impl Grain {
    /// Whether the fiscal year decides it.
    pub(crate) fn is_fiscal(self) -> bool {
        matches!(self, Self::FiscalQuarter | Self::FiscalYear)
    }

    /// As people say it.
    pub(crate) fn named(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
            Self::FiscalQuarter => "fiscal quarter",
            Self::FiscalYear => "fiscal year",
        }
    }
}

/// A period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Period {
    /// From the first day up to, and without, the second; either may be open.
    Days {
        from: Option<Date>,
        until: Option<Date>,
        label: String,
        fiscal: bool,
        /// Two spans in a row were named, to be told apart.
        each: Option<Grain>,
    },
    /// A whole span counted back from the newest data: 0 is the one they lie in.
    Back { grain: Grain, spans: i32 },
}

impl Period {
    /// Whether it needs the definition of the fiscal year.
    pub(crate) fn is_fiscal(&self) -> bool {
        match self {
            Self::Days { fiscal, .. } => *fiscal,
            Self::Back { grain, .. } => grain.is_fiscal(),
        }
    }

    /// As part of a sentence.
    pub(crate) fn said(&self) -> String {
        match self {
            Self::Days { from: Some(from), until: Some(until), label, fiscal: true, .. } => {
                format!("{label} ({} to {})", day(*from), day(*until - Duration::DAY))
            }
            Self::Days { label, .. } => label.clone(),
            Self::Back { grain, spans: 0 } => {
                format!("in the latest {} of the data", grain.named())
            }
            Self::Back { grain, .. } => format!("in the previous {} of the data", grain.named()),
        }
    }
}

fn day(date: Date) -> String {
    format!("{} {} {}", date.day(), date.month(), date.year())
}

impl Period {
    pub(crate) fn bare_label(&self) -> String {
        self.said_label().trim_start_matches("in ").trim_start_matches("the ").to_owned()
    }

    fn said_label(&self) -> String {
        match self {
            Self::Days { label, .. } => label.clone(),
            Self::Back { .. } => self.said(),
        }
    }

    /// The grain that it is one span of.
    pub(crate) fn grain(&self) -> Option<Grain> {
        let Self::Days { from: Some(from), until: Some(until), fiscal, .. } = self else {
            return None;
        };
        match ((*until - *from).whole_days(), fiscal) {
            (365.., true) => Some(Grain::FiscalYear),
            (365.., false) => Some(Grain::Year),
            (89..=92, true) => Some(Grain::FiscalQuarter),
            (89..=92, false) => Some(Grain::Quarter),
            (28..=31, _) => Some(Grain::Month),
            _ => None,
        }
    }

    /// The grain by which two spans that were named are told apart.
    pub(crate) fn each(&self) -> Option<Grain> {
        match self {
            Self::Days { each, .. } => *each,
            Self::Back { .. } => None,
        }
    }
}
