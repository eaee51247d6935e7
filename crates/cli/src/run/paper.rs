//! What the command prints of itself: completions and the manual page.

use std::io;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::Exit;
use crate::screen::{Closed, Screen};

/// The section on variables, which each option has beside it in `--help` alone.
const ENVIRONMENT: &str = "\
.SH ENVIRONMENT
ASK_BASE_URL, ASK_TOKEN, ASK_TOKEN_FILE, ASK_USER, ASK_TOKEN_URL, ASK_ISSUER, ASK_CLIENT_ID, ASK_SCOPE, ASK_RESOURCE,
ASK_AUDIENCE and ASK_CA_FILE stand for the options of these names. NO_COLOR asks for no colour. A sign\\-in is kept below
XDG_STATE_HOME, else below ~/.local/state.
";

/// A script that completes the command in a shell.
pub(super) fn completions(screen: &mut Screen, shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "ask", &mut script);
    print(screen, &script)
}

/// The manual page, as roff.
pub(super) fn man(screen: &mut Screen) -> Exit {
    match page() {
        Ok(page) => print(screen, &page),
        Err(err) => {
            screen.problem(&format!("can't write the manual page: {err}"));
            Exit::Output
        }
    }
}

/// The command itself, then a section for each verb.
fn page() -> io::Result<Vec<u8>> {
    let mut command = Args::command();
    command.build();
    let mut page = Vec::new();
    let main = clap_mangen::Man::new(command.clone());
    main.render_title(&mut page)?;
    main.render_name_section(&mut page)?;
    main.render_synopsis_section(&mut page)?;
    main.render_description_section(&mut page)?;
    main.render_options_section(&mut page)?;
    main.render_subcommands_section(&mut page)?;
    main.render_extra_section(&mut page)?;
    main.render_version_section(&mut page)?;
    page.extend_from_slice(ENVIRONMENT.as_bytes());
    Ok(page)
}

fn print(screen: &mut Screen, bytes: &[u8]) -> Exit {
    match screen.data(&String::from_utf8_lossy(bytes)) {
        Ok(()) => Exit::Answer,
        Err(Closed(exit)) => exit,
    }
}
