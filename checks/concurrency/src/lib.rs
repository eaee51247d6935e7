//! The parts of the project that threads share, compiled over a scheduler that chooses who goes next.
//!
//! `build.rs` takes each source as it stands. The tests run it under many thousand schedules; a schedule that fails is printed and
//! can be run again.

#![allow(dead_code, reason = "whole files are taken, and not all that is in them is checked")]

macro_rules! taken {
    ($name:ident) => {
        pub mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        }
    };
}

taken!(frame);
taken!(log);
taken!(follower);
taken!(idempotency);
taken!(schedule);
taken!(store);
pub mod stand_ins;
#[cfg(test)]
mod checks;
