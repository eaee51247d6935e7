//! What a laptop lacks: an identity issuer, model stand-ins and sample data, so that the whole service runs on one machine.

pub mod analyst;
pub mod identity;
pub mod model;
pub mod sample;
