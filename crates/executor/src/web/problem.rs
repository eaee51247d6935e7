//! Errors over HTTP as `application/problem+json` (RFC 9457).

use std::fmt;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, Responder, ResponseError};
use serde_json::{Map, Value, json};

use crate::refusal::{Code, Refusal};
use crate::tools::{Reply, Verdict};

/// What a problem's body is.
pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// An error as it is answered. Its members beyond the standard's are `code`, and for a call `error` and `ms` as over MCP.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    code: Option<&'static str>,
    more: Map<String, Value>,
    header: Option<(header::HeaderName, String)>,
}

impl Problem {
    fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), code: None, more: Map::new(), header: None }
    }

    pub(super) fn unauthenticated(challenge: String) -> Self {
        Self {
            header: Some((header::WWW_AUTHENTICATE, challenge)),
            ..Self::new(StatusCode::UNAUTHORIZED, "a valid bearer token is needed")
        }
    }

    pub(super) fn missing_scope(challenge: String) -> Self {
        Self {
            header: Some((header::WWW_AUTHENTICATE, challenge)),
            ..Self::new(StatusCode::FORBIDDEN, "the token lacks the scope that is needed")
        }
    }

    /// A request that a web page may have made, and that is not meant for this server.
    pub(super) fn strange_page(why: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, why)
    }

    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is nothing at this path")
    }

    pub(super) fn wrong_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not know this method")
    }

    /// A request whose form is wrong, before it became a call.
    pub(super) fn malformed(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { code: Some(Code::Invalid.as_str()), ..Self::new(status, detail) }
    }

    /// A call that did not end with a result.
    pub(super) fn of_call(reply: Reply) -> Self {
        let mut problem = match &reply.verdict {
            Verdict::Refused(refusal) => Self::of_refusal(refusal),
            Verdict::Done | Verdict::Broken => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the executor failed; the call may be tried again",
            ),
        };
        if let Value::Object(members) = reply.body {
            problem.more = members;
        }
        problem
    }

    fn of_refusal(refusal: &Refusal) -> Self {
        let status = match refusal.code {
            Code::Access => StatusCode::FORBIDDEN,
            Code::Guard => StatusCode::UNPROCESSABLE_ENTITY,
            Code::RateLimit => StatusCode::TOO_MANY_REQUESTS,
            Code::Invalid => StatusCode::BAD_REQUEST,
            Code::Timeout => StatusCode::GATEWAY_TIMEOUT,
        };
        Self {
            code: Some(refusal.code.as_str()),
            header: refusal.retry_after_s.map(|seconds| (header::RETRY_AFTER, seconds.to_string())),
            ..Self::new(status, refusal.message.clone())
        }
    }

    fn response(&self) -> HttpResponse {
        let mut body = Map::new();
        body.insert("type".to_owned(), json!("about:blank"));
        body.insert("title".to_owned(), json!(self.status.canonical_reason().unwrap_or("Error")));
        body.insert("status".to_owned(), json!(self.status.as_u16()));
        body.insert("detail".to_owned(), json!(self.detail));
        if let Some(code) = self.code {
            body.insert("code".to_owned(), json!(code));
        }
        body.extend(self.more.clone());
        let mut response = HttpResponse::build(self.status)
            .insert_header((header::CONTENT_TYPE, MEDIA_TYPE))
            .body(Value::Object(body).to_string());
        if let Some((name, value)) = &self.header
            && let Ok(value) = HeaderValue::from_str(value)
        {
            response.headers_mut().insert(name.clone(), value);
        }
        response
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        self.response()
    }
}

impl Responder for Problem {
    type Body = BoxBody;

    fn respond_to(self, _request: &HttpRequest) -> HttpResponse {
        self.response()
    }
}
