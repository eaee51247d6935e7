#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ask_auth::fuzz::authorization(input));
