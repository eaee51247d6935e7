//! The things that facts are about: sources, tables, columns and catalog entities.

/// A source that can be queried.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) description: String,
}

/// A column of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The declared type, in upper case.
    pub(crate) kind: String,
    pub(crate) description: String,
    /// The catalog marks it as personal data.
    pub(crate) personal: bool,
    /// The values that its description lists.
    pub(crate) values: Vec<String>,
}

impl Column {
    /// Whether it holds text.
    pub(crate) fn is_text(&self) -> bool {
        ["TEXT", "VARCHAR", "CHAR", "STRING"].iter().any(|kind| self.kind.starts_with(kind))
    }

    /// Whether it holds days or moments.
    pub(crate) fn is_time(&self) -> bool {
        self.kind.starts_with("DATE") || self.kind.starts_with("TIMESTAMP")
    }

    /// Whether it identifies something.
    pub(crate) fn is_id(&self) -> bool {
        self.name == "id" || self.name.ends_with("_id")
    }

    /// Whether it holds amounts: numbers that are neither marks nor flags.
    pub(crate) fn is_amount(&self) -> bool {
        let flag = self.name.starts_with("is_") || self.name.starts_with("has_");
        !self.is_text() && !self.is_time() && !self.is_id() && !flag
    }

    /// Whether it holds a span of time, going by its name.
    pub(crate) fn is_duration(&self) -> bool {
        const UNITS: [&str; 7] = ["minutes", "hours", "seconds", "days", "duration", "mins", "secs"];
        self.is_amount() && UNITS.iter().any(|unit| self.name.ends_with(unit))
    }
}

/// A table of a source.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) source: String,
    /// With its schema, as queries name it.
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
}

impl Table {
    /// The name without its schema.
    pub(crate) fn short(&self) -> &str {
        self.name.rsplit_once('.').map_or(self.name.as_str(), |(_, short)| short)
    }

    /// The column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// The kinds of catalog entity that are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntityKind {
    Term,
    Metric,
    Table,
}

impl EntityKind {
    /// As the catalog's tools write it.
    pub(crate) fn written(self) -> &'static str {
        match self {
            Self::Term => "glossaryTerm",
            Self::Metric => "metric",
            Self::Table => "table",
        }
    }
}

/// An entity of the catalog.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entity {
    pub(crate) kind: EntityKind,
    pub(crate) fqn: String,
    pub(crate) display: String,
    pub(crate) description: String,
    pub(crate) synonyms: Vec<String>,
    pub(crate) related: Vec<String>,
    pub(crate) assets: Vec<String>,
    pub(crate) formula: Option<String>,
    pub(crate) unit: Option<String>,
    pub(crate) deprecated: bool,
    /// Its details were read, not only a search hit.
    pub(crate) detailed: bool,
}
