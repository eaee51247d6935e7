//! What one table is asked: its group, its filters, its column of time.

use super::{
    dimension::{self, Dimension},
    facts::Facts,
    filters::take_filters,
    phrases::{names_of_table, source_stems},
    question::Question,
    reading::{Group, Need, Part, Reading},
    words::{Word, stems},
};

/// Finds group, filters and time column of a part.
pub(crate) fn complete(part: &mut Part, reading: &mut Reading, question: &mut Question, facts: &Facts) {
    let table = part.measures.first().and_then(|measure| facts.table(&measure.table));
    let Some(primary) = table else {
        return;
    };
    if primary.columns.is_empty() {
        reading.needs.push(Need::Columns(primary.name.clone()));
        return;
    }
    if let Some(phrase) = reading.phrase.clone() {
        if let Some(dimension) = dimension::resolve(&phrase, primary, facts) {
            part.group = Some(Group::Column(dimension));
        } else {
            reading.unexplained.extend(phrase.iter().cloned());
            reading.needs.extend(unread_tables(facts, &primary.source));
        }
    } else if let Some(grain) = reading.cues.grain {
        part.group = Some(Group::Time(grain));
    }
    if let Some(second) = reading.second.clone() {
        if let Some(dimension) = dimension::resolve(&second, primary, facts) {
            part.second = Some(dimension);
        } else {
            reading.unexplained.extend(second.iter().cloned());
            reading.needs.extend(dimension::needs_of(&second, facts));
            reading.needs.extend(unread_tables(facts, &primary.source));
        }
    }
    part.filters.extend(take_filters(question, primary, facts));
    if part.group.is_none()
        && let Some(filter) = part.filters.iter().find(|filter| filter.values.len() > 1)
    {
        // Several values of one column are there to be compared.
        part.group = Some(Group::Column(Dimension {
            table: filter.table.clone(),
            column: filter.column.clone(),
            key: None,
            label: filter.column.replace('_', " "),
            listed: true,
        }));
    }
    part.time_column = time_column(part, reading, question, facts);
    let timed = reading.period.is_some() || matches!(part.group, Some(Group::Time(_)));
    if timed && part.time_column.is_none() {
        reading.unexplained.push("period".to_owned());
    }
}

/// The tables of a source whose columns are not known.
pub(crate) fn unread_tables(facts: &Facts, source: &str) -> Vec<Need> {
    facts
        .tables
        .iter()
        .filter(|table| table.source == source && table.columns.is_empty())
        .map(|table| Need::Columns(table.name.clone()))
        .collect()
}

/// The column of days or moments that a period is about: the one whose verb was used, the one that the catalog
/// ties to the fiscal year, else the first.
fn time_column(part: &Part, reading: &Reading, question: &Question, facts: &Facts) -> Option<String> {
    let measure = part.measures.first()?;
    let primary = facts.table(&measure.table)?;
    let times = || primary.columns.iter().filter(|column| column.is_time());
    let verb = |name: &str| name.split('_').next().is_some_and(|verb| question.find(verb).is_some());
    if let Some(column) = times().find(|column| verb(&column.name)) {
        return Some(column.name.clone());
    }
    let fiscal = reading.fiscal_term.as_ref().and_then(|term| facts.named(term));
    let tied = fiscal.and_then(|term| {
        let mut assets = term.assets.iter().filter_map(|asset| facts.asset(asset));
        assets.find(|(table, _)| table.name == primary.name)
    });
    tied.map(|(_, column)| column).or_else(|| times().next()).map(|column| column.name.clone())
}

/// The words that are neither of the question's own making nor in anything that the parts rest on.
pub(crate) fn unexplained(question: &Question, reading: &Reading, facts: &Facts) -> Vec<String> {
    let mut known: Vec<String> = source_stems(facts).into_iter().collect();
    for part in &reading.parts {
        for measure in &part.measures {
            known.extend(measure.entities.iter().filter_map(|fqn| facts.named(fqn)).flat_map(|entity| {
                let names = entity.synonyms.iter().flat_map(|name| stems(name));
                names.chain(stems(&entity.display)).chain(stems(&entity.description))
            }));
            if let Some(table) = facts.table(&measure.table) {
                known.extend(names_of_table(table, facts).into_iter().flatten());
                known.extend(facts.entry_of(table).into_iter().flat_map(|entity| stems(&entity.description)));
                known.extend(table.columns.iter().flat_map(|column| stems(&column.name)));
            }
        }
        if let Some(Group::Column(dimension)) = &part.group {
            known.extend(stems(&dimension.label));
            known.extend(stems(&dimension.column));
            known.extend(facts.table(&dimension.table).into_iter().flat_map(|table| stems(table.short())));
        }
        for filter in &part.filters {
            known.extend(stems(&filter.column));
            known.extend(
                facts
                    .table(&filter.table)
                    .into_iter()
                    .flat_map(|table| names_of_table(table, facts).into_iter().flatten()),
            );
        }
    }
    let units = ["minute", "hour", "percent", "euro", "eur", "unit"];
    let is_known = |word: &Word| known.contains(&word.stem) || units.contains(&word.stem.as_str());
    let mut left = reading.unexplained.clone();
    left.extend(question.unexplained(is_known));
    left
}
