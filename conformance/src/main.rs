//! The binary `ask-conformance`: options in, lines and a verdict out.

use std::process::ExitCode;

use ask_conformance::{Options, say};
use clap::Parser as _;

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    if options.running.list {
        return options.running.write_list(&ask_conformance::list(&options.running.only));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(ask_conformance::run(&options, &mut say))?;
    options.running.write_reports(&report)
}
