//! A conversation at the keyboard: one question after the other, with what came before in memory only.

mod keyboard;

use ask_contract::ConversationId;

use super::Desk;
use super::ask::{Shape, open, take};
use super::follow::{Following, follow};
use crate::exit::Exit;
use crate::neutral;
use keyboard::{Keyboard, Typed};

const HELP: &str = "\
A line is a question; a follow-up knows what came before it.
  /new    begin another conversation
  /sql    show the SQL that ran with each answer, or stop showing it
  /chart  draw each answer's rows, or stop drawing them
  /id     tell the conversation's id, for `ask --conversation`
  /quit   leave; so does Ctrl-D. Ctrl-C ends the question that runs
Arrow keys move and recall; nothing of it is written to a file.";

/// Asks what is typed until the person leaves.
pub(super) async fn chat(desk: &mut Desk, conversation: Option<String>, shape: &Shape) -> Exit {
    let mut conversation = conversation.map(ConversationId::new);
    let mut keyboard = match Keyboard::new() {
        Ok(keyboard) => keyboard,
        Err(err) => {
            desk.screen.problem(&format!("can't read what is typed: {err}"));
            return Exit::Error;
        }
    };
    if keyboard.is_terminal() && !desk.output.quiet {
        let hello = format!("Asking {}. /help tells more, Ctrl-D leaves.", desk.client.base());
        desk.screen.note(desk.screen.note_style.dim(hello));
    }
    let mut last = Exit::Answer;
    loop {
        let typed = tokio::select! {
            typed = keyboard.line() => typed,
            () = desk.leaving.next() => {
                keyboard.restore();
                return Exit::Cancelled;
            }
        };
        let line = match typed {
            Typed::Line(line) => line,
            Typed::Nothing => continue,
            // A person who leaves has what they came for; a script wants to know how its last question ended.
            Typed::End => return if keyboard.is_terminal() { Exit::Answer } else { last },
            Typed::Broken(err) => {
                desk.screen.problem(&format!("can't read what is typed: {err}"));
                return Exit::Error;
            }
        };
        match line.trim() {
            "" => {}
            "/quit" | "/exit" => return Exit::Answer,
            "/help" | "/?" => desk.screen.note(HELP),
            "/new" => {
                conversation = None;
                desk.screen.note("The next question begins another conversation.");
            }
            "/sql" => {
                desk.output.sql = !desk.output.sql;
                desk.screen.note(if desk.output.sql { "SQL is shown." } else { "SQL is left out." });
            }
            "/chart" => {
                desk.output.chart = !desk.output.chart;
                desk.screen.note(if desk.output.chart { "Rows are drawn." } else { "Rows are not drawn." });
            }
            "/id" => match &conversation {
                Some(id) => desk.screen.note(neutral::line(id.as_str())),
                None => desk.screen.note("The conversation begins with its first question."),
            },
            command if command.starts_with('/') && !command.contains(char::is_whitespace) => {
                desk.screen.note(format_args!("There is no {}; see /help.", neutral::line(command)));
            }
            question => {
                last = asked(desk, &mut conversation, shape, question).await;
                desk.screen.progress.stop();
                if matches!(last, Exit::Pipe | Exit::Output) {
                    return last;
                }
            }
        }
    }
}

async fn asked(
    desk: &mut Desk,
    conversation: &mut Option<ConversationId>,
    shape: &Shape,
    question: &str,
) -> Exit {
    desk.screen.progress.start("Asking");
    let id = match conversation {
        Some(id) => id.clone(),
        None => match open(desk).await {
            Ok(id) => conversation.insert(id).clone(),
            Err(exit) => return exit,
        },
    };
    match take(desk, &id, &shape.of(question.to_owned())).await {
        Ok(ticket) => follow(desk, Following::own(ticket.ticket)).await,
        Err(exit) => exit,
    }
}
