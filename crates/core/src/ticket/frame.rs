//! One event as one Server-Sent Events frame.

use std::io;

use ask_contract::Event;
use bytes::Bytes;
use serde::Serialize as _;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// Encodes an event as `id`, `event` and `data` lines and a blank line.
///
/// A frame can't be forged from inside: `id` is an integer, `event` comes from an enumeration and `data` is one line of
/// JSON, in which the line separators that naive readers take for line ends (U+0085, U+2028, U+2029) are escaped.
pub fn encode(event: &Event) -> Bytes {
    let mut frame = Vec::with_capacity(384);
    frame.extend_from_slice(b"id: ");
    frame.extend_from_slice(event.seq.to_string().as_bytes());
    frame.extend_from_slice(b"\nevent: ");
    frame.extend_from_slice(event.body.event_type().as_str().as_bytes());
    frame.extend_from_slice(b"\ndata: ");
    let mut serializer = Serializer::with_formatter(&mut frame, OneLine(CompactFormatter));
    // Writing to memory does not fail, and every map in an event has text for keys.
    let written = event.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "events serialize: {written:?}");
    frame.extend_from_slice(b"\n\n");
    Bytes::from(frame)
}

/// The JSON within a frame that [`encode`] made.
pub(super) fn data_of(frame: &Bytes) -> Bytes {
    const LABEL: &[u8] = b"\ndata: ";
    let start =
        frame.windows(LABEL.len()).position(|window| window == LABEL).map_or(0, |at| at + LABEL.len());
    frame.slice(start..frame.len().saturating_sub(2).max(start))
}

/// Compact JSON without anything that could pass for a line end.
struct OneLine(CompactFormatter);

impl Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // All three start with C2 or E2, which most texts do not hold.
        if !fragment.bytes().any(|byte| byte == 0xC2 || byte == 0xE2) {
            return self.0.write_string_fragment(writer, fragment);
        }
        for piece in fragment.split_inclusive(['\u{85}', '\u{2028}', '\u{2029}']) {
            let bare = piece.trim_end_matches(['\u{85}', '\u{2028}', '\u{2029}']);
            self.0.write_string_fragment(writer, bare)?;
            for separator in piece.chars().skip(bare.chars().count()) {
                write!(writer, "\\u{:04x}", u32::from(separator))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ask_contract::{BranchId, ConversationId, EventBody, Milestone, Phase, TicketId, Timestamp};

    use super::*;

    fn milestone(subject: &str) -> Event {
        Event {
            seq: 12,
            ticket: TicketId::new("t"),
            conversation_id: ConversationId::new("c"),
            ts: Timestamp::from_unix_ms(0),
            body: EventBody::Milestone(Milestone {
                branch_id: BranchId::new("b1"),
                phase: Phase::Grounding,
                subject: Some(subject.to_owned()),
                source: None,
            }),
        }
    }

    #[test]
    fn a_frame_has_three_lines_and_a_blank_one() {
        assert_eq!(
            encode(&milestone("x")),
            "id: 12\nevent: milestone\ndata: {\"seq\":12,\"ticket\":\"t\",\"conversation_id\":\"c\",\
             \"ts\":\"1970-01-01T00:00:00.000Z\",\"type\":\"milestone\",\"branch_id\":\"b1\",\
             \"phase\":\"grounding\",\"subject\":\"x\",\"source\":null}\n\n"
        );
    }

    #[test]
    fn no_text_ends_a_line_or_is_changed() {
        for subject in [
            "a\nevent: done\n\n",
            "\r",
            "\r\n",
            "\u{85}",
            "\u{2028}\u{2029}x",
            "é–\u{2028}–",
            "\0",
            "\u{a0}",
            "data: \\n",
        ] {
            let frame = encode(&milestone(subject));
            let text = std::str::from_utf8(&frame).unwrap();
            assert_eq!(text.matches('\n').count(), 4, "{text:?}");
            assert!(!text.contains(['\r', '\u{85}', '\u{2028}', '\u{2029}']), "{text:?}");
            let event: Event = serde_json::from_slice(&data_of(&frame)).unwrap();
            assert_eq!(event, milestone(subject));
        }
    }
}
