//! What each verb does, from the command line to the exit.

mod ask;
mod explain;
mod follow;
mod leaving;
mod look;

use std::io::Read as _;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use ask_client::{Client, Http, Limits};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::args::{Access, Args, Output, Verb};
use crate::exit::Exit;
use crate::neutral;
use crate::screen::Screen;
use crate::sign_in::sign_in;
use leaving::Leaving;

/// What a verb works with.
pub(crate) struct Desk {
    client: Client,
    output: Output,
    screen: Screen,
    leaving: Leaving,
}

/// Runs the command to its exit. Everything that there is to say has been said when it returns.
///
/// # Cancel safety
///
/// Not cancel safe: a dropped ask may run on. Signals are handled within.
pub async fn run(args: Args, mut screen: Screen) -> Exit {
    let Ok(mut leaving) = Leaving::new() else {
        screen.problem("can't listen for signals");
        return Exit::Error;
    };
    let client = tokio::select! {
        client = client(&args) => client,
        () = leaving.next() => return Exit::Cancelled,
    };
    let client = match client {
        Ok(client) => client,
        Err(err) => {
            screen.problem(&neutral::block(&format!("{err:#}")));
            return Exit::NoAccess;
        }
    };
    let Args { question, then, conversation, no_context, model, effort, output, verb, .. } = args;
    let mut desk = Desk { client, output, screen, leaving };
    let exit = match verb {
        Some(Verb::Watch { ticket, after }) => look::watch(&mut desk, &ticket, after).await,
        Some(Verb::Status { ticket }) => look::status(&mut desk, &ticket).await,
        Some(Verb::Cancel { ticket }) => look::cancel(&mut desk, &ticket).await,
        None => {
            let first = match question_text(&question) {
                Ok(first) => first,
                Err(err) => {
                    desk.screen.problem(&format!("{err:#}"));
                    return Exit::Usage;
                }
            };
            let questions = std::iter::once(first).chain(then).collect();
            let asking = ask::Asking { questions, conversation, context: !no_context, model, effort };
            ask::ask(&mut desk, asking).await
        }
    };
    desk.screen.progress.stop();
    exit
}

async fn client(args: &Args) -> anyhow::Result<Client> {
    let http = http(&args.access)?;
    let bearer = sign_in(&args.access, args.named).await?;
    Ok(Client::with(http, args.access.base.clone(), bearer, Limits::default()))
}

fn http(access: &Access) -> anyhow::Result<Http> {
    let path = access.ca_file.as_ref().filter(|path| !path.as_os_str().is_empty());
    let Some(path) = path else { return Ok(Http::new()) };
    let mut roots = rustls::RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(path).with_context(|| format!("can't read {}", path.display()))?;
    for certificate in certificates {
        let certificate = certificate.with_context(|| format!("{} is not PEM", path.display()))?;
        roots.add(certificate).with_context(|| format!("{} holds what is no certificate", path.display()))?;
    }
    if roots.is_empty() {
        bail!("{} holds no certificate", path.display());
    }
    let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Http::with_tls(Arc::new(tls)))
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
