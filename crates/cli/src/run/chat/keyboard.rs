//! Lines from the person: edited on a terminal, as they come from elsewhere.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::sync::mpsc;
use std::thread;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};
use tokio::sync::mpsc as async_mpsc;

/// What came of one look at the keyboard.
#[derive(Debug)]
pub(super) enum Typed {
    /// A line.
    Line(String),
    /// A line that was given up with Ctrl-C.
    Nothing,
    /// There is no more.
    End,
    /// It can't be read.
    Broken(String),
}

/// A thread that waits at the keyboard, so that this one can hear signals. It reads only when asked: a line that is typed
/// while a question runs stays with the terminal until then.
pub(super) struct Keyboard {
    wish: mpsc::Sender<()>,
    typed: async_mpsc::UnboundedReceiver<Typed>,
    /// How the terminal was before, where there is one.
    before: Option<Termios>,
}

impl Keyboard {
    /// Begins to wait for wishes.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub(super) fn new() -> io::Result<Self> {
        let (wish, wishes) = mpsc::channel();
        let (tell, typed) = async_mpsc::unbounded_channel();
        let is_terminal = io::stdin().is_terminal();
        let before = if is_terminal { tcgetattr(io::stdin()).ok() } else { None };
        let prompts = is_terminal && io::stdout().is_terminal();
        thread::Builder::new()
            .name("keyboard".to_owned())
            .spawn(move || if prompts { edit(&wishes, &tell) } else { read(&wishes, &tell) })?;
        Ok(Self { wish, typed, before })
    }

    /// Whether a person sits at it.
    pub(super) const fn is_terminal(&self) -> bool {
        self.before.is_some()
    }

    /// The next line.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the line that is being typed is lost.
    pub(super) async fn line(&mut self) -> Typed {
        if self.wish.send(()).is_err() {
            return Typed::End;
        }
        self.typed.recv().await.unwrap_or(Typed::End)
    }

    /// Gives the terminal back as it was, when the process ends in the middle of a line.
    pub(super) fn restore(&self) {
        if let Some(before) = &self.before {
            // A terminal that is gone needs nothing.
            tcsetattr(io::stdin(), OptionalActions::Now, before).unwrap_or_default();
        }
    }
}

fn edit(wishes: &mpsc::Receiver<()>, tell: &async_mpsc::UnboundedSender<Typed>) {
    // No history file: what a person asks stays in this process's memory.
    let config = Config::builder().auto_add_history(true).build();
    let mut editor = match DefaultEditor::with_config(config) {
        Ok(editor) => editor,
        Err(err) => return tell.send(Typed::Broken(err.to_string())).unwrap_or_default(),
    };
    while wishes.recv().is_ok() {
        let typed = match editor.readline("ask> ") {
            Ok(line) => Typed::Line(line),
            Err(ReadlineError::Interrupted) => Typed::Nothing,
            Err(ReadlineError::Eof) => Typed::End,
            Err(err) => Typed::Broken(err.to_string()),
        };
        if tell.send(typed).is_err() {
            return;
        }
    }
}

fn read(wishes: &mpsc::Receiver<()>, tell: &async_mpsc::UnboundedSender<Typed>) {
    let mut lines = io::stdin().lock().lines();
    while wishes.recv().is_ok() {
        let typed = match lines.next() {
            Some(Ok(line)) => Typed::Line(line),
            Some(Err(err)) => Typed::Broken(err.to_string()),
            None => Typed::End,
        };
        if tell.send(typed).is_err() {
            return;
        }
    }
}
