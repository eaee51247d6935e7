//! What happens when the person, or the reader of the output, goes away.

#[cfg(test)]
mod support;

use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use support::{Ran, Script, Service, answered, send};
use tokio::time::Instant;

const Q: &str = "Which team is fastest?";

fn held(after: usize) -> Script {
    Script { hold_after: Some(after), ..answered() }
}

#[test]
fn a_signal_cancels_the_ask_and_says_so() {
    for signal in ["INT", "TERM", "HUP"] {
        let service = Service::start(held(3));
        let child = service.command(&[Q]).spawn().unwrap();
        service.wait_for("/events");
        send(signal, &child);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert!(service.cancelled(), "SIG{signal}");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(6), ""), "{ran:?}");
        assert!(ran.stderr.contains("Cancelled.\n"), "{}", ran.stderr);
    }
}

#[test]
fn a_hang_up_that_is_to_be_ignored_is_ignored() {
    let service = Service::start(held(3));
    let binary = service.command(&[]).get_program().to_owned();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(binary).arg(Q);
    command.envs(
        service
            .command(&[])
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))),
    );
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    service.wait_for("/events");
    send("HUP", &child);
    assert_eq!(service.run(&["status", "t1"]).stdout, "running; event 8\n");
    assert!(!service.cancelled());
    send("TERM", &child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(ran.code == Some(6) && service.cancelled(), "{ran:?}");
}

#[test]
fn a_cancelled_ask_has_its_ending_in_json() {
    let service = Service::start(held(3));
    let child = service.command(&["--json", Q]).spawn().unwrap();
    service.wait_for("/events");
    send("INT", &child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(6));
    let events = support::lines(&ran.stdout);
    assert_eq!(events[events.len() - 2]["kind"], "cancelled");
    assert_eq!(events[events.len() - 1]["type"], "done");
}

#[test]
fn a_second_signal_leaves_at_once() {
    let service = Service::start(Script { deaf: true, ..held(3) });
    let child = service.command(&[Q]).spawn().unwrap();
    service.wait_for("/events");
    let begin = Instant::now();
    send("INT", &child);
    service.wait_for("/cancel");
    send("INT", &child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(6));
    assert!(begin.elapsed() < Duration::from_secs(3));
    assert!(ran.stderr.contains("it may still run. End it with: ask cancel t1\n"), "{}", ran.stderr);
}

#[test]
fn who_only_watches_cancels_nothing() {
    let service = Service::start(held(3));
    let child = service.command(&["watch", "t1"]).spawn().unwrap();
    service.wait_for("/events");
    send("INT", &child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(6));
    assert!(!service.cancelled());
    assert!(ran.stderr.contains("Stopped watching; the ask goes on.\n"));
}

#[test]
fn a_reader_that_goes_away_is_no_panic_and_ends_the_ask() {
    let service = Service::start(held(3));
    let mut child = service.command(&["--json", Q]).spawn().unwrap();
    let mut first = String::new();
    let mut reader = BufReader::with_capacity(1, child.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    assert!(first.contains("accepted"));
    drop(reader);
    // The next event to be written finds nobody; a cancel from elsewhere brings one.
    assert_eq!(service.run(&["cancel", "t1"]).code, Some(0));
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(141), ""));
}

#[test]
fn a_reader_that_was_never_there_ends_the_ask() {
    let service = Service::start(answered());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ran = Ran::from(service.command(&["--json", Q]).stdout(writer).output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(141), ""));
    assert!(service.cancelled());
}

#[test]
fn a_full_disk_is_an_error_of_its_own() {
    let service = Service::start(answered());
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = Ran::from(service.command(&[Q]).stdout(full).output().unwrap());
    assert!(ran.code == Some(1) && ran.stderr.contains("can't write the answer"), "{ran:?}");
}
