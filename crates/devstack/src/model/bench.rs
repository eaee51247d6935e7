//! The load form: a question that makes the agent emit a set number of steps of a set size at a set rate.
//!
//! `bench n=N size=S [hz=H lead=MS turn=MS]` emits `N` tool calls with arguments of about `S` bytes: all in one turn, or one a turn,
//! `H` a second after a lead of `MS` milliseconds, each with `bt`, the time of its making in nanoseconds since 1970.
//! With `turn` every turn takes that long. `bench hold=S` stays quiet for `S` seconds. Each ends with plain text.

use std::time::Duration;

use serde_json::{Map, Value};
use time::OffsetDateTime;

use super::dialogue::{Asked, Call, Reply, Turn};

/// The tool that is called: cheap, and there in every stack.
const TOOL: &str = "warehouse__list_sources";

/// A question in the load form.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bench {
    n: usize,
    size: usize,
    hz: Option<f64>,
    lead: Duration,
    hold: Duration,
    turn: Duration,
}

/// The next turn of a load run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// To wait before the turn is made.
    pub(super) wait: Duration,
    /// To stay quiet for after the turn began.
    pub(super) hold: Duration,
    calls: usize,
    size: usize,
    stamp: bool,
}

impl Step {
    /// The reply, made at this very moment.
    pub(super) fn reply(&self) -> Reply {
        let now = self
            .stamp
            .then(|| i64::try_from(OffsetDateTime::now_utc().unix_timestamp_nanos()).unwrap_or(i64::MAX));
        let calls = (0..self.calls).map(|_| Call {
            id: String::new(),
            name: TOOL.to_owned(),
            args: args(self.size, now),
        });
        let text = if self.calls == 0 { "The load run is done." } else { "" };
        Reply { text: text.to_owned(), calls: calls.collect() }
    }
}

/// Arguments whose JSON is about `size` bytes long.
fn args(size: usize, stamp: Option<i64>) -> Map<String, Value> {
    let mut args = Map::new();
    if let Some(stamp) = stamp {
        args.insert("bt".to_owned(), stamp.into());
    }
    args.insert("padding".to_owned(), "".into());
    let bare = Value::Object(args.clone()).to_string().len();
    args.insert("padding".to_owned(), "x".repeat(size.saturating_sub(bare)).into());
    args
}

/// The next turn, when what is asked is in the load form.
pub(super) fn step(asked: &Asked) -> Option<Step> {
    let at = asked.turns.iter().rposition(|turn| matches!(turn, Turn::User(_)))?;
    let (question, after) = asked.turns.get(at..)?.split_first()?;
    let Turn::User(parts) = question else { return None };
    let bench = parts.iter().find_map(|part| parse(part))?;
    let made: Vec<&Call> = after.iter().flat_map(calls_of).collect();
    let nothing = Step { wait: bench.turn, hold: bench.hold, calls: 0, size: 0, stamp: false };
    if made.len() >= bench.n {
        return Some(nothing);
    }
    let Some(hz) = bench.hz else {
        return Some(Step { calls: bench.n - made.len(), size: bench.size, ..nothing });
    };
    // The first call's own time says when the others are due, however long the turns take.
    let first = made.first().and_then(|call| call.args.get("bt")).and_then(Value::as_i64);
    let wait = match first {
        None => bench.lead,
        Some(first) => {
            let count = u32::try_from(made.len()).unwrap_or(u32::MAX);
            let due = Duration::from_secs_f64(1.0 / hz).saturating_mul(count);
            let now = OffsetDateTime::now_utc().unix_timestamp_nanos();
            let passed = u64::try_from(now - i128::from(first)).map_or(Duration::ZERO, Duration::from_nanos);
            due.saturating_sub(passed)
        }
    };
    Some(Step { wait: wait.max(bench.turn), calls: 1, size: bench.size, stamp: true, ..nothing })
}

fn calls_of(turn: &Turn) -> &[Call] {
    match turn {
        Turn::Assistant { calls, .. } => calls,
        Turn::User(_) | Turn::Result { .. } => &[],
    }
}

/// Reads the form; a member that is none, or out of bounds, makes it an ordinary question.
fn parse(text: &str) -> Option<Bench> {
    const MOST_CALLS: usize = 100_000;
    const MOST_BYTES: usize = 4 << 20;
    const MOST_SECONDS: f64 = 86_400.0;

    let none = Duration::ZERO;
    let mut bench = Bench { n: 0, size: 0, hz: None, lead: none, hold: none, turn: none };
    let members = text.trim().strip_prefix("bench ")?;
    for member in members.split_whitespace() {
        let (name, value) = member.split_once('=')?;
        match name {
            "n" => bench.n = value.parse().ok().filter(|n| *n <= MOST_CALLS)?,
            "size" => bench.size = value.parse().ok().filter(|size| *size <= MOST_BYTES)?,
            "hz" => bench.hz = Some(value.parse().ok().filter(|hz| (0.001..=10_000.0).contains(hz))?),
            "lead" => bench.lead = Duration::from_millis(value.parse::<u32>().ok()?.into()),
            "turn" => bench.turn = Duration::from_millis(value.parse::<u32>().ok()?.into()),
            "hold" => {
                let seconds = value.parse().ok().filter(|seconds| (0.0..=MOST_SECONDS).contains(seconds))?;
                bench.hold = Duration::from_secs_f64(seconds);
            }
            _ => return None,
        }
    }
    Some(bench)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(question: &str, made: &[Vec<Call>]) -> Asked {
        let mut turns = vec![Turn::User(vec!["<grounding/>".to_owned(), question.to_owned()])];
        for calls in made {
            turns.push(Turn::Assistant { text: String::new(), calls: calls.clone() });
            turns.push(Turn::Result { id: "x".to_owned(), text: "{}".to_owned(), is_error: false });
        }
        Asked { turns, ..Asked::default() }
    }

    #[test]
    fn ordinary_questions_are_none_of_it() {
        for question in [
            "benchmark n=1",
            "bench",
            "bench n=x",
            "bench n=1 odd=2",
            "bench n=999999999",
            "bench hz=NaN",
            "n=1",
        ] {
            assert_eq!(step(&asked(question, &[])), None, "{question}");
        }
    }

    #[test]
    fn all_calls_come_in_one_turn_and_then_text() {
        let question = "bench n=3 size=200";
        let reply = step(&asked(question, &[])).unwrap().reply();
        assert_eq!(reply.calls.len(), 3);
        for call in &reply.calls {
            assert_eq!((call.name.as_str(), Value::Object(call.args.clone()).to_string().len()), (TOOL, 200));
        }
        let last = step(&asked(question, &[reply.calls])).unwrap().reply();
        assert!(last.calls.is_empty() && !last.text.is_empty());
    }

    #[test]
    fn paced_calls_come_one_a_turn_when_they_are_due() {
        let question = "bench n=2 size=300 hz=2 lead=1500";
        let first = step(&asked(question, &[])).unwrap();
        assert_eq!((first.wait, first.calls), (Duration::from_millis(1500), 1));
        let calls = first.reply().calls;
        assert!(calls[0].args["bt"].as_i64().unwrap() > 0);
        let second = step(&asked(question, std::slice::from_ref(&calls))).unwrap();
        assert!(
            second.wait <= Duration::from_millis(500) && second.wait > Duration::from_millis(100),
            "{second:?}"
        );
        let done = step(&asked(question, &[calls.clone(), calls])).unwrap();
        assert_eq!((done.wait, done.calls), (Duration::ZERO, 0));
    }

    #[test]
    fn every_turn_takes_as_long_as_it_is_told_to() {
        let question = "bench n=2 size=10 hz=10000 turn=40";
        let first = step(&asked(question, &[])).unwrap();
        assert_eq!((first.wait, first.calls), (Duration::from_millis(40), 1));
        let calls = first.reply().calls;
        let second = step(&asked(question, std::slice::from_ref(&calls))).unwrap();
        assert_eq!((second.wait, second.calls), (Duration::from_millis(40), 1));
        let last = step(&asked(question, &[calls.clone(), calls])).unwrap();
        assert_eq!((last.wait, last.calls), (Duration::from_millis(40), 0));
    }

    #[test]
    fn calls_of_earlier_turns_of_the_conversation_do_not_count() {
        let call = Call { id: "1".to_owned(), name: TOOL.to_owned(), args: Map::new() };
        let mut asked = asked("bench n=1 size=10", &[vec![call]]);
        asked.turns.push(Turn::User(vec!["bench n=1 size=10".to_owned()]));
        assert_eq!(step(&asked).unwrap().calls, 1);
    }

    #[test]
    fn hold_is_quiet_and_then_text() {
        let step = step(&asked("bench hold=2.5", &[])).unwrap();
        assert_eq!((step.hold, step.calls), (Duration::from_millis(2500), 0));
    }
}
