//! How a session begins: which version both sides speak, and under which session id.
//!
//! A server of 2026-07-28 answers `server/discover` and needs no more. Any other refuses it, and is
//! then asked to `initialize`, as the specification's notes on backward compatibility say. A server
//! that refused is remembered for some minutes, so that the probe costs one round trip now and then.

use std::pin::pin;

use awc::http::{StatusCode, header::HeaderValue};
use futures_util::future::{Either, select};
use serde::{Deserialize, Serialize};

use crate::{
    Version,
    client::Client,
    config::Endpoint,
    error::{CallError, ConnectError, tame},
    exchange::{self, Fault, Refusal, exchange},
    http::{Budget, Wire},
    rpc::{self, RequestId, RpcError},
};

/// Longest session id that is taken from a server.
const MAX_SESSION_ID: usize = 1024;

/// What client and server agreed on.
#[derive(Debug, Clone)]
pub(crate) struct Agreement {
    pub(crate) version: Version,
    pub(crate) session_id: Option<HeaderValue>,
}

/// Who we are, as the protocol wants to know it.
#[derive(Serialize)]
struct ClientInfo {
    name: &'static str,
    version: &'static str,
}

const CLIENT_INFO: ClientInfo = ClientInfo { name: "ask-mcp", version: env!("CARGO_PKG_VERSION") };

/// We offer a server nothing: no sampling, no roots, no elicitation.
#[derive(Serialize)]
struct NoCapabilities {}

/// What each request carries in 2026-07-28.
#[derive(Serialize)]
pub(crate) struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: &'static str,
    #[serde(rename = "io.modelcontextprotocol/clientInfo")]
    client: ClientInfo,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: NoCapabilities,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
}

impl<'a> Meta<'a> {
    /// The metadata of a request in `version`, if that version has any.
    pub(crate) fn of(version: Version, endpoint: &'a Endpoint) -> Option<Self> {
        version.has_request_metadata().then(|| Self {
            version: version.as_str(),
            client: CLIENT_INFO,
            capabilities: NoCapabilities {},
            traceparent: endpoint.traceparent.as_deref(),
        })
    }

    /// The same on behalf of another span, if there is one.
    pub(crate) fn within(self, traceparent: Option<&'a str>) -> Self {
        Self { traceparent: traceparent.or(self.traceparent), ..self }
    }
}

/// Agrees with the server on a version, and opens a session where the version has them.
pub(crate) async fn agree(client: &Client, endpoint: &Endpoint) -> Result<Agreement, ConnectError> {
    match endpoint.version {
        Some(version) if version.has_request_metadata() => match discover(client, endpoint).await? {
            Era::Discovered => Ok(Agreement { version, session_id: None }),
            Era::Initializes(_) => Err(ConnectError::UnsupportedVersion { offered: String::new() }),
        },
        Some(version) => initialize(client, endpoint, version).await,
        None if client.is_legacy(&endpoint.uri) => {
            initialize(client, endpoint, Version::NEWEST_WITH_INITIALIZE).await
        }
        None => {
            let mut probe = pin!(discover(client, endpoint));
            let era = match tokio::time::timeout(endpoint.limits.probe, &mut probe).await {
                Ok(era) => era?,
                // Silence is how some old servers treat a method they do not know, and what any server does
                // while it is busy.
                Err(_) => return initialize_beside(client, endpoint, probe).await,
            };
            match era {
                Era::Discovered => Ok(NEWEST),
                Era::Initializes(version) => {
                    let version = version.unwrap_or(Version::NEWEST_WITH_INITIALIZE);
                    let agreement = initialize(client, endpoint, version).await?;
                    client.remember_legacy(&endpoint.uri);
                    Ok(agreement)
                }
            }
        }
    }
}

/// What is agreed with a server that answers the probe: there are no sessions.
const NEWEST: Agreement = Agreement { version: Version::V2026_07_28, session_id: None };

/// Offers `initialize` to a server that is silent, and goes on listening for its answer to the `probe`: the first that
/// makes sense counts, so that a busy server is not taken for an old one.
async fn initialize_beside(
    client: &Client,
    endpoint: &Endpoint,
    probe: impl Future<Output = Result<Era, ConnectError>> + Unpin,
) -> Result<Agreement, ConnectError> {
    let initializing = pin!(initialize(client, endpoint, Version::NEWEST_WITH_INITIALIZE));
    let initialized = match select(probe, initializing).await {
        Either::Left((Ok(Era::Discovered), _)) => return Ok(NEWEST),
        Either::Left((Ok(Era::Initializes(_)) | Err(_), initializing)) => initializing.await,
        Either::Right((Ok(agreement), _)) => Ok(agreement),
        Either::Right((Err(err), _)) if is_about_the_caller(&err) => Err(err),
        Either::Right((Err(err), probe)) => match tokio::time::timeout(endpoint.limits.probe, probe).await {
            Ok(Ok(Era::Discovered)) => return Ok(NEWEST),
            Ok(Ok(Era::Initializes(_)) | Err(_)) | Err(_) => Err(err),
        },
    };
    let agreement = initialized?;
    client.remember_legacy(&endpoint.uri);
    Ok(agreement)
}

/// Whether a refusal would be the same for any request of this caller.
fn is_about_the_caller(err: &ConnectError) -> bool {
    matches!(err, ConnectError::Failed(CallError::Status { status: 401 | 403 | 429, .. }))
}

/// What the probe told about a server.
enum Era {
    /// It speaks 2026-07-28.
    Discovered,
    /// It begins with `initialize`, perhaps in the version it named.
    Initializes(Option<Version>),
}

#[derive(Serialize)]
struct DiscoverParams<'a> {
    #[serde(rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    supported_versions: Vec<String>,
}

async fn discover(client: &Client, endpoint: &Endpoint) -> Result<Era, ConnectError> {
    let version = Version::V2026_07_28;
    let wire = Wire { http: &client.http, endpoint, version: Some(version), session_id: None };
    let method = "server/discover";
    let id = RequestId::next();
    let params = DiscoverParams { meta: Meta::of(version, endpoint) };
    let body = rpc::request(id, method, &params).map_err(ConnectError::Failed)?;
    let mut budget = Budget::new(endpoint.limits.max_reply_bytes);
    let headers = wire.standard_headers(method, None);
    match exchange(wire, id, body, headers, &mut budget).await {
        Ok(answer) => match serde_json::from_str::<Discovered>(answer.result.get()) {
            Ok(found) => common_era(&found.supported_versions),
            // A success that is no discovery: a server that says yes to everything.
            Err(_) => Ok(Era::Initializes(None)),
        },
        Err(Fault::Refused(refusal)) if !speaks_of_discovery(&refusal) => {
            Err(ConnectError::Failed(Fault::Refused(refusal).into()))
        }
        Err(Fault::Refused(refusal)) => refused(refusal.error),
        Err(Fault::Rpc(error)) => refused(Some(error)),
        Err(Fault::SessionGone | Fault::Call(CallError::Malformed { .. } | CallError::Incomplete)) => {
            Ok(Era::Initializes(None))
        }
        Err(Fault::Call(err)) => Err(ConnectError::Failed(err)),
    }
}

/// Whether a status is about the request, and not about the caller or the server's health.
fn speaks_of_discovery(refusal: &Refusal) -> bool {
    refusal.status.is_client_error()
        && !matches!(
            refusal.status,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
        )
}

/// What a refused probe says: other versions, an error of the new era, or a server of the old one.
fn refused(error: Option<RpcError>) -> Result<Era, ConnectError> {
    match error {
        Some(error) if error.code == RpcError::UNSUPPORTED_VERSION => {
            common_era(&error.supported_versions().unwrap_or_default())
        }
        Some(error) if matches!(error.code, RpcError::MISSING_CAPABILITY | RpcError::HEADER_MISMATCH) => {
            Err(ConnectError::Failed(error.into()))
        }
        Some(_) | None => Ok(Era::Initializes(None)),
    }
}

fn newest_common(offered: &[String]) -> Option<Version> {
    offered.iter().filter_map(|text| Version::parse(text)).max()
}

fn unsupported(offered: &[String]) -> ConnectError {
    ConnectError::UnsupportedVersion { offered: tame(&offered.join(", "), 200) }
}

fn common_era(offered: &[String]) -> Result<Era, ConnectError> {
    match newest_common(offered) {
        Some(version) if version.has_request_metadata() => Ok(Era::Discovered),
        Some(version) => Ok(Era::Initializes(Some(version))),
        None => Err(unsupported(offered)),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    protocol_version: &'static str,
    capabilities: NoCapabilities,
    client_info: ClientInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
}

/// Opens a session with `initialize`, offering `version`.
pub(crate) async fn initialize(
    client: &Client,
    endpoint: &Endpoint,
    version: Version,
) -> Result<Agreement, ConnectError> {
    let answer = match ask_to_initialize(client, endpoint, version).await {
        // A refusal may list what the server speaks instead; it is asked once more.
        Err(Fault::Rpc(error) | Fault::Refused(Refusal { error: Some(error), is_ours: true, .. })) => {
            let other = version_instead(endpoint, version, &error)?;
            ask_to_initialize(client, endpoint, other).await
        }
        other => other,
    }
    .map_err(|fault| ConnectError::Failed(fault.into()))?;
    let failed = |what| ConnectError::Failed(CallError::Malformed { what });
    let result: Initialized = serde_json::from_str(answer.result.get())
        .ok()
        .ok_or(failed("the reply to initialize names no version"))?;
    let agreed = Version::parse(&result.protocol_version)
        .filter(|agreed| endpoint.version.is_none_or(|only| only == *agreed))
        .ok_or_else(|| unsupported(&[result.protocol_version]))?;
    let session_id = answer.session_id.map(|mut id| {
        id.set_sensitive(true);
        id
    });
    let session_id_ok = session_id.as_ref().is_none_or(|id| {
        (1..=MAX_SESSION_ID).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
    });
    if !session_id_ok {
        return Err(failed("the session id is not printable ASCII"));
    }
    let wire = Wire { http: &client.http, endpoint, version: Some(agreed), session_id: session_id.as_ref() };
    let method = "notifications/initialized";
    let body = rpc::notification(method).map_err(ConnectError::Failed)?;
    exchange::send(wire, body, wire.standard_headers(method, None)).await.map_err(ConnectError::Failed)?;
    Ok(Agreement { version: agreed, session_id })
}

async fn ask_to_initialize(
    client: &Client,
    endpoint: &Endpoint,
    version: Version,
) -> Result<exchange::Answer, Fault> {
    let wire = Wire { http: &client.http, endpoint, version: None, session_id: None };
    let id = RequestId::next();
    let params = InitializeParams {
        protocol_version: version.as_str(),
        capabilities: NoCapabilities {},
        client_info: CLIENT_INFO,
    };
    let body = rpc::request(id, "initialize", &params)?;
    let mut budget = Budget::new(endpoint.limits.max_reply_bytes);
    exchange(wire, id, body, awc::http::header::HeaderMap::new(), &mut budget).await
}

/// The version to offer after `error` refused `asked`.
fn version_instead(endpoint: &Endpoint, asked: Version, error: &RpcError) -> Result<Version, ConnectError> {
    let about_version = matches!(error.code, RpcError::UNSUPPORTED_VERSION | RpcError::INVALID_PARAMS);
    let Some(offered) = error.supported_versions().filter(|_| about_version) else {
        return Err(ConnectError::Failed(error.clone().into()));
    };
    newest_common(&offered)
        .filter(|other| *other != asked && endpoint.version.is_none() && other.resumes_streams())
        .ok_or_else(|| unsupported(&offered))
}
