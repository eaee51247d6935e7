//! Writes frames of events whose texts try to break out of them, for other people's stream parsers to read.
//!
//! `hostile_frames COUNT SEED FRAMES TRUTH` writes the frames to one file, and to the other a line for each: `seq type` and the
//! text in hexadecimal, which no parser can get wrong.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use ask_contract::{
    Abstention, BranchId, ConversationId, ErrorKind, Event, EventBody, Failure, Milestone, Phase, Refusal,
    RefusalKind, Step, TicketId, Timestamp,
};
use ask_core::ticket::encode;
use data_encoding::HEXLOWER;
use serde_json::json;

/// What texts are made of: line ends of every kind, and lines that mean something in a stream.
const PIECES: [&str; 28] = [
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\r\r",
    "\r\n\r\n",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\u{b}",
    "\u{c}",
    "\0",
    "\u{feff}",
    "event: done",
    "data: {}",
    "id: 99",
    "retry: 0",
    ":",
    "data:",
    "event: answer\ndata: {\"seq\":1}\n\n",
    "\"}",
    "\\",
    "\u{1b}[2J",
    "\u{202e}",
    "é",
    "表",
    "𝄞",
    "plain words",
];

/// A small generator: the same seed gives the same frames everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (most as u64)).unwrap_or_default()
    }

    fn text(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(9) {
            if self.below(8) == 0 {
                let any = u32::try_from(self.below(0x11_0000)).ok().and_then(char::from_u32);
                text.push(any.unwrap_or('x'));
            } else {
                let at = self.below(PIECES.len());
                text.push_str(PIECES.get(at).copied().unwrap_or_default());
            }
        }
        text
    }
}

fn body(number: u64, text: &str) -> EventBody {
    let branch_id = BranchId::new("b1");
    let owned = text.to_owned();
    match number % 5 {
        0 => {
            let args = json!({ "sql": text, text: 1 }).as_object().cloned().unwrap_or_default();
            EventBody::Step(Step {
                branch_id,
                tool: "warehouse__run_query".to_owned(),
                args,
                ms: 1,
                is_error: false,
            })
        }
        1 => EventBody::Milestone(Milestone {
            branch_id,
            phase: Phase::Grounding,
            subject: Some(owned),
            source: None,
        }),
        2 => EventBody::Abstention(Abstention { text: owned, searched_terms: vec![text.to_owned()] }),
        3 => EventBody::Refusal(Refusal { what: RefusalKind::Access, detail: owned, source: None }),
        _ => EventBody::Error(Failure { kind: ErrorKind::Model, detail: owned }),
    }
}

fn main() -> io::Result<()> {
    let bad = || io::Error::other("usage: hostile_frames COUNT SEED FRAMES TRUTH");
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [count, seed, frames, truth] = args.as_slice() else { return Err(bad()) };
    let (Ok(count), Ok(seed)) = (count.parse::<u64>(), seed.parse::<u64>()) else { return Err(bad()) };
    let (mut frames, mut truth) =
        (BufWriter::new(File::create(frames)?), BufWriter::new(File::create(truth)?));
    let mut dice = Dice(seed | 1);
    for seq in 1..=count {
        let text = dice.text();
        let event = Event {
            seq,
            ticket: TicketId::new("t_1"),
            conversation_id: ConversationId::new("c_1"),
            ts: Timestamp::from_unix_ms(0),
            body: body(seq, &text),
        };
        frames.write_all(&encode(&event))?;
        writeln!(truth, "{seq} {} {}", event.body.event_type().as_str(), HEXLOWER.encode(text.as_bytes()))?;
    }
    frames.flush()?;
    truth.flush()
}
