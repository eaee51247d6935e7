//! The sample catalog of the tests.

use serde_json::{Value, json};

/// A few entities of each type.
pub(crate) fn sample() -> Value {
    json!({"entities": []})
}
