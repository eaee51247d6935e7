//! The ask contract, and the executor's own, as executable assertions: a black box against any implementation of them.
//!
//! It shares no code and no types with any service. It reads the published schema files, validates every event on every
//! stream against them, and puts each rule of the contract to the test.

mod ask;
mod audit_log;
mod check;
mod checks;
mod ctx;
pub mod executor;
mod http;
mod log;
mod model;
mod offered;
mod options;
mod privacy;
mod report;
mod rules;
mod run;
mod running;
mod samples;
mod schema;
mod seen;
mod signin;
mod sse;
mod stream;
mod token;

pub use ask::{list, run};
pub use options::Options;
pub use report::{CheckResult, Report, Status, TargetReport};
pub use running::{Running, say};
pub use signin::SignIn;
