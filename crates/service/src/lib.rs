//! The ask service: tickets before anything runs, a lossless stream of what happens, one ending.
//!
//! Architecture invariant: this is the only crate that knows all others of the service, and it is thin. `actors` is the
//! only module that knows actix actors and hands out handles; `web` is the only one that knows HTTP; `settings` the only
//! one that reads the environment. What may be emitted and how a run ends is decided in `ask-core`.

mod actors;
mod audit;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod lifecycle;
mod probe;
pub mod settings;
mod telemetry;
mod web;

pub use lifecycle::{Running, StartError, run_until_signal, start};
pub use probe::probe;
pub use telemetry::{begin_logging, silence_panics};
