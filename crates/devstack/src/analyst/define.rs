//! The turn of a question that asks what something means.

use serde_json::Value;

use super::{
    answer::Conclusion,
    definition,
    entity::EntityKind,
    lookup,
    question::Question,
    reading::Need,
    turn::{Next, Turn},
};

impl Turn<'_> {
    pub(super) fn define(&self, question: &Question, topic: &[String]) -> Next {
        if !self.tools.catalog() {
            let text = "Without the catalog there is no definition to go by.";
            return Next::Conclude(Conclusion::cannot(text, Vec::new()));
        }
        let mut found = definition::asked_for(question, self.facts, self.memory);
        if found.is_empty() {
            let calls = lookup::last(&self.tools, self.facts, topic, topic);
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
}
