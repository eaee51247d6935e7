//! Reads one chunk of a stream so many times, for a counter of instructions: `hot_paths sse-parse TIMES`.

use std::fmt::Write as _;
use std::hint::black_box;
use std::process::ExitCode;

use ask_client::SseParser;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() != Some("sse-parse") {
        return ExitCode::FAILURE;
    }
    let times: u32 = args.next().and_then(|times| times.parse().ok()).unwrap_or(0);
    let mut chunk = String::new();
    for seq in 0..10 {
        let data = "x".repeat(300);
        write!(chunk, "id: {seq}\nevent: step\ndata: {{\"text\":\"{data}\"}}\n\n").ok();
    }
    let mut parser = SseParser::new(1 << 20);
    for _ in 0..times {
        if parser.feed(black_box(chunk.as_bytes())).is_err() {
            return ExitCode::FAILURE;
        }
        while let Some(frame) = parser.next_frame() {
            black_box(frame);
        }
    }
    ExitCode::SUCCESS
}
