//! `ask-loadgen`: how much an ask service can do, measured from outside, with any address and a token.

mod args;
mod body;
mod conn;
mod figures;
mod meter;
mod scan;
mod target;
mod work;

use std::process::ExitCode;

use clap::Parser as _;

use args::Args;

fn main() -> ExitCode {
    let args = Args::parse();
    match actix_rt::System::new().block_on(work::run(&args)) {
        Ok(report) => {
            print(&report, args.json);
            ExitCode::SUCCESS
        }
        Err(err) => {
            complain(&format!("{err:#}"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "what was measured is what the program is for")]
fn print(report: &figures::Report, json: bool) {
    println!("{}", if json { report.json() } else { report.text() });
}

#[expect(clippy::print_stderr, reason = "what went wrong is for the person")]
fn complain(text: &str) {
    eprintln!("ask-loadgen: {text}");
}
