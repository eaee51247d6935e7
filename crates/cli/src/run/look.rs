//! Verbs on an ask that is there already: watch, status, cancel.

use ask_contract::{AskStatus, TicketId};

use super::follow::{Following, follow};
use super::{Desk, explain};
use crate::exit::Exit;
use crate::neutral;
use crate::screen::Closed;

/// Follows the ask to its ending. Leaving does not cancel it.
pub(super) async fn watch(desk: &mut Desk, ticket: &str, after: u64) -> Exit {
    desk.screen.progress.start("Watching");
    follow(desk, Following::others(TicketId::new(ticket), after)).await
}

/// Tells where the ask stands.
pub(super) async fn status(desk: &mut Desk, ticket: &str) -> Exit {
    let client = desk.client.clone();
    let ticket = TicketId::new(ticket);
    let state = tokio::select! {
        state = client.state(&ticket) => state,
        () = desk.leaving.next() => return Exit::Cancelled,
    };
    let state = match state {
        Ok(state) => state,
        Err(err) => return failed(desk, &err),
    };
    let line = if desk.output.json {
        serde_json::to_string(&state).map(|text| neutral::json(&text).into_owned()).unwrap_or_default()
    } else {
        let ending = state.terminal.as_ref().map(|event| event.body.event_type().as_str());
        match (state.status, ending) {
            (AskStatus::Running, None) => format!("running; event {}", state.seq),
            (AskStatus::Running, Some(ending)) => format!("ending ({ending}); event {}", state.seq),
            (AskStatus::Finished, ending) => {
                format!("finished ({}); event {}", ending.unwrap_or("no ending"), state.seq)
            }
        }
    };
    said(desk.screen.data(&format!("{line}\n")))
}

/// Ends the ask.
pub(super) async fn cancel(desk: &mut Desk, ticket: &str) -> Exit {
    let client = desk.client.clone();
    let ticket = TicketId::new(ticket);
    let receipt = tokio::select! {
        receipt = client.cancel(&ticket) => receipt,
        () = desk.leaving.next() => return Exit::Cancelled,
    };
    let receipt = match receipt {
        Ok(receipt) => receipt,
        Err(err) => return failed(desk, &err),
    };
    let line = if desk.output.json {
        serde_json::to_string(&receipt).map(|text| neutral::json(&text).into_owned()).unwrap_or_default()
    } else if receipt.finished {
        "The ask is over.".to_owned()
    } else {
        "The ask is being cancelled.".to_owned()
    };
    said(desk.screen.data(&format!("{line}\n")))
}

fn failed(desk: &mut Desk, err: &ask_client::CallError) -> Exit {
    desk.screen.problem(&explain::call(err, desk.client.base()));
    Exit::of_call(err)
}

const fn said(written: Result<(), Closed>) -> Exit {
    match written {
        Ok(()) => Exit::Answer,
        Err(Closed(exit)) => exit,
    }
}
