//! A ticket: its life, the events that may still be emitted, and the log that readers follow.

mod frame;
mod life;
mod log;
mod position;
mod progress;
mod redact;

pub use frame::encode;
pub use life::{Rejected, TicketLife, TicketSpec, supervisor_branch};
pub use log::{Batch, Log, Snapshot};
pub use position::position;
pub use progress::{HopUsage, Progress, Terminal};
