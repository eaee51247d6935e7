//! The data tell the story, and catalog and access rules describe them as they are.

use std::{collections::BTreeSet, path::Path};

use rusqlite::Connection;
use serde_json::Value;

use super::{catalog, executor_config, write};

/// A folder of its own for one test, removed when the test is over.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("ask-sample-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn open(dir: &Path) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    for source in ["support", "sales"] {
        let path = dir.join(format!("{source}.db"));
        connection.execute(&format!("ATTACH ? AS {source}"), [path.to_str().unwrap()]).unwrap();
    }
    connection
}

fn ranking(connection: &Connection, column: &str) -> Vec<String> {
    let sql = format!("SELECT team FROM support.tickets GROUP BY team ORDER BY AVG({column})");
    let mut statement = connection.prepare(&sql).unwrap();
    let teams = statement.query_map([], |row| row.get(0)).unwrap();
    teams.map(Result::unwrap).collect()
}

fn number(connection: &Connection, sql: &str) -> f64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn the_definition_decides_which_team_is_fastest() {
    let folder = Folder::new("story");
    let dir = folder.0.join("data");
    write(&dir).unwrap();
    let connection = open(&dir);
    let naive = ranking(&connection, "elapsed_minutes");
    assert_eq!(naive.first().unwrap(), "Frontline");
    assert_eq!(naive.last().unwrap(), "Billing");
    let prescribed = ranking(&connection, "resolution_minutes");
    assert_eq!(prescribed.first().unwrap(), "Billing");
    // The lead is clear in every fiscal year, not an accident of the total.
    for year in 2024..=2026 {
        let column = format!(
            "CASE WHEN opened_at >= '{year}-04-01' AND opened_at < '{}-04-01' THEN resolution_minutes END",
            year + 1
        );
        assert_eq!(ranking(&connection, &column).first().unwrap(), "Billing", "{year}");
    }
}

#[test]
fn figures_of_the_tables_agree_with_each_other() {
    let folder = Folder::new("agree");
    let dir = folder.0.join("data");
    write(&dir).unwrap();
    let connection = open(&dir);
    for (sql, wrong) in [
        (
            "SELECT COUNT(*) FROM support.tickets \
             WHERE elapsed_minutes <> resolution_minutes + waiting_on_customer_minutes",
            "elapsed is not the sum",
        ),
        (
            "SELECT COUNT(*) FROM support.tickets JOIN support.sla USING (priority) \
             WHERE sla_breached <> (resolution_minutes > resolution_target_minutes)",
            "breach does not follow the target",
        ),
        (
            "SELECT COUNT(*) FROM support.tickets JOIN support.agents USING (agent_id) \
             WHERE tickets.team <> agents.team",
            "agent of another team",
        ),
        (
            "SELECT COUNT(*) FROM support.tickets WHERE (status = 'resolved') <> (resolved_at IS NOT NULL)",
            "resolved without a moment",
        ),
        (
            "SELECT COUNT(*) FROM sales.fct_sales \
             WHERE gross_amount - discount_amount - return_amount - tax_amount < -0.001",
            "negative net revenue",
        ),
        (
            "SELECT COUNT(*) FROM support.customers c JOIN sales.dim_customer d USING (customer_id) \
             WHERE c.company <> d.customer_name OR c.region <> d.region",
            "sources know a customer differently",
        ),
        (
            "SELECT COUNT(*) FROM support.tickets WHERE opened_at < '2024-06-01' \
             AND resolution_minutes IS NOT NULL",
            "migrated ticket with a resolution time",
        ),
    ] {
        assert!(number(&connection, sql).abs() < 0.5, "{wrong}");
    }
    for table in [
        "support.tickets",
        "support.agents",
        "support.customers",
        "support.sla",
        "sales.fct_sales",
        "sales.dim_product",
        "sales.dim_customer",
        "sales.fct_revenue_summary",
    ] {
        assert!(number(&connection, &format!("SELECT COUNT(*) FROM {table}")) > 3.0);
    }
    let open = "SELECT COUNT(*) FROM support.tickets WHERE status IN ('open', 'pending')";
    let share = number(&connection, open);
    assert!((40.0..200.0).contains(&share), "{share}");
    let fiscal = "FROM sales.fct_sales WHERE sold_on >= '2025-04-01' AND sold_on < '2026-04-01'";
    let right = number(
        &connection,
        &format!("SELECT SUM(gross_amount - discount_amount - return_amount - tax_amount) {fiscal}"),
    );
    let without_returns_and_tax =
        number(&connection, &format!("SELECT SUM(gross_amount - discount_amount) {fiscal}"));
    assert!(right * 1.1 < without_returns_and_tax);
}

#[test]
fn the_same_files_come_out_every_time_and_are_kept() {
    let folder = Folder::new("same");
    let (one, two) = (folder.0.join("one"), folder.0.join("two"));
    assert!(write(&one).unwrap());
    assert!(write(&two).unwrap());
    for name in super::FILES {
        let same = std::fs::read(one.join(name)).unwrap() == std::fs::read(two.join(name)).unwrap();
        assert!(same, "{name}");
    }
    assert!(!write(&one).unwrap());
    assert!(executor_config(&one).is_file());
}

#[test]
fn files_of_another_version_are_replaced_and_strange_files_stay() {
    let folder = Folder::new("stale");
    let dir = folder.0.join("data");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("version"), "0-old\n").unwrap();
    std::fs::write(dir.join("catalog.json"), "{}").unwrap();
    std::fs::write(dir.join("notes.txt"), "mine").unwrap();
    assert!(write(&dir).unwrap());
    assert_eq!(std::fs::read_to_string(dir.join("catalog.json")).unwrap(), catalog());
    assert_eq!(std::fs::read_to_string(dir.join("notes.txt")).unwrap(), "mine");
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary folder stays behind");
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().unwrap().iter();
    items.map(|item| item.as_str().unwrap().to_owned()).collect()
}

#[test]
fn catalog_and_access_rules_describe_the_tables_as_they_are() {
    let folder = Folder::new("catalog");
    let dir = folder.0.join("data");
    write(&dir).unwrap();
    let connection = open(&dir);
    let parsed: Value = serde_json::from_str(catalog()).unwrap();
    let entities = parsed["entities"].as_array().unwrap();
    let names: BTreeSet<&str> =
        entities.iter().map(|entity| entity["fullyQualifiedName"].as_str().unwrap()).collect();
    assert_eq!(names.len(), entities.len(), "a name is used twice");
    let mut columns = BTreeSet::new();
    let mut listed: Vec<(String, BTreeSet<String>)> = Vec::new();
    for table in entities.iter().filter(|entity| entity["entityType"] == "table") {
        let name = table["fullyQualifiedName"].as_str().unwrap();
        let (schema, short) = name.split_once('.').unwrap();
        let sql = format!("SELECT name, type FROM pragma_table_info('{short}', '{schema}')");
        let mut statement = connection.prepare(&sql).unwrap();
        let real: Vec<(String, String)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let told: Vec<(String, String)> = table["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| {
                let said = column["description"].as_str().unwrap();
                assert!(!said.is_empty());
                if said.contains(" or ") {
                    let list = said.rsplit(": ").next().unwrap().trim_end_matches('.');
                    let values = list.replace(" or ", ", ").split(", ").map(ToOwned::to_owned).collect();
                    listed.push((format!("{name}.{}", column["name"].as_str().unwrap()), values));
                }
                let text = |key: &str| column[key].as_str().unwrap().to_owned();
                (text("name"), text("dataType"))
            })
            .collect();
        assert_eq!(told, real, "{name}");
        columns.extend(real.into_iter().map(|(column, _)| format!("{name}.{column}")));
    }
    for entity in entities {
        let name = entity["fullyQualifiedName"].as_str().unwrap();
        if entity["entityType"] != "table" {
            for asset in strings(&entity["assets"]) {
                assert!(columns.contains(&asset), "{name}: {asset}");
            }
            for term in strings(&entity["relatedTerms"]) {
                assert!(names.contains(term.as_str()), "{name}: {term}");
            }
        }
        if let Some(code) = entity["metricExpression"]["code"].as_str() {
            let parts: Vec<&str> = entity["assets"][0].as_str().unwrap().split('.').collect();
            let sql = format!("SELECT {code} FROM {}.{}", parts[0], parts[1]);
            assert!(number(&connection, &sql) > 0.0, "{name}");
        }
    }
    for (column, listed) in listed {
        let (table, column) = column.rsplit_once('.').unwrap();
        let sql = format!("SELECT DISTINCT {column} FROM {table} ORDER BY 1");
        let mut statement = connection.prepare(&sql).unwrap();
        let real: BTreeSet<String> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(listed, real, "{table}.{column}");
    }
    let access: Value = serde_json::from_str(super::ACCESS).unwrap();
    let withheld = &access["roles"]["analyst"]["sources"]["support"]["withheld"];
    let withheld = strings(withheld);
    assert!(withheld.contains(&"support.agents.email".to_owned()));
    assert!(withheld.iter().all(|column| columns.contains(column)));
}

#[test]
fn catalog_says_nothing_of_satisfaction() {
    let text = catalog().to_lowercase();
    for word in ["satisf", "csat", "nps", "promoter", "score", "survey", "happy"] {
        assert!(!text.contains(word), "{word}");
    }
}
