//! The web console: static files that are a client of the ask contract, and an actix-web scope that serves them.
//!
//! The files need no server of their own: any gateway can serve `static/` with a `config.json` beside `index.html` and the
//! headers of [`headers`]. This crate embeds them, so that a program serves them without a folder.

mod config;
mod files;
mod headers;
mod scope;

pub use config::{Config, ConfigError};
pub use files::{File, files};
pub use headers::headers;
pub use scope::scope;
