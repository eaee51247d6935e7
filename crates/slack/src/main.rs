//! The Slack app's command: reads settings, listens for Slack, and asks as the people who write.

use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::rc::Rc;

use actix_web::web::{Data, PayloadConfig};
use actix_web::{App, HttpServer};
use anyhow::Context as _;
use ask_client::Base;
use ask_signin::{Order, Secret, Web};
use ask_slack::api::Api;
use ask_slack::bot::Bot;
use ask_slack::people::{Issuer, People};
use ask_slack::web::{Door, routes};
use clap::Parser;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;

/// The largest request that is read.
const BODY_BYTES: usize = 1 << 20;
/// So many events may wait before Slack is told to come again.
const WAITING: usize = 1024;
/// So many are served at once.
const AT_ONCE: usize = 1024;

/// A Slack app in front of the ask service. Secrets come from the environment; see docs/slack.md.
#[derive(Parser)]
#[command(name = "ask-slack", version)]
struct Options {
    /// The ask service's root.
    #[arg(long, env = "ASK_BASE_URL", default_value = "http://127.0.0.1:8091")]
    base: String,
    /// Where people sign in.
    #[arg(long, env = "ASK_ISSUER")]
    issuer: String,
    /// By what name the issuer knows this app.
    #[arg(long, env = "ASK_CLIENT_ID", default_value = "ask-cli")]
    client_id: String,
    /// What the people's tokens are to be good for.
    #[arg(
        long,
        env = "ASK_SCOPE",
        default_value = "openid offline_access api://data-agent-service/access_as_user"
    )]
    scope: String,
    /// The app's signing secret.
    #[arg(long, env = "SLACK_SIGNING_SECRET", hide_env_values = true)]
    signing_secret: String,
    /// The bot's token, `xoxb-…`.
    #[arg(long, env = "SLACK_BOT_TOKEN", hide_env_values = true)]
    bot_token: String,
    /// Slack's Web API; another one is for tests.
    #[arg(long, env = "SLACK_API_URL", default_value = "https://slack.com/api")]
    slack_api: String,
    /// What to listen on; a gateway with TLS stands before it.
    #[arg(long, env = "ASK_SLACK_HOST", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// The port; 0 takes any free one.
    #[arg(long, env = "ASK_SLACK_PORT", default_value_t = 8094)]
    port: u16,
}

fn main() -> ExitCode {
    tracing_subscriber::fmt().json().with_writer(std::io::stderr).with_max_level(tracing::Level::INFO).init();
    match actix_web::rt::System::new().block_on(serve(Options::parse())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            complain(&err);
            ExitCode::FAILURE
        }
    }
}

async fn serve(options: Options) -> anyhow::Result<()> {
    let service = Base::parse(&options.base).context("the service's root (--base)")?;
    let (orders, mut waiting) = mpsc::channel(WAITING);
    let door = Data::new(Door::new(Secret::from(options.signing_secret.as_str()), orders));
    let order = Order { client_id: options.client_id, scope: options.scope, resource: None, audience: None };
    let people = People::new(Web::new(None), Issuer { address: options.issuer, order });
    let bot = Rc::new(Bot::new(
        Api::new(&options.slack_api, Secret::from(options.bot_token.as_str())),
        people,
        service,
    ));
    let server = HttpServer::new(move || {
        App::new().app_data(door.clone()).app_data(PayloadConfig::new(BODY_BYTES)).configure(routes)
    })
    .workers(1)
    .bind((options.host, options.port))
    .with_context(|| format!("{}:{} can't be listened on", options.host, options.port))?;
    for address in server.addrs() {
        tracing::info!(server.address = %address, "listening");
    }
    let running = server.run();
    let work = async {
        let mut deeds = FuturesUnordered::new();
        loop {
            tokio::select! {
                order = waiting.recv(), if deeds.len() < AT_ONCE => match order {
                    Some((id, deed)) => deeds.push(Rc::clone(&bot).serve(id, deed)),
                    None => break,
                },
                Some(()) = deeds.next() => {}
            }
        }
    };
    tokio::select! {
        ended = running => ended?,
        () = work => {}
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the process ends here, and this is why")]
fn complain(err: &anyhow::Error) {
    eprintln!("ask-slack: {err:#}");
}
