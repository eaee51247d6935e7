//! Which pages may read the issuer's answers: those of this machine, and only what a page needs to sign in.

use actix_web::HttpResponse;
use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};
use actix_web::middleware::Next;
use url::{Host, Url};

/// The ends of the paths that a page of another origin may read. The sign-in pages and `/admin` are not among them.
const OPEN: [&str; 4] = [
    "/v2.0/.well-known/openid-configuration",
    "/discovery/v2.0/keys",
    "/oauth2/v2.0/token",
    "/oauth2/v2.0/devicecode",
];

/// Answers a preflight, and names the origin that may read an answer.
#[expect(clippy::disallowed_types, reason = "a middleware's signature has this error")]
pub(super) async fn allow<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, actix_web::Error> {
    let open = OPEN.iter().any(|end| request.path().ends_with(end));
    let origin = request.headers().get(header::ORIGIN).filter(|origin| open && is_own(origin)).cloned();
    let preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match &origin {
        Some(_) if preflight => {
            let allowed = HttpResponse::NoContent()
                .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"))
                .insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type"))
                .finish();
            request.into_response(allowed).map_into_right_body()
        }
        Some(_) | None => next.call(request).await?.map_into_left_body(),
    };
    if open {
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("origin"));
    }
    if let Some(origin) = origin {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    Ok(response)
}

/// Whether the origin is a page that this machine serves.
fn is_own(origin: &HeaderValue) -> bool {
    let Some(url) = origin.to_str().ok().and_then(|text| Url::parse(text).ok()) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
