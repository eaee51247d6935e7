//! One event as it came off the stream, typed where this client knows its type.

use ask_contract::{Event, EventBody, EventType, TicketId};
use serde::Deserialize;

use crate::Frame;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// Its place in the stream.
    pub seq: u64,
    /// Its type as received; one that [`EventType`] does not list is a later addition to the contract.
    pub kind: String,
    /// The JSON as received.
    pub raw: String,
    /// The event, where its type is known.
    pub event: Option<Event>,
}

/// An event is not what the contract says.
#[derive(Debug, thiserror::Error)]
pub enum MalformedEvent {
    /// Its members do not fit its type.
    #[error("its members do not fit the type {kind:?}")]
    Members {
        /// The type.
        kind: String,
        /// What does not fit.
        #[source]
        source: serde_json::Error,
    },
    /// The frame and the event in it disagree on the type or the place in the stream.
    #[error("its frame says {frame:?} and its data {data:?}")]
    Contradiction {
        /// What the frame says.
        frame: String,
        /// What the data says.
        data: String,
    },
    /// It belongs to another ticket.
    #[error("it is another ticket's")]
    OtherTicket,
}

#[derive(Deserialize)]
struct Envelope {
    seq: u64,
    #[serde(rename = "type")]
    kind: String,
}

impl Received {
    /// Reads a frame of `ticket`'s stream; `None` for one of an unknown type that has no place in the stream.
    pub(crate) fn read(frame: Frame, ticket: &TicketId) -> Result<Option<Self>, MalformedEvent> {
        let Frame { id, event: name, data: raw } = frame;
        let envelope = match serde_json::from_str::<Envelope>(&raw) {
            Ok(envelope) => envelope,
            Err(source) if name.is_empty() || is_known(&name) => {
                return Err(MalformedEvent::Members { kind: name, source });
            }
            Err(_) => return Ok(None),
        };
        let Envelope { seq, kind } = envelope;
        if !name.is_empty() && name != kind {
            return Err(MalformedEvent::Contradiction { frame: name, data: kind });
        }
        if let Some(id) = id
            && id.parse() != Ok(seq)
        {
            return Err(MalformedEvent::Contradiction { frame: id, data: seq.to_string() });
        }
        let event = if is_known(&kind) {
            let event: Event = match serde_json::from_str(&raw) {
                Ok(event) => event,
                Err(source) => return Err(MalformedEvent::Members { kind, source }),
            };
            if event.ticket != *ticket {
                return Err(MalformedEvent::OtherTicket);
            }
            Some(event)
        } else {
            None
        };
        Ok(Some(Self { seq, kind, raw, event }))
    }

    /// Whether this is `done`, after which nothing comes.
    pub const fn is_done(&self) -> bool {
        matches!(&self.event, Some(Event { body: EventBody::Done(_), .. }))
    }
}

fn is_known(kind: &str) -> bool {
    EventType::ALL.iter().any(|known| known.as_str() == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVELOPE: &str = r#""seq":2,"ticket":"t","conversation_id":"c","ts":"2026-01-31T09:30:00.000Z""#;

    fn read(id: &str, name: &str, data: &str) -> Result<Option<Received>, MalformedEvent> {
        let frame = Frame { id: Some(id.to_owned()), event: name.to_owned(), data: data.to_owned() };
        Received::read(frame, &TicketId::new("t"))
    }

    #[test]
    fn unknown_members_are_tolerated() {
        let data = format!(
            r#"{{{ENVELOPE},"type":"milestone","branch_id":"b","phase":"querying","mood":"good","more":{{"a":[1]}}}}"#
        );
        let received = read("2", "milestone", &data).unwrap().unwrap();
        assert_eq!(
            (received.seq, received.kind.as_str(), received.raw.as_str()),
            (2, "milestone", data.as_str())
        );
        assert!(matches!(received.event.unwrap().body, EventBody::Milestone(_)));
    }

    #[test]
    fn an_unknown_type_is_handed_on_untyped() {
        let data = format!(r#"{{{ENVELOPE},"type":"applause","volume":11}}"#);
        let received = read("2", "applause", &data).unwrap().unwrap();
        assert_eq!((received.kind.as_str(), received.event), ("applause", None));
    }

    #[test]
    fn an_unknown_type_without_an_envelope_is_skipped() {
        assert_eq!(read("2", "ping", "").unwrap(), None);
        assert_eq!(read("2", "ping", "{}").unwrap(), None);
    }

    #[test]
    fn a_known_type_that_does_not_fit_is_an_error() {
        for data in ["", "{", "[]", r#"{"seq":2,"type":"done"}"#] {
            assert!(matches!(read("2", "done", data), Err(MalformedEvent::Members { .. })), "{data}");
        }
    }

    #[test]
    fn frame_and_data_must_agree() {
        let data = format!(r#"{{{ENVELOPE},"type":"abstention","text":"no","searched_terms":[]}}"#);
        assert!(read("2", "abstention", &data).is_ok());
        assert!(read("2", "", &data).is_ok());
        assert!(matches!(read("2", "answer", &data), Err(MalformedEvent::Contradiction { .. })));
        assert!(matches!(read("3", "abstention", &data), Err(MalformedEvent::Contradiction { .. })));
        assert!(matches!(read("two", "abstention", &data), Err(MalformedEvent::Contradiction { .. })));
        let other = data.replace(r#""ticket":"t""#, r#""ticket":"u""#);
        assert!(matches!(read("2", "abstention", &other), Err(MalformedEvent::OtherTicket)));
    }
}
