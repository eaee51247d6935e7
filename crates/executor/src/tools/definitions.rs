//! What the tools are called and how they are described to a model.

use serde_json::{Map, Value, json};

/// Which of the two servers offers a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// The sources.
    Warehouse,
    /// What they mean.
    Catalog,
}

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Lists the sources.
    ListSources,
    /// Lists the tables.
    ListTables,
    /// Lists a table's columns.
    DescribeTable,
    /// Runs a statement.
    RunQuery,
    /// Searches the catalog.
    SearchMetadata,
    /// Reads one entity of the catalog.
    GetEntityDetails,
}

/// A tool as it is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The tool.
    pub tool: Tool,
    /// Its title for people.
    pub title: &'static str,
    /// What it does and how to use it well, for a model.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
}

impl Tool {
    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ListSources => "list_sources",
            Self::ListTables => "list_tables",
            Self::DescribeTable => "describe_table",
            Self::RunQuery => "run_query",
            Self::SearchMetadata => "search_metadata",
            Self::GetEntityDetails => "get_entity_details",
        }
    }
}

impl Server {
    /// The tools that it offers.
    pub fn tools(self) -> &'static [Tool] {
        match self {
            Self::Warehouse => &[Tool::ListSources, Tool::ListTables, Tool::DescribeTable, Tool::RunQuery],
            Self::Catalog => &[Tool::SearchMetadata, Tool::GetEntityDetails],
        }
    }

    /// The tool of this name, if it offers it.
    pub fn find(self, name: &str) -> Option<Tool> {
        self.tools().iter().copied().find(|tool| tool.name() == name)
    }

    /// How to use the tools together.
    pub fn instructions(self) -> &'static str {
        match self {
            Self::Warehouse => {
                "Read-only SQL over the sources that the caller may use. Columns have no meanings here: take definitions \
                 and formulas from the catalog. A result says which statement ran on which tables. An error has a code: \
                 invalid may be corrected and tried again; access, guard and rate_limit are refusals and must not be \
                 worked around."
            }
            Self::Catalog => {
                "What the data means: glossary terms, metrics with their formulas, tables with their columns, and caveats. \
                 Search first, then read the details of what fits, and use its formula and columns as they are given."
            }
        }
    }
}

impl Definition {
    /// The definition of a tool.
    pub fn of(tool: Tool) -> Self {
        let (title, description, properties, required) = match tool {
            Tool::ListSources => (
                "List sources",
                "Lists the data sources that you may query, each with its name, kind, SQL dialect and a short description. \
                 Takes no arguments.",
                json!({}),
                json!([]),
            ),
            Tool::ListTables => (
                "List tables",
                "Lists the tables of all sources that you may query, or of one of them. Each name is fully qualified \
                 (schema.table), as it must be written in SQL. rowCount is the number of rows at this moment.",
                json!({"source": {"type": "string", "description": "Only the tables of this source, by its name from list_sources."}}),
                json!([]),
            ),
            Tool::DescribeTable => (
                "Describe table",
                "Lists the columns of one table with their types. It says nothing about what they mean: that is in the \
                 catalog.",
                json!({
                    "table": {"type": "string", "minLength": 1, "description": "The table, fully qualified: schema.table."},
                    "source": {"type": "string", "description": "The source that the table belongs to. Not needed when the table is fully qualified."}
                }),
                json!(["table"]),
            ),
            Tool::RunQuery => (
                "Run query",
                "Runs one read-only SELECT statement (SQLite dialect) on one source and returns its rows. Write every table \
                 as schema.table. WITH, joins, subqueries, set operations and window functions work; besides SQLite's own \
                 functions there are date_trunc(unit, ts), date_part(unit, ts), date_diff(unit, from, to), median(x), \
                 percentile_cont(x, fraction), stddev(x), greatest, least, left, right and split_part. Dates are ISO texts; \
                 there is no INTERVAL: write date(x, '-7 days'). Aggregate in SQL instead of fetching many rows: results are \
                 cut at a ceiling and then say truncated. Nothing that changes data, and no more than one statement, is \
                 allowed.",
                json!({
                    "sql": {"type": "string", "minLength": 1, "description": "The statement."},
                    "source": {"type": "string", "description": "The source to run it on. Not needed: the tables tell."},
                    "maxRows": {"type": "integer", "minimum": 1, "description": "The most rows to return; the executor's own ceiling holds as well."}
                }),
                json!(["sql"]),
            ),
            Tool::SearchMetadata => (
                "Search the catalog",
                "Searches the catalog by words for glossary terms, metrics and tables: by their names, synonyms, \
                 descriptions and columns, the best match first. Use it before writing SQL, to learn what a word in the \
                 question means and which metric, table and column it stands for. No results mean that the catalog does not \
                 know the word.",
                json!({
                    "query": {"type": "string", "minLength": 1, "description": "The words to look for, such as the business terms of the question."},
                    "entityType": {"type": "string", "enum": ["glossaryTerm", "metric", "table"], "description": "Only entities of this type."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "The most results to return."}
                }),
                json!(["query"]),
            ),
            Tool::GetEntityDetails => (
                "Read a catalog entity",
                "Returns all that the catalog says about one entity found by search_metadata: for a glossary term its \
                 definition, synonyms, related terms and the columns it stands for; for a metric its formula, unit and \
                 columns; for a table its columns with their meanings. extension.caveats are warnings that an answer which \
                 rests on the entity must repeat.",
                json!({
                    "entityType": {"type": "string", "enum": ["glossaryTerm", "metric", "table"], "description": "The entity's type."},
                    "fqn": {"type": "string", "minLength": 1, "description": "The entity's fullyQualifiedName."}
                }),
                json!(["entityType", "fqn"]),
            ),
        };
        let mut input_schema = Map::new();
        input_schema.insert("type".to_owned(), json!("object"));
        input_schema.insert("properties".to_owned(), properties);
        input_schema.insert("required".to_owned(), required);
        input_schema.insert("additionalProperties".to_owned(), json!(false));
        Self { tool, title, description, input_schema }
    }
}
