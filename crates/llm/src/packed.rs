//! Earlier turns of a dialogue, kept small until they are sent again.

use crate::Message;

/// Messages as they are kept between two asks: the JSON of them instead of its values, whose maps and texts take several
/// times as much memory.
///
/// [`messages`](Self::messages) gives back exactly what was put in. Where JSON would change anything, such as the last
/// digit of a number, they are kept as they are.
#[derive(Debug)]
pub struct Packed(Kept);

#[derive(Debug)]
enum Kept {
    Json(Box<[u8]>),
    Plain(Vec<Message>),
}

impl Packed {
    /// Packs messages.
    pub fn of(messages: Vec<Message>) -> Self {
        let json = serde_json::to_vec(&messages).unwrap_or_default();
        let same = serde_json::from_slice::<Vec<Message>>(&json).is_ok_and(|again| again == messages);
        Self(if same { Kept::Json(json.into_boxed_slice()) } else { Kept::Plain(messages) })
    }

    /// The messages.
    pub fn messages(&self) -> Vec<Message> {
        match &self.0 {
            // It was read once already, when it was packed.
            Kept::Json(json) => serde_json::from_slice(json).unwrap_or_default(),
            Kept::Plain(messages) => messages.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::dialogue::Raw;
    use crate::{Assistant, InvalidArgs, ToolCall, ToolResult};

    fn dialogue(value: &Value) -> Vec<Message> {
        let call = |args| ToolCall { id: "c1".to_owned(), name: "w__run".to_owned(), args };
        let block = json!({"type": "tool_use", "id": "c1", "name": "w__run", "input": {"z": value, "a": "é\u{2028}"}});
        let args = block.get("input").and_then(Value::as_object).cloned().unwrap_or_default();
        let whole = json!({"role": "assistant", "content": null, "odd": [value]});
        let members = whole.as_object().cloned().unwrap_or_default();
        vec![
            Message::User { parts: vec![String::new(), "a\n\"b\"".to_owned()] },
            Message::Assistant(Assistant::with_raw(
                "t".to_owned(),
                vec![call(Ok(args))],
                Raw::Anthropic(vec![block]),
            )),
            Message::Results(vec![ToolResult { id: "c1".to_owned(), text: "{}".to_owned(), is_error: true }]),
            Message::Assistant(Assistant::with_raw(
                String::new(),
                vec![call(Err(InvalidArgs::NotJson))],
                Raw::OpenAi(members),
            )),
            Message::Assistant(Assistant::new("u", Vec::new())),
        ]
    }

    fn is_json(packed: &Packed) -> bool {
        matches!(packed.0, Kept::Json(_))
    }

    #[test]
    fn what_comes_out_is_what_went_in_to_the_order_of_members() {
        for value in [json!(null), json!(1), json!(-0.5), json!(u64::MAX), json!({"b": 1, "a": [2]})] {
            let messages = dialogue(&value);
            let packed = Packed::of(messages.clone());
            assert!(is_json(&packed), "{value}");
            let again = packed.messages();
            assert_eq!(again, messages);
            assert_eq!(format!("{again:?}"), format!("{messages:?}"));
        }
        assert_eq!(Packed::of(Vec::new()).messages(), Vec::new());
    }

    #[test]
    fn what_json_would_change_is_kept_as_it_is() {
        let deep = (0..200).fold(json!(1), |value, _| json!([value]));
        let messages = dialogue(&deep);
        let packed = Packed::of(messages.clone());
        assert!(!is_json(&packed));
        assert_eq!(packed.messages(), messages);
        // Every number comes back to the last digit, whichever way it was kept.
        for bits in (0..2000_u64).map(|seed| 0x3FB9_9999_9999_0000 + seed * 0x0001_2345_6789) {
            let messages = dialogue(&json!(f64::from_bits(bits)));
            assert_eq!(Packed::of(messages.clone()).messages(), messages);
        }
    }
}
