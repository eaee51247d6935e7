//! Which look-ups bring what is still missing.

use serde_json::{Map, Value, json};

use super::{
    entity::{EntityKind, Table},
    exchange::Exchange,
    facts::Facts,
    joins::key_to,
    reading::Need,
};
use crate::model::dialogue::{Asked, Call};

/// Hits and tables whose details are read at once.
const AT_ONCE: usize = 12;

/// Words in one search of the catalog.
const WORDS_A_SEARCH: usize = 3;

/// Searches made at once for one list of words.
const MOST_SEARCHES: usize = 4;

/// The tools on offer, by their own names.
#[derive(Debug)]
pub(crate) struct Tools<'asked>(&'asked Asked);

impl<'asked> Tools<'asked> {
    /// Those of a request.
    pub(crate) fn of(asked: &'asked Asked) -> Self {
        Self(asked)
    }

    /// The full name under which a tool is offered.
    pub(crate) fn named(&self, own: &str) -> Option<&'asked str> {
        let names = self.0.tools.iter().map(|tool| tool.name.as_str());
        names.into_iter().find(|name| super::exchange::own_name(name) == own)
    }

    /// Whether the catalog may be used.
    pub(crate) fn catalog(&self) -> bool {
        self.named("search_metadata").is_some()
    }

    /// A call; none when the tool is not offered.
    pub(crate) fn call(&self, own: &str, args: Value) -> Option<Call> {
        let args = match args {
            Value::Object(args) => args,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Map::new()
            }
        };
        Some(Call { id: String::new(), name: self.named(own)?.to_owned(), args })
    }

    fn details(&self, kind: EntityKind, fqn: &str) -> Option<Call> {
        self.call("get_entity_details", json!({"entityType": kind.written(), "fqn": fqn}))
    }
}

/// The first look at sources, tables and catalog, as far as nothing was looked up for this question.
pub(crate) fn first(tools: &Tools<'_>, facts: &Facts, exchange: &Exchange, topic: &[String]) -> Vec<Call> {
    let mut calls = Vec::new();
    if facts.sources.is_empty() && !facts.has_done("list_sources", "") {
        calls.extend(tools.call("list_sources", json!({})));
    }
    let listed = facts.done.iter().any(|done| done.starts_with("list_tables"));
    if facts.tables.is_empty() && !listed {
        calls.extend(tools.call("list_tables", json!({})));
    }
    let searched = exchange.observations.iter().any(|observation| observation.tool == "search_metadata");
    if !searched {
        let needs: Vec<Need> = pieces(topic).into_iter().map(Need::Search).collect();
        calls.extend(meeting(&needs, tools, facts));
    }
    calls
}

/// What the hits of the search and the tables have to say, when none of it was read yet.
pub(crate) fn second(tools: &Tools<'_>, facts: &Facts) -> Vec<Call> {
    let known = facts.tables.iter().any(|table| !table.columns.is_empty());
    let mut calls = Vec::new();
    if !facts.entities.iter().any(|entity| entity.detailed) {
        let hits = facts.entities.iter().filter(|entity| entity.kind != EntityKind::Table);
        let fresh = hits.filter(|entity| !facts.has_done("get_entity_details", &entity.fqn));
        calls.extend(fresh.take(AT_ONCE).filter_map(|entity| tools.details(entity.kind, &entity.fqn)));
    }
    if !known {
        for table in facts.tables.iter().take(AT_ONCE) {
            calls.extend(columns(tools, facts, &table.name));
        }
    }
    calls
}

/// The columns of a table: from the catalog, which says what they mean too, else from the source.
fn columns(tools: &Tools<'_>, facts: &Facts, table: &str) -> Option<Call> {
    if tools.catalog() && !facts.has_done("get_entity_details", table) {
        return tools.details(EntityKind::Table, table);
    }
    let source = facts.table(table).map_or("", |table| table.source.as_str());
    let fresh = !facts.has_done("describe_table", table);
    fresh.then(|| tools.call("describe_table", json!({"table": table, "source": source}))).flatten()
}

/// The look-ups that meet needs, less those that were made already.
pub(crate) fn meeting(needs: &[Need], tools: &Tools<'_>, facts: &Facts) -> Vec<Call> {
    let mut calls = Vec::new();
    for need in needs {
        match need {
            Need::Details(kind, fqn) if !facts.has_done("get_entity_details", fqn) => {
                calls.extend(tools.details(*kind, fqn));
            }
            Need::Columns(table) => calls.extend(columns(tools, facts, table)),
            Need::Search(words) if !facts.has_done("search_metadata", words) => {
                calls.extend(tools.call("search_metadata", json!({"query": words})));
            }
            Need::Details(..) | Need::Search(_) => {}
        }
    }
    if needs.iter().any(|need| matches!(need, Need::Details(EntityKind::Metric, _))) {
        // The formulas of the other hits too: one of them may fit better once its unit is known.
        let others = facts
            .of_kind(EntityKind::Metric)
            .filter(|metric| !metric.detailed && !facts.has_done("get_entity_details", &metric.fqn));
        calls
            .extend(others.take(AT_ONCE).filter_map(|metric| tools.details(EntityKind::Metric, &metric.fqn)));
    }
    let mut unique: Vec<Call> = Vec::new();
    for call in calls {
        if !unique.contains(&call) {
            unique.push(call);
        }
    }
    unique
}

/// What is worth a search before giving up: all that the question is about, then the words that nothing explained.
pub(crate) fn last(tools: &Tools<'_>, facts: &Facts, words: &[String], topic: &[String]) -> Vec<Call> {
    let needs: Vec<Need> = searches(words, topic).into_iter().map(Need::Search).collect();
    meeting(&needs, tools, facts)
}

/// What the catalog has to say of a table and of those that its rows point to, or may: among it the values by which
/// rows can be filtered.
pub(crate) fn said_around(tools: &Tools<'_>, facts: &Facts, table: &str) -> Vec<Call> {
    let Some(primary) = facts.table(table) else {
        return Vec::new();
    };
    let near = |other: &&Table| {
        let unknown =
            other.source == primary.source && (other.columns.is_empty() || primary.columns.is_empty());
        other.name == primary.name || unknown || key_to(primary, other).is_some()
    };
    let tables = facts.tables.iter().filter(near);
    let needs: Vec<Need> = tables.map(|table| Need::Details(EntityKind::Table, table.name.clone())).collect();
    meeting(&needs, tools, facts)
}

/// The searches for a question of which some words are explained by nothing.
pub(crate) fn searches(words: &[String], topic: &[String]) -> Vec<String> {
    let mut searches = pieces(topic);
    for piece in pieces(words) {
        if !searches.contains(&piece) {
            searches.push(piece);
        }
    }
    searches
}

/// Words cut into searches of few words each, so that none of them is the question itself.
pub(crate) fn pieces(words: &[String]) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for piece in words.chunks(WORDS_A_SEARCH).take(MOST_SEARCHES) {
        let piece = piece.join(" ");
        if !pieces.contains(&piece) {
            pieces.push(piece);
        }
    }
    pieces
}

/// The details of entities that an answer rests on and that were not read for this very question.
pub(crate) fn unread<'name>(
    entities: impl IntoIterator<Item = &'name String>,
    exchange: &Exchange,
    tools: &Tools<'_>,
    facts: &Facts,
) -> Vec<Call> {
    let read = |fqn: &str| {
        let quoted = Value::String(fqn.to_owned()).to_string();
        exchange.observations.iter().any(|observation| {
            let catalog = ["search_metadata", "get_entity_details"].contains(&observation.tool.as_str());
            catalog && (observation.arg("fqn") == fqn || observation.result.to_string().contains(&quoted))
        })
    };
    let fresh = entities.into_iter().filter(|fqn| !read(fqn));
    fresh
        .filter_map(|fqn| facts.named(fqn))
        .filter_map(|entity| tools.details(entity.kind, &entity.fqn))
        .collect()
}
