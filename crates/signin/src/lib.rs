//! Signing a person in without a browser of one's own: discovery, the device flow (RFC 8628), renewal, and where it all may go.
//!
//! Architecture invariant: secrets go to the provider's own endpoints alone, over TLS or on this machine, and into no debug output.

mod address;
mod clock;
mod device;
mod grant;
mod peek;
mod provider;
mod secret;
mod web;

pub use address::{Address, InvalidAddress};
pub use clock::now;
pub use device::{DeviceError, Order, Pending};
pub use grant::{Granted, Refused, refused};
pub use peek::Claims;
pub use provider::{Provider, ProviderError};
pub use secret::Secret;
pub use web::{Answer, Web, WebError};
