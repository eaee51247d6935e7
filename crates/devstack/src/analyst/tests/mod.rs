//! The analyst against real rows: a small tool layer runs its statements on the generated files.

mod answers;
mod behaviours;
mod conversations;
mod desk;
mod economy;
