//! The catalog: what a search finds first, what it leaves out, and what it hides.

use ask_executor::access::View;
use ask_executor::catalog::{Catalog, EntityType};
use ask_executor::refusal::Code;
use serde_json::{Value, json};

use crate::fixture::Bench;

fn term(fqn: &str, display: &str, description: &str, synonyms: &[&str], assets: &[&str]) -> Value {
    json!({
        "entityType": "glossaryTerm", "fullyQualifiedName": fqn, "name": fqn.rsplit('.').next(), "displayName": display,
        "description": description, "tags": [{"tagFQN": "Certification.Gold", "description": "Agreed."}],
        "synonyms": synonyms, "relatedTerms": [], "assets": assets, "extension": {"caveats": ["Since June."]}
    })
}

/// A few entities of each type.
pub(crate) fn sample() -> Value {
    json!({"entities": [
        term("Support.ResolutionTime", "Resolution Time", "Minutes a team took to resolve a ticket, without the wait for the customer.",
            &["time to resolve", "TTR", "how fast tickets are resolved"], &["support.tickets.resolution_minutes"]),
        term("Support.Ticket", "Ticket", "A request by a customer to the support desk.", &["case"], &["support.tickets"]),
        term("Support.SupportAgent", "Support Agent", "A person who works on tickets.", &["agent"], &["support.agents.name", "support.agents.email"]),
        term("Support.Backlog", "Backlog", "Tickets that nobody has resolved yet.", &["open tickets"], &["support.tickets.status"]),
        term("Sales.NetRevenue", "Net Revenue", "What is left of sales after discounts and returns.", &["revenue", "turnover"], &["sales.fct_sales.amount"]),
        term("Company.FiscalYear", "Fiscal Year", "Twelve months from 1 April.", &["FY", "financial year"], &[]),
        {
            "entityType": "metric", "fullyQualifiedName": "average_resolution_time", "name": "average_resolution_time",
            "displayName": "Average Resolution Time", "description": "Mean Resolution Time of resolved tickets.", "tags": [],
            "synonyms": ["mean time to resolve"], "metricExpression": {"language": "SQL", "code": "AVG(resolution_minutes)"},
            "unitOfMeasurement": "minutes", "metricType": "AVERAGE", "assets": ["support.tickets.resolution_minutes"]
        },
        {
            "entityType": "metric", "fullyQualifiedName": "net_revenue", "name": "net_revenue", "displayName": "Net Revenue",
            "description": "Sum of sales.", "tags": [], "synonyms": [], "metricExpression": {"language": "SQL", "code": "SUM(amount)"},
            "unitOfMeasurement": "EUR", "metricType": "SUM", "assets": ["sales.fct_sales.amount"]
        },
        {
            "entityType": "table", "fullyQualifiedName": "support.agents", "name": "agents", "displayName": "Support agents",
            "description": "One row an agent.", "tags": [], "synonyms": ["staff"], "dialect": "sqlite",
            "columns": [
                {"name": "id", "dataType": "INTEGER", "description": "Number.", "tags": []},
                {"name": "team", "dataType": "TEXT", "description": "The team of the agent.", "tags": []},
                {"name": "email", "dataType": "TEXT", "description": "Electronic mailbox of the agent.", "tags": [{"tagFQN": "PII.Sensitive", "description": "Personal."}]},
                {"name": "phone", "dataType": "TEXT", "description": "Extension of the agent.", "tags": []}
            ],
            "extension": {"caveats": []}
        },
        {
            "entityType": "table", "fullyQualifiedName": "support.tickets", "name": "tickets", "displayName": "Support tickets",
            "description": "One row a ticket.", "tags": [], "synonyms": [], "dialect": "sqlite",
            "columns": [{"name": "resolution_minutes", "dataType": "REAL", "description": "Resolution Time.", "tags": []}]
        },
        {
            "entityType": "table", "fullyQualifiedName": "sales.fct_sales", "name": "fct_sales", "displayName": "Sales facts",
            "description": "One row a sale.", "tags": [], "synonyms": [], "dialect": "sqlite",
            "columns": [{"name": "amount", "dataType": "REAL", "description": "Net amount.", "tags": []}]
        }
    ]})
}

fn found(bench: &Bench, role: &str, query: &str, only: Option<EntityType>) -> Vec<String> {
    let rights = bench.rights(&[role]);
    let view = View { warehouse: &bench.warehouse, rights: &rights };
    let catalog = Catalog::parse(&sample().to_string()).unwrap();
    let result = catalog.search(view, query, only, 50).unwrap();
    assert_eq!(result["totalFound"], result["results"].as_array().unwrap().len());
    result["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["fullyQualifiedName"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_best_match_comes_first() {
    let bench = Bench::new();
    for (query, first) in [
        ("Resolution Time", "Support.ResolutionTime"),
        ("resolution time", "Support.ResolutionTime"),
        ("What does Resolution Time mean?", "Support.ResolutionTime"),
        ("TTR", "Support.ResolutionTime"),
        ("average resolution time per team", "average_resolution_time"),
        ("Which support team resolves tickets fastest?", "Support.ResolutionTime"),
        ("How many support tickets are still open?", "Support.Backlog"),
        ("turnover", "Sales.NetRevenue"),
        ("support.agents", "support.agents"),
        ("staff", "support.agents"),
        ("cases", "Support.Ticket"),
    ] {
        let hits = found(&bench, "finance", query, None);
        assert!(hits.first().is_some_and(|hit| hit == first), "{query}: {hits:?}");
    }
    let hits = found(&bench, "finance", "What was net revenue in fiscal year 2025?", None);
    for named in ["Sales.NetRevenue", "net_revenue", "Company.FiscalYear"] {
        assert!(hits.iter().any(|hit| hit == named), "{named}: {hits:?}");
    }
}

#[test]
fn a_question_about_what_is_not_there_finds_little_or_nothing() {
    let bench = Bench::new();
    for query in [
        "What is our customer satisfaction score for support?",
        "churn prediction accuracy",
        "weather in Paris",
        "employee salaries by department",
        "how many",
    ] {
        let hits = found(&bench, "finance", query, None);
        assert!(hits.len() <= 1, "{query}: {hits:?}");
    }
}

#[test]
fn a_search_can_be_for_one_type() {
    let bench = Bench::new();
    assert_eq!(found(&bench, "finance", "net revenue", Some(EntityType::Metric)), ["net_revenue"]);
    assert_eq!(found(&bench, "finance", "agents", Some(EntityType::Table)), ["support.agents"]);
}

#[test]
fn searching_twice_finds_the_same_in_the_same_order() {
    let bench = Bench::new();
    let once = found(&bench, "finance", "support ticket resolution team", None);
    assert!(once.len() > 2);
    assert_eq!(once, found(&bench, "finance", "support ticket resolution team", None));
}

#[test]
fn withheld_columns_are_neither_shown_nor_found() {
    let bench = Bench::new();
    let catalog = Catalog::parse(&sample().to_string()).unwrap();
    let details = |role: &str, entity_type, fqn: &str| {
        let rights = bench.rights(&[role]);
        catalog.details(View { warehouse: &bench.warehouse, rights: &rights }, entity_type, fqn)
    };
    let shown = details("analyst", EntityType::Table, "support.agents").unwrap();
    let names: Vec<&str> =
        shown["columns"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["id", "team"]);
    assert_eq!(shown["note"], "columns withheld from you: 2");
    let whole = details("finance", EntityType::Table, "support.agents").unwrap();
    assert_eq!(whole["columns"].as_array().unwrap().len(), 4);
    assert!(whole.get("note").is_none());
    let term = details("analyst", EntityType::GlossaryTerm, "Support.SupportAgent").unwrap();
    assert_eq!(term["assets"], json!(["support.agents.name"]));
    assert!(found(&bench, "analyst", "electronic mailbox", None).is_empty());
    assert_eq!(found(&bench, "finance", "electronic mailbox", None), ["support.agents"]);
    assert_eq!(details("intern", EntityType::Table, "support.agents").unwrap_err().code, Code::Access);
    assert!(!found(&bench, "intern", "support agents", None).contains(&"support.agents".to_owned()));
}

#[test]
fn details_are_what_the_catalog_holds() {
    let bench = Bench::new();
    let rights = bench.rights(&["analyst"]);
    let catalog = Catalog::parse(&sample().to_string()).unwrap();
    let view = View { warehouse: &bench.warehouse, rights: &rights };
    let metric = catalog.details(view, EntityType::Metric, "Average_Resolution_Time").unwrap();
    assert_eq!(Value::Object(metric), sample()["entities"][6]);
    let wrong = catalog.details(view, EntityType::Metric, "Support.Ticket").unwrap_err();
    assert!(wrong.code == Code::Invalid && wrong.message.contains("glossaryTerm"), "{wrong}");
}

#[test]
fn a_mistaken_catalog_is_refused_with_its_place() {
    for (text, says) in [
        ("{}", "form"),
        (
            r#"{"entities": [{"entityType": "dashboard", "fullyQualifiedName": "x", "name": "x"}]}"#,
            "entity 0",
        ),
        (
            r#"{"entities": [{"entityType": "table", "fullyQualifiedName": "x", "name": "x"}, {"entityType": "table", "fullyQualifiedName": "X", "name": "x"}]}"#,
            "two entities",
        ),
    ] {
        assert!(Catalog::parse(text).unwrap_err().to_string().contains(says), "{text}");
    }
}
