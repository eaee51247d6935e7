//! A small, honest ranking: rare words count more, names more than descriptions, and what only brushes the question is left
//! out, so that a question about something that the catalog does not have finds little or nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::entity::{Entity, EntityType};
use super::words::{query_stems, stems};
use crate::access::View;

/// What a word is worth where it occurs. Names and synonyms are what an entity is called; the rest is said about it.
const NAME: f64 = 3.0;
const SYNONYM: f64 = 2.5;
const PATH: f64 = 1.5;
const COLUMN: f64 = 1.2;
const DESCRIPTION: f64 = 1.0;
const COLUMN_DESCRIPTION: f64 = 0.6;
const TAG: f64 = 0.3;

/// What a name or synonym adds when all its words are in the query.
const WHOLE_NAME: f64 = 3.0;
/// What it adds when the query has no other words.
const EXACT: f64 = 3.0;

/// What it adds when the query is the fully qualified name.
const FQN: f64 = 100.0;

/// The share of the query, by the weight of its words, that an entity must cover when ...
/// ... a name of a single word is in the query, unless that word is a rare one;
const COVERED_BY_WORD: f64 = 0.3;
/// ... two words of its names are in the query;
const COVERED_BY_TWO: f64 = 0.4;
/// ... only what is said about it matches.
const COVERED_AT_ALL: f64 = 0.6;
/// What makes a word a rare one: at most about a fifth of the entities have it.
const RARE: f64 = 2.6;
/// Hits below this share of the best one's score are noise.
const OF_BEST: f64 = 0.25;

/// The words of all entities.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    entries: Vec<Entry>,
    /// How many entities have the word in any place.
    frequency: BTreeMap<String, usize>,
}

/// A query's words.
#[derive(Debug)]
struct Query {
    text: String,
    weights: BTreeMap<String, f64>,
    words: BTreeSet<String>,
}

impl Query {
    fn new(text: &str) -> Self {
        let weights = query_stems(text);
        Self { text: text.trim().to_owned(), words: weights.keys().cloned().collect(), weights }
    }

    fn weight(&self, word: &str) -> f64 {
        self.weights.get(word).copied().unwrap_or(1.0)
    }
}

#[derive(Debug, Clone, Default)]
struct Entry {
    /// The best worth of each word, columns left out.
    words: BTreeMap<String, f64>,
    /// The same for each column, which a caller may not see.
    columns: Vec<(String, BTreeMap<String, f64>)>,
    /// The words of each name and synonym.
    names: Vec<BTreeSet<String>>,
}

impl Index {
    pub(super) fn new(entities: &[Entity]) -> Self {
        let entries: Vec<Entry> = entities.iter().map(Entry::new).collect();
        let mut frequency = BTreeMap::new();
        for entry in &entries {
            let all: BTreeSet<&String> =
                entry.words.keys().chain(entry.columns.iter().flat_map(|(_, words)| words.keys())).collect();
            for word in all {
                *frequency.entry(word.clone()).or_insert(0) += 1;
            }
        }
        Self { entries, frequency }
    }

    /// The positions of the entities found, the best first.
    pub(super) fn search(
        &self,
        entities: &[Entity],
        view: View<'_>,
        query: &str,
        only: Option<EntityType>,
    ) -> Vec<usize> {
        let words = Query::new(query);
        let mut hits: Vec<(f64, usize, &Entity)> = entities
            .iter()
            .zip(&self.entries)
            .enumerate()
            .filter(|(_, (entity, _))| only.is_none_or(|only| entity.kind == only) && entity.is_visible(view))
            .filter_map(|(position, (entity, entry))| {
                self.score(&words, entity, entry, view).map(|score| (score, position, entity))
            })
            .collect();
        hits.sort_by(|(left, _, one), (right, _, other)| {
            right
                .total_cmp(left)
                .then_with(|| one.kind.cmp(&other.kind))
                .then_with(|| one.fqn.cmp(&other.fqn))
        });
        let best = hits.first().map_or(0.0, |(score, _, _)| *score);
        hits.retain(|(score, _, _)| *score >= best * OF_BEST);
        hits.into_iter().map(|(_, position, _)| position).collect()
    }

    /// What the entity is worth for these words, or none when it only brushes them.
    fn score(&self, query: &Query, entity: &Entity, entry: &Entry, view: View<'_>) -> Option<f64> {
        let (mut score, mut all, mut covered, mut named) = (0.0, 0.0, 0.0, 0_usize);
        for (word, weight) in &query.weights {
            let rarity = self.rarity(word) * weight;
            all += rarity;
            let in_columns = entry
                .columns
                .iter()
                .filter(|(column, _)| !entity.withholds(view, column))
                .filter_map(|(_, words)| words.get(word).copied())
                .fold(0.0, f64::max);
            let worth = entry.words.get(word).copied().unwrap_or(0.0).max(in_columns);
            if worth > 0.0 {
                score += rarity * worth;
                covered += rarity;
                named += usize::from(worth >= SYNONYM);
            }
        }
        let whole = || entry.names.iter().filter(|name| !name.is_empty() && name.is_subset(&query.words));
        let longest = whole().map(BTreeSet::len).max().unwrap_or(0);
        score += whole()
            .map(|name| {
                let weight: f64 = name.iter().map(|word| self.rarity(word) * query.weight(word)).sum();
                weight * if *name == query.words { WHOLE_NAME + EXACT } else { WHOLE_NAME }
            })
            .fold(0.0, f64::max);
        if entity.fqn.eq_ignore_ascii_case(&query.text) {
            score += FQN;
        }
        let share = if all > 0.0 { covered / all } else { 0.0 };
        let relevant = longest >= 2
            || (longest == 1 && (share >= COVERED_BY_WORD || whole().any(|name| self.is_rare(name))))
            || (named >= 2 && share >= COVERED_BY_TWO)
            || (covered > 0.0 && share >= COVERED_AT_ALL);
        relevant.then_some(score)
    }

    fn is_rare(&self, name: &BTreeSet<String>) -> bool {
        name.iter().all(|word| self.rarity(word) >= RARE)
    }

    /// How much a word tells: the more, the fewer entities have it. One that none has counts like a rare one.
    #[expect(clippy::cast_precision_loss, reason = "a catalog has far fewer than 2^52 entities")]
    fn rarity(&self, word: &str) -> f64 {
        let entities = self.entries.len().max(1) as f64;
        let having = self.frequency.get(word).copied().unwrap_or(2).max(1) as f64;
        1.0 + (entities / having).ln().max(0.0)
    }
}

impl Entry {
    fn new(entity: &Entity) -> Self {
        let mut entry = Self::default();
        for name in [&entity.name, &entity.display_name] {
            note(&mut entry.words, name, NAME);
            entry.names.push(stems(name).into_iter().collect());
        }
        for synonym in &entity.synonyms {
            note(&mut entry.words, synonym, SYNONYM);
            entry.names.push(stems(synonym).into_iter().collect());
        }
        note(&mut entry.words, &entity.fqn, PATH);
        note(&mut entry.words, &entity.description, DESCRIPTION);
        for tag in &entity.tags {
            note(&mut entry.words, tag, TAG);
        }
        for column in &entity.columns {
            let mut words = BTreeMap::new();
            note(&mut words, &column.name, COLUMN);
            note(&mut words, &column.description, COLUMN_DESCRIPTION);
            entry.columns.push((column.name.clone(), words));
        }
        entry
    }
}

fn note(words: &mut BTreeMap<String, f64>, text: &str, worth: f64) {
    for stem in stems(text) {
        let known = words.entry(stem).or_insert(0.0);
        *known = known.max(worth);
    }
}
