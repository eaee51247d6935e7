//! How few turns an answer takes.

use super::desk::Desk;

#[test]
fn one_turn_asks_and_one_concludes_when_the_look_ups_suffice() {
    for question in [
        "Which support team resolves tickets fastest?",
        "How many support tickets are still open?",
        "What was net revenue in fiscal year 2025?",
        "How many support tickets are there?",
        "What is the average order value?",
    ] {
        let ended = Desk::new().ask(question);
        assert_eq!(ended.turns, 2, "{question}");
    }
}

#[test]
fn three_turns_are_enough_for_a_question_on_one_source() {
    for question in [
        "How many high priority tickets did Billing get in 2025?",
        "Net revenue by region",
        "Top 5 products by units sold",
        "What is the SLA breach rate per priority?",
        "Show all urgent open tickets",
    ] {
        let ended = Desk::new().ask(question);
        assert!(ended.turns <= 3, "{question}: {} turns", ended.turns);
        assert_eq!(ended.kind, "answer", "{question}");
    }
}

#[test]
fn without_look_ups_beforehand_it_makes_them_itself() {
    let ended = Desk::new().without_grounding().ask("Net revenue by region in 2025");
    assert_eq!(ended.kind, "answer", "{ended:?}");
    assert!(ended.turns <= 5, "{}", ended.turns);
}
