//! Conversations.

pub(in crate::web) mod create;
pub(in crate::web) mod forget;
pub(in crate::web) mod list;
pub(in crate::web) mod state;
