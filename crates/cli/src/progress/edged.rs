//! A terminal with a few columns left free at the edge.

use std::io;

use console::Term;
use indicatif::TermLike;

/// Columns for the `^C` that a terminal echoes where the cursor stands, which is behind the spinner's line. Without them
/// the echo would begin another line, and the spinner's would stay on the screen.
const EDGE: u16 = 3;

/// A terminal that says it is narrower than it is.
#[derive(Debug)]
pub(super) struct Edged(Term);

impl Edged {
    /// Standard error.
    pub(super) fn stderr() -> Self {
        Self(Term::buffered_stderr())
    }
}

impl TermLike for Edged {
    fn width(&self) -> u16 {
        self.0.size().1.saturating_sub(EDGE)
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.0.write_line(s)
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.0.write_str(s)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}
