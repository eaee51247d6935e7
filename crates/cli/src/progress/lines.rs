//! Lines at the bottom of a terminal that change in place.

use std::cell::{Cell, RefCell};
use std::io::{self, Write as _};

use console::{Term, measure_text_width, truncate_str};
use tokio::time::Instant;

/// The most branches that get a line; the others have none.
const MOST: usize = 12;
/// The widest that a branch's name is shown.
const NAME: usize = 24;
/// The turns of a spinner, one a tick.
const TURNS: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// The narrowest that anything is drawn for.
const NARROWEST: usize = 20;

/// A line for the ask, and one below it for each branch. Each is drawn whole and cut at the terminal's width, so that none
/// wraps; the cursor rests at the start of the line below, where the `^C` that a terminal echoes does no harm.
#[derive(Debug)]
pub(super) struct Lines {
    term: Term,
    ask: RefCell<Line>,
    branches: RefCell<Vec<Line>>,
    turn: Cell<usize>,
    /// How many lines stand on the terminal.
    drawn: Cell<usize>,
}

#[derive(Debug)]
struct Line {
    name: String,
    text: String,
    begin: Instant,
    /// How many seconds it took, once it is over.
    took: Option<u64>,
}

impl Line {
    fn new(name: String) -> Self {
        Self { name, text: String::new(), begin: Instant::now(), took: None }
    }

    /// The line at this width: a mark, a name, what goes on, the time at the right.
    fn drawn(&self, indent: &str, turn: usize, width: usize) -> String {
        let spinner = TURNS.get(turn % TURNS.len()).copied().unwrap_or(' ');
        let mark = if self.took.is_some() { '✓' } else { spinner };
        let elapsed = format!(" {}s", self.took.unwrap_or_else(|| self.begin.elapsed().as_secs()));
        let name = if self.name.is_empty() { String::new() } else { format!("{}  ", self.name) };
        let whole = format!("{indent}{mark} {name}{}", self.text);
        let room = width.saturating_sub(elapsed.len());
        let cut = truncate_str(&whole, room, "…");
        let gap = " ".repeat(room.saturating_sub(measure_text_width(&cut)));
        format!("{cut}{gap}{elapsed}")
    }
}

impl Lines {
    /// One line, on standard error.
    pub(super) fn new() -> Self {
        Self {
            term: Term::buffered_stderr(),
            ask: RefCell::new(Line::new(String::new())),
            branches: RefCell::default(),
            turn: Cell::new(0),
            drawn: Cell::new(0),
        }
    }

    /// Shows what goes on in the ask.
    pub(super) fn say(&self, text: &str) {
        text.clone_into(&mut self.ask.borrow_mut().text);
        self.draw();
    }

    /// Adds a line for a branch.
    pub(super) fn open(&self, name: &str) {
        self.branches.borrow_mut().push(Line::new(truncate_str(name, NAME, "…").into_owned()));
        self.draw();
    }

    /// Shows what goes on in a branch.
    pub(super) fn say_in(&self, index: usize, text: &str) {
        if let Some(line) = self.branches.borrow_mut().get_mut(index) {
            text.clone_into(&mut line.text);
        }
        self.draw();
    }

    /// Leaves a branch's line as it is, with its time, and marks it as done.
    pub(super) fn close(&self, index: usize) {
        if let Some(line) = self.branches.borrow_mut().get_mut(index) {
            line.took = Some(line.begin.elapsed().as_secs());
        }
        self.draw();
    }

    /// Turns the spinners.
    pub(super) fn tick(&self) {
        self.turn.set(self.turn.get().wrapping_add(1));
        self.draw();
    }

    /// Takes all lines away.
    pub(super) fn clear(self) {
        // A terminal that is gone shows nothing anyway.
        self.erase().and_then(|()| self.term.flush()).unwrap_or_default();
    }

    /// Writes something else above the lines.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.erase().and_then(|()| self.term.flush()).unwrap_or_default();
        let written = write();
        self.draw();
        written
    }

    fn erase(&self) -> io::Result<()> {
        // What was echoed where the cursor rests.
        self.term.clear_line()?;
        self.term.clear_last_lines(self.drawn.take())
    }

    fn draw(&self) {
        self.redrawn().unwrap_or_default();
    }

    fn redrawn(&self) -> io::Result<()> {
        let (rows, columns) = self.term.size();
        // The last column stays free: some terminals wrap as soon as it is written to.
        let width = usize::from(columns).saturating_sub(1).max(NARROWEST);
        let room = usize::from(rows).saturating_sub(3).min(MOST);
        let turn = self.turn.get();
        self.erase()?;
        let branches = self.branches.borrow();
        writeln!(&self.term, "{}", self.ask.borrow().drawn("", turn, width))?;
        for line in branches.iter().take(room) {
            writeln!(&self.term, "{}", line.drawn("  ", turn, width))?;
        }
        self.drawn.set(1 + branches.len().min(room));
        self.term.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_is_as_wide_as_it_may_be_and_no_wider() {
        let mut line = Line::new("support".to_owned());
        line.text = "Asking support about “Resolution Time”".to_owned();
        assert_eq!(line.drawn("  ", 0, 60), "  ⠋ support  Asking support about “Resolution Time”       0s");
        assert_eq!(line.drawn("", 11, 30), "⠙ support  Asking support … 0s");
        line.took = Some(7);
        assert_eq!(line.drawn("", 3, 30), "✓ support  Asking support … 7s");
        line.text = "技術".repeat(30);
        assert_eq!(measure_text_width(&line.drawn("", 0, 40)), 40);
    }
}
