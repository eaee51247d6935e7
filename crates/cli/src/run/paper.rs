//! What the command prints of itself: completions and the manual page.

use std::fmt::Write as _;
use std::io;

use clap::builder::StyledStr;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::{Exit, TABLE};
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

/// The whole page: the command itself, its verbs, exit codes and variables.
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
    page.extend_from_slice(verbs(&command).as_bytes());
    // As it stands in the help, where its columns are.
    page.extend_from_slice(format!(".SH EXIT STATUS\n.nf\n{}\n.fi\n", escaped(TABLE)).as_bytes());
    main.render_version_section(&mut page)?;
    page.extend_from_slice(ENVIRONMENT.as_bytes());
    Ok(page)
}

/// The verbs with the options that are theirs alone: there is one page, so that none refers to another.
fn verbs(command: &Command) -> String {
    let mut text = ".SH COMMANDS\n".to_owned();
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let operands = verb.get_positionals().filter(|operand| !operand.is_last_set());
        let operands = operands.map(|operand| operand.get_id().as_str().to_uppercase());
        let words = ["ask".to_owned(), verb.get_name().to_owned()].into_iter().chain(operands);
        push_entry(&mut text, &words.collect::<Vec<_>>().join(" "), verb.get_about());
        let own = verb.get_arguments().filter(|option| !option.is_global_set() && !option.is_hide_set());
        for (long, option) in own.filter_map(|option| Some((option.get_long()?, option))) {
            if !matches!(long, "help" | "version") {
                text.push_str(".RS\n");
                push_entry(&mut text, &format!("--{long}"), option.get_help());
                text.push_str(".RE\n");
            }
        }
    }
    text
}

fn push_entry(text: &mut String, name: &str, about: Option<&StyledStr>) {
    let about = about.map(ToString::to_string).unwrap_or_default();
    // Writing to a string can't fail.
    writeln!(text, ".TP\n\\fB{}\\fR\n{}", escaped(name), escaped(&about)).unwrap_or_default();
}

/// Text in which nothing is a command to the formatter; no line of ours begins with a point.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('-', "\\-")
}

fn print(screen: &mut Screen, bytes: &[u8]) -> Exit {
    match screen.data(&String::from_utf8_lossy(bytes)) {
        Ok(()) => Exit::Answer,
        Err(Closed(exit)) => exit,
    }
}
