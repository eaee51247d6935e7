//! Takes the sources under test as they stand, and puts the checker's primitives where the system's are.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Source, name, and what is replaced besides: `(text, by)`; each must be there.
type Taken = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const TAKEN: [Taken; 6] = [
    ("crates/core/src/ticket/frame.rs", "frame", &[("pub(super) fn data_of", "pub(crate) fn data_of")]),
    ("crates/core/src/ticket/log.rs", "log", &[("super::frame::", "crate::frame::"), ("pub(super) const fn new", "pub(crate) fn new"), ("pub(super) fn append", "pub(crate) fn append")]),
    ("crates/service/src/actors/follower.rs", "follower", &[("ask_core::ticket::", "crate::log::"), ("pub(super) const fn new", "pub(crate) fn new")]),
    ("crates/service/src/actors/idempotency.rs", "idempotency", &[("ask_auth::Owner", "crate::stand_ins::Owner")]),
    ("crates/auth/src/keys/schedule.rs", "schedule", &[("crate::clock::", "crate::stand_ins::")]),
    (
        "crates/auth/src/keys/store.rs",
        "store",
        &[
            ("crate::clock::", "crate::stand_ins::"),
            ("super::key::", "crate::stand_ins::"),
            ("super::source::", "crate::stand_ins::"),
            ("super::schedule::", "crate::schedule::"),
            ("use tokio::task::LocalSet;\n", ""),
            ("use tokio::runtime::Runtime;\n", "use crate::stand_ins::Runtime;\n"),
            ("tokio::runtime::Builder::new_current_thread().enable_all().build()?", "Runtime"),
            ("LocalSet::new().block_on(runtime, ", "runtime.block_on("),
            ("F: FnOnce() -> S + Send + 'static", "F: FnOnce() -> S + Send + 'static, S: Send"),
        ],
    ),
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    for (source, name, replaced) in TAKEN {
        let path = root.join(source);
        println!("cargo:rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap();
        let mut text: String = text.lines().filter(|line| !line.starts_with("//!")).map(|line| format!("{line}\n")).collect();
        for (from, to) in replaced {
            assert!(text.contains(from), "{source} has no {from:?} any more");
            text = text.replace(from, to);
        }
        text = text.replace("std::sync::", "shuttle::sync::").replace("std::thread::", "shuttle::thread::");
        fs::write(out.join(format!("{name}.rs")), text).unwrap();
    }
}
