//! What each verb does, from the command line to the exit.

mod ask;
mod chat;
mod doctor;
mod explain;
mod follow;
mod leaving;
mod look;
mod paper;
mod serve;
mod sign;
mod tls;
mod until;

use std::io::Read as _;
use std::rc::Rc;

use anyhow::{Context as _, bail};
use ask_client::{Client, Http, Limits};

use crate::args::{Args, Output, Verb};
use crate::exit::Exit;
use crate::identity::{Caller, Session, Web, given, kept, same_issuer};
use crate::neutral;
use crate::screen::Screen;
use leaving::Leaving;

/// What a verb works with.
pub(crate) struct Desk {
    client: Client,
    output: Output,
    screen: Screen,
    leaving: Leaving,
    /// Whether the person types in a conversation, and can type its commands.
    chats: bool,
}

/// Runs the command to its exit. Everything that there is to say has been said when it returns.
///
/// # Cancel safety
///
/// Not cancel safe: a dropped ask may run on. Signals are handled within.
pub async fn run(mut args: Args, mut screen: Screen) -> Exit {
    // What becomes another program, or only prints, has no need of what follows.
    match args.verb.take() {
        Some(Verb::Serve(serve)) => return serve::serve(&mut screen, serve),
        Some(Verb::Completions { shell }) => return paper::completions(&mut screen, shell),
        Some(Verb::Man) => return paper::man(&mut screen),
        verb => args.verb = verb,
    }
    let Ok(mut leaving) = Leaving::new() else {
        screen.problem("can't listen for signals");
        return Exit::Error;
    };
    let tls = match tls::tls(&args.access) {
        Ok(tls) => tls,
        Err(err) => {
            screen.problem(&neutral::block(&format!("{err:#}")));
            return Exit::NoAccess;
        }
    };
    let web = || Web::new(tls.clone());
    let http = || tls.clone().map_or_else(Http::new, Http::with_tls);
    match args.verb.take() {
        Some(Verb::Login(login)) => {
            return sign::login(&mut screen, &mut leaving, &web(), &args.access, login).await;
        }
        Some(Verb::Logout) => {
            return sign::logout(&mut screen, &mut leaving, &web(), &args.access.base).await;
        }
        Some(Verb::Whoami) => return sign::whoami(&mut screen, &mut leaving, &args).await,
        Some(Verb::Doctor) => {
            let (http, web) = (http(), web());
            return tokio::select! {
                exit = doctor::doctor(&mut screen, &args, &http, &web) => exit,
                () = leaving.next() => Exit::Cancelled,
            };
        }
        verb => args.verb = verb,
    }
    let caller = tokio::select! {
        caller = caller(&args, web) => caller,
        () = leaving.next() => return Exit::Cancelled,
    };
    let caller = match caller {
        Ok(caller) => caller,
        Err(err) => {
            screen.problem(&neutral::block(&format!("{err:#}")));
            return Exit::NoAccess;
        }
    };
    let client = Client::with(http(), args.access.base.clone(), caller.credentials(), Limits::default());
    let Args { question, then, conversation, no_context, model, effort, deadline, output, verb, .. } = args;
    let shape = ask::Shape { context: !no_context, model, effort, deadline_s: deadline };
    let mut desk = Desk { client, output, screen, leaving, chats: matches!(verb, Some(Verb::Chat)) };
    let exit = match verb {
        Some(Verb::Chat) => chat::chat(&mut desk, conversation, &shape).await,
        Some(Verb::Watch { ticket, after }) => look::watch(&mut desk, &ticket, after).await,
        Some(Verb::Status { ticket }) => look::status(&mut desk, &ticket).await,
        Some(Verb::Cancel { ticket }) => look::cancel(&mut desk, &ticket).await,
        // The others are done with by now.
        Some(
            Verb::Login(_)
            | Verb::Logout
            | Verb::Whoami
            | Verb::Serve(_)
            | Verb::Doctor
            | Verb::Completions { .. }
            | Verb::Man,
        )
        | None => asked(&mut desk, &question, then, conversation, shape).await,
    };
    desk.screen.progress.stop();
    if let Caller::Kept(session) = caller
        && let Some(err) = session.settle().await
    {
        let told = neutral::block(&format!("{:#}", anyhow::Error::from(err))).into_owned();
        let warning =
            format!("! The renewed sign-in could not be kept: {told}. Sign in again with `ask login`.");
        desk.screen.note(desk.screen.note_style.warn(warning));
    }
    exit
}

async fn asked(
    desk: &mut Desk,
    question: &[String],
    then: Vec<String>,
    conversation: Option<String>,
    shape: ask::Shape,
) -> Exit {
    let first = match question_text(question) {
        Ok(first) => first,
        Err(err) => {
            desk.screen.problem(&format!("{err:#}"));
            return Exit::Usage;
        }
    };
    let questions = std::iter::once(first).chain(then).collect();
    ask::ask(desk, ask::Asking { questions, conversation, shape }).await
}

/// Who asks: whom the command line or the environment says, else whoever is signed in at this service.
async fn caller(args: &Args, web: impl FnOnce() -> Web) -> anyhow::Result<Caller> {
    if let Some(bearer) = given(&args.access, args.named).await? {
        return Ok(Caller::Given(bearer));
    }
    let Some((place, kept)) = kept(&args.access.base)? else { return Err(sign::nobody()) };
    if let Some(issuer) = sign::issuer_named(&args.access)
        && !same_issuer(issuer, &kept.issuer)
    {
        bail!("the sign-in is from {}, not from {issuer}; sign in there with `ask login`", kept.issuer);
    }
    Ok(Caller::Kept(Rc::new(Session::new(web(), place, kept))))
}

/// The question as one text; from standard input when it is `-`.
fn question_text(words: &[String]) -> anyhow::Result<String> {
    /// More than any service takes; keeps a wrong redirection from filling the memory.
    const LONGEST: u64 = 1 << 20;

    let text = if words == ["-"] {
        let mut text = String::new();
        std::io::stdin().take(LONGEST).read_to_string(&mut text).context("can't read the question")?;
        text
    } else {
        words.join(" ")
    };
    let text = text.trim();
    if text.is_empty() {
        bail!("the question is blank");
    }
    Ok(text.to_owned())
}
