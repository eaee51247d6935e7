//! A sample issuer of tokens, shaped like a provider of `OpenID` Connect: discovery, keys, and grants for three people.
//!
//! It exists so that the whole stack runs on one machine. **It asks for no password**: whoever reaches it can be any of
//! the three. Serve it on loopback only; its `/admin` routes answer loopback callers alone.

mod addresses;
mod clock;
mod codes;
mod grants;
mod issuer;
mod keyring;
mod person;
mod shape;
mod signing;
mod web;

pub use addresses::Addresses;
pub use clock::Clock;
pub use issuer::{Issuer, IssuerError, Settings};
pub use person::{DEFAULT_PERSON, PEOPLE, Person, find as find_person};
pub use shape::{Mint, Shape, SigningChoice};
pub use signing::KeyError;
pub use web::{Handle, serve};
