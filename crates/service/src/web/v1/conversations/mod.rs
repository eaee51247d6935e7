//! Conversations.

pub(in crate::web) mod create;
