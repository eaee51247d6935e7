//! The turn of a question that asks for figures.

use serde_json::Value;

use super::{
    answer::{self, Conclusion},
    facts::Facts,
    lookup,
    memory::Memory,
    phrases,
    read::read,
    reading::{Need, Reading},
    rows::{self, Listing},
    sql::query,
    turn::{Next, Turn},
    words::stems,
};
use crate::model::dialogue::Call;

/// A question cut where a second one starts: "how many tickets are there and what was net revenue".
pub(super) fn parts_of(text: &str, facts: &Facts, memory: Option<&Memory>, catalog: bool) -> Vec<Reading> {
    let mut readings: Vec<Reading> = Vec::new();
    let mut before = memory.cloned();
    for clause in clauses(text) {
        let reading = read(&clause, facts, before.as_ref(), catalog);
        before = Some(Memory { subject: before.and_then(|memory| memory.subject), reading: reading.clone() });
        readings.push(reading);
    }
    share_period(&mut readings);
    readings
}

/// A period that only one clause names is meant for all of them.
fn share_period(readings: &mut [Reading]) {
    let mut named = readings.iter().filter(|reading| reading.period.is_some());
    let (Some(only), None) = (named.next().cloned(), named.next()) else {
        return;
    };
    for reading in readings {
        let timed = reading.parts.iter().all(|part| part.time_column.is_some());
        if reading.period.is_none() && timed {
            reading.period.clone_from(&only.period);
            reading.fiscal_term.clone_from(&only.fiscal_term);
        }
    }
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

impl Turn<'_> {
    pub(super) fn compute(&self) -> Next {
        let text = &self.exchange.question;
        let readings = parts_of(text, self.facts, self.memory, self.tools.catalog());
        let needs: Vec<Need> = readings.iter().flat_map(|reading| reading.needs.clone()).collect();
        let mut calls = lookup::meeting(&needs, &self.tools, self.facts);
        if !calls.is_empty() {
            if readings.iter().any(Reading::is_partial) {
                // In the same turn, since the words left over may be values, and other tables may be needed.
                calls.extend(self.said_around(&readings));
            }
            return Next::Call(calls);
        }
        if let Some(listing) = self.listing_instead(&readings) {
            return self.list_rows(&listing, &[]);
        }
        let topic: Vec<String> = readings.iter().flat_map(|reading| reading.topic.clone()).collect();
        let mut words: Vec<String> =
            readings.iter().flat_map(|reading| reading.unexplained.clone()).collect();
        let nothing = readings.iter().any(Reading::is_empty);
        if nothing {
            // Without anything to compute all words are left over: those that the catalog never uses tell most.
            words = phrases::strange(&topic, self.facts);
        }
        if nothing && words.is_empty() {
            words.clone_from(&topic);
        }
        if nothing || !words.is_empty() {
            let mut calls = lookup::last(&self.tools, self.facts, &words, &topic);
            calls.extend(self.said_around(&readings));
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
            Err(next) => *next,
        }
    }

    /// What the catalog has to say of the tables that the readings are about.
    fn said_around(&self, readings: &[Reading]) -> Vec<Call> {
        let mut tables: Vec<String> = Vec::new();
        for reading in readings {
            let measures = reading.parts.iter().flat_map(|part| &part.measures);
            tables.extend(measures.map(|measure| measure.table.clone()).filter(|table| !table.is_empty()));
            if tables.is_empty() && !reading.is_empty() {
                // Where it is computed is not known yet.
                tables.extend(phrases::mentioned(
                    stems(&reading.topic.join(" ")).into_iter().collect(),
                    self.facts,
                ));
            }
        }
        if tables.is_empty() && readings.iter().any(|reading| !reading.is_empty()) {
            tables.extend(self.facts.tables.iter().map(|table| table.name.clone()));
        }
        let mut calls: Vec<Call> = Vec::new();
        for call in tables.iter().flat_map(|table| lookup::said_around(&self.tools, self.facts, table)) {
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
        calls
    }

    /// Some questions ask for rows, though they do not say so: "Which regions are there?", "Show the SLA targets",
    /// "What is the status of ticket 50123?".
    fn listing_instead(&self, readings: &[Reading]) -> Option<Listing> {
        let [reading] = readings else {
            return None;
        };
        if !reading.cues.is_plain() {
            return None;
        }
        if !reading.is_empty() {
            let part = reading.parts.first().filter(|part| part.group.is_none())?;
            let explained = part.measures.iter().map(|measure| measure.covered.len()).sum::<usize>();
            let single = part.filters.iter().any(|filter| filter.numeric);
            let listing = self.understood().filter(|listing| listing.unexplained.is_empty())?;
            let better = listing.named > explained || (single && listing.chosen);
            return better.then_some(listing);
        }
        let phrase = reading.phrase.as_ref();
        let values = phrase.and_then(|phrase| rows::values_of(phrase, self.facts));
        let values = values.filter(|_| reading.unexplained.is_empty());
        values.or_else(|| self.understood()).filter(|listing| listing.unexplained.is_empty())
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
