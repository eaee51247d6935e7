//! The turn of a question that asks for rows.

use serde_json::{Value, json};

use super::{
    answer::{Conclusion, plain},
    entity::EntityKind,
    lookup,
    reading::Need,
    rows::{self, Listing},
    turn::{Next, Turn},
};
use crate::model::dialogue::Call;

impl Turn<'_> {
    /// A list as understood; a column that nothing shows is only guessed after all look-ups at the table.
    pub(super) fn understood(&self) -> Option<Listing> {
        let text = &self.exchange.question;
        let listing = rows::read(text, self.facts, self.memory, None)?;
        if listing.unexplained.is_empty() || !self.looks(&listing).is_empty() {
            return Some(listing);
        }
        let tries = self.statements().filter(|observation| observation.error_code() == "invalid").count();
        rows::read(text, self.facts, self.memory, Some(tries))
    }

    /// What is still to be looked up for a list.
    fn looks(&self, listing: &Listing) -> Vec<Call> {
        let unread = self.facts.table(&listing.table).is_some_and(|table| table.columns.is_empty());
        let mut needs = if unread { vec![Need::Columns(listing.table.clone())] } else { Vec::new() };
        needs.extend(listing.unread.clone().map(|metric| Need::Details(EntityKind::Metric, metric)));
        let mut calls = lookup::meeting(&needs, &self.tools, self.facts);
        if !listing.unexplained.is_empty() {
            for call in lookup::said_around(&self.tools, self.facts, &listing.table) {
                if !calls.contains(&call) {
                    calls.push(call);
                }
            }
        }
        calls
    }

    pub(super) fn list(&self, topic: &[String]) -> Next {
        let Some(listing) = self.understood() else {
            return self.compute();
        };
        let calls = self.looks(&listing);
        if !calls.is_empty() {
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

    pub(super) fn list_rows(&self, listing: &Listing, topic: &[String]) -> Next {
        let Some(query) = listing.query(self.facts) else {
            return Next::Conclude(self.nothing_on(topic, topic));
        };
        let results = match self.run(&[query], &listing.entities) {
            Ok(results) => results,
            Err(next) => return *next,
        };
        Next::Conclude(told(listing, results.first().copied().unwrap_or(&Value::Null), self.tools.catalog()))
    }
}

/// What is said of the rows; one value alone is the headline.
fn told(listing: &Listing, result: &Value, catalog: bool) -> Conclusion {
    let rows = result.get("rows").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let cut = result.get("truncated").and_then(Value::as_bool).unwrap_or(false);
    let columns = listing.columns.join(", ").replace('_', " ");
    let single = match (rows, listing.columns.as_slice()) {
        ([row], [_]) => row.get(0).filter(|value| !value.is_null()),
        _ => None,
    };
    let about: Vec<String> = listing.filters.iter().flat_map(|filter| filter.values.clone()).collect();
    let about = if about.is_empty() { String::new() } else { format!(" for {}", about.join(", ")) };
    let table = &listing.table;
    let (text, headline) = match (single, rows.len()) {
        (Some(value), _) => (
            format!("The {columns}{about} is {}.", plain(value)),
            json!({"value": value, "unit": null, "label": format!("{columns}{about}")}),
        ),
        (None, 0) => (format!("No row of {table} matches{about}."), Value::Null),
        (None, 1) => (format!("Here is the one row of {table}{about}, with {columns}."), Value::Null),
        (None, count) => {
            let first = if cut { "the first " } else { "" };
            (format!("Here are {first}{count} rows of {table}{about}, with {columns}."), Value::Null)
        }
    };
    Conclusion {
        answered: true,
        text,
        entities: if catalog { listing.entities.clone() } else { Vec::new() },
        searched: Vec::new(),
        headline,
    }
}
