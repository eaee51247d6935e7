//! Tool servers that know nothing of this service's conventions.

use std::rc::Rc;

use ask_core::ticket::Terminal;
use ask_llm::Message;
use serde_json::{Map, Value, json};

use crate::world::{World, concludes, queries, task};

const SQL: &str = "SELECT team, COUNT(*) AS n FROM tickets GROUP BY team";

/// Answers as the SQLite server of the protocol's reference collection does: what Python prints, and failures in prose.
fn plain(tool: &str, args: &Map<String, Value>) -> Value {
    match tool {
        "run_query" if args["sql"] == SQL => json!("[{'team': 'Billing', 'n': 3}, {'team': None, 'n': 1}]"),
        "run_query" => json!("Database error: no such table: x"),
        _ => json!("[]"),
    }
}

fn world(turns: Vec<crate::world::Says>) -> World {
    World::with_tools(turns, Rc::new(|tool: &str, args: &Map<String, Value>| Ok(plain(tool, args))))
}

#[tokio::test(start_paused = true)]
async fn records_in_text_are_the_answers_rows_and_nothing_is_made_up() {
    let world = world(vec![queries(SQL), concludes("Billing.", &[])]);
    let Terminal::Answer(answer) = world.ends(task("Which team?")).await else { panic!("no answer") };
    let result = answer.result.unwrap();
    assert_eq!(result.columns, ["team", "n"]);
    assert_eq!(result.rows, [vec![json!("Billing"), json!(3)], vec![json!(null), json!(1)]]);
    assert_eq!(answer.sql, [SQL], "as it was sent");
    assert!(answer.tables.is_empty() && answer.sources.is_empty(), "the server named none");
}

#[tokio::test(start_paused = true)]
async fn a_failure_in_prose_is_no_result_to_rest_an_answer_on() {
    let failed = world(vec![queries("SELECT 1 FROM x"), concludes("There are 7.", &[])]);
    assert!(matches!(failed.ends(task("How many?")).await, Terminal::Abstention(_)));
    let step = failed.steps().into_iter().find(|step| step.tool == "warehouse__run_query").unwrap();
    assert!(step.is_error);

    let corrected = world(vec![queries("SELECT 1 FROM x"), queries(SQL), concludes("Billing.", &[])]);
    let Terminal::Answer(answer) = corrected.ends(task("Which team?")).await else { panic!("no answer") };
    assert_eq!(answer.sql, [SQL], "only statements that ran");
    let sent = corrected.sent.borrow();
    let Some(Message::Results(results)) = sent[1].messages.last() else { panic!("no results") };
    assert!(results[0].is_error && results[0].text.contains("no such table"));
}
