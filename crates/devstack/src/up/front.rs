//! One origin for a browser: the console, and the ask service under the path that a gateway would mount it at.

use std::net::TcpListener;

use actix_web::dev::Server;
use actix_web::http::header;
use actix_web::middleware::DefaultHeaders;
use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::Context;
use ask_console::Config;

use super::relay::Relay;

/// Where the console is.
pub(crate) const CONSOLE: &str = "/console";
/// Where the service is mounted.
const ASK: &str = "/ask";
/// The console's name at the issuer, which knows any.
const CLIENT_ID: &str = "ask-console";

/// Questions that the sample data answer, each in another way.
const EXAMPLES: [&str; 5] = [
    "Which support team resolves tickets fastest?",
    "What does Resolution Time mean?",
    "How many support tickets were opened each month?",
    "What is our customer satisfaction score for support?",
    "List every support agent's email address",
];

/// A server for the console, for a service at `base_url`, whose callers sign in at `issuer` with `scope`.
pub(crate) fn serve(
    listener: TcpListener,
    base_url: &str,
    issuer: &str,
    scope: &str,
) -> anyhow::Result<Server> {
    let config = Config {
        ask: ASK.to_owned(),
        issuer: issuer.to_owned(),
        client_id: CLIENT_ID.to_owned(),
        scope: scope.to_owned(),
        examples: EXAMPLES.map(str::to_owned).to_vec(),
        connect: Vec::new(),
    };
    // Told now, while there is somebody to hear it; below it can't fail any more.
    ask_console::headers(&config).context("cannot serve the console")?;
    let relay = Relay::to(base_url, ASK);
    let server = HttpServer::new(move || {
        let console = ask_console::scope(CONSOLE, &config);
        App::new()
            .wrap(DefaultHeaders::new().add(("x-content-type-options", "nosniff")))
            .route("/", web::get().to(to_console))
            .configure(relay.clone().routes())
            .configure(|app| {
                if let Ok(console) = console {
                    app.service(console);
                }
            })
    })
    .workers(1)
    .disable_signals()
    .shutdown_timeout(1)
    // A browser that leaves a stream is noticed at once, and so is it by the service.
    .h1_allow_half_closed(false)
    .listen(listener)
    .context("cannot serve the console")?
    .run();
    Ok(server)
}

async fn to_console() -> HttpResponse {
    HttpResponse::TemporaryRedirect().insert_header((header::LOCATION, format!("{CONSOLE}/"))).finish()
}
