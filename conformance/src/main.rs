//! The binary `ask-conformance`: options in, lines and a verdict out.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use ask_conformance::Options;
use clap::Parser as _;

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let mut out = std::io::stdout();
    if options.list {
        for (id, title) in ask_conformance::list(&options.only) {
            writeln!(out, "{id:28} {title}")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut say = |line: &str| {
        // A reader that has left does not change the verdict.
        let _written = writeln!(std::io::stdout(), "{line}");
    };
    let report = runtime.block_on(ask_conformance::run(&options, &mut say))?;
    if let Some(path) = &options.json {
        std::fs::write(path, format!("{:#}\n", report.json())).with_context(|| path.display().to_string())?;
    }
    if let Some(path) = &options.junit {
        std::fs::write(path, report.junit()).with_context(|| path.display().to_string())?;
    }
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
