//! How a run ends, decided from what ran and what the model explicitly concluded, never from prose.

mod classify;
mod decide;
mod facts;
mod headline;

pub use classify::{ToolFault, classify};
pub use decide::decide;
pub use facts::{Conclusion, Entity, EntityKind, RefusedCall, RunFacts, Statement};
