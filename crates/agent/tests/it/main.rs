//! The loop against a scripted model and scripted tool servers, with paused time.

mod endings;
mod grounding;
mod limits;
mod world;
