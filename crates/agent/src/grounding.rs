//! The look-ups made before the first model turn: deterministic, in parallel, as the caller.
//!
//! A look-up costs milliseconds and a model turn seconds, so what the model would ask for first is fetched for it.

use ask_contract::BranchId;
use ask_core::outcome::{RefusedCall, ToolFault};
use futures_util::future::try_join_all;
use serde_json::{Map, Value};

use crate::call::{EndedCall, PlannedCall, make_call};
use crate::facts::{FactBook, TABLE_ARGUMENTS, ends_in};
use crate::ports::{Sink, Stopped, ToolServerKind};
use crate::prompt::LookUp;
use crate::terms::search_terms;
use crate::toolbox::{Known, Toolbox};

/// How much is looked up, and how much of it is handed to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroundingLimits {
    /// Catalog searches for words of the question.
    pub searches: usize,
    /// Catalog entities read in full.
    pub details: usize,
    /// Tables described.
    pub tables: usize,
    /// Bytes of look-ups in the prompt; each is in it whole or not at all.
    pub prompt_bytes: usize,
}

impl Default for GroundingLimits {
    fn default() -> Self {
        Self { searches: 4, details: 8, tables: 4, prompt_bytes: 32 * 1024 }
    }
}

/// What the look-ups brought.
#[derive(Debug, Default)]
pub(crate) struct Grounded {
    /// For the prompt, the most telling first.
    pub(crate) look_ups: Vec<LookUp>,
    /// What was refused, in the refusing tool's words.
    pub(crate) closed: Vec<String>,
    /// Why the run can't go on, if a server can't serve it.
    pub(crate) broken: Option<String>,
}

/// Makes the look-ups for a question.
pub(crate) async fn ground(
    sink: &dyn Sink,
    branch_id: &BranchId,
    toolbox: &Toolbox,
    book: &mut FactBook,
    question: &str,
    limits: GroundingLimits,
) -> Result<Grounded, Stopped> {
    let mut grounded = Grounded::default();
    let words = search_terms(question, limits.searches);
    let mut first = discoveries(toolbox);
    first.extend(searches(toolbox, &words));
    let first = run_all(sink, branch_id, toolbox, first).await?;
    let hits = ranked_hits(&first);
    grounded.take_in(first, book);
    let second = run_all(sink, branch_id, toolbox, details(toolbox, &hits, limits.details)).await?;
    grounded.take_in(second, book);
    let tables = tables_worth_describing(book, &hits, &words, limits.tables);
    let mut third = descriptions(toolbox, book, &tables);
    third.extend(table_entries(toolbox, book, &tables));
    let third = run_all(sink, branch_id, toolbox, third).await?;
    grounded.take_in(third, book);
    grounded.look_ups.sort_by_key(|look_up| priority(&look_up.tool));
    Ok(grounded)
}

/// Reads the catalog's entries of tables that a statement read and that were not read yet, for their caveats.
pub(crate) async fn look_up_tables(
    sink: &dyn Sink,
    branch_id: &BranchId,
    toolbox: &Toolbox,
    book: &mut FactBook,
    tables: &[String],
) -> Result<(), Stopped> {
    let ended = run_all(sink, branch_id, toolbox, table_entries(toolbox, book, tables)).await?;
    // The answer stands without them: a catalog that does not know the table raises nothing about it.
    Grounded::default().take_in(ended, book);
    Ok(())
}

impl Grounded {
    fn take_in(&mut self, ended: Vec<EndedCall>, book: &mut FactBook) {
        for call in ended {
            let tool = call.planned.full_name.rsplit("__").next().unwrap_or_default().to_owned();
            if tool == "search_metadata" {
                book.note_search(&call.planned.args);
            }
            match &call.fault {
                None => book.note_reply(
                    call.kind,
                    &tool,
                    &call.planned.args,
                    call.structured.as_ref(),
                    call.records.as_ref(),
                ),
                Some((ToolFault::Refused(what), detail)) => {
                    self.closed.push(detail.clone());
                    book.facts.grounding_refused.get_or_insert_with(|| RefusedCall {
                        what: *what,
                        detail: detail.clone(),
                        source: call.planned.source.clone(),
                    });
                }
                Some((ToolFault::Transport, detail)) => {
                    self.broken.get_or_insert_with(|| detail.clone());
                }
                Some((ToolFault::Invalid | ToolFault::TimedOut, _)) => continue,
            }
            self.look_ups.push(LookUp {
                tool: call.planned.full_name,
                args: call.planned.args,
                is_error: call.fault.is_some(),
                result: call.structured.unwrap_or(Value::String(call.text)),
            });
        }
        self.closed.dedup();
    }
}

async fn run_all(
    sink: &dyn Sink,
    branch_id: &BranchId,
    toolbox: &Toolbox,
    planned: Vec<PlannedCall>,
) -> Result<Vec<EndedCall>, Stopped> {
    let calls = planned.into_iter().filter_map(|planned| {
        let full_name = planned.full_name.clone();
        let (server, tool) = toolbox.find(&full_name)?;
        let tool = tool.to_owned();
        Some(async move { make_call(sink, branch_id, server, &tool, planned).await })
    });
    try_join_all(calls).await
}

fn discoveries(toolbox: &Toolbox) -> Vec<PlannedCall> {
    ["list_sources", "list_tables"]
        .into_iter()
        .flat_map(|tool| toolbox.having(ToolServerKind::Source, tool))
        .filter_map(|tool| {
            let args = tool.arguments(&[])?;
            Some(PlannedCall { full_name: tool.full_name, args, subject: None, source: None })
        })
        .collect()
}

fn searches(toolbox: &Toolbox, words: &[String]) -> Vec<PlannedCall> {
    let tools = toolbox.having(ToolServerKind::Catalog, "search_metadata");
    let search = |tool: &Known, term: &String| {
        Some(PlannedCall {
            full_name: tool.full_name.clone(),
            args: tool.arguments(&[(&["query"], Some(term))])?,
            subject: Some(term.clone()),
            source: None,
        })
    };
    words.iter().flat_map(|term| tools.iter().filter_map(move |tool| search(tool, term))).collect()
}

/// The catalog's entries of tables, where they were not read yet.
fn table_entries(toolbox: &Toolbox, book: &FactBook, tables: &[String]) -> Vec<PlannedCall> {
    let tools = toolbox.having(ToolServerKind::Catalog, "get_entity_details");
    let read = |tool: &Known, table: &String| {
        let args = entity_arguments(tool, "table", &book.unread_table(table)?)?;
        let full_name = tool.full_name.clone();
        Some(PlannedCall { full_name, args, subject: Some(table.clone()), source: None })
    };
    tables.iter().flat_map(|table| tools.iter().filter_map(move |tool| read(tool, table))).collect()
}

/// A search hit worth reading in full.
#[derive(Debug, Clone, PartialEq)]
struct Hit {
    entity_type: String,
    fqn: String,
    term: String,
}

/// The hits of all searches, the best of each search first.
fn ranked_hits(ended: &[EndedCall]) -> Vec<Hit> {
    let lists: Vec<Vec<Hit>> = ended
        .iter()
        .filter(|call| call.kind == ToolServerKind::Catalog && call.fault.is_none())
        .map(|call| {
            let found =
                call.structured.as_ref().and_then(|reply| reply.get("results")).and_then(Value::as_array);
            found.into_iter().flatten().filter_map(read_hit).collect()
        })
        .collect();
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let mut ranked: Vec<Hit> = Vec::new();
    for place in 0..longest {
        for hit in lists.iter().filter_map(|list| list.get(place)) {
            if !ranked.iter().any(|known| known.fqn == hit.fqn) {
                ranked.push(hit.clone());
            }
        }
    }
    ranked
}

fn read_hit(value: &Value) -> Option<Hit> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let fqn = text("fullyQualifiedName")?;
    Some(Hit {
        entity_type: text("entityType")?,
        term: text("displayName").or_else(|| text("name")).unwrap_or_else(|| fqn.clone()),
        fqn,
    })
}

fn details(toolbox: &Toolbox, hits: &[Hit], max: usize) -> Vec<PlannedCall> {
    let Some(tool) = toolbox.having(ToolServerKind::Catalog, "get_entity_details").into_iter().next() else {
        return Vec::new();
    };
    let detail = |hit: &Hit| {
        let args = entity_arguments(&tool, &hit.entity_type, &hit.fqn)?;
        let full_name = tool.full_name.clone();
        Some(PlannedCall { full_name, args, subject: Some(hit.term.clone()), source: None })
    };
    hits.iter().take(max).filter_map(detail).collect()
}

fn entity_arguments(tool: &Known, entity_type: &str, fqn: &str) -> Option<Map<String, Value>> {
    tool.arguments(&[(&["fqn"], Some(fqn)), (&["entityType"], Some(entity_type))])
}

/// Tables that the catalog's entries are about; without a catalog, those whose names hold a word of the question first.
fn tables_worth_describing(book: &FactBook, hits: &[Hit], words: &[String], max: usize) -> Vec<String> {
    let known: Vec<&String> = book.tables().keys().collect();
    let mut worth: Vec<&String> = Vec::new();
    if hits.is_empty() {
        let words: Vec<&str> = words.iter().flat_map(|term| term.split(' ')).collect();
        let fit =
            |table: &&String| words.iter().filter(|word| table.to_lowercase().contains(&stem(word))).count();
        worth = known;
        worth.sort_by_key(|table| std::cmp::Reverse(fit(table)));
    } else {
        let found = known.iter().copied().filter(|table| hits.iter().any(|hit| ends_in(&hit.fqn, table)));
        for table in book.tables_of_assets().into_iter().chain(found) {
            if !worth.contains(&table) {
                worth.push(table);
            }
        }
    }
    worth.into_iter().take(max).cloned().collect()
}

/// A word without the ending of its plural.
fn stem(word: &str) -> String {
    word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned()
}

/// What tools that describe a table are called.
const DESCRIBING: [&str; 2] = ["describe_table", "list_columns"];

fn descriptions(toolbox: &Toolbox, book: &FactBook, tables: &[String]) -> Vec<PlannedCall> {
    let tools: Vec<Known> =
        DESCRIBING.iter().flat_map(|tool| toolbox.having(ToolServerKind::Source, tool)).collect();
    let describe = |tool: &Known, table: &String| {
        let source = book.tables().get(table).cloned().flatten();
        let args = tool.arguments(&[(TABLE_ARGUMENTS, Some(table)), (&["source"], source.as_deref())])?;
        Some(PlannedCall { full_name: tool.full_name.clone(), args, subject: Some(table.clone()), source })
    };
    tables.iter().flat_map(|table| tools.iter().filter_map(move |tool| describe(tool, table))).collect()
}

/// What the model needs first comes first, since later look-ups may not fit.
fn priority(tool: &str) -> u8 {
    match tool.rsplit("__").next().unwrap_or_default() {
        "list_sources" => 0,
        "list_tables" => 1,
        "get_entity_details" => 2,
        tool if DESCRIBING.contains(&tool) => 3,
        _ => 4,
    }
}
