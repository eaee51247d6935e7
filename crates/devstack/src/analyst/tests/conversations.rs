//! Questions that go on from earlier ones.

use super::desk::{Desk, Ended};

fn same(ended: &Ended, figure: f64) {
    assert!((ended.figure() - figure).abs() < 0.01, "{ended:?} is not {figure}");
}

#[test]
fn that_team_is_the_one_found_before() {
    for mut desk in [Desk::new(), Desk::new().without_grounding()] {
        let first = desk.ask("Which support team has the most tickets?");
        assert_eq!(first.headline["value"], "Frontline", "{first:?}");
        let second = desk.ask("And what is that team's average resolution time?");
        same(
            &second,
            desk.plain("SELECT AVG(resolution_minutes) FROM support.tickets WHERE team = 'Frontline'"),
        );
        assert!(second.entities.contains(&"Support.ResolutionTime".to_owned()), "{second:?}");
        let third = desk.ask("How many of its tickets are still open?");
        same(&third, desk.plain("SELECT COUNT(*) FROM support.tickets WHERE team = 'Frontline' AND status IN ('open', 'pending')"));
    }
}

#[test]
fn a_bare_period_or_value_changes_only_that() {
    let mut desk = Desk::new();
    desk.ask("What was net revenue in fiscal year 2025?");
    let net = "SELECT SUM(gross_amount - discount_amount - return_amount - tax_amount) FROM sales.fct_sales";
    let before = desk.ask("And in fiscal year 2024?");
    same(&before, desk.plain(&format!("{net} WHERE sold_on >= '2024-04-01' AND sold_on < '2025-04-01'")));
    assert!(before.entities.contains(&"net_revenue".to_owned()));
    let online = desk.ask("What about online only?");
    same(
        &online,
        desk.plain(&format!(
            "{net} WHERE sold_on >= '2024-04-01' AND sold_on < '2025-04-01' AND channel = 'online'"
        )),
    );
    let gross = desk.ask("And gross revenue?");
    same(&gross, desk.plain("SELECT SUM(gross_amount) FROM sales.fct_sales WHERE sold_on >= '2024-04-01' AND sold_on < '2025-04-01' AND channel = 'online'"));
}

#[test]
fn another_team_another_grouping_and_the_meaning() {
    let mut desk = Desk::new();
    desk.ask("What is the average resolution time of the Frontline team?");
    let billing = desk.ask("What about Billing?");
    same(&billing, desk.plain("SELECT AVG(resolution_minutes) FROM support.tickets WHERE team = 'Billing'"));
    let channels = desk.ask("And by channel?");
    assert_eq!(channels.rows().len(), 4, "{channels:?}");
    let meaning = desk.ask("What does that mean?");
    assert!(meaning.ran.is_empty(), "{meaning:?}");
    assert_eq!(meaning.entities[0], "Support.ResolutionTime");
    let made = desk.ask("How is it calculated?");
    assert!(made.text.contains("AVG(support.tickets.resolution_minutes)"), "{made:?}");
}

#[test]
fn a_ranking_goes_on_in_another_year_and_from_the_other_end() {
    let mut desk = Desk::new();
    let first = desk.ask("Which product category had the highest net revenue in 2024?");
    let second = desk.ask("And in 2025?");
    assert_ne!(first.sql(), second.sql());
    assert!(second.sql().contains("2025-01-01"), "{}", second.sql());
    assert!(second.text.contains("highest"), "{second:?}");
    let worst = desk.ask("And which had the lowest?");
    assert!(worst.text.contains("lowest"), "{worst:?}");
}

#[test]
fn a_winner_is_carried_into_the_other_source() {
    let mut desk = Desk::new();
    let first = desk.ask("Which region had the most tickets?");
    assert_eq!(first.headline["value"], "EMEA", "{first:?}");
    let second = desk.ask("And what was net revenue in that region?");
    same(
        &second,
        desk.plain(
            "SELECT SUM(gross_amount - discount_amount - return_amount - tax_amount) FROM sales.fct_sales \
             JOIN sales.dim_customer USING (customer_id) WHERE region = 'EMEA'",
        ),
    );
}

#[test]
fn a_follow_up_without_anything_before_is_not_answered() {
    let ended = Desk::new().ask("And what about that one?");
    assert_eq!(ended.kind, "cannot_answer", "{ended:?}");
}
