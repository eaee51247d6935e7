//! Writes the settings' tables into `docs/operations.md`, from the table that the service reads its defaults from.

use std::path::Path;

use anyhow::Context as _;
use ask_service::settings::table;

fn main() -> anyhow::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    let page = std::fs::read_to_string(&file)?;
    let page = table::renewed(&page).context("a group of settings has no table in docs/operations.md")?;
    std::fs::write(&file, page)?;
    Ok(())
}
