//! What a question was understood to ask.

use super::{
    cues::{Cues, End},
    dimension::{Dimension, Phrase},
    entity::EntityKind,
    filters::Filter,
    kind::Kind,
    measure::Measure,
    period::{Grain, Period},
    years::Fiscal,
};

/// What figures are grouped by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Group {
    Column(Dimension),
    Time(Grain),
}

/// Something that must be known before the question can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Need {
    /// The details of a catalog entity.
    Details(EntityKind, String),
    /// The columns of a table.
    Columns(String),
    /// What the catalog has under these words.
    Search(String),
}

/// What one table is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    /// One or more measures over the same table.
    pub(crate) measures: Vec<Measure>,
    pub(crate) group: Option<Group>,
    /// A second column to group by.
    pub(crate) second: Option<Dimension>,
    pub(crate) filters: Vec<Filter>,
    /// The column that the period is about.
    pub(crate) time_column: Option<String>,
}

/// A question as understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reading {
    pub(crate) cues: Cues,
    pub(crate) parts: Vec<Part>,
    pub(crate) period: Option<Period>,
    pub(crate) fiscal: Fiscal,
    /// The term that defines the fiscal year, where it was used.
    pub(crate) fiscal_term: Option<String>,
    /// The words that nothing known explains, as written.
    pub(crate) unexplained: Vec<String>,
    pub(crate) needs: Vec<Need>,
    /// The words to look for in the catalog, as written.
    pub(crate) topic: Vec<String>,
    /// The words that name what to group by.
    pub(crate) phrase: Option<Phrase>,
    /// The words that name a second column to group by.
    pub(crate) second: Option<Phrase>,
}

impl Part {
    /// How many columns of a result tell the groups apart; the measures follow them.
    pub(crate) fn keys(&self) -> usize {
        usize::from(self.group.is_some()) + usize::from(self.second.is_some())
    }
}

impl Reading {
    /// Whether the ranking starts with the highest value; none when no end was asked for.
    pub(crate) fn descending(&self, measure: &Measure) -> Option<bool> {
        Some(match self.cues.end? {
            End::High => true,
            End::Low => false,
            End::Best => !measure.lower_is_better,
            End::Worst => measure.lower_is_better,
        })
    }

    /// Whether nothing was found to compute.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether words are left over, or a group that was asked for was not found.
    pub(crate) fn is_partial(&self) -> bool {
        let grouped = self.parts.iter().all(|part| part.group.is_some());
        !self.unexplained.is_empty() || (self.phrase.is_some() && !grouped)
    }

    /// Whether it asks what something means.
    pub(crate) fn kind(&self) -> Kind {
        self.cues.kind
    }
}
