//! Identifiers on the wire: opaque to clients, one type each so that they can't be mixed up.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! wire_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it is; whether such a thing exists is the service's to say.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text, as it stands in URLs and events.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

wire_id! {
    /// Names one ask from its acceptance until its ticket expires.
    TicketId
}
wire_id! {
    /// Names one conversation, within which asks remember each other.
    ConversationId
}
wire_id! {
    /// Names one branch of a run; unique within its ticket only.
    BranchId
}
