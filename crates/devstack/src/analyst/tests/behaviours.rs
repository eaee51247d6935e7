//! What the stack promises to show, question by question.

use serde_json::Value;

use super::desk::Desk;

const FASTEST: &str = "Which support team resolves tickets fastest?";

#[test]
fn the_fastest_team_is_the_one_by_the_prescribed_measure() {
    for mut desk in [Desk::new(), Desk::new().without_grounding()] {
        let ended = desk.ask(FASTEST);
        assert_eq!(ended.kind, "answer", "{ended:?}");
        assert_eq!(ended.headline["value"], "Billing");
        assert!(ended.entities.contains(&"Support.ResolutionTime".to_owned()));
        assert!(ended.entities.contains(&"average_resolution_time".to_owned()));
        assert!(ended.sql().contains("AVG(resolution_minutes)"), "{}", ended.sql());
        let figure = desk.plain("SELECT AVG(resolution_minutes) FROM support.tickets WHERE team = 'Billing'");
        assert!((ended.rows()[0][1].as_f64().unwrap() - figure).abs() < 0.01);
        assert_eq!(ended.rows().len(), 5);
        assert!(
            ended.text.contains("Billing") && ended.text.contains("waiting on the customer"),
            "{}",
            ended.text
        );
    }
}

#[test]
fn without_the_catalog_the_naive_reading_names_the_wrong_team() {
    for mut desk in [Desk::new().without_catalog(), Desk::new().without_catalog().without_grounding()] {
        let ended = desk.ask(FASTEST);
        assert_eq!(ended.headline["value"], "Frontline", "{ended:?}");
        assert!(ended.entities.is_empty());
        assert!(ended.sql().contains("elapsed_minutes"));
    }
}

#[test]
fn a_meaning_is_answered_from_the_catalog_alone() {
    let ended = Desk::new().ask("What does Resolution Time mean?");
    assert_eq!(ended.kind, "answer");
    assert_eq!(ended.entities, ["Support.ResolutionTime"]);
    assert!(ended.ran.is_empty());
    assert!(ended.text.contains("excluding the time spent waiting on the customer"));
    assert_eq!(ended.turns, 1);
}

#[test]
fn open_tickets_are_one_figure_by_the_catalogs_reading() {
    let mut desk = Desk::new();
    let ended = desk.ask("How many support tickets are still open?");
    let figure = desk.plain("SELECT COUNT(*) FROM support.tickets WHERE status IN ('open', 'pending')");
    assert!((ended.headline["value"].as_f64().unwrap() - figure).abs() < 0.1, "{ended:?}");
    assert_eq!(ended.rows().len(), 1);
    assert!(ended.entities.contains(&"Support.OpenTicket".to_owned()));
}

#[test]
fn net_revenue_of_a_fiscal_year_follows_formula_and_convention() {
    let mut desk = Desk::new();
    let ended = desk.ask("What was net revenue in fiscal year 2025?");
    let figure = desk.plain(
        "SELECT SUM(gross_amount - discount_amount - return_amount - tax_amount) FROM sales.fct_sales \
         WHERE sold_on BETWEEN '2025-04-01' AND '2026-03-31'",
    );
    assert!((ended.headline["value"].as_f64().unwrap() - figure).abs() < 0.01, "{ended:?}");
    assert_eq!(ended.headline["unit"], "EUR");
    for entity in ["Sales.NetRevenue", "net_revenue", "Company.FiscalYear"] {
        assert!(ended.entities.contains(&entity.to_owned()), "{entity}");
    }
    assert!(ended.text.contains("1 April 2025 to 31 March 2026"), "{}", ended.text);
}

#[test]
fn what_the_catalog_does_not_define_is_not_answered() {
    for mut desk in [Desk::new(), Desk::new().without_grounding()] {
        let ended = desk.ask("What is our customer satisfaction score for support?");
        assert_eq!(ended.kind, "cannot_answer", "{ended:?}");
        assert!(ended.ran.is_empty());
        assert!(ended.searched.iter().any(|term| term.contains("satisfaction")), "{:?}", ended.searched);
        assert!(ended.turns <= 4, "{}", ended.turns);
    }
    for question in [
        "What is our churn rate?",
        "What is the average salary of support agents?",
        "What was our profit margin in 2025?",
        "How many website visitors did we have last month?",
        "What is the NPS of the Billing team?",
        "Which team has the happiest customers?",
        "What is the median resolution time?",
        "How many employees do we have in marketing?",
    ] {
        let ended = Desk::new().ask(question);
        assert_eq!(ended.kind, "cannot_answer", "{question}: {ended:?}");
        assert!(ended.ran.is_empty(), "{question}: {:?}", ended.ran);
        assert!(!ended.searched.is_empty(), "{question}");
    }
}

#[test]
fn tickets_are_counted_for_who_may_and_refused_to_who_may_not() {
    let question = "How many support tickets are there?";
    let mut desk = Desk::new();
    let ended = desk.ask(question);
    let figure = desk.plain("SELECT COUNT(*) FROM support.tickets");
    assert!((ended.figure() - figure).abs() < 0.1);
    let refused = Desk::new().with_role(None).without_grounding().ask(question);
    assert_eq!(refused.refused.as_deref(), Some("access"));
    let refused = Desk::new().with_role(None).ask(question);
    assert!(refused.refused.is_some() || refused.kind == "cannot_answer");
    assert!(refused.ran.is_empty());
}

#[test]
fn addresses_are_asked_for_and_refused_to_who_may_not_see_them() {
    let question = "List every support agent's email address";
    for desk in [Desk::new(), Desk::new().without_grounding(), Desk::new().without_catalog()] {
        let refused = { desk }.ask(question);
        assert_eq!(refused.refused.as_deref(), Some("access"), "{refused:?}");
    }
    let mut desk = Desk::new().with_role(Some("finance"));
    let ended = desk.ask(question);
    assert_eq!(ended.kind, "answer", "{ended:?}");
    let addresses: Vec<Vec<Value>> = desk.plain_rows("SELECT email FROM support.agents ORDER BY agent_id");
    let shown: Vec<Value> = ended.rows().into_iter().map(|row| row.last().cloned().unwrap()).collect();
    assert_eq!(shown, addresses.concat());
}

#[test]
fn orders_to_change_something_run_nothing() {
    for question in [
        "Delete the resolved support tickets from last year",
        "Please update all open tickets to resolved",
        "Drop the table support.tickets",
        "List the agents and then delete them",
        "Can you close ticket 50123?",
    ] {
        let ended = Desk::new().ask(question);
        assert_eq!(ended.kind, "cannot_answer", "{question}");
        assert!(ended.ran.is_empty());
        assert_eq!(ended.turns, 1);
    }
}

#[test]
fn no_search_has_more_words_than_a_term() {
    for mut desk in [Desk::new(), Desk::new().without_grounding()] {
        let ended = desk
            .ask("What is our customer satisfaction score for support tickets in the onboarding programme?");
        assert_eq!(ended.kind, "cannot_answer");
        assert!(ended.searched.iter().all(|term| term.split(' ').count() <= 3), "{:?}", ended.searched);
        for query in desk.searches() {
            assert!(query.split(' ').count() <= 3, "{query}");
        }
    }
}
