//! The turn of a question that asks for rows.

use serde_json::Value;

use super::{
    answer::Conclusion,
    facts::EntityKind,
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
