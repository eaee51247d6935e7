//! The person's client of the ask service: what the binary `ask` does.
//!
//! Standard output is data: the answer, or with `--json` the events. Standard error is everything else: progress, notes,
//! and the endings that are no answer. Whatever a peer sent is neutralised before a terminal sees it.
//!
//! Architecture invariant: it knows the service through `ask-client` alone. It decides words and layout, never outcomes.

mod args;
mod exit;
mod identity;
mod neutral;
mod progress;
mod render;
mod run;
mod screen;
mod style;
mod words;

pub use args::Args;
pub use exit::Exit;
pub use run::run;
pub use screen::{Screen, Surroundings};
