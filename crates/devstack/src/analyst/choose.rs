//! Which measures a question wants.

use super::{
    dimension,
    facts::Facts,
    measure::{Measure, measures},
    part::unread_tables,
    phrases::Wanted,
    question::Question,
    reading::Reading,
};

/// Most measures in one question.
const MOST: usize = 4;

/// The measures to compute for the stems `said`: the best fit, and others that explain further words wholly.
pub(crate) fn choose(
    question: &Question,
    said: Vec<String>,
    facts: &Facts,
    reading: &Reading,
    catalog: bool,
) -> Vec<Measure> {
    let mut wanted = Wanted::new(said, &reading.cues);
    let reaches = |measure: &Measure| {
        let Some((phrase, table)) = reading.phrase.as_ref().zip(facts.table(&measure.table)) else {
            return true;
        };
        dimension::resolve(phrase, table, facts).is_some() || !unread_tables(facts, &table.source).is_empty()
    };
    let several = question.has_any("and|versus|vs|with|against|compared");
    let mut chosen: Vec<Measure> = Vec::new();
    loop {
        let found = measures(facts, &wanted, &reading.cues, catalog);
        let next = found
            .iter()
            .find(|measure| reaches(measure))
            .or_else(|| found.first().filter(|_| chosen.is_empty()));
        let Some(next) = next.cloned() else {
            return chosen;
        };
        let further = next.whole && !chosen.iter().any(|known| known.formula == next.formula);
        let wanted_too = chosen.is_empty() || (several && further);
        if !wanted_too {
            return chosen;
        }
        wanted.said.retain(|stem| !next.covered.contains(stem));
        let last = next.covered.is_empty() || chosen.len() + 1 >= MOST;
        chosen.push(next);
        if last {
            return chosen;
        }
    }
}
