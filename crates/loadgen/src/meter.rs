//! What a process on this machine uses, and the time of day.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "it is compared with the time of day that a service wrote into its events"
)]
pub(crate) fn unix_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1000.0)
}

/// Resident memory in bytes.
pub(crate) fn memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Seconds on a core so far, of all threads that live.
pub(crate) fn cpu(pid: u32) -> Option<f64> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let nanoseconds = |path: &Path| -> Option<u64> {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse().ok()
    };
    let all: u64 = threads.flatten().filter_map(|thread| nanoseconds(&thread.path())).sum();
    Some(std::time::Duration::from_nanos(all).as_secs_f64())
}

/// Lets this process open as many files as it may.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // What is too low shows itself when a stream can't be opened.
    setrlimit(Resource::Nofile, limit).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_used_time() {
        let me = std::process::id();
        assert!(memory(me).unwrap() > 100_000);
        assert!(cpu(me).unwrap() > 0.0);
        assert_eq!(memory(u32::MAX), None);
    }
}
