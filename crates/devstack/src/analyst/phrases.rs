//! How well the names that the catalog and the tables give to things fit the words of a question.

use std::collections::BTreeSet;

use super::{
    cues::{Aggregate, Cues},
    entity::{Entity, EntityKind, Table},
    facts::Facts,
    words::{stem, stems},
};

/// The words of a question that names are matched with.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Wanted {
    /// Stems that stand in the question and have no role yet.
    pub(crate) said: BTreeSet<String>,
    /// Stems that the kind of question brings with it: `how many` speaks of a number.
    pub(crate) implied: BTreeSet<String>,
}

impl Wanted {
    /// From the free words and the cues.
    pub(crate) fn new(said: impl IntoIterator<Item = String>, cues: &Cues) -> Self {
        let mut implied: Vec<&str> = Vec::new();
        if cues.counting {
            implied.extend(["number", "count", "volume", "total"]);
        } else if cues.end.is_some() {
            implied.extend(["number", "count", "volume"]);
        }
        if cues.share {
            implied.extend(["rate", "share", "percentage", "percent"]);
        }
        if cues.speed {
            implied.extend(["time", "speed", "fast", "duration", "average", "mean"]);
        }
        match cues.aggregate {
            Some(Aggregate::Average) => implied.extend(["average", "mean"]),
            Some(Aggregate::Sum) => implied.extend(["total", "sum", "amount"]),
            Some(Aggregate::Highest | Aggregate::Lowest) | None => {}
        }
        Self { said: said.into_iter().collect(), implied: implied.into_iter().map(stem).collect() }
    }
}

/// How well a name fits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fit {
    /// Tenths: ten a word said, four a word implied; seven off for a word that is missing, two when it may be.
    pub(crate) score: i32,
    /// The stems of the question that the name explains.
    pub(crate) covered: BTreeSet<String>,
    /// Every word of the name was said or goes without saying.
    pub(crate) whole: bool,
}

/// Stems of words that may be left out of a name: "tickets" are the ticket count.
const GENERIC: [&str; 5] = ["count", "number", "total", "averag", "volum"];

/// Fits one name, given as stems; none when no word of it was said.
pub(crate) fn fit(name: &[String], wanted: &Wanted) -> Option<Fit> {
    let mut fit = Fit { whole: true, ..Fit::default() };
    for stem in name {
        if wanted.said.contains(stem) {
            fit.score += 10;
            fit.covered.insert(stem.clone());
        } else if wanted.implied.contains(stem) {
            fit.score += 4;
        } else if GENERIC.contains(&stem.as_str()) {
            fit.score -= 2;
        } else {
            fit.score -= 7;
            fit.whole = false;
        }
    }
    (!fit.covered.is_empty()).then_some(fit)
}

/// The best of several names.
pub(crate) fn best<'name>(
    names: impl IntoIterator<Item = &'name Vec<String>>,
    wanted: &Wanted,
) -> Option<Fit> {
    let mut best: Option<Fit> = None;
    for found in names.into_iter().filter_map(|name| fit(name, wanted)) {
        if best.as_ref().is_none_or(|best| found.score > best.score) {
            best = Some(found);
        }
    }
    best
}

/// The stems of the names of the sources: they say where, not what.
pub(crate) fn source_stems(facts: &Facts) -> BTreeSet<String> {
    facts.sources.iter().map(|source| stem(&source.name.to_lowercase())).collect()
}

/// The names of an entity as stems, less the names of sources.
pub(crate) fn names_of(entity: &Entity, facts: &Facts) -> Vec<Vec<String>> {
    let sources = source_stems(facts);
    let all = std::iter::once(&entity.display).chain(&entity.synonyms);
    all.map(|name| {
        let whole = stems(name);
        let rest: Vec<String> = whole.iter().filter(|stem| !sources.contains(*stem)).cloned().collect();
        if rest.is_empty() { whole } else { rest }
    })
    .filter(|name| !name.is_empty())
    .collect()
}

/// The terms that say what a metric means: those it names, or those about its columns whose name is part of its own.
pub(crate) fn terms_of<'facts>(metric: &Entity, facts: &'facts Facts) -> Vec<&'facts Entity> {
    let own = stems(&metric.display);
    let shares = |term: &Entity| term.assets.iter().any(|asset| metric.assets.contains(asset));
    let within = |term: &Entity| stems(&term.display).iter().all(|stem| own.contains(stem));
    facts
        .of_kind(EntityKind::Term)
        .filter(|term| {
            metric.related.contains(&term.fqn) || within(term) && (shares(term) || !metric.detailed)
        })
        .collect()
}

/// What rows of a table are called: its name without the usual prefixes, and what the catalog calls it.
pub(crate) fn names_of_table(table: &Table, facts: &Facts) -> Vec<Vec<String>> {
    let short = table.short();
    let plain =
        ["dim_", "fct_", "fact_"].iter().find_map(|prefix| short.strip_prefix(prefix)).unwrap_or(short);
    let mut names = vec![stems(plain)];
    if let Some(entity) = facts.entry_of(table) {
        names.extend(names_of(entity, facts));
    }
    let key = table.columns.first().map(|column| format!("{}.{}", table.name, column.name));
    for term in facts.of_kind(EntityKind::Term) {
        if key.as_ref().is_some_and(|key| term.assets.contains(key)) {
            names.extend(names_of(term, facts));
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// What a column is called: its name, and terms that are about this column alone.
pub(crate) fn names_of_column(table: &Table, column: &str, facts: &Facts) -> Vec<Vec<String>> {
    let mut names = vec![stems(column)];
    for term in terms_about(table, column, facts) {
        names.extend(names_of(term, facts));
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The terms about one column: of all their assets in this table it is the only one.
pub(crate) fn terms_about<'facts>(table: &Table, column: &str, facts: &'facts Facts) -> Vec<&'facts Entity> {
    facts
        .of_kind(EntityKind::Term)
        .filter(|term| {
            let mut here = term
                .assets
                .iter()
                .filter_map(|asset| facts.asset(asset))
                .filter(|(known, _)| known.name == table.name);
            here.next().is_some_and(|(_, first)| first.name == column) && here.next().is_none()
        })
        .collect()
}

/// The words among `topic` that neither the catalog nor the tables use anywhere.
pub(crate) fn strange(topic: &[String], facts: &Facts) -> Vec<String> {
    let mut known: BTreeSet<String> = source_stems(facts);
    for entity in &facts.entities {
        known.extend(names_of(entity, facts).into_iter().flatten());
        known.extend(stems(&entity.description));
    }
    for table in &facts.tables {
        known.extend(names_of_table(table, facts).into_iter().flatten());
        known.extend(table.columns.iter().flat_map(|column| stems(&column.name)));
    }
    topic.iter().filter(|word| !known.contains(&stem(&word.to_lowercase()))).cloned().collect()
}

/// The tables whose rows a question with these stems speaks of, by their names.
pub(crate) fn mentioned(said: BTreeSet<String>, facts: &Facts) -> Vec<String> {
    let wanted = Wanted { said, ..Wanted::default() };
    let tables = facts.tables.iter();
    tables
        .filter(|table| best(&names_of_table(table, facts), &wanted).is_some_and(|fit| fit.whole))
        .map(|table| table.name.clone())
        .collect()
}
