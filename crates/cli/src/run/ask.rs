//! Asking: a conversation, one question after the other, until an ending is no answer.

use std::pin::pin;
use std::time::Duration;

use ask_contract::{AskRequest, ConversationId, Effort, Ticket};
use tokio::time::timeout;

use super::follow::{Following, follow};
use super::{Desk, explain};
use crate::exit::Exit;
use crate::neutral;

/// How long a person who leaves waits for the ticket of an ask that is on its way, so that it can be cancelled.
const TICKET_WITHIN: Duration = Duration::from_secs(2);

/// What is asked, and how.
pub(super) struct Asking {
    pub(super) questions: Vec<String>,
    pub(super) conversation: Option<String>,
    pub(super) shape: Shape,
}

/// How each question is asked.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) context: bool,
    pub(super) model: Option<String>,
    pub(super) effort: Option<Effort>,
    pub(super) deadline_s: Option<u32>,
}

impl Shape {
    /// A question in this shape.
    pub(super) fn of(&self, question: String) -> AskRequest {
        let Self { context, model, effort, deadline_s } = self.clone();
        AskRequest { question, context, model, effort, deadline_s }
    }
}

/// Asks every question in one conversation.
pub(super) async fn ask(desk: &mut Desk, asking: Asking) -> Exit {
    let Asking { questions, conversation, shape } = asking;
    desk.screen.progress.start("Asking");
    let conversation = match conversation {
        Some(id) => ConversationId::new(id),
        None => match open(desk).await {
            Ok(id) => id,
            Err(exit) => return exit,
        },
    };
    let several = questions.len() > 1;
    let mut exit = Exit::Answer;
    for (index, question) in questions.into_iter().enumerate() {
        if index > 0 {
            desk.screen.progress.start("Asking");
        }
        if several && !desk.output.json && !desk.output.quiet {
            let heading = format!("> {}", neutral::line(&question));
            desk.screen.note(desk.screen.note_style.strong(heading));
        }
        exit = match take(desk, &conversation, &shape.of(question)).await {
            Ok(ticket) => follow(desk, Following::own(ticket.ticket)).await,
            Err(exit) => exit,
        };
        desk.screen.progress.stop();
        if exit != Exit::Answer {
            break;
        }
    }
    if !desk.output.json && !desk.output.quiet && !matches!(exit, Exit::NoAccess | Exit::Usage | Exit::Pipe) {
        let id = neutral::shell_word(conversation.as_str());
        let hint = format!("Follow up with: ask --conversation {id} QUESTION");
        desk.screen.note(desk.screen.note_style.dim(hint));
    }
    exit
}

pub(super) async fn open(desk: &mut Desk) -> Result<ConversationId, Exit> {
    let opened = tokio::select! {
        opened = desk.client.create_conversation() => opened,
        () = desk.leaving.next() => return Err(cancelled_early(desk)),
    };
    match opened {
        Ok(conversation) => Ok(conversation.conversation_id),
        Err(err) => Err(not_taken(desk, &err)),
    }
}

/// Hands the question in. Whoever leaves in the meantime leaves no ask behind.
pub(super) async fn take(
    desk: &mut Desk,
    conversation: &ConversationId,
    request: &AskRequest,
) -> Result<Ticket, Exit> {
    let client = desk.client.clone();
    let mut asked = pin!(client.ask(conversation, request));
    let left = tokio::select! {
        asked = &mut asked => return asked.map_err(|err| not_taken(desk, &err)),
        () = desk.leaving.next() => true,
    };
    if left && let Ok(Ok(ticket)) = timeout(TICKET_WITHIN, asked).await {
        drop(timeout(TICKET_WITHIN, client.cancel(&ticket.ticket)).await);
    }
    Err(cancelled_early(desk))
}

fn cancelled_early(desk: &mut Desk) -> Exit {
    desk.screen.progress.stop();
    desk.screen.note("Cancelled before the ask began.");
    Exit::Cancelled
}

fn not_taken(desk: &mut Desk, err: &ask_client::CallError) -> Exit {
    desk.screen.progress.stop();
    desk.screen.problem(&explain::call(err, desk.client.base()));
    Exit::of_call(err)
}
