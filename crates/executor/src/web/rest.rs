//! The executor tools as plain HTTP: the same calls, the same JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::error::JsonPayloadError;
use actix_web::http::StatusCode;
use actix_web::web::{Data, Json, JsonConfig, Path, Query, ReqData, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Map, Value};

use super::problem::Problem;
use crate::caller::{Caller, Origin};
use crate::tools::{Desk, Tool, Verdict};

/// The longest request body, in bytes; a statement has at most 20,000.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// The parameters of a GET, all texts.
type Parameters = BTreeMap<String, String>;

pub(super) fn routes(config: &mut ServiceConfig) {
    let wrong_method = || web::to(|| async { Problem::wrong_method() });
    config
        .service(web::resource("/sources").route(web::get().to(sources)).default_service(wrong_method()))
        .service(web::resource("/tables").route(web::get().to(tables)).default_service(wrong_method()))
        .service(web::resource("/tables/{name}").route(web::get().to(table)).default_service(wrong_method()))
        .service(web::resource("/query").route(web::post().to(query)).default_service(wrong_method()));
}

/// How JSON bodies are read: within a limit, and with problems for what is wrong.
#[expect(clippy::wildcard_enum_match_arm, reason = "the library's enum may grow; the rest is one answer")]
pub(super) fn json_config() -> JsonConfig {
    JsonConfig::default().limit(MAX_BODY_BYTES).error_handler(|err, _request| {
        let problem = match err {
            JsonPayloadError::OverflowKnownLength { .. } | JsonPayloadError::Overflow { .. } => {
                Problem::malformed(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
            }
            JsonPayloadError::ContentType => {
                Problem::malformed(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json")
            }
            _ => Problem::malformed(StatusCode::BAD_REQUEST, "the body is no JSON object"),
        };
        problem.into()
    })
}

async fn sources(
    desk: Data<Desk>,
    caller: ReqData<Caller>,
    parameters: Query<Parameters>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    call(desk, caller, &request, Tool::ListSources, texts(parameters)).await
}

async fn tables(
    desk: Data<Desk>,
    caller: ReqData<Caller>,
    parameters: Query<Parameters>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    call(desk, caller, &request, Tool::ListTables, texts(parameters)).await
}

async fn table(
    desk: Data<Desk>,
    caller: ReqData<Caller>,
    name: Path<String>,
    parameters: Query<Parameters>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let mut arguments = texts(parameters);
    arguments.insert("table".to_owned(), Value::from(name.into_inner()));
    call(desk, caller, &request, Tool::DescribeTable, arguments).await
}

async fn query(
    desk: Data<Desk>,
    caller: ReqData<Caller>,
    arguments: Json<Map<String, Value>>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    call(desk, caller, &request, Tool::RunQuery, arguments.into_inner()).await
}

fn texts(Query(parameters): Query<Parameters>) -> Map<String, Value> {
    parameters.into_iter().map(|(name, value)| (name, Value::from(value))).collect()
}

async fn call(
    desk: Data<Desk>,
    caller: ReqData<Caller>,
    request: &HttpRequest,
    tool: Tool,
    arguments: Map<String, Value>,
) -> Result<HttpResponse, Problem> {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let origin = Origin::new("rest", header("x-request-id"), header("traceparent"));
    let desk: Arc<Desk> = desk.into_inner();
    let reply = desk.call(caller.into_inner(), origin, tool, arguments).await;
    match reply.verdict {
        Verdict::Done => Ok(HttpResponse::Ok().json(reply.body)),
        Verdict::Refused(_) | Verdict::Broken => Err(Problem::of_call(reply)),
    }
}
