//! The reference executor: guarded, access-controlled reads of SQL sources, and the catalog that says what they mean.

pub mod access;
pub mod engine;
pub mod guard;
pub mod refusal;
pub mod warehouse;
