//! How the tables of a source hang together.

use super::{
    entity::{Column, Table},
    facts::Facts,
};

/// The key over which rows of one table find their one row in another.
///
/// A table's first column identifies its rows; a column of the same name elsewhere in the source points to it.
pub(crate) fn key_to<'facts>(from: &Table, to: &'facts Table) -> Option<&'facts str> {
    if from.source != to.source || from.name == to.name {
        return None;
    }
    let key = to.columns.first()?;
    from.column(&key.name)?;
    (!key.is_time()).then_some(key.name.as_str())
}

/// `primary` and the tables that its rows point to, nearest first.
pub(crate) fn reachable<'facts>(facts: &'facts Facts, primary: &'facts Table) -> Vec<&'facts Table> {
    let others =
        facts.tables.iter().filter(|table| key_to(primary, table).is_some() && !facts.is_deprecated(table));
    std::iter::once(primary).chain(others).collect()
}

/// The column by which people know the rows of a table: a name, or the text that comes right after the key.
pub(crate) fn label_of(table: &Table) -> Option<&Column> {
    let shown = |column: &&Column| column.is_text() && !column.personal && !column.is_id();
    let second = table.columns.get(1).filter(shown);
    second.or_else(|| {
        let named = |column: &&Column| column.name.ends_with("name") && shown(column);
        table.columns.iter().find(named)
    })
}
