//! The ask contract as executable assertions: a black box against any implementation of it.
//!
//! It shares no code and no types with any service. It reads the published schema files, validates every event on every
//! stream against them, and puts each rule of the contract to the test.

mod check;
mod checks;
mod ctx;
mod http;
mod log;
mod model;
mod options;
mod privacy;
mod report;
mod rules;
mod run;
mod samples;
mod schema;
mod seen;
mod sse;
mod stream;
mod token;

pub use options::Options;
pub use report::{CheckResult, Report, Status, TargetReport};
pub use run::{list, run};
