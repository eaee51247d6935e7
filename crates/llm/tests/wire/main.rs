//! The client against raw TCP servers that write recorded-shape bytes.

#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod cancel;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod server;
#[cfg(test)]
mod setup;
