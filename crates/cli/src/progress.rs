//! Live progress on standard error: a spinner on a terminal, plain lines elsewhere.

mod edged;

use std::io::{self, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use edged::Edged;

/// How often a spinner turns.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// Shows what goes on. Holds no text of a peer that was not neutralised before.
#[derive(Debug)]
pub(crate) struct Progress {
    kind: Kind,
    begin: Option<Instant>,
    latest: String,
}

#[derive(Debug)]
enum Kind {
    Hidden,
    Lines,
    Spinner(Option<ProgressBar>),
}

impl Progress {
    /// Shows nothing.
    pub(crate) const fn hidden() -> Self {
        Self::new(Kind::Hidden)
    }

    /// One line for each change.
    pub(crate) const fn lines() -> Self {
        Self::new(Kind::Lines)
    }

    /// One line that changes in place.
    pub(crate) const fn spinner() -> Self {
        Self::new(Kind::Spinner(None))
    }

    const fn new(kind: Kind) -> Self {
        Self { kind, begin: None, latest: String::new() }
    }

    /// Begins to count time, for one ask.
    pub(crate) fn start(&mut self, text: &str) {
        self.begin = Some(Instant::now());
        self.latest.clear();
        if let Kind::Spinner(bar) = &mut self.kind {
            let shown =
                ProgressBar::with_draw_target(None, ProgressDrawTarget::term_like(Box::new(Edged::stderr())));
            // A template that does not parse leaves the default one.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
                shown.set_style(style.tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ "));
            }
            *bar = Some(shown);
        }
        self.say(text);
    }

    /// Shows what goes on now.
    pub(crate) fn say(&mut self, text: &str) {
        if self.latest == text {
            return;
        }
        text.clone_into(&mut self.latest);
        match &self.kind {
            Kind::Hidden => {}
            Kind::Lines => {
                let ms = self.begin.map_or(0, |begin| begin.elapsed().as_millis());
                let (seconds, tenths) = (ms / 1000, ms % 1000 / 100);
                writeln!(io::stderr(), "[{seconds:>3}.{tenths} s] {text}").unwrap_or_default();
            }
            Kind::Spinner(bar) => {
                if let Some(bar) = bar {
                    bar.set_message(text.to_owned());
                    bar.tick();
                }
            }
        }
    }

    /// Turns the spinner.
    pub(crate) fn tick(&self) {
        if let Kind::Spinner(Some(bar)) = &self.kind {
            bar.tick();
        }
    }

    /// Whether there is anything to turn.
    pub(crate) const fn turns(&self) -> bool {
        matches!(self.kind, Kind::Spinner(Some(_)))
    }

    /// Takes the spinner away.
    pub(crate) fn stop(&mut self) {
        if let Kind::Spinner(bar) = &mut self.kind
            && let Some(bar) = bar.take()
        {
            bar.finish_and_clear();
        }
    }

    /// Writes something else without the spinner in its way.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.kind {
            Kind::Spinner(Some(bar)) => bar.suspend(write),
            Kind::Spinner(None) | Kind::Hidden | Kind::Lines => write(),
        }
    }
}
