//! The REST mirror.

use serde_json::{Map, Value, json};

use super::{MiniExecutor, json_response, problem};
use crate::mini::http::{Request, Response};
use crate::mini::issuer::Caller;

pub(super) async fn answer(
    mini: &MiniExecutor,
    caller: &Caller,
    request: &Request,
    parts: &[&str],
) -> Response {
    let method = request.method.as_str();
    let mut args = parameters(request);
    let tool = match (method, parts) {
        ("GET", ["sources"]) => "list_sources",
        (_, ["sources"]) if mini.is("any-method-taken") => "list_sources",
        ("GET", ["tables"]) => "list_tables",
        ("GET", ["tables", name]) => {
            args.insert("table".to_owned(), json!(name));
            "describe_table"
        }
        ("POST", ["query"]) => {
            args = match body(mini, request) {
                Ok(args) => args,
                Err(response) => return response,
            };
            "run_query"
        }
        (_, ["sources" | "tables" | "query"] | ["tables", _]) => {
            return problem(405, "not by this method", &json!({}));
        }
        _ => return problem(404, "there is nothing here", &json!({})),
    };
    let mut reply = mini.call(caller, "rest", tool, &args).await;
    let Some(code) = reply.code else {
        if mini.is("rest-lists-fewer") && tool == "list_tables" {
            reply.body["tables"].as_array_mut().unwrap().pop();
        }
        if mini.is("rest-has-own-type-names") {
            for column in
                reply.body["columns"].as_array_mut().into_iter().flatten().filter(|column| column.is_object())
            {
                column["type"] = json!("text");
            }
        }
        return json_response(200, &reply.body);
    };
    let status = match code {
        "access" if mini.is("access-is-404") => 404,
        "access" => 403,
        "guard" if mini.is("guard-is-200") => 200,
        "guard" => 422,
        "rate_limit" if mini.is("rate-limit-is-503") => 503,
        "rate_limit" => 429,
        "timeout" if mini.is("timeout-is-500") => 500,
        "timeout" => 504,
        _ => 400,
    };
    if mini.is("rest-has-own-messages") {
        reply.body["error"]["message"] = json!("It did not work.");
    }
    reply.body["code"] = json!(code);
    let detail = reply.body["error"]["message"].as_str().unwrap_or_default().to_owned();
    let mut response = problem(status, &detail, &reply.body);
    if mini.is("problems-are-plain-json") {
        response.headers = vec![("Content-Type", "application/json".to_owned())];
    }
    if status == 429 && !mini.is("no-retry-after") {
        response.headers.push(("Retry-After", "60".to_owned()));
    }
    response
}

fn parameters(request: &Request) -> Map<String, Value> {
    url::form_urlencoded::parse(request.query.as_bytes())
        .filter(|(name, _)| name != "access_token")
        .map(|(name, value)| (name.into_owned(), json!(value)))
        .collect()
}

fn body(mini: &MiniExecutor, request: &Request) -> Result<Map<String, Value>, Response> {
    if request.too_large {
        return Err(problem(413, "the body is too large", &json!({})));
    }
    let json_type = request.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    if !json_type && !mini.is("any-media-type-taken") {
        return Err(problem(415, "the body must be JSON", &json!({})));
    }
    match serde_json::from_slice(&request.body) {
        Ok(Value::Object(args)) => Ok(args),
        _ => Err(problem(400, "the body is no JSON object", &json!({}))),
    }
}
