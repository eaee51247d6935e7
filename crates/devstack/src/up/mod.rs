//! The whole sample stack as one: started in order, known by one state file, ended by process id.

mod bound;
mod child;
mod command;
mod front;
mod health;
mod model;
mod places;
mod relay;
mod signals;
mod stack;
mod state;
mod surroundings;

pub(crate) use bound::become_program;
pub(crate) use command::run_command;
pub(crate) use health::is_healthy;
pub(crate) use model::{StandInKind, StandInPlan};
pub(crate) use places::Places;
pub(crate) use signals::Signals;
pub(crate) use stack::{Plan, Stack};
pub(crate) use state::{State, read_state};
pub(crate) use surroundings::Surroundings;
