//! Starting and ending the parts of the stack in their order.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use actix_web::dev::{Server, ServerHandle};
use anyhow::Context;
use ask_devstack::{identity, sample};
use serde_json::{Value, json};

use super::child::{Child, Program};
use super::front;
use super::model::{ModelChoice, StandInPlan, protocol};
use super::places::{Places, find_program};
use super::state::{ModelState, ProcessState, State};
use super::surroundings::Surroundings;

/// How often a start is tried when ports are lost to others in between.
const MOST_TRIES: usize = 3;

/// Calls a minute that the sample executor takes of one person. The deployment's default of 60 is four or five questions,
/// since the look-ups before each come as calls too; a person who tries things out asks more than that.
const CALLS_A_MINUTE: &str = "1000";

/// What kind of stack to start.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) places: Places,
    pub(crate) logs: PathBuf,
    /// The ask service's port; any free one when it is none.
    pub(crate) port: Option<u16>,
    /// The console's port; any free one when it is none.
    pub(crate) console_port: Option<u16>,
    /// What answers when no model endpoint is set.
    pub(crate) stand_in: StandInPlan,
    pub(crate) around: Surroundings,
}

/// A running stack.
pub(crate) struct Stack {
    pub(crate) state: State,
    executor: Child,
    service: Child,
    /// The servers in this process: the issuer, the console, and the model stand-in where it is used.
    _servers: Vec<Background>,
}

impl Stack {
    /// Starts everything and waits until all of it answers. What was started ends again when something does not.
    ///
    /// # Cancel safety
    ///
    /// What was started ends when the future is dropped.
    pub(crate) async fn start(plan: &Plan) -> anyhow::Result<Self> {
        let mut tries = 1;
        loop {
            match Self::try_start(plan).await {
                Err(err) if tries < MOST_TRIES && plan.port.is_none() && lost_a_port(&err) => tries += 1,
                outcome => return outcome,
            }
        }
    }

    /// The children are started before the servers in this process, whose addresses are known by then: keys take a
    /// moment to make, and a connection waits at the bound port meanwhile.
    async fn try_start(plan: &Plan) -> anyhow::Result<Self> {
        let Plan { places, logs, port, console_port, stand_in, around } = plan;
        let data = places.data_dir();
        fs::create_dir_all(logs).with_context(|| format!("cannot make {}", logs.display()))?;
        sample::write(&data).context("cannot write the sample data")?;

        let identity_listener = free_listener()?;
        let model_listener = free_listener()?;
        let console_listener = listener(console_port.unwrap_or(0))?;
        let console_url = format!("http://{}{}/", console_listener.local_addr()?, front::CONSOLE);
        let model_url = format!("http://{}", model_listener.local_addr()?);
        let (executor_port, free_port) = free_ports()?;
        let executor_url = format!("http://127.0.0.1:{executor_port}");
        let base_url = format!("http://127.0.0.1:{}", port.unwrap_or(free_port));

        let settings = identity::Settings::default();
        let addresses =
            identity::Addresses::new(&format!("http://{}", identity_listener.local_addr()?), &settings);
        let auth = [
            ("DAS_ENTRA_ISSUER", addresses.url()),
            ("DAS_ENTRA_JWKS_URL", addresses.jwks_url()),
            ("DAS_AGENT_AUDIENCE", settings.audience.clone()),
            ("DAS_REQUIRED_SCOPE", settings.scope.clone()),
        ];
        let config = sample::executor_config(&data);
        let mut executor_settings = auth.to_vec();
        if around.get("DAS_RATE_CALLS").is_none() {
            executor_settings.push(("DAS_RATE_CALLS", CALLS_A_MINUTE.to_owned()));
        }
        let mut executor = Child::start(
            Program {
                name: "ask-executor",
                path: find_program(&places.launcher, "ask-executor")?,
                args: executor_args(&config, &executor_url),
                env: around.for_executor(&executor_settings),
            },
            &places.launcher,
            logs,
        )?;

        let model = ModelChoice::from(around);
        let mut service_settings = auth.to_vec();
        service_settings.extend([
            ("DAS_ASK_PORT", port_of(&base_url).to_owned()),
            ("DAS_APIM_BASE", executor_url.clone()),
            ("DAS_WAREHOUSE_MCP_PATH", "/warehouse/mcp".to_owned()),
            ("DAS_OM_MCP_PATH", "/om/mcp".to_owned()),
            ("DAS_SOURCES", sources(&config)?),
        ]);
        service_settings.extend(model.settings(around, &model_url));
        let mut service = Child::start(
            Program {
                name: "ask-service",
                path: find_program(&places.launcher, "ask-service")?,
                args: Vec::new(),
                env: around.for_service(&service_settings),
            },
            &places.launcher,
            logs,
        )?;

        let (server, issuer) =
            identity::serve(identity_listener, settings).context("cannot serve the issuer")?;
        let mut servers = vec![Background::run(server)];
        let front =
            front::serve(console_listener, &base_url, &addresses.url(), &issuer.issuer().full_scope())?;
        servers.push(Background::run(front));
        let model = match model {
            ModelChoice::StandIn => {
                servers.push(Background::run(stand_in.serve(model_listener)?));
                ModelState { stand_in: true, protocol: protocol(around).to_owned(), base_url: model_url }
            }
            ModelChoice::Endpoint(model) => model,
        };

        let client = awc::Client::builder().disable_redirects().finish();
        executor.wait_healthy(&client, &format!("{executor_url}/health")).await?;
        service.wait_healthy(&client, &format!("{base_url}/health")).await?;
        let process = |child: &Child, url: &str| ProcessState {
            pid: child.id(),
            url: url.to_owned(),
            log: child.log().to_owned(),
        };
        let state = State {
            pid: i32::try_from(std::process::id()).context("this process has no usable id")?,
            issuer: addresses.url(),
            jwks_url: addresses.jwks_url(),
            token_url: addresses.token_url(),
            mint_url: addresses.mint_url(),
            scope: issuer.issuer().full_scope(),
            default_user: identity::DEFAULT_PERSON.to_owned(),
            model,
            service: process(&service, &base_url),
            executor: process(&executor, &executor_url),
            console_url,
            data_dir: data,
            base_url,
        };
        Ok(Self { state, executor, service, _servers: servers })
    }

    /// Waits until a part of the stack ends by itself, and names it.
    ///
    /// # Cancel safety
    ///
    /// May be dropped and called again.
    pub(crate) async fn broken(&mut self) -> anyhow::Result<String> {
        let (name, status) = tokio::select! {
            status = self.executor.ended() => (self.executor.name(), status?),
            status = self.service.ended() => (self.service.name(), status?),
        };
        Ok(format!("{name} ended ({status})"))
    }

    /// Ends everything: the service first, so that its running asks still reach the executor to the last.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        let service = self.service.stop().await;
        let executor = self.executor.stop().await;
        service.and(executor)
    }
}

/// Whether a child could not have the port that was free a moment before.
fn lost_a_port(err: &anyhow::Error) -> bool {
    err.to_string().contains("in use")
}

/// A server that runs by itself until this is dropped.
struct Background(ServerHandle);

impl Background {
    fn run(server: Server) -> Self {
        let handle = server.handle();
        #[expect(clippy::disallowed_methods, reason = "ends when its handle stops it, or with the process")]
        drop(actix_rt::spawn(server));
        Self(handle)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // The request is on its way with the call; nobody is left to wait for the rest.
        drop(self.0.stop(false));
    }
}

fn executor_args(config: &Path, url: &str) -> Vec<OsString> {
    vec!["--config".into(), config.into(), "--port".into(), port_of(url).into()]
}

fn port_of(url: &str) -> &str {
    url.rsplit_once(':').map_or("", |(_, port)| port)
}

fn free_listener() -> anyhow::Result<TcpListener> {
    listener(0)
}

fn listener(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).with_context(|| match port {
        0 => "no free port".to_owned(),
        port => format!("cannot listen on port {port}"),
    })
}

/// Two ports that are free now. Another process could take one before ours does; the start is then tried again.
fn free_ports() -> anyhow::Result<(u16, u16)> {
    let (first, second) = (free_listener()?, free_listener()?);
    Ok((first.local_addr()?.port(), second.local_addr()?.port()))
}

/// The service's list of sources, from the executor's.
fn sources(config: &Path) -> anyhow::Result<String> {
    let text = fs::read(config).with_context(|| format!("cannot read {}", config.display()))?;
    let config: Value = serde_json::from_slice(&text).context("the executor's configuration is no JSON")?;
    let sources: Vec<Value> = config
        .get("sources")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|source| json!({ "name": source.get("name"), "kind": source.get("kind"), "dialect": source.get("kind") }))
        .collect();
    Ok(Value::Array(sources).to_string())
}
