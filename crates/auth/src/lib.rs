//! Bearer tokens checked against an issuer's published keys: who is calling, and may they call at all.
//!
//! A [`Verifier`] turns the value of an `Authorization` header into an [`Identity`] or a [`Denied`]. It is cheap to
//! clone and is shared by every worker thread of a server; what it needs from outside is a [`Policy`], a [`Clock`] and
//! a [`KeySource`].
//!
//! Architecture invariants:
//! * this crate knows no HTTP server, no actor and no other crate of the workspace;
//! * a caller whose key is known never waits: fetching keys happens on a thread of its own;
//! * no token, and no part of one, reaches a log, an error or a `Debug` form;
//! * every failure to verify looks the same from outside.

mod authorization;
mod bearer;
mod claims;
mod clock;
mod denied;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod identity;
mod keys;
mod memory;
mod named;
mod policy;
mod token;
mod verifier;
mod words;

pub use bearer::Bearer;
pub use clock::Clock;
pub use denied::Denied;
pub use identity::{Identity, Owner, Subject};
pub use keys::{FetchError, HttpKeySource, KeySource};
pub use policy::{Policy, PolicyError, derive_jwks_url};
pub use verifier::{StartError, Verifier, VerifierBuilder};
