//! The model server against the service's own client, in both protocols, and against requests that break the rules.

#[cfg(test)]
mod client;
#[cfg(test)]
mod control;
#[cfg(test)]
mod setup;
#[cfg(test)]
mod strict;
