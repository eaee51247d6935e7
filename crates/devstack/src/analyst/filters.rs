//! Which rows a question is about.

use std::ops::Range;

use super::{
    entity::{Column, EntityKind, Table},
    facts::Facts,
    joins::{label_of, reachable},
    phrases::{names_of_table, source_stems},
    question::{Question, Role},
    values::listed_values,
    words::{stem, words},
};

/// A condition: the column has one of the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) table: String,
    pub(crate) column: String,
    pub(crate) values: Vec<String>,
    /// The values are numbers and stand without quotes.
    pub(crate) numeric: bool,
}

/// Takes the values out of a question that columns in reach of `primary` can have.
pub(crate) fn take_filters(question: &mut Question, primary: &Table, facts: &Facts) -> Vec<Filter> {
    let mut filters: Vec<Filter> = Vec::new();
    let tables = reachable(facts, primary);
    if let Some(filter) = take_number(question, primary, facts) {
        filters.push(filter);
    }
    let mut listed: Vec<(&Table, &Column, String)> = Vec::new();
    for table in &tables {
        for column in table.columns.iter().filter(|column| column.is_text()) {
            listed.extend(values_of(table, column, facts).into_iter().map(|value| (*table, column, value)));
        }
    }
    // "Small Business" before "Small"; a column named in the question before another with the same value.
    listed.sort_by_key(|(_, column, value)| {
        let named = question.words.iter().any(|word| word.stem == stem(&column.name));
        (std::cmp::Reverse(words(value).len()), !named)
    });
    for (table, column, value) in listed {
        while let Some(range) = place_of(question, &value) {
            question.mark(range, Role::Value);
            add(&mut filters, table, column, value.clone());
        }
    }
    for table in &tables {
        if let Some((column, value)) = take_name_after(question, table, facts)
            && let Some(column) = table.column(&column)
        {
            add(&mut filters, table, column, value);
        }
    }
    for table in &tables {
        for column in table.columns.iter().filter(|column| column.is_text() && !column.personal) {
            if values_of(table, column, facts).is_empty()
                && let Some(value) = take_value_before(question, column, facts)
            {
                add(&mut filters, table, column, value);
            }
        }
    }
    filters
}

/// The values that the catalog lists for a column, in its own description or in that of a term about it.
fn values_of(table: &Table, column: &Column, facts: &Facts) -> Vec<String> {
    if !column.values.is_empty() {
        return column.values.clone();
    }
    let asset = format!("{}.{}", table.name, column.name);
    facts
        .of_kind(EntityKind::Term)
        .filter(|term| term.assets.iter().any(|known| known.ends_with(&asset)))
        .map(|term| listed_values(&term.description))
        .find(|values| !values.is_empty())
        .unwrap_or_default()
}

fn add(filters: &mut Vec<Filter>, table: &Table, column: &Column, value: String) {
    let same = filters.iter_mut().find(|filter| filter.table == table.name && filter.column == column.name);
    match same {
        Some(filter) if filter.values.contains(&value) => {}
        Some(filter) => filter.values.push(value),
        None => filters.push(Filter {
            table: table.name.clone(),
            column: column.name.clone(),
            values: vec![value],
            numeric: false,
        }),
    }
}

/// Where the words of a value stand in a row, none of them with another role.
fn place_of(question: &Question, value: &str) -> Option<Range<usize>> {
    let wanted: Vec<String> = words(value).into_iter().map(|word| word.stem).collect();
    (0..question.words.len()).map(|start| start..start + wanted.len()).find(|range| {
        range.clone().zip(&wanted).all(|(at, stem)| {
            question.role(at).is_none() && question.words.get(at).is_some_and(|word| word.stem == *stem)
        })
    })
}

/// `Billing team`, `high priority`: an unknown word right before the name of a column is a value of it.
fn take_value_before(question: &mut Question, column: &Column, facts: &Facts) -> Option<String> {
    let name = stem(&column.name);
    let at = (1..question.words.len()).find(|at| {
        let named = question.words.get(*at).is_some_and(|word| word.stem == name);
        let free = question.role(*at).is_none_or(|role| role == Role::Dimension);
        let before = question.role(at - 1).is_none();
        named && free && before && !question.words.get(at - 1).is_some_and(|word| is_place(&word.stem, facts))
    })?;
    let value = question.words.get(at - 1)?.raw.clone();
    question.mark(at - 1..at, Role::Value);
    question.mark(at..at + 1, Role::Place);
    Some(value)
}

/// `product Fell Monitor 27`, `agent Hugo Haddad`: unknown names after the word for rows are those of one of them.
fn take_name_after(question: &mut Question, table: &Table, facts: &Facts) -> Option<(String, String)> {
    let label = label_of(table)?;
    let names = names_of_table(table, facts);
    let is_rows = |at: usize| {
        let stem = question.words.get(at).map(|word| word.stem.clone()).unwrap_or_default();
        names.iter().any(|name| name.len() == 1 && name.contains(&stem))
    };
    let proper = |at: usize| {
        let written = question.words.get(at).map(|word| word.raw.as_str()).unwrap_or_default();
        let capital = written.chars().next().is_some_and(|sign| sign.is_uppercase() || sign.is_ascii_digit());
        capital && question.role(at).is_none()
    };
    let start = (1..question.words.len()).find(|at| is_rows(at - 1) && proper(*at))?;
    let end = (start..question.words.len()).find(|at| !proper(*at)).unwrap_or(question.words.len());
    let raw: Vec<String> = question.words.get(start..end)?.iter().map(|word| word.raw.clone()).collect();
    question.mark(start - 1..start, Role::Place);
    question.mark(start..end, Role::Value);
    Some((label.name.clone(), raw.join(" ")))
}

/// "support team" names the team of the support source, no team called support.
fn is_place(stem: &str, facts: &Facts) -> bool {
    let tables = facts.tables.iter().flat_map(|table| names_of_table(table, facts));
    source_stems(facts).contains(stem) || tables.flatten().any(|name| name == stem)
}

/// `ticket 50123`: a number after the name of a table's rows is their key.
fn take_number(question: &mut Question, primary: &Table, facts: &Facts) -> Option<Filter> {
    let key = primary.columns.first().filter(|key| key.is_id())?;
    let names = names_of_table(primary, facts);
    let at = (1..question.words.len()).find(|at| {
        let number = question.lower(*at).chars().all(|sign| sign.is_ascii_digit());
        let before = question.words.get(at - 1).map(|word| word.stem.clone()).unwrap_or_default();
        number && question.role(*at).is_none() && names.iter().any(|name| name.contains(&before))
    })?;
    let value = question.lower(at).to_owned();
    question.mark(at..at + 1, Role::Value);
    Some(Filter { table: primary.name.clone(), column: key.name.clone(), values: vec![value], numeric: true })
}
