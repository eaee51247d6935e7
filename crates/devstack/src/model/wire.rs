//! What the two protocols have in common, and the choice between them.

use bytes::Bytes;
use serde_json::Value;

use super::{
    anthropic,
    cache::{Cache, Figures, Prompt},
    dialogue::{Asked, Call},
    openai,
    refusal::Refusal,
};

/// A request as read from either protocol.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) asked: Asked,
    /// Whether the reply is to be streamed.
    pub(super) stream: bool,
    /// Whether the stream is to end with a chunk of usage figures.
    pub(super) include_usage: bool,
    pub(super) prompt: Prompt,
}

/// A reply with all that either protocol says of it.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    /// In the Messages API's words; by default what goes with the reply.
    pub(super) stop: Option<String>,
    pub(super) usage: Figures,
    pub(super) include_usage: bool,
}

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Anthropic,
    OpenAi,
}

impl Wire {
    /// Reads and validates a request.
    pub(super) fn read(self, header: &dyn Fn(&str) -> Option<String>, body: &Value) -> Result<Read, Refusal> {
        match self {
            Self::Anthropic => anthropic::read(header, body),
            Self::OpenAi => openai::read(body),
        }
    }

    /// The key that came with a request.
    pub(super) fn key(self, header: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        match self {
            Self::Anthropic => header("x-api-key"),
            Self::OpenAi => header("authorization")?.strip_prefix("Bearer ").map(str::to_owned),
        }
    }

    /// The figures of a prompt.
    pub(super) fn figures(self, cache: &mut Cache, prompt: &Prompt) -> Figures {
        match self {
            Self::Anthropic => cache.by_breakpoints(prompt),
            Self::OpenAi => cache.by_itself(prompt),
        }
    }

    /// What the id of a call begins with.
    pub(super) fn call_prefix(self) -> &'static str {
        match self {
            Self::Anthropic => "toolu_",
            Self::OpenAi => "call_",
        }
    }

    /// What the id of a message begins with.
    pub(super) fn message_prefix(self) -> &'static str {
        match self {
            Self::Anthropic => "msg_",
            Self::OpenAi => "chatcmpl-",
        }
    }

    /// The reply as one JSON body.
    pub(super) fn whole(self, written: &Written) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(written),
            Self::OpenAi => openai::whole(written),
        }
    }

    /// The reply as the events of a stream. The first says that the reply has begun.
    pub(super) fn events(self, written: &Written) -> Vec<Bytes> {
        match self {
            Self::Anthropic => anthropic::events(written),
            Self::OpenAi => openai::events(written),
        }
    }

    /// The events that begin a reply of text which goes on with `endless_delta`.
    pub(super) fn endless_start(self, written: &Written) -> Vec<Bytes> {
        match self {
            Self::Anthropic => anthropic::endless_start(written),
            Self::OpenAi => openai::endless_start(written),
        }
    }

    /// One more piece of a text without end.
    pub(super) fn endless_delta(self, written: &Written) -> Bytes {
        match self {
            Self::Anthropic => anthropic::endless_delta(),
            Self::OpenAi => openai::endless_delta(written),
        }
    }

    /// What keeps a quiet stream alive.
    pub(super) fn ping(self) -> Bytes {
        match self {
            Self::Anthropic => anthropic::ping(),
            Self::OpenAi => Bytes::from_static(b": keep-alive\n\n"),
        }
    }

    /// The body of an error answer.
    pub(super) fn error(self, refusal: &Refusal) -> Value {
        match self {
            Self::Anthropic => anthropic::error(refusal),
            Self::OpenAi => openai::error(refusal),
        }
    }

    /// An error in mid-stream.
    pub(super) fn error_event(self, kind: &str) -> Bytes {
        let refusal = Refusal { status: 200, kind: kind.to_owned(), message: "scripted error".to_owned() };
        match self {
            Self::Anthropic => anthropic::event("error", &anthropic::error(&refusal)),
            Self::OpenAi => openai::event(&openai::error(&refusal)),
        }
    }
}

/// Cuts a text into pieces as a model streams them: small ones, but never very many.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    const SMALL: usize = 24;
    const MANY: usize = 64;

    let size = SMALL.max(text.len() / MANY);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end =
            (size.min(rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, tail) = rest.split_at(end);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text() {
        for text in ["", "short", &"ü".repeat(100), &"x".repeat(100_000)] {
            let pieces = pieces(text);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.len() <= 65 && pieces.iter().all(|piece| !piece.is_empty()));
        }
    }
}
