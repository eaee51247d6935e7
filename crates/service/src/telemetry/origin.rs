//! Where a request comes from: its id and its place in a trace.

use ask_core::id::random_key;
use data_encoding::HEXLOWER;

use super::TraceContext;

/// The longest request id that is taken from a caller.
const LONGEST: usize = 128;

/// What follows an ask from its request to the audit lines of its tools.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    /// The caller's `X-Request-Id`, or one of ours.
    pub(crate) request_id: String,
    /// The request's own span, in the caller's trace if there is one.
    pub(crate) trace: TraceContext,
    /// The caller's span; all zero where there is none.
    pub(crate) parent: [u8; 8],
    /// When the request came, in nanoseconds since 1970.
    pub(crate) began_ns: u64,
}

impl Origin {
    /// Takes what a request says of itself where it is well formed, and makes the rest.
    pub(crate) fn new(request_id: Option<&str>, caller: TraceContext, began_ns: u64) -> Self {
        let request_id = request_id.filter(|id| is_request_id(id)).map_or_else(made_id, str::to_owned);
        Self { request_id, trace: caller.child(), parent: caller.span_id, began_ns }
    }
}

/// Letters, digits and `-_.:`, so that it can stand in any log line and header.
fn is_request_id(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

fn made_id() -> String {
    let random = random_key().map(|key| HEXLOWER.encode(key.get(..16).unwrap_or_default()));
    random.unwrap_or_else(|_none| "none".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_well_formed_id_is_taken() {
        let id = |text: &str| Origin::new(Some(text), TraceContext::default(), 0).request_id;
        let longest = "a".repeat(128);
        for good in ["a", "req-1_2.3:4", longest.as_str()] {
            assert_eq!(id(good), good);
        }
        for bad in ["", " ", "a b", "a\"", "é", "a\nb", &"a".repeat(129)] {
            let made = id(bad);
            assert!(made != bad && made.len() == 32, "{bad:?} became {made:?}");
        }
        assert_ne!(id(""), id(""));
    }
}
