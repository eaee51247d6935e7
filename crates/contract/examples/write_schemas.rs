//! Writes `ask.openapi.json` and `events.schema.json` at the repository's root from the Rust types.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, document) in
        [("ask.openapi.json", ask_contract::openapi()), ("events.schema.json", ask_contract::events_schema())]
    {
        std::fs::write(root.join(name), format!("{document:#}\n"))?;
    }
    Ok(())
}
