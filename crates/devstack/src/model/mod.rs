//! Model stand-ins behind the two model protocols: the stub that tests control, and any [`StandIn`](dialogue::StandIn).
//!
//! [`serve`] starts a server that reads and validates requests as strictly as the real APIs do, and encodes replies as they do,
//! streamed or whole. Under `/s/{session}` each test has a stub of its own, with its own script, record and counts.

mod anthropic;
mod bench;
mod body;
mod cache;
mod control;
pub mod dialogue;
mod handle;
mod openai;
mod plan;
mod refusal;
mod script;
mod server;
mod session;
mod wire;

pub use cache::Figures;
pub use handle::Handle;
pub use script::{Hang, Scripted, ScriptedCall};
pub use server::{Options, serve};
pub use session::{Recorded, State};
