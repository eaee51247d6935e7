//! One turn: what to do next for the newest question of a dialogue.

use serde_json::{Value, json};

use super::{
    answer::{self, Conclusion, plain},
    cues::{Kind, take_cues},
    definition,
    exchange::{Exchange, Observation, exchanges},
    facts::{EntityKind, Facts},
    lookup::{self, Tools},
    memory::{Memory, subject},
    question::Question,
    reading::{Need, Reading, read, topic},
    rows::{self, Listing},
    sql::{Query, query},
};
use crate::model::dialogue::{Asked, Call, Reply};

/// A question that took this many turns gets no more look-ups.
const MOST_ROUNDS: usize = 8;

/// What comes next.
enum Next {
    /// Make these calls.
    Call(Vec<Call>),
    /// Say this.
    Conclude(Conclusion),
}

/// The reply to a request.
pub(crate) fn reply(asked: &Asked) -> Reply {
    let tools = Tools::of(asked);
    let all = exchanges(&asked.turns);
    let Some((current, before)) = all.split_last() else {
        return spoken("There is no question.");
    };
    if current.concluded {
        return spoken("That is all.");
    }
    let facts = Facts::from(&all, tools.catalog());
    let memory =
        before.iter().fold(None, |memory, exchange| remember(exchange, &facts, memory, tools.catalog()));
    let turn = Turn { tools, facts: &facts, exchange: current, memory: memory.as_ref() };
    match turn.next() {
        Next::Call(calls) if !calls.is_empty() => Reply { text: String::new(), calls },
        Next::Call(_) => {
            turn.conclude(Conclusion::cannot("The tools that this needs are not on offer.", Vec::new()))
        }
        Next::Conclude(conclusion) => turn.conclude(conclusion),
    }
}

fn spoken(text: &str) -> Reply {
    Reply { text: text.to_owned(), calls: Vec::new() }
}

/// What stays of an exchange for those after it; an exchange that asked for no figures leaves what was there.
fn remember(exchange: &Exchange, facts: &Facts, memory: Option<Memory>, catalog: bool) -> Option<Memory> {
    let reading = parts_of(&exchange.question, facts, memory.as_ref(), catalog).pop();
    let Some(reading) = reading.filter(|reading| {
        reading.kind() == Kind::Figures && !reading.is_empty() && reading.unexplained.is_empty()
    }) else {
        return memory;
    };
    let result = exchange
        .observations
        .iter()
        .rfind(|observation| observation.tool == "run_query" && !observation.is_error);
    let first = result
        .filter(|_| reading.cues.end.is_some())
        .and_then(|observation| observation.result.pointer("/rows/0/0"))
        .map(plain);
    Some(Memory { subject: subject(&reading, first.as_deref()), reading })
}

/// A question cut where a second one starts: "how many tickets are there and what was net revenue".
fn parts_of(text: &str, facts: &Facts, memory: Option<&Memory>, catalog: bool) -> Vec<Reading> {
    let mut readings: Vec<Reading> = Vec::new();
    let mut before = memory.cloned();
    for clause in clauses(text) {
        let reading = read(&clause, facts, before.as_ref(), catalog);
        before = Some(Memory { subject: before.and_then(|memory| memory.subject), reading: reading.clone() });
        readings.push(reading);
    }
    readings
}

fn clauses(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let cut = ["what", "how", "which"].iter().find_map(|opening| {
        let at = lower.find(&format!(" and {opening} "))?;
        Some((text.get(..at)?, text.get(at + 1..)?))
    });
    match cut {
        Some((first, rest)) => vec![first.to_owned(), rest.to_owned()],
        None => vec![text.to_owned()],
    }
}

struct Turn<'dialogue> {
    tools: Tools<'dialogue>,
    facts: &'dialogue Facts,
    exchange: &'dialogue Exchange,
    memory: Option<&'dialogue Memory>,
}

impl Turn<'_> {
    fn conclude(&self, conclusion: Conclusion) -> Reply {
        let args = json!({
            "kind": if conclusion.answered { "answer" } else { "cannot_answer" },
            "text": conclusion.text,
            "entities": conclusion.entities,
            "searched_terms": conclusion.searched,
            "headline": conclusion.headline,
        });
        match self.tools.call("conclude", args) {
            Some(call) => Reply { text: String::new(), calls: vec![call] },
            None => spoken(&conclusion.text),
        }
    }

    fn next(&self) -> Next {
        let text = &self.exchange.question;
        let mut question = Question::new(text);
        let topic = topic(&question);
        let kind = take_cues(&mut question).kind;
        if kind == Kind::Change {
            let text = "Nothing was changed: the data can only be read here, so there is nothing that adds, changes or deletes rows.";
            return Next::Conclude(Conclusion::cannot(text, Vec::new()));
        }
        if self.exchange.rounds >= MOST_ROUNDS {
            let text = "The look-ups did not lead to a statement that answers this.";
            return Next::Conclude(Conclusion::cannot(text, lookup::searches(&[], &topic)));
        }
        if let Some(refused) = self.refused() {
            return Next::Conclude(refused);
        }
        let calls = lookup::first(&self.tools, self.facts, self.exchange, &topic.join(" "));
        if !calls.is_empty() {
            return Next::Call(calls);
        }
        if kind == Kind::Definition || definition::is_bare_name(text, self.facts) {
            return self.define(&question, &topic);
        }
        let calls = lookup::second(&self.tools, self.facts);
        if !calls.is_empty() {
            return Next::Call(calls);
        }
        match kind {
            Kind::Rows => self.list(&topic),
            Kind::Figures | Kind::Definition | Kind::Change => self.compute(),
        }
    }

    /// A statement that was refused or failed for good; one that was merely wrong may be written anew.
    fn refused(&self) -> Option<Conclusion> {
        let failed = self
            .statements()
            .find(|observation| observation.is_error && observation.error_code() != "invalid")?;
        let told =
            failed.result.pointer("/error/message").and_then(Value::as_str).unwrap_or("no reason was given");
        Some(Conclusion::cannot(format!("The source did not run the statement: {told}"), Vec::new()))
    }

    fn statements(&self) -> impl Iterator<Item = &Observation> {
        self.exchange.observations.iter().filter(|observation| observation.tool == "run_query")
    }

    fn define(&self, question: &Question, topic: &[String]) -> Next {
        if !self.tools.catalog() {
            let text = "Without the catalog there is no definition to go by.";
            return Next::Conclude(Conclusion::cannot(text, Vec::new()));
        }
        let mut found = definition::asked_for(question, self.facts, self.memory);
        if found.is_empty() {
            let calls = lookup::meeting(&[Need::Search(topic.join(" "))], &self.tools, self.facts);
            if !calls.is_empty() {
                return Next::Call(calls);
            }
            return Next::Conclude(self.nothing_on(topic, topic));
        }
        let formula = definition::asks_for_formula(&self.exchange.question);
        if formula {
            let metrics: Vec<_> = found
                .iter()
                .filter(|entity| entity.kind == EntityKind::Term)
                .filter_map(|term| definition::metric_of(term, self.facts))
                .collect();
            for metric in metrics {
                if !found.iter().any(|known| known.fqn == metric.fqn) {
                    found.push(metric);
                }
            }
        }
        let mut calls =
            lookup::unread(found.iter().map(|entity| &entity.fqn), self.exchange, &self.tools, self.facts);
        let unread = found
            .iter()
            .filter(|entity| formula && entity.kind == EntityKind::Metric && entity.formula.is_none());
        let needs: Vec<Need> = unread.map(|metric| Need::Details(metric.kind, metric.fqn.clone())).collect();
        calls.extend(lookup::meeting(&needs, &self.tools, self.facts));
        if !calls.is_empty() {
            return Next::Call(calls);
        }
        let told: Vec<_> = found
            .iter()
            .copied()
            .filter(|entity| !formula || found.len() == 1 || entity.kind == EntityKind::Term)
            .collect();
        Next::Conclude(Conclusion {
            answered: true,
            text: definition::answer(&told, formula, self.facts),
            entities: found.iter().map(|entity| entity.fqn.clone()).collect(),
            searched: Vec::new(),
            headline: Value::Null,
        })
    }

    fn nothing_on(&self, words: &[String], topic: &[String]) -> Conclusion {
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        if !self.tools.catalog() {
            let text = format!("No table or column is named by {}.", quoted.join(", "));
            return Conclusion::cannot(text, Vec::new());
        }
        let text =
            format!("The catalog defines nothing for {}, so there is no figure to give.", quoted.join(", "));
        Conclusion::cannot(text, lookup::searches(words, topic))
    }

    fn compute(&self) -> Next {
        let text = &self.exchange.question;
        let readings = parts_of(text, self.facts, self.memory, self.tools.catalog());
        let needs: Vec<Need> = readings.iter().flat_map(|reading| reading.needs.clone()).collect();
        let mut calls = lookup::meeting(&needs, &self.tools, self.facts);
        if !calls.is_empty() {
            if readings.iter().any(|reading| !reading.unexplained.is_empty()) {
                // In the same turn, since the words left over may be values.
                calls.extend(lookup::said_of_tables(&self.tools, self.facts));
            }
            return Next::Call(calls);
        }
        if let Some(listing) = self.listing_instead(&readings) {
            return self.list_rows(&listing, &[]);
        }
        let topic: Vec<String> = readings.iter().flat_map(|reading| reading.topic.clone()).collect();
        let mut words: Vec<String> =
            readings.iter().flat_map(|reading| reading.unexplained.clone()).collect();
        if words.is_empty() && readings.iter().any(Reading::is_empty) {
            words.clone_from(&topic);
        }
        if !words.is_empty() || readings.iter().any(Reading::is_empty) {
            let calls = lookup::last(&self.tools, self.facts, &words, &topic);
            if !calls.is_empty() {
                return Next::Call(calls);
            }
            return Next::Conclude(self.nothing_on(&words, &topic));
        }
        let mut queries = Vec::new();
        for reading in &readings {
            for part in &reading.parts {
                match query(part, reading, self.facts) {
                    Some(query) => queries.push(query),
                    None => return Next::Conclude(self.nothing_on(&topic, &topic)),
                }
            }
        }
        let entities: Vec<String> = readings
            .iter()
            .flat_map(|reading| {
                let measures = reading.parts.iter().flat_map(|part| &part.measures);
                measures.flat_map(|measure| &measure.entities).chain(&reading.fiscal_term)
            })
            .cloned()
            .collect();
        match self.run(&queries, &entities) {
            Ok(results) => Next::Conclude(combined(&readings, &results, self.facts)),
            Err(next) => next,
        }
    }

    /// The results of statements, or what to do to get them.
    fn run(&self, queries: &[Query], entities: &[String]) -> Result<Vec<&Value>, Next> {
        let mut calls = Vec::new();
        let mut results = Vec::new();
        for query in queries {
            match self.statements().find(|observation| observation.arg("sql") == query.sql) {
                Some(ran) if !ran.is_error => results.push(&ran.result),
                Some(failed) => {
                    let told =
                        failed.result.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
                    let text = format!("The statement for this does not run: {told}");
                    return Err(Next::Conclude(Conclusion::cannot(text, Vec::new())));
                }
                None => calls
                    .extend(self.tools.call("run_query", json!({"sql": query.sql, "source": query.source}))),
            }
        }
        if results.len() == queries.len() {
            return Ok(results);
        }
        calls.extend(lookup::unread(entities, self.exchange, &self.tools, self.facts));
        Err(Next::Call(calls))
    }

    /// "Which regions are there?" asks for a list, though it does not say so.
    fn listing_instead(&self, readings: &[Reading]) -> Option<Listing> {
        let [reading] = readings else {
            return None;
        };
        if !reading.is_empty() || reading.cues.end.is_some() || reading.cues.counting {
            return None;
        }
        let phrase = reading.phrase.as_ref()?;
        let values = rows::values_of(phrase, self.facts).filter(|_| reading.unexplained.is_empty());
        let rows = || rows::read(&self.exchange.question, self.facts, self.memory, self.tries());
        values.or_else(rows).filter(|listing| listing.unexplained.is_empty())
    }

    fn tries(&self) -> usize {
        self.statements().filter(|observation| observation.error_code() == "invalid").count()
    }

    fn list(&self, topic: &[String]) -> Next {
        let Some(listing) = rows::read(&self.exchange.question, self.facts, self.memory, self.tries()) else {
            return self.compute();
        };
        let unread = self.facts.table(&listing.table).is_some_and(|table| table.columns.is_empty());
        let mut needs = if unread { vec![Need::Columns(listing.table.clone())] } else { Vec::new() };
        needs.extend(listing.unread.clone().map(|metric| Need::Details(EntityKind::Metric, metric)));
        let mut calls = lookup::meeting(&needs, &self.tools, self.facts);
        if !calls.is_empty() {
            calls.extend(lookup::said_of_tables(&self.tools, self.facts));
            return Next::Call(calls);
        }
        if !listing.unexplained.is_empty() {
            let calls = lookup::last(&self.tools, self.facts, &listing.unexplained, topic);
            if !calls.is_empty() {
                return Next::Call(calls);
            }
            return Next::Conclude(self.nothing_on(&listing.unexplained, topic));
        }
        self.list_rows(&listing, topic)
    }

    fn list_rows(&self, listing: &Listing, topic: &[String]) -> Next {
        let Some(query) = listing.query(self.facts) else {
            return Next::Conclude(self.nothing_on(topic, topic));
        };
        let results = match self.run(&[query], &listing.entities) {
            Ok(results) => results,
            Err(next) => return next,
        };
        let count = |result: &Value| result.get("rows").and_then(Value::as_array).map_or(0, Vec::len);
        let rows = results.first().map_or(0, |result| count(result));
        let cut = results
            .first()
            .and_then(|result| result.get("truncated"))
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let noun = if rows == 1 { "row" } else { "rows" };
        let all = if cut { "the first " } else { "" };
        Next::Conclude(Conclusion {
            answered: true,
            text: format!(
                "Here are {all}{rows} {noun} of {}, with {}.",
                listing.table,
                listing.columns.join(", ").replace('_', " ")
            ),
            entities: if self.tools.catalog() { listing.entities.clone() } else { Vec::new() },
            searched: Vec::new(),
            headline: Value::Null,
        })
    }
}

/// One answer from several readings.
fn combined(readings: &[Reading], results: &[&Value], facts: &Facts) -> Conclusion {
    let mut left = results;
    let mut whole: Option<Conclusion> = None;
    for reading in readings {
        let (own, rest) = left.split_at(reading.parts.len().min(left.len()));
        left = rest;
        let next = answer::figures(reading, own, facts);
        whole = Some(match whole {
            None => next,
            Some(mut before) => {
                before.text = format!("{} {}", before.text, next.text);
                before.headline = Value::Null;
                let fresh: Vec<String> =
                    next.entities.into_iter().filter(|entity| !before.entities.contains(entity)).collect();
                before.entities.extend(fresh);
                before
            }
        });
    }
    whole.unwrap_or_else(|| Conclusion::cannot("Nothing was asked for.", Vec::new()))
}
