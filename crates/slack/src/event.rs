//! What Slack tells the app: somebody wrote to it, or pressed its button.

use serde_json::Value;

use crate::api::Place;
use crate::blocks::STOP;
use crate::people::Who;

/// The longest question that is passed on, in characters; the service has a limit of its own.
const LONGEST: usize = 8000;

/// A request of Slack's Events API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Slack asks whether this is the app's address.
    Challenge(String),
    /// Something happened; `id` is the same when it is told again.
    Event {
        /// Slack's id of the event.
        id: String,
        /// What it is about, if that is anything for this app.
        deed: Option<Deed>,
    },
    /// A form that is not known.
    Unknown,
}

/// Something for the app to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Somebody asks.
    Ask {
        /// Who.
        who: Who,
        /// In which thread.
        place: Place,
        /// What; as it was written, without the app's own name.
        question: String,
    },
    /// Somebody wants an ask to end.
    Stop {
        /// Who.
        who: Who,
        /// Where the button is.
        place: Place,
        /// The ask's ticket.
        ticket: String,
    },
}

/// Reads the body of a request to the events address.
pub fn told(body: &[u8]) -> Told {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return Told::Unknown };
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    match text("type") {
        Some("url_verification") => {
            text("challenge").map_or(Told::Unknown, |challenge| Told::Challenge(challenge.to_owned()))
        }
        Some("event_callback") => {
            let Some(id) = text("event_id") else { return Told::Unknown };
            let deed = body.get("event").and_then(|event| asked(event, text("team_id")?));
            Told::Event { id: id.to_owned(), deed }
        }
        Some(_) | None => Told::Unknown,
    }
}

/// A mention of the app, or a message to it alone; not what a bot wrote, and not an edit.
fn asked(event: &Value, team: &str) -> Option<Deed> {
    let text = |name: &str| event.get(name).and_then(Value::as_str);
    let to_the_app = match text("type")? {
        "app_mention" => true,
        "message" => text("channel_type") == Some("im"),
        _ => false,
    };
    if !to_the_app || event.get("bot_id").is_some() || event.get("subtype").is_some() {
        return None;
    }
    let name = text("ts")?;
    Some(Deed::Ask {
        who: Who { team: team.to_owned(), user: text("user")?.to_owned() },
        place: Place {
            channel: text("channel")?.to_owned(),
            thread: text("thread_ts").unwrap_or(name).to_owned(),
        },
        question: question(text("text")?),
    })
}

/// What was written, without the mention that it begins with and without Slack's escapes.
fn question(written: &str) -> String {
    let mut rest = written.trim();
    while let Some(end) = rest.strip_prefix("<@").and_then(|_| rest.find('>')) {
        rest = rest.get(end + 1..).unwrap_or_default().trim_start();
    }
    // In this order: an escaped `&lt;` was written as it stands.
    let plain = rest.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    plain.chars().take(LONGEST).collect()
}

/// Reads the body of a request to the interactivity address: the stop button, or nothing for this app.
pub fn pressed(body: &[u8]) -> Option<Deed> {
    let payload = url::form_urlencoded::parse(body).find(|(name, _)| name == "payload")?.1;
    let payload: Value = serde_json::from_str(&payload).ok()?;
    let at = |path: &str| payload.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let actions = payload.get("actions")?.as_array()?;
    let stop = actions.iter().find(|action| action.get("action_id").and_then(Value::as_str) == Some(STOP))?;
    let message = at("/container/message_ts")?;
    Some(Deed::Stop {
        who: Who { team: at("/team/id")?, user: at("/user/id")? },
        place: Place { channel: at("/channel/id")?, thread: at("/message/thread_ts").unwrap_or(message) },
        ticket: stop.get("value")?.as_str()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(event: &Value) -> Told {
        told(
            json!({"type": "event_callback", "event_id": "E1", "team_id": "T1", "event": event})
                .to_string()
                .as_bytes(),
        )
    }

    #[test]
    fn a_mention_and_a_message_to_the_app_are_questions() {
        let mention = json!({"type": "app_mention", "user": "U1", "channel": "C1", "ts": "1.1", "text": "<@UBOT> how many &lt;b&gt; &amp;amp; c?"});
        let Told::Event { deed: Some(Deed::Ask { who, place, question }), .. } = event(&mention) else {
            panic!("no ask")
        };
        assert_eq!((who.team.as_str(), who.user.as_str()), ("T1", "U1"));
        assert_eq!((place.channel.as_str(), place.thread.as_str()), ("C1", "1.1"));
        assert_eq!(question, "how many <b> &amp; c?");
        let direct = json!({"type": "message", "channel_type": "im", "user": "U1", "channel": "D1", "ts": "2.1", "thread_ts": "1.9", "text": "and now?"});
        let Told::Event { deed: Some(Deed::Ask { place, question, .. }), .. } = event(&direct) else {
            panic!("no ask")
        };
        assert_eq!((place.thread.as_str(), question.as_str()), ("1.9", "and now?"));
    }

    #[test]
    fn what_is_not_for_the_app_is_nothing() {
        for other in [
            json!({"type": "message", "channel_type": "channel", "user": "U1", "channel": "C1", "ts": "1", "text": "hi"}),
            json!({"type": "message", "channel_type": "im", "bot_id": "B1", "user": "U1", "channel": "D1", "ts": "1", "text": "hi"}),
            json!({"type": "message", "channel_type": "im", "subtype": "message_changed", "channel": "D1", "ts": "1"}),
            json!({"type": "app_mention", "channel": "C1", "ts": "1", "text": "x"}),
            json!({"type": "reaction_added"}),
            json!({}),
        ] {
            assert_eq!(event(&other), Told::Event { id: "E1".to_owned(), deed: None }, "{other}");
        }
        for body in ["", "[]", "{}", r#"{"type":"event_callback"}"#, r#"{"type":"url_verification"}"#] {
            assert_eq!(told(body.as_bytes()), Told::Unknown, "{body}");
        }
        assert_eq!(told(br#"{"type":"url_verification","challenge":"c"}"#), Told::Challenge("c".to_owned()));
    }

    #[test]
    fn the_stop_button_names_its_ticket_and_nothing_else_does() {
        let payload = |action: &str| {
            let payload = json!({"type": "block_actions", "team": {"id": "T1"}, "user": {"id": "U1"}, "channel": {"id": "C1"},
                "container": {"message_ts": "2.2"}, "message": {"thread_ts": "1.1"}, "actions": [{"action_id": action, "value": "t_1"}]});
            url::form_urlencoded::Serializer::new(String::new())
                .append_pair("payload", &payload.to_string())
                .finish()
        };
        let Some(Deed::Stop { ticket, place, .. }) = pressed(payload(STOP).as_bytes()) else {
            panic!("no stop")
        };
        assert_eq!((ticket.as_str(), place.thread.as_str()), ("t_1", "1.1"));
        assert_eq!(pressed(payload("another").as_bytes()), None);
        assert_eq!(pressed(b"payload=no"), None);
    }
}
