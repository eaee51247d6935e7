//! Where words go: data to standard output, everything else to standard error.

use std::io::{self, Write as _};

use crate::args::{Args, Colour, Output};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::render::wrap;
use crate::style::Style;

/// What the process finds around it.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Surroundings {
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// Whether `NO_COLOR` asks for none.
    pub no_colour: bool,
    /// Whether the terminal can do no more than print lines.
    pub dumb: bool,
    /// The width that the environment gives.
    pub columns: Option<u16>,
}

/// The two outputs of the process.
#[derive(Debug)]
pub struct Screen {
    /// The style of standard output.
    pub(crate) style: Style,
    /// The style of standard error.
    pub(crate) note_style: Style,
    /// The width of standard output where it is a terminal.
    pub(crate) width: Option<u16>,
    /// The width of standard error where it is a terminal.
    note_width: Option<u16>,
    /// Progress on standard error.
    pub(crate) progress: Progress,
}

/// Standard output takes no more; the exit that follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed(pub(crate) Exit);

impl Screen {
    /// A screen as the command line and the surroundings have it.
    pub fn new(args: &Args, around: &Surroundings) -> Self {
        let Output { color, json, quiet, .. } = args.output;
        let coloured = |terminal: bool| match color {
            Colour::Auto => terminal && !around.no_colour && !around.dumb,
            Colour::Always => true,
            Colour::Never => false,
        };
        let measured = || console::Term::stdout().size_checked().map(|(_, columns)| columns);
        let note_measured = || console::Term::stderr().size_checked().map(|(_, columns)| columns);
        let note_style = Style::new(coloured(around.stderr_is_terminal));
        let progress = if json || quiet {
            Progress::hidden()
        } else if around.stderr_is_terminal && !around.dumb {
            Progress::live()
        } else {
            Progress::plain()
        };
        Self {
            style: Style::new(coloured(around.stdout_is_terminal)),
            note_style,
            note_width: if around.stderr_is_terminal { around.columns.or_else(note_measured) } else { None },
            width: if around.stdout_is_terminal { around.columns.or_else(measured) } else { None },
            progress,
        }
    }

    /// Writes data, all of it, to standard output.
    pub(crate) fn data(&mut self, text: &str) -> Result<(), Closed> {
        let written = self.progress.aside(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        });
        match written {
            Ok(()) => Ok(()),
            Err(err) if err.kind() == io::ErrorKind::BrokenPipe => Err(Closed(Exit::Pipe)),
            Err(err) => {
                self.problem(&format!("can't write the answer: {err}"));
                Err(Closed(Exit::Output))
            }
        }
    }

    /// Writes prose to standard error, broken between words at the terminal's width.
    pub(crate) fn prose(&mut self, text: &str) {
        let lines = wrap::lines(text, self.note_width.map(usize::from));
        self.note(lines.join("\n"));
    }

    /// Writes a line to standard error. A standard error that is gone is no reason to stop.
    pub(crate) fn note(&mut self, text: impl std::fmt::Display) {
        self.progress.aside(|| writeln!(io::stderr(), "{text}")).unwrap_or_default();
    }

    /// Writes what stopped the command to standard error.
    pub(crate) fn problem(&mut self, text: &str) {
        let word = self.note_style.bad("ask:");
        self.note(format_args!("{word} {text}"));
    }
}
