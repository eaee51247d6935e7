//! Gathers, from what tools really answered, the facts that decide the ending.

use std::collections::BTreeMap;

use ask_contract::ResultTable;
use ask_core::outcome::{Entity, EntityKind, RunFacts, Statement};
use serde_json::{Map, Value};

use crate::ports::ToolServerKind;

/// Arguments by which tools take a statement.
const STATEMENT_ARGUMENTS: [&str; 3] = ["sql", "statement", "query"];

/// What tools and listings call a table's name, the one of our own executor first.
pub(crate) const TABLE_ARGUMENTS: &[&str] = &["table", "table_name", "tableName", "name"];

/// Words in a tag that make it a caveat.
const CAUTIONS: [&str; 9] = [
    "deprecated",
    "disputed",
    "draft",
    "caveat",
    "caution",
    "warning",
    "experimental",
    "unverified",
    "outdated",
];

/// The facts of a run as they come in.
#[derive(Debug, Default)]
pub(crate) struct FactBook {
    /// What the outcome will be decided from.
    pub(crate) facts: RunFacts,
    /// Tables by name, with the source that has each.
    tables: BTreeMap<String, Option<String>>,
    /// What catalog entities say they are about.
    subjects: Vec<Subject>,
    /// Entities that were read in full and not only as a hit of a search.
    read_in_full: Vec<String>,
}

/// What a catalog entity is about.
#[derive(Debug)]
struct Subject {
    term: String,
    is_metric: bool,
    /// Qualified as the catalog does.
    assets: Vec<String>,
}

impl Subject {
    /// The bare names of the columns, in lower case.
    fn columns(&self) -> impl Iterator<Item = String> {
        self.assets.iter().filter_map(|asset| asset.rsplit('.').next()).map(str::to_lowercase)
    }
}

impl FactBook {
    /// Notes a look-up of catalog words, whatever comes of it.
    pub(crate) fn note_search(&mut self, args: &Map<String, Value>) {
        let words = args.get("query").or_else(|| args.get("q")).and_then(Value::as_str);
        if let Some(words) = words.map(str::trim).filter(|words| !words.is_empty()) {
            self.facts.searched_terms.push(words.to_owned());
        }
    }

    /// Notes what a tool answered without error.
    pub(crate) fn note_reply(
        &mut self,
        kind: ToolServerKind,
        tool: &str,
        args: &Map<String, Value>,
        reply: Option<&Value>,
        records: Option<&ResultTable>,
    ) {
        match kind {
            ToolServerKind::Catalog => {
                if let Some(reply) = reply {
                    self.note_entities(reply);
                }
            }
            ToolServerKind::Source => {
                if let Some(mut statement) = statement_that_ran(tool, args, reply) {
                    statement.result = statement.result.or_else(|| records.cloned());
                    self.facts.statements.push(statement);
                } else if let (true, Some(records)) = (tool == "list_tables", records) {
                    self.note_table_records(records);
                } else if let Some(reply) = reply {
                    self.note_tables(reply);
                }
            }
        }
    }

    /// The tables known so far, with the source of each where it is known.
    pub(crate) const fn tables(&self) -> &BTreeMap<String, Option<String>> {
        &self.tables
    }

    /// The source that a statement is about, judged by the tables it names.
    pub(crate) fn source_of(&self, sql: &str) -> Option<String> {
        let sql = sql.to_lowercase();
        self.tables
            .iter()
            .find(|(table, _)| sql.contains(&table.to_lowercase()))
            .and_then(|(_, source)| source.clone())
    }

    /// What a statement is about, in the catalog's words: of the entities all of whose columns it names, a metric before
    /// a term, and the one with the most columns.
    pub(crate) fn subject_of(&self, sql: &str) -> Option<String> {
        let sql = sql.to_lowercase();
        let named = |subject: &&Subject| subject.columns().all(|column| sql.contains(&column));
        let by_weight = |subject: &&Subject| (subject.is_metric, subject.assets.len());
        // The last of equals would win, and the first is what the question's words found first.
        self.subjects.iter().rev().filter(named).max_by_key(by_weight).map(|subject| subject.term.clone())
    }

    /// The catalog's name of a table whose entry was not read in full yet; `None` when it was.
    pub(crate) fn unread_table(&self, table: &str) -> Option<String> {
        let entries = self.facts.entities.iter().filter(|entity| entity.kind == EntityKind::Table);
        let known = entries.map(|entity| &entity.fqn).find(|fqn| ends_in(fqn, table));
        match known {
            Some(fqn) if self.read_in_full.contains(fqn) => None,
            Some(fqn) => Some(fqn.clone()),
            None => Some(table.to_owned()),
        }
    }

    /// The tables that hold what the entities read so far are about, in the order in which they were read.
    pub(crate) fn tables_of_assets(&self) -> Vec<&String> {
        let assets = self.subjects.iter().flat_map(|subject| &subject.assets);
        let mut tables: Vec<&String> = Vec::new();
        for asset in assets {
            for table in self.tables.keys().filter(|table| is_within(asset, table)) {
                if !tables.contains(&table) {
                    tables.push(table);
                }
            }
        }
        tables
    }

    /// The catalog's name for people of an entity that was read.
    pub(crate) fn term_of(&self, fqn: &str) -> Option<&str> {
        self.facts.entities.iter().find(|entity| entity.fqn == fqn).map(|entity| entity.term.as_str())
    }

    fn note_entities(&mut self, reply: &Value) {
        let hits = reply.get("results").or_else(|| reply.get("hits")).and_then(Value::as_array);
        let found: Vec<&Value> = hits.map_or_else(|| vec![reply], |hits| hits.iter().collect());
        for value in found {
            let Some(entity) = read_entity(value) else { continue };
            if hits.is_none() {
                self.read_in_full.push(entity.fqn.clone());
            }
            self.note_subject(value, &entity);
            match self.facts.entities.iter_mut().find(|known| known.fqn == entity.fqn) {
                // Details say more than a hit; a later hit must not hide them.
                Some(known)
                    if entity.caveats.is_empty() && entity.statement.len() <= known.statement.len() => {}
                Some(known) => *known = entity,
                None => self.facts.entities.push(entity),
            }
        }
    }

    fn note_subject(&mut self, value: &Value, entity: &Entity) {
        let listed = value.get("assets").and_then(Value::as_array).into_iter().flatten();
        let assets: Vec<String> = listed.filter_map(Value::as_str).map(str::to_owned).collect();
        if !assets.is_empty() && entity.kind != EntityKind::Table {
            let is_metric = entity.kind == EntityKind::Metric;
            self.subjects.push(Subject { term: entity.term.clone(), is_metric, assets });
        }
    }

    /// Tables of a listing that is rows: of the column that names them, else of the only one.
    fn note_table_records(&mut self, records: &ResultTable) {
        let named = |name: &&str| records.columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        let only = (records.columns.len() == 1).then_some(0);
        let Some(at) = TABLE_ARGUMENTS.iter().find_map(named).or(only) else { return };
        for name in records.rows.iter().filter_map(|row| row.get(at)).filter_map(Value::as_str) {
            self.tables.entry(name.to_owned()).or_insert(None);
        }
    }

    fn note_tables(&mut self, reply: &Value) {
        for table in reply.get("tables").and_then(Value::as_array).into_iter().flatten() {
            let name = table.as_str().or_else(|| table.get("name").and_then(Value::as_str));
            let source = table.get("source").or_else(|| reply.get("source")).and_then(Value::as_str);
            if let Some(name) = name {
                self.tables.entry(name.to_owned()).or_insert_with(|| source.map(str::to_owned));
            }
        }
    }
}

/// Whether a qualified name ends in a table's name, which may have fewer parts.
pub(crate) fn ends_in(fqn: &str, table: &str) -> bool {
    let (fqn, table) = (fqn.to_lowercase(), table.to_lowercase());
    fqn == table || fqn.strip_suffix(&table).is_some_and(|before| before.ends_with('.'))
}

/// Whether a column's or a table's qualified name is that of a table or of something in it.
fn is_within(asset: &str, table: &str) -> bool {
    let (asset, table) = (asset.to_lowercase(), table.to_lowercase());
    let rest = asset.split_once(&table);
    rest.is_some_and(|(before, after)| {
        (before.is_empty() || before.ends_with('.')) && (after.is_empty() || after.starts_with('.'))
    })
}

/// Whether a call of a source's tool runs a statement, judged by what is sent.
pub(crate) fn sends_statement<'a>(tool: &str, args: &'a Map<String, Value>) -> Option<&'a str> {
    let named = STATEMENT_ARGUMENTS.iter().find_map(|name| args.get(*name)).and_then(Value::as_str);
    named.filter(|_| {
        tool == "run_query" || tool.contains("query") || tool.contains("sql") || args.contains_key("sql")
    })
}

fn statement_that_ran(tool: &str, args: &Map<String, Value>, reply: Option<&Value>) -> Option<Statement> {
    let sent = sends_statement(tool, args)?;
    let text =
        |name: &str| reply.and_then(|reply| reply.get(name)).and_then(Value::as_str).map(str::to_owned);
    let names = |name: &str| {
        let listed = reply.and_then(|reply| reply.get(name)).and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let rows = reply.and_then(|reply| reply.get("rows")).and_then(Value::as_array).map(|rows| {
        rows.iter()
            .map(|row| row.as_array().cloned().unwrap_or_else(|| vec![row.clone()]))
            .collect::<Vec<_>>()
    });
    let truncated = reply.and_then(|reply| reply.get("truncated")).and_then(Value::as_bool).unwrap_or(false);
    Some(Statement {
        source: text("source").or_else(|| args.get("source").and_then(Value::as_str).map(str::to_owned)),
        sql: text("sql").or_else(|| Some(sent.to_owned())),
        tables: names("tables"),
        result: rows.map(|rows| ResultTable { columns: names("columns"), rows, truncated }),
    })
}

fn read_entity(value: &Value) -> Option<Entity> {
    let text =
        |name: &str| value.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let fqn = text("fullyQualifiedName")?.to_owned();
    let kind = match text("entityType")? {
        "glossaryTerm" => EntityKind::GlossaryTerm,
        "metric" => EntityKind::Metric,
        "table" => EntityKind::Table,
        _ => return None,
    };
    let term = text("displayName").or_else(|| text("name")).unwrap_or(&fqn).to_owned();
    let mut statement = text("description").unwrap_or_default().to_owned();
    let formula =
        value.get("metricExpression").and_then(|formula| formula.get("code")).and_then(Value::as_str);
    if let Some(formula) = formula.filter(|_| kind == EntityKind::Metric) {
        statement.push_str(if statement.is_empty() { "Formula: " } else { " Formula: " });
        statement.push_str(formula);
        if let Some(unit) = text("unitOfMeasurement") {
            statement.push_str(" (");
            statement.push_str(unit);
            statement.push(')');
        }
    }
    let caveats = caveats(value, &term);
    Some(Entity { fqn, kind, term, statement, caveats })
}

/// What the catalog raises about an entity: its notes, and tags that say to be careful.
fn caveats(value: &Value, term: &str) -> Vec<String> {
    let mut caveats = Vec::new();
    for name in ["caveats", "caveat", "notes", "note"] {
        let noted =
            value.get("extension").and_then(|extension| extension.get(name)).or_else(|| value.get(name));
        match noted {
            Some(Value::String(text)) => caveats.push(text.clone()),
            Some(Value::Array(texts)) => {
                caveats.extend(texts.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {}
        }
    }
    for tag in value.get("tags").and_then(Value::as_array).into_iter().flatten() {
        let name = tag.as_str().or_else(|| tag.get("tagFQN").and_then(Value::as_str)).unwrap_or_default();
        if CAUTIONS.iter().any(|caution| name.to_lowercase().contains(caution)) {
            let said = tag.get("description").and_then(Value::as_str).filter(|said| !said.trim().is_empty());
            caveats.push(format!(
                "{term} is tagged {name}{}",
                said.map(|said| format!(": {said}")).unwrap_or_default()
            ));
        }
    }
    caveats.retain(|caveat| !caveat.trim().is_empty());
    caveats
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_statement_is_noted_as_the_executor_reports_it() {
        let mut book = FactBook::default();
        let reply = json!({"source": "support", "sql": "SELECT 1 LIMIT 500", "tables": ["support.tickets"],
            "columns": ["n"], "rows": [[1]], "truncated": true, "ms": 3});
        book.note_reply(
            ToolServerKind::Source,
            "run_query",
            &args(&json!({"sql": "select 1"})),
            Some(&reply),
            None,
        );
        let statement = &book.facts.statements[0];
        assert_eq!(statement.sql.as_deref(), Some("SELECT 1 LIMIT 500"));
        assert_eq!(statement.source.as_deref(), Some("support"));
        assert!(statement.result.as_ref().unwrap().truncated);
    }

    #[test]
    fn look_ups_are_no_statements() {
        let mut book = FactBook::default();
        let reply = json!({"tables": [{"source": "support", "name": "support.tickets"}], "ms": 1});
        book.note_reply(ToolServerKind::Source, "list_tables", &Map::new(), Some(&reply), None);
        assert!(book.facts.statements.is_empty());
        assert_eq!(book.source_of("SELECT count(*) FROM SUPPORT.Tickets").as_deref(), Some("support"));
    }

    #[test]
    fn entities_keep_the_fullest_reading_and_its_caveats() {
        let mut book = FactBook::default();
        let hit = json!({"entityType": "metric", "fullyQualifiedName": "net_revenue", "name": "net_revenue",
            "displayName": "Net Revenue", "description": "What is left."});
        let details = json!({"entityType": "metric", "fullyQualifiedName": "net_revenue", "name": "net_revenue",
            "displayName": "Net Revenue", "description": "What is left.", "unitOfMeasurement": "EUR",
            "metricExpression": {"language": "SQL", "code": "SUM(x)"}, "assets": ["sales.fct_sales.net_amount"],
            "tags": [{"tagFQN": "Certification.Disputed", "description": "Two readings."}, {"tagFQN": "Tier.1"}],
            "extension": {"caveats": ["Half a year only."]}});
        for reply in [json!({"results": [hit.clone()]}), details, json!({"results": [hit]})] {
            book.note_reply(ToolServerKind::Catalog, "any", &Map::new(), Some(&reply), None);
        }
        let [entity] = book.facts.entities.as_slice() else { panic!("one entity") };
        assert_eq!(entity.statement, "What is left. Formula: SUM(x) (EUR)");
        assert_eq!(
            entity.caveats,
            ["Half a year only.", "Net Revenue is tagged Certification.Disputed: Two readings."]
        );
        assert_eq!(
            book.subject_of("SELECT SUM(net_amount) FROM sales.fct_sales").as_deref(),
            Some("Net Revenue")
        );
    }
}
