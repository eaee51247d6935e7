//! Asks a question at `ASK_BASE_URL` with the token in `ASK_TOKEN`, shows what goes on, and prints how it ended.

#![expect(clippy::disallowed_methods, reason = "settings are read in a main, which this is")]

use std::io::Write as _;

use ask_client::{Base, Bearer, Client};
use ask_contract::{AskRequest, EventBody};

#[actix_rt::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let question = std::env::args().nth(1).ok_or("which question?")?;
    let base = Base::parse(&std::env::var("ASK_BASE_URL")?)?;
    let client = Client::new(base, Bearer::new(&std::env::var("ASK_TOKEN")?)?);
    let conversation = client.create_conversation().await?;
    let request = AskRequest { question, context: true, model: None, effort: None, deadline_s: None };
    let ticket = client.ask(&conversation.conversation_id, &request).await?;
    // The stream comes back by itself after a cut, and gives every event once.
    let mut events = client.events(&ticket.ticket);
    let (mut out, mut progress) = (std::io::stdout(), std::io::stderr());
    while let Some(received) = events.next().await? {
        // An event of a type that this client does not know is a later addition: passed over.
        let Some(event) = received.event else { continue };
        match event.body {
            EventBody::Milestone(it) => {
                writeln!(progress, "... {:?} {}", it.phase, it.subject.unwrap_or_default())?;
            }
            EventBody::Answer(it) => {
                writeln!(out, "{}", it.text)?;
                for caveat in &it.caveats {
                    writeln!(out, "Note: {caveat}")?;
                }
            }
            EventBody::Abstention(it) => writeln!(out, "No answer: {}", it.text)?,
            EventBody::Refusal(it) => writeln!(out, "Refused: {}", it.detail)?,
            EventBody::Error(it) => writeln!(out, "Failed: {}", it.detail)?,
            EventBody::Accepted(_) | EventBody::Branch(_) | EventBody::Step(_) | EventBody::Done(_) => {}
        }
    }
    Ok(())
}
