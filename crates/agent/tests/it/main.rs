//! The loop against a scripted model and scripted tool servers, with paused time.

mod endings;
mod foreign;
mod grounding;
mod limits;
mod world;
