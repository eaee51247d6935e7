//! The binary `ask-executor-conformance`: options in, lines and a verdict on an executor out.

use std::process::ExitCode;

use ask_conformance::{executor, say};
use clap::Parser as _;

fn main() -> anyhow::Result<ExitCode> {
    let options = executor::Options::parse();
    if options.running.list {
        return options.running.write_list(&executor::list(&options.running.only));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(executor::run(&options, &mut say))?;
    options.running.write_reports(&report)
}
