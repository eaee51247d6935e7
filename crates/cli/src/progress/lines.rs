//! Lines at the bottom of a terminal that change in place.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::edged::Edged;

/// The most branches that get a line, so that the lines fit a small terminal; the others have none.
const MOST: usize = 12;
/// The widest that a branch's name is shown.
const NAME: usize = 24;
const TICKS: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ";
const ASK: &str = "{spinner} {wide_msg} {elapsed}";
const BRANCH: &str = "  {spinner} {prefix}  {wide_msg} {elapsed}";
const CLOSED: &str = "  ✓ {prefix}  {wide_msg} {elapsed}";

/// A line for the ask, and one below it for each branch.
#[derive(Debug)]
pub(super) struct Lines {
    all: MultiProgress,
    ask: ProgressBar,
    branches: Vec<ProgressBar>,
}

impl Lines {
    /// One line, on standard error.
    pub(super) fn new() -> Self {
        let target = ProgressDrawTarget::term_like(Box::new(Edged::stderr()));
        let all = MultiProgress::with_draw_target(target);
        let ask = all.add(ProgressBar::no_length());
        ask.set_style(style(ASK));
        Self { all, ask, branches: Vec::new() }
    }

    /// Shows what goes on in the ask.
    pub(super) fn say(&self, text: &str) {
        self.ask.set_message(text.to_owned());
        self.ask.tick();
    }

    /// Adds a line for a branch.
    pub(super) fn open(&mut self, name: &str) {
        if self.branches.len() >= MOST {
            return;
        }
        let line = self.all.add(ProgressBar::no_length());
        line.set_style(style(BRANCH));
        line.set_prefix(console::truncate_str(name, NAME, "…").into_owned());
        line.tick();
        self.branches.push(line);
    }

    /// Shows what goes on in a branch.
    pub(super) fn say_in(&self, index: usize, text: &str) {
        match self.branches.get(index) {
            Some(line) => {
                line.set_message(text.to_owned());
                line.tick();
            }
            None => self.say(text),
        }
    }

    /// Leaves a branch's line as it is, with its time, and marks it as done.
    pub(super) fn close(&self, index: usize) {
        if let Some(line) = self.branches.get(index) {
            line.set_style(style(CLOSED));
            line.abandon();
        }
    }

    /// Turns the spinners of what goes on.
    pub(super) fn tick(&self) {
        for line in std::iter::once(&self.ask).chain(&self.branches).filter(|line| !line.is_finished()) {
            line.tick();
        }
    }

    /// Takes all lines away.
    pub(super) fn clear(self) {
        for line in std::iter::once(&self.ask).chain(&self.branches) {
            line.finish_and_clear();
        }
        // A terminal that is gone shows nothing anyway.
        self.all.clear().unwrap_or_default();
    }

    /// Writes something else above the lines.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.all.suspend(write)
    }
}

fn style(template: &str) -> ProgressStyle {
    // A template that does not parse leaves the default one.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    style.tick_chars(TICKS)
}
