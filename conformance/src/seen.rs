//! Everything the run has read, so that the last checks can speak of all of it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::http::Answer;
use crate::log::Event;
use crate::schema::Schemas;

/// An error answer and the call that got it.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    pub(crate) call: String,
    pub(crate) answer: Answer,
}

/// What was read on every stream and every call.
#[derive(Debug)]
pub(crate) struct Seen {
    schemas: Result<Rc<Schemas>, String>,
    events: Cell<usize>,
    streams: Cell<usize>,
    invalid: RefCell<BTreeSet<String>>,
    refused: RefCell<Vec<Refused>>,
    kinds: RefCell<BTreeSet<String>>,
    models: RefCell<BTreeSet<String>>,
}

impl Seen {
    pub(crate) fn new(schemas: Result<Rc<Schemas>, String>) -> Self {
        Self {
            schemas,
            events: Cell::new(0),
            streams: Cell::new(0),
            invalid: RefCell::default(),
            refused: RefCell::default(),
            kinds: RefCell::default(),
            models: RefCell::default(),
        }
    }

    /// Validates and counts one event.
    pub(crate) fn event(&self, event: &Event) {
        self.events.set(self.events.get() + 1);
        self.kinds.borrow_mut().insert(event.kind().to_owned());
        if event.kind() == "done" {
            let model = event.text("model");
            if !model.is_empty() {
                self.models.borrow_mut().insert(model.to_owned());
            }
        }
        if let Ok(schemas) = &self.schemas
            && let Some(reason) = schemas.event(&event.data)
        {
            self.invalid.borrow_mut().insert(format!("{}: {reason}", event.kind()));
        }
    }

    /// Counts one opened stream.
    pub(crate) fn stream(&self) {
        self.streams.set(self.streams.get() + 1);
    }

    /// Keeps an error answer.
    pub(crate) fn refused(&self, call: String, answer: &Answer) {
        self.refused.borrow_mut().push(Refused { call, answer: answer.clone() });
    }

    /// The compiled schemas, or why there are none.
    pub(crate) fn schemas(&self) -> Result<&Schemas, String> {
        self.schemas.as_deref().map_err(Clone::clone)
    }

    /// Streams opened and events read.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.streams.get(), self.events.get())
    }

    /// What the schema said against events.
    pub(crate) fn invalid(&self) -> Vec<String> {
        self.invalid.borrow().iter().cloned().collect()
    }

    /// All error answers.
    pub(crate) fn all_refused(&self) -> Vec<Refused> {
        self.refused.borrow().clone()
    }

    /// The types of event that came by.
    pub(crate) fn kinds(&self) -> Vec<String> {
        self.kinds.borrow().iter().cloned().collect()
    }

    /// The models that `done` named.
    pub(crate) fn models(&self) -> Vec<String> {
        self.models.borrow().iter().cloned().collect()
    }
}
