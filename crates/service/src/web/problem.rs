//! Problem details as the only error that leaves the service.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use ask_contract::{PROBLEM_MEDIA_TYPE, Problem, ProblemCode};

use super::once::rate_headers;
use crate::actors::{Allowance, QuotaExceeded, Refused};

/// Seconds after which a caller who has too much may try again.
const TRY_AGAIN_S: u64 = 2;

/// An error as the caller sees it.
#[derive(Debug)]
pub(crate) struct ApiError {
    problem: Box<Problem>,
    retry_after_s: Option<u64>,
    allowance: Option<Allowance>,
}

impl ApiError {
    pub(crate) fn new(code: ProblemCode) -> Self {
        Self { problem: Box::new(Problem::new(code)), retry_after_s: None, allowance: None }
    }

    pub(crate) fn with_detail(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self {
            problem: Box::new(Problem::new(code).with_detail(detail)),
            retry_after_s: None,
            allowance: None,
        }
    }

    /// The caller has done something too often.
    pub(super) fn too_many(detail: &str) -> Self {
        Self::with_detail(ProblemCode::TooManyRequests, detail).and_try_again()
    }

    fn and_try_again(mut self) -> Self {
        self.retry_after_s = Some(TRY_AGAIN_S);
        self
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.problem.code.as_str())
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        response.content_type(PROBLEM_MEDIA_TYPE).insert_header((header::CACHE_CONTROL, "no-store"));
        match self.problem.code {
            ProblemCode::Unauthenticated => {
                response.insert_header((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
            }
            ProblemCode::InsufficientScope => {
                let challenge = HeaderValue::from_static("Bearer error=\"insufficient_scope\"");
                response.insert_header((header::WWW_AUTHENTICATE, challenge));
            }
            ProblemCode::NotFound
            | ProblemCode::MethodNotAllowed
            | ProblemCode::AskRunning
            | ProblemCode::ConversationFull
            | ProblemCode::IdempotencyKeyReused
            | ProblemCode::TicketExpired
            | ProblemCode::TicketLost
            | ProblemCode::BodyTooLarge
            | ProblemCode::UnsupportedMediaType
            | ProblemCode::InvalidRequest
            | ProblemCode::TooManyRequests
            | ProblemCode::Unavailable
            | ProblemCode::Internal => {}
        }
        if let Some(allowance) = &self.allowance {
            rate_headers(allowance).into_iter().for_each(|header| {
                response.insert_header(header);
            });
        }
        if let Some(seconds) = self.retry_after_s {
            response.insert_header((header::RETRY_AFTER, HeaderValue::from(seconds)));
        }
        // A problem is plain data; were it ever not, an empty body with the right status is left.
        response.body(serde_json::to_vec(self.problem.as_ref()).unwrap_or_default())
    }
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NotFound => Self::new(ProblemCode::NotFound),
            Refused::Running => Self::new(ProblemCode::AskRunning),
            Refused::Full => Self::new(ProblemCode::ConversationFull),
            Refused::Quota(exceeded) => {
                let code = match exceeded {
                    QuotaExceeded::Conversations
                    | QuotaExceeded::Tickets
                    | QuotaExceeded::Running
                    | QuotaExceeded::Rate(_) => ProblemCode::TooManyRequests,
                    QuotaExceeded::Everyone => ProblemCode::Unavailable,
                };
                let error = Self::with_detail(code, exceeded.to_string()).and_try_again();
                match exceeded {
                    QuotaExceeded::Rate(allowance) => Self {
                        retry_after_s: Some(allowance.reset_s.max(1)),
                        allowance: Some(allowance),
                        ..error
                    },
                    QuotaExceeded::Conversations
                    | QuotaExceeded::Tickets
                    | QuotaExceeded::Running
                    | QuotaExceeded::Everyone => error,
                }
            }
            Refused::Closing => Self::with_detail(ProblemCode::Unavailable, "shutting down").and_try_again(),
            Refused::NoId(err) => {
                tracing::error!(error = %err, "no identifier could be made");
                Self::new(ProblemCode::Internal)
            }
        }
    }
}
