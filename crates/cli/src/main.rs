//! `ask`: reads the command line, runs one current-thread runtime, and exits with the code of the ending.

use std::env::var_os;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use ask_cli::{Args, Screen, Surroundings, run};

fn main() -> ExitCode {
    let args = Args::from_command_line();
    let told = |name| var_os(name).is_some_and(|value| !value.is_empty());
    let screen = Screen::new(
        &args,
        &Surroundings {
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            no_colour: told("NO_COLOR"),
            dumb: var_os("TERM").is_some_and(|term| term == "dumb"),
            columns: var_os("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok()),
        },
    );
    // An error says that there is a provider already, which is as good.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    actix_rt::System::new().block_on(run(args, screen)).into()
}
