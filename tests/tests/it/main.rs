//! The sample stack as a user meets it: the commands of the README against real processes, and the workspace's structure.
//!
//! The programs must have been built before (`cargo build --workspace --bins`, which `make test` does).

mod own;
mod questions;
mod shutdown;
mod stack;
mod structure;
mod surface;
