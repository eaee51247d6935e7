//! A panic says where it was, and nothing of what it held.

use std::io;
use std::sync::{Arc, Mutex};

/// Where log lines go.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().map_err(|_poisoned| io::Error::other("poisoned"))?.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_tells_its_place_and_not_its_message() {
    let kept = Kept::default();
    let writer = kept.clone();
    tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_max_level(tracing::Level::TRACE)
        .init();
    ask_executor::log::silence_panics();
    let rows = "a row of the canary";
    assert!(std::thread::spawn(move || panic!("not expected: {rows}")).join().is_err());
    let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("panicked") && text.contains("tests/panics.rs"), "{text}");
    assert!(!text.contains("canary") && !text.contains("not expected"), "{text}");
}
