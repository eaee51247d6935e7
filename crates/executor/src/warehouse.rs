//! The sources as they are: schemas, tables and columns, without regard to who asks.

use std::path::PathBuf;

use crate::refusal::Refusal;

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name as declared.
    pub name: String,
    /// Its declared type, empty when none was declared.
    pub data_type: String,
    /// Whether it may hold NULL.
    pub nullable: bool,
}

/// One table or view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name as declared, without the schema.
    pub name: String,
    /// Its columns in their declared order.
    pub columns: Vec<Column>,
}

/// One source: a database file, reached under its own schema name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The name that callers use.
    pub name: String,
    /// The kind of engine, such as `sqlite`.
    pub kind: String,
    /// One sentence for people and models.
    pub description: String,
    /// The schema name that qualifies its tables.
    pub schema: String,
    /// The database file.
    pub path: PathBuf,
    /// Its tables and views, sorted by name.
    pub tables: Vec<Table>,
}

/// Points at one table of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId {
    source: usize,
    table: usize,
}

/// All sources of this executor, read once at the start.
///
/// Names are compared without regard to ASCII case, as SQLite does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Warehouse {
    sources: Vec<Source>,
}

impl Warehouse {
    /// Makes a warehouse of these sources.
    pub fn new(sources: Vec<Source>) -> Self {
        Self { sources }
    }

    /// All sources, in the configured order.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The source of this name.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.name.eq_ignore_ascii_case(name))
    }

    /// The source whose schema has this name.
    pub fn source_of_schema(&self, schema: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.schema.eq_ignore_ascii_case(schema))
    }

    /// The table `schema.table`.
    pub fn find(&self, schema: &str, table: &str) -> Option<TableId> {
        self.ids().find(|id| {
            self.source_of(*id).is_some_and(|source| source.schema.eq_ignore_ascii_case(schema))
                && self.table(*id).is_some_and(|found| found.name.eq_ignore_ascii_case(table))
        })
    }

    /// All tables of this name, whatever their schema.
    pub fn find_unqualified(&self, table: &str) -> Vec<TableId> {
        self.ids()
            .filter(|id| self.table(*id).is_some_and(|found| found.name.eq_ignore_ascii_case(table)))
            .collect()
    }

    /// The table behind an id of this warehouse.
    pub fn table(&self, id: TableId) -> Option<&Table> {
        self.sources.get(id.source)?.tables.get(id.table)
    }

    /// The source that holds a table.
    pub fn source_of(&self, id: TableId) -> Option<&Source> {
        self.sources.get(id.source)
    }

    /// The table's name as callers write it: `schema.table`.
    pub fn qualified(&self, id: TableId) -> String {
        match (self.source_of(id), self.table(id)) {
            (Some(source), Some(table)) => format!("{}.{}", source.schema, table.name),
            _ => String::new(),
        }
    }

    /// Finds a table by what a caller wrote, `schema.table` or, where that is unique, `table`.
    ///
    /// # Errors
    ///
    /// `invalid` with the names that would have worked.
    pub fn resolve(&self, written: &str) -> Result<TableId, Refusal> {
        let found = match written.split_once('.') {
            Some((schema, table)) => self.find(schema, table).into_iter().collect(),
            None => self.find_unqualified(written),
        };
        match found.as_slice() {
            [id] => Ok(*id),
            [] => Err(Refusal::invalid(format!("there is no table {written:?}; list_tables lists them"))),
            several => Err(Refusal::invalid(format!(
                "several tables are called {written:?}: {}; write the one that is meant",
                several.iter().map(|id| self.qualified(*id)).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// All tables of a source.
    pub fn tables_of<'a>(&'a self, source: &'a Source) -> impl Iterator<Item = TableId> + 'a {
        self.ids().filter(|id| self.source_of(*id).is_some_and(|of| of.name == source.name))
    }

    fn ids(&self) -> impl Iterator<Item = TableId> {
        self.sources
            .iter()
            .enumerate()
            .flat_map(|(source, of)| (0..of.tables.len()).map(move |table| TableId { source, table }))
    }
}
