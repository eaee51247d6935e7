//! Does one thing of a ticket's log so many times, for a counter of instructions: `hot_paths CASE TIMES`.

use std::hint::black_box;
use std::process::ExitCode;

use ask_contract::{BranchId, ConversationId, ErrorKind, Event, EventBody, Step, TicketId, Timestamp};
use ask_core::ticket::{Progress, TicketLife, TicketSpec, encode, supervisor_branch};
use serde_json::json;

fn step() -> Step {
    let args = json!({"sql": "SELECT team, AVG(minutes) FROM support.tickets GROUP BY team ORDER BY 2", "maxRows": 500});
    Step {
        branch_id: BranchId::new("b1"),
        tool: "warehouse__run_query".to_owned(),
        args: args.as_object().cloned().unwrap_or_default(),
        ms: 12,
        is_error: false,
    }
}

fn life() -> TicketLife {
    let spec = TicketSpec {
        ticket: TicketId::new("t_0123456789abcdef0123456789abcdef0123456789"),
        conversation_id: ConversationId::new("c_0123456789abcdef0123456789abcdef0123456789"),
        question: "Which support team resolves tickets fastest?".to_owned(),
        turn: 1,
        model: "model".to_owned(),
        effort: "high".to_owned(),
        max_events: 1_000_000,
    };
    TicketLife::accept(spec, Timestamp::from_unix_ms(0))
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (case, times) = (args.next().unwrap_or_default(), args.next().and_then(|times| times.parse().ok()));
    let times: u32 = times.unwrap_or(0);
    let now = Timestamp::from_unix_ms(1_700_000_000_000);
    match case.as_str() {
        "frame-encode" => {
            let event = Event {
                seq: 12,
                ticket: TicketId::new("t_0123456789abcdef0123456789abcdef0123456789"),
                conversation_id: ConversationId::new("c_0123456789abcdef0123456789abcdef0123456789"),
                ts: now,
                body: EventBody::Step(step()),
            };
            for _ in 0..times {
                black_box(encode(black_box(&event)));
            }
        }
        "log-append" => {
            let mut life = life();
            debug_assert_eq!(supervisor_branch(), step().branch_id);
            for _ in 0..times {
                black_box(life.emit(Progress::Step(step()), now)).ok();
            }
        }
        "log-read-live" | "log-read-sealed" => {
            let mut life = life();
            for _ in 0..100 {
                life.emit(Progress::Step(step()), now).ok();
            }
            if case == "log-read-sealed" {
                life.fail(ErrorKind::Internal, "over", now).ok();
            }
            for _ in 0..times {
                black_box(life.log().read(black_box(50), 32 * 1024));
            }
        }
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}
