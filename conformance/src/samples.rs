//! Runs that end in each of the ways a run can end, for rules that hold on every ticket.

use std::rc::Rc;

use serde_json::Value;

use crate::check::Failure;
use crate::ctx::{Ctx, Run};
use crate::model::{Fault, Reply};

impl Ctx {
    /// A run with statements that ends in an answer.
    pub(crate) async fn answered(&self) -> Result<Rc<Run>, Failure> {
        let script = [
            Reply::call(&self.options.quick_tool, Value::Object(serde_json::Map::new())),
            self.query(&self.options.sql),
            self.conclude("answer", "There are some."),
        ];
        self.sample("answer", if self.control.is_some() { &script } else { &[] }).await
    }

    /// A run that finds nothing.
    pub(crate) async fn abstained(&self) -> Result<Rc<Run>, Failure> {
        let script = [
            self.search("zeppelins"),
            self.search("airships"),
            self.conclude("cannot_answer", "Nothing fits."),
        ];
        self.sample("abstention", &script).await
    }

    /// A run in which the guard refuses a statement, though the model would then claim success.
    pub(crate) async fn refused(&self) -> Result<Rc<Run>, Failure> {
        let script =
            [self.query(&self.options.guarded_sql), self.conclude("answer", "Deleted, all went well.")];
        self.sample("refusal", &script).await
    }

    /// A run whose model fails for good.
    pub(crate) async fn failed(&self) -> Result<Rc<Run>, Failure> {
        self.sample("model failure", &[Reply::fault(Fault::Status(400))]).await
    }

    /// A run that is cancelled while the model thinks.
    pub(crate) async fn cancelled(&self) -> Result<Rc<Run>, Failure> {
        const NAME: &str = "cancelled";
        if let Some(run) = self.memo.borrow().get(NAME) {
            return Ok(Rc::clone(run));
        }
        let begun = tokio::time::Instant::now();
        let ticket = self.slow_ask(4000).await?;
        let mut stream = self.open(&ticket.id, None).await?;
        stream.until(self.limit(), |event| event.kind() == "branch").await;
        self.cancel(&ticket.id).await?;
        let log = stream.rest(self.limit()).await;
        let run = Rc::new(Run {
            name: NAME,
            question: self.options.question.clone(),
            ticket,
            log,
            took: begun.elapsed(),
            model_calls: (0, 0),
        });
        self.memo.borrow_mut().insert(NAME, Rc::clone(&run));
        Ok(run)
    }

    /// One run of each ending that can be had.
    pub(crate) async fn samples(&self) -> Result<Vec<Rc<Run>>, Failure> {
        let mut runs = vec![self.answered().await?];
        if self.control.is_some() {
            runs.push(self.abstained().await?);
            runs.push(self.refused().await?);
            runs.push(self.failed().await?);
            runs.push(self.cancelled().await?);
        } else {
            match self.cancelled().await {
                Ok(run) => runs.push(run),
                Err(Failure::NotExercised(_)) => {}
                Err(failure @ Failure::Wrong(_)) => return Err(failure),
            }
        }
        Ok(runs)
    }

    async fn sample(&self, name: &'static str, replies: &[Reply]) -> Result<Rc<Run>, Failure> {
        if let Some(run) = self.memo.borrow().get(name) {
            return Ok(Rc::clone(run));
        }
        let run = Rc::new(self.run(name, &self.question(), replies).await?);
        self.memo.borrow_mut().insert(name, Rc::clone(&run));
        Ok(run)
    }
}
