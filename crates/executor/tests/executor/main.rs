//! The executor's promises, tried from outside: library first, then over both surfaces.

mod access;
mod catalog;
mod fixture;
mod functions;
mod guard;
mod limits;
