//! Live progress on standard error: a line for each branch that turns on a terminal, plain lines elsewhere.

mod lines;

use std::io::{self, Write as _};
use std::time::Duration;

use tokio::time::Instant;

use lines::Lines;

/// How often a spinner turns.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// Shows what goes on. Holds no text of a peer that was not neutralised before.
#[derive(Debug)]
pub(crate) struct Progress {
    kind: Kind,
    begin: Option<Instant>,
    latest: String,
    /// The branches that have a name of their own, in the order of their opening.
    branches: Vec<Branch>,
}

/// A branch of the run beside the run's own.
#[derive(Debug)]
struct Branch {
    id: String,
    name: String,
    latest: String,
}

#[derive(Debug)]
enum Kind {
    Hidden,
    Plain,
    Live(Option<Lines>),
}

impl Progress {
    /// Shows nothing.
    pub(crate) const fn hidden() -> Self {
        Self::new(Kind::Hidden)
    }

    /// One line for each change.
    pub(crate) const fn plain() -> Self {
        Self::new(Kind::Plain)
    }

    /// Lines that change in place: one for the ask, and one below it for each branch.
    pub(crate) const fn live() -> Self {
        Self::new(Kind::Live(None))
    }

    const fn new(kind: Kind) -> Self {
        Self { kind, begin: None, latest: String::new(), branches: Vec::new() }
    }

    /// Begins to count time, for one ask.
    pub(crate) fn start(&mut self, text: &str) {
        self.stop();
        self.begin = Some(Instant::now());
        self.latest.clear();
        self.branches.clear();
        if let Kind::Live(lines) = &mut self.kind {
            *lines = Some(Lines::new());
        }
        self.say(text);
    }

    /// Shows what goes on now in the ask as a whole.
    pub(crate) fn say(&mut self, text: &str) {
        if self.latest == text {
            return;
        }
        text.clone_into(&mut self.latest);
        match &self.kind {
            Kind::Live(Some(lines)) => lines.say(text),
            Kind::Plain => self.line(text),
            Kind::Hidden | Kind::Live(None) => {}
        }
    }

    /// Gives a branch a line of its own, under this name.
    pub(crate) fn open(&mut self, id: &str, name: &str) {
        if self.branches.iter().any(|branch| branch.id == id) {
            return;
        }
        self.branches.push(Branch { id: id.to_owned(), name: name.to_owned(), latest: String::new() });
        if let Kind::Live(Some(lines)) = &mut self.kind {
            lines.open(name);
        }
    }

    /// Shows what goes on now in a branch; in the ask as a whole where it has no line.
    pub(crate) fn say_in(&mut self, id: &str, text: &str) {
        let Some(index) = self.branches.iter().position(|branch| branch.id == id) else {
            return self.say(text);
        };
        let Some(branch) = self.branches.get_mut(index).filter(|branch| branch.latest != text) else {
            return;
        };
        text.clone_into(&mut branch.latest);
        let line = format!("{}: {text}", branch.name);
        match &self.kind {
            Kind::Live(Some(lines)) => lines.say_in(index, text),
            Kind::Plain => self.line(&line),
            Kind::Hidden | Kind::Live(None) => {}
        }
    }

    /// Shows that a branch has come to its end.
    pub(crate) fn close(&mut self, id: &str) {
        let Some(index) = self.branches.iter().position(|branch| branch.id == id) else { return };
        match &mut self.kind {
            Kind::Live(Some(lines)) => lines.close(index),
            Kind::Plain => {
                let name = self.branches.get(index).map(|branch| branch.name.clone()).unwrap_or_default();
                self.line(&format!("{name}: done"));
            }
            Kind::Hidden | Kind::Live(None) => {}
        }
    }

    fn line(&self, text: &str) {
        let ms = self.begin.map_or(0, |begin| begin.elapsed().as_millis());
        let (seconds, tenths) = (ms / 1000, ms % 1000 / 100);
        writeln!(io::stderr(), "[{seconds:>3}.{tenths} s] {text}").unwrap_or_default();
    }

    /// Turns the spinners.
    pub(crate) fn tick(&self) {
        if let Kind::Live(Some(lines)) = &self.kind {
            lines.tick();
        }
    }

    /// Whether there is anything to turn.
    pub(crate) const fn turns(&self) -> bool {
        matches!(self.kind, Kind::Live(Some(_)))
    }

    /// Takes the lines away.
    pub(crate) fn stop(&mut self) {
        if let Kind::Live(lines) = &mut self.kind
            && let Some(lines) = lines.take()
        {
            lines.clear();
        }
    }

    /// Writes something else without the lines in its way.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.kind {
            Kind::Live(Some(lines)) => lines.aside(write),
            Kind::Live(None) | Kind::Hidden | Kind::Plain => write(),
        }
    }
}
