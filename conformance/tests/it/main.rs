//! Who checks the harness: a right service that it must pass, and faulty ones that it must fail.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a make-believe service that panics fails its test, which is what it should do"
)]

mod cli;
mod executor;
mod faults;
mod judged;
mod mini;
