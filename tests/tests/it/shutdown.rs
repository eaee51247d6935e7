//! A signal ends everything properly.

#![expect(clippy::disallowed_methods, reason = "it waits for a real process, in real time")]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::stack::{Stack, read_chunk, read_head, signal, wait};

#[test]
fn a_terminated_service_ends_every_stream_and_is_gone_within_two_seconds() {
    // A model that takes its time, so that the asks still run.
    let stack = Stack::up("terminate", &[("ASK_DEVSTACK_TURN_DELAY_MS", "30000")]);
    let token = stack.token("carol");
    let mut streams = Vec::new();
    for _ in 0..3 {
        let ticket = stack.begin(&token, "Which support team resolves tickets fastest?");
        for _ in 0..4 {
            let mut stream = stack.open_stream(&token, &ticket);
            assert!(read_head(&mut stream).starts_with("HTTP/1.1 200"));
            streams.push(stream);
        }
    }
    let pid = stack.service_pid();
    let begun = Instant::now();
    signal("TERM", pid);
    let reading = std::thread::spawn(move || {
        for stream in &mut streams {
            let mut text = Vec::new();
            while let Some(chunk) = read_chunk(stream) {
                text.extend(chunk);
            }
            let text = String::from_utf8(text).unwrap();
            assert!(text.ends_with("\n\n"), "whole frames");
            let data: Vec<Value> = text
                .lines()
                .filter_map(|line| line.strip_prefix("data: "))
                .map(|json| serde_json::from_str(json).unwrap())
                .collect();
            let ending: Vec<&str> =
                data[data.len() - 2..].iter().map(|event| event["type"].as_str().unwrap()).collect();
            assert_eq!(ending, ["error", "done"]);
            assert_eq!(data[data.len() - 2]["kind"], "internal");
        }
    });
    wait(Duration::from_secs(2), "the process is gone", || !is_running(pid));
    let took = begun.elapsed();
    reading.join().unwrap();
    assert!(took < Duration::from_secs(2), "{took:?}");
    let audit: Vec<String> =
        stack.service_log().lines().filter(|line| line.starts_with("audit ")).map(str::to_owned).collect();
    assert_eq!(audit.len(), 3, "every ask has its line: {audit:?}");
}

/// Whether a process is there and is no zombie.
fn is_running(pid: u32) -> bool {
    let stat =
        std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[test]
fn an_idle_service_is_small() {
    let stack = Stack::up("idle", &[]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", stack.service_pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 30 * 1024, "{kib} KiB");
}
