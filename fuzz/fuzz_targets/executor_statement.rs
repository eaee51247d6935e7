#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ask_executor::fuzz::statement(input));
