//! One turn: what to do next for the newest question of a dialogue.

use serde_json::{Value, json};

use super::{
    answer::{Conclusion, plain},
    compute::parts_of,
    cues::take_cues,
    definition,
    exchange::{Exchange, Observation, exchanges},
    facts::Facts,
    kind::Kind,
    lookup::{self, Tools},
    memory::{Memory, subject},
    question::Question,
    read::topic,
    sql::Query,
};
use crate::model::dialogue::{Asked, Call, Reply};

/// A question that took this many turns gets no more look-ups.
const MOST_ROUNDS: usize = 8;

/// What comes next.
pub(super) enum Next {
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
            turn.conclude(&Conclusion::cannot("The tools that this needs are not on offer.", Vec::new()))
        }
        Next::Conclude(conclusion) => turn.conclude(&conclusion),
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

/// The newest question with all that is known for it.
pub(super) struct Turn<'dialogue> {
    pub(super) tools: Tools<'dialogue>,
    pub(super) facts: &'dialogue Facts,
    pub(super) exchange: &'dialogue Exchange,
    pub(super) memory: Option<&'dialogue Memory>,
}

impl Turn<'_> {
    pub(super) fn conclude(&self, conclusion: &Conclusion) -> Reply {
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
        if let Some(refused) = self.refused().or_else(|| self.closed()) {
            return Next::Conclude(refused);
        }
        let calls = lookup::first(&self.tools, self.facts, self.exchange, &topic);
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
        let text = format!("The source did not run the statement: {}", failed.message());
        Some(Conclusion::cannot(text, Vec::new()))
    }

    /// Nothing can be asked where no table is open to this person: more look-ups would only be refused again.
    fn closed(&self) -> Option<Conclusion> {
        let refusals = ["access", "guard", "rate_limit"];
        let refused = self
            .exchange
            .observations
            .iter()
            .find(|observation| observation.is_error && refusals.contains(&observation.error_code()))?;
        let open = self.exchange.observations.iter().any(|observation| !observation.is_error);
        let text = format!("The sources cannot be asked: {}", refused.message());
        (!open).then(|| Conclusion::cannot(text, Vec::new()))
    }

    pub(super) fn statements(&self) -> impl Iterator<Item = &Observation> {
        self.exchange.observations.iter().filter(|observation| observation.tool == "run_query")
    }

    pub(super) fn nothing_on(&self, words: &[String], topic: &[String]) -> Conclusion {
        if words.is_empty() {
            return Conclusion::cannot("Nothing in this asks for data.", Vec::new());
        }
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        if !self.tools.catalog() {
            let text = format!("No table or column is named by {}.", quoted.join(", "));
            return Conclusion::cannot(text, Vec::new());
        }
        let text =
            format!("The catalog defines nothing for {}, so there is no figure to give.", quoted.join(", "));
        Conclusion::cannot(text, lookup::searches(words, topic))
    }

    /// The results of statements, or what to do to get them.
    pub(super) fn run(&self, queries: &[Query], entities: &[String]) -> Result<Vec<&Value>, Box<Next>> {
        let mut calls = Vec::new();
        let mut results = Vec::new();
        for query in queries {
            match self.statements().find(|observation| observation.arg("sql") == query.sql) {
                Some(ran) if !ran.is_error => results.push(&ran.result),
                Some(failed) => {
                    let text = format!("The statement for this does not run: {}", failed.message());
                    return Err(Box::new(Next::Conclude(Conclusion::cannot(text, Vec::new()))));
                }
                None => calls
                    .extend(self.tools.call("run_query", json!({"sql": query.sql, "source": query.source}))),
            }
        }
        if results.len() == queries.len() {
            return Ok(results);
        }
        calls.extend(lookup::unread(entities, self.exchange, &self.tools, self.facts));
        Err(Box::new(Next::Call(calls)))
    }
}
