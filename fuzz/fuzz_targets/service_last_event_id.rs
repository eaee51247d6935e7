#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ask_service::fuzz::last_event_id(input));
