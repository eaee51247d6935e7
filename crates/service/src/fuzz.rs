//! What must hold of any `Last-Event-ID` and any request body; for the fuzzer and its corpora.

use crate::web::fuzzed::{ask_request, last_seen};

/// A position is digits alone; all else is the start.
pub fn last_event_id(input: &[u8]) {
    let seen = last_seen(input);
    let digits = !input.is_empty() && input.iter().all(u8::is_ascii_digit);
    assert!(seen == 0 || digits, "{seen}");
}

/// What a reason is made of.
const OURS: &str = "unknown field, expected one of `question`, `context`, `model`, `effort`, `deadline_s` \
    unknown variant, expected one of `low`, `medium`, `high`, `xhigh`, `max` missing field `question` duplicate field \
    not valid JSON at line 1 column must be a JSON object there is something after the JSON object \
    must be a whole number of seconds, 1 to 4294967295 invalid type: expected a string invalid value: expected";

/// A body is a request or a short reason on one line that repeats no text of it.
pub fn request(input: &[u8]) {
    if let Err(reason) = ask_request(input) {
        assert!(reason.len() < 400 && !reason.contains('\n'), "{reason}");
        let text = String::from_utf8_lossy(input);
        // Anything of the body that is longer than the name of a member and holds a blank, unless it is what we say anyway.
        for word in
            text.split('"').filter(|word| word.len() > 12 && word.contains(' ') && !OURS.contains(word))
        {
            assert!(!reason.contains(word), "{reason}");
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_the_fuzzer_found_stays_right() {
        ask_corpus::replay("service_last_event_id", super::last_event_id);
        ask_corpus::replay("service_request", super::request);
    }
}
