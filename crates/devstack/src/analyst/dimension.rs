//! What a question wants figures to be grouped by or picked from.

use std::collections::BTreeSet;

use super::{
    cues::Cues,
    entity::{Column, Entity, EntityKind, Table},
    facts::Facts,
    joins::{key_to, label_of, reachable},
    phrases::{names_of, names_of_table, source_stems},
    question::{Question, Role},
    reading::Need,
    words::{stem, stems},
};

/// A column to group by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) table: String,
    pub(crate) column: String,
    /// Two rows of the same name stay apart by this column of the same table.
    pub(crate) key: Option<String>,
    /// As people call it.
    pub(crate) label: String,
    /// It has only the few values that the catalog lists.
    pub(crate) listed: bool,
}

/// The words that name a dimension, as stems.
pub(crate) type Phrase = BTreeSet<String>;

enum Target<'facts> {
    Column(&'facts Table, &'facts Column),
    Rows(&'facts Table),
    /// A term of which no column is known yet.
    Unread(&'facts Entity),
}

/// Everything that can be grouped by, with its names; what terms name comes first.
fn targets(facts: &Facts) -> Vec<(Vec<Vec<String>>, Target<'_>)> {
    let groups = |column: &Column| !column.is_amount() && !column.is_time() && !column.personal;
    let mut found = Vec::new();
    for term in facts.of_kind(EntityKind::Term) {
        let columns = term.assets.iter().filter_map(|asset| facts.asset(asset));
        if columns.clone().next().is_none() && (!term.detailed || !term.assets.is_empty()) {
            found.push((names_of(term, facts), Target::Unread(term)));
        }
        for (table, column) in columns.filter(|(_, column)| groups(column)) {
            // A term that only speaks of some values of a column does not name the column.
            let partial = column.name == "status" && !stems(&term.display).contains(&stem("status"));
            if !partial {
                found.push((names_of(term, facts), Target::Column(table, column)));
            }
        }
    }
    for table in facts.tables.iter().filter(|table| !facts.is_deprecated(table)) {
        found.push((names_of_table(table, facts), Target::Rows(table)));
    }
    for table in &facts.tables {
        for column in table.columns.iter().filter(|column| groups(column)) {
            found.push((vec![stems(&column.name)], Target::Column(table, column)));
        }
    }
    found
}

/// Where the words that name the dimension start, by the word that announces it.
fn windows(question: &Question, cues: &Cues) -> Vec<(usize, bool)> {
    let mut starts = Vec::new();
    let places = 0..question.words.len();
    for at in places.clone() {
        if ["which", "whose", "what"].contains(&question.lower(at)) {
            starts.push((at + 1, false));
        }
    }
    if !["most", "fewest", "highest", "lowest", "more", "less", "least", "fewer", "longest", "shortest", ""]
        .contains(&cues.end_word.as_str())
        && let Some(at) = question.find(&cues.end_word)
    {
        let numbered = usize::from(cues.top.is_some() && question.role(at + 1) == Some(Role::Cue));
        starts.push((at + 1 + numbered, false));
    }
    for at in places.clone() {
        if question.lower(at) == "with" && cues.end.is_some() {
            // "the team with the most tickets": what is picked from stands before.
            let back =
                (1..=2).filter(|back| at.checked_sub(*back).is_some_and(|at| question.role(at).is_none()));
            if let Some(back) = back.max() {
                starts.push((at - back, false));
            }
        }
    }
    for at in places {
        if ["by", "per", "each", "every", "across"].contains(&question.lower(at)) {
            starts.push((at + 1, true));
        }
    }
    starts
}

/// The free words in a row from `start` on, past words such as `of our`.
fn row_of_words(question: &Question, start: usize) -> Vec<usize> {
    let skipped = ["of", "our", "the", "each", "every", "all", "its", "their"];
    let first = (start..start + 3).find(|at| !skipped.contains(&question.lower(*at)));
    let places = first.unwrap_or(start)..question.words.len();
    places.take_while(|at| question.role(*at).is_none()).take(4).collect()
}

/// Takes the words that name the dimension out of a question, and those of a second one: "by region and segment".
pub(crate) fn take_phrases(question: &mut Question, facts: &Facts, cues: &Cues) -> Vec<Phrase> {
    let targets = targets(facts);
    for (start, grouping) in windows(question, cues) {
        let Some((phrase, end)) = take_at(question, facts, &targets, start, grouping) else {
            continue;
        };
        let mut phrases = vec![phrase];
        if grouping && question.lower(end) == "and" {
            phrases.extend(take_at(question, facts, &targets, end + 1, true).map(|(phrase, _)| phrase));
        }
        return phrases;
    }
    Vec::new()
}

/// Takes the longest name of a dimension from the words from `start` on; tells where it ended.
fn take_at(
    question: &mut Question,
    facts: &Facts,
    targets: &[(Vec<Vec<String>>, Target<'_>)],
    start: usize,
    grouping: bool,
) -> Option<(Phrase, usize)> {
    let sources = source_stems(facts);
    let places = row_of_words(question, start);
    let stem_at = |at: &usize| question.words.get(*at).map(|word| word.stem.clone());
    let row: Vec<String> = places.iter().filter_map(stem_at).collect();
    let leading: Vec<&String> = row.iter().filter(|stem| !sources.contains(*stem)).take(2).collect();
    if grouping && row.first().is_some_and(|first| is_value(first, facts)) {
        return None;
    }
    let first =
        |name: &[String]| name.iter().filter_map(|stem| row.iter().position(|said| said == stem)).min();
    let mut chosen: Option<&Vec<String>> = None;
    for (name, target) in
        targets.iter().flat_map(|(names, target)| names.iter().map(move |name| (name, target)))
    {
        let unread = matches!(target, Target::Unread(_));
        let said = name.iter().all(|stem| row.contains(stem));
        let leads = name.iter().any(|stem| leading.first() == Some(&stem))
            || (!grouping && !unread && name.iter().any(|stem| leading.contains(&stem)));
        let longer = chosen.is_none_or(|chosen| {
            name.len() > chosen.len() || (name.len() == chosen.len() && first(name) < first(chosen))
        });
        if said && leads && longer {
            chosen = Some(name);
        }
    }
    let phrase: Phrase = chosen?.iter().cloned().collect();
    let mut end = start;
    for at in places {
        if question.words.get(at).is_some_and(|word| phrase.contains(&word.stem)) {
            question.mark(at..at + 1, Role::Dimension);
            end = at + 1;
        }
    }
    Some((phrase, end))
}

fn is_value(stem_said: &str, facts: &Facts) -> bool {
    let columns = facts.tables.iter().flat_map(|table| &table.columns);
    columns.flat_map(|column| &column.values).any(|value| stem(&value.to_lowercase()) == stem_said)
}

/// What must be read before it is known which column a phrase names.
pub(crate) fn needs_of(phrase: &Phrase, facts: &Facts) -> Vec<Need> {
    let mut needs = Vec::new();
    for (names, target) in targets(facts) {
        let named = names.iter().any(|name| name.iter().all(|stem| phrase.contains(stem)));
        if let Target::Unread(term) = target
            && named
        {
            needs.push(Need::Details(EntityKind::Term, term.fqn.clone()));
            let tables = term.assets.iter().filter_map(|asset| asset.rsplit_once('.'));
            needs.extend(tables.map(|(table, _)| Need::Columns(table.to_owned())));
        }
    }
    needs
}

/// The column that a phrase names, as seen from the rows of `primary`.
pub(crate) fn resolve(phrase: &Phrase, primary: &Table, facts: &Facts) -> Option<Dimension> {
    let targets = targets(facts);
    let named: Vec<&Target<'_>> = targets
        .iter()
        .filter(|(names, _)| {
            names
                .iter()
                .any(|name| name.len() == phrase.len() && name.iter().all(|stem| phrase.contains(stem)))
        })
        .map(|(_, target)| target)
        .collect();
    for table in reachable(facts, primary) {
        for target in &named {
            match target {
                Target::Column(owner, column) if owner.name == table.name => {
                    return Some(of_column(primary, table, column, facts));
                }
                Target::Rows(rows) if rows.name == table.name => {
                    return of_rows(table);
                }
                Target::Column(..) | Target::Rows(_) | Target::Unread(_) => {}
            }
        }
    }
    None
}

fn of_column(primary: &Table, table: &Table, column: &Column, facts: &Facts) -> Dimension {
    if column.is_id() {
        // A number says nothing to people: show the name of what it points to.
        let owner = reachable(facts, primary)
            .into_iter()
            .find(|owner| owner.columns.first().is_some_and(|key| key.name == column.name));
        if let Some(dimension) = owner.and_then(of_rows) {
            return dimension;
        }
    }
    Dimension {
        table: table.name.clone(),
        column: column.name.clone(),
        key: None,
        label: column.name.trim_end_matches("_name").replace('_', " "),
        listed: !column.values.is_empty() || key_to(primary, table).is_none() && column.is_text(),
    }
}

fn of_rows(table: &Table) -> Option<Dimension> {
    let key = table.columns.first()?;
    let label = label_of(table);
    Some(Dimension {
        table: table.name.clone(),
        column: label.unwrap_or(key).name.clone(),
        key: label.map(|_| key.name.clone()).filter(|key| key.ends_with("_id")),
        label: key.name.trim_end_matches("_id").replace('_', " "),
        listed: false,
    })
}
