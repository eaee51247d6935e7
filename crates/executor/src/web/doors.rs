//! Turns away requests that a web page makes to a server it is not meant for: another `Host`, or a foreign `Origin`.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderName};
use actix_web::middleware::Next;
use actix_web::{Responder, web};

use super::problem::Problem;

/// The names by which the server is reached, each with or without a port.
#[derive(Debug, Clone)]
pub(super) struct Doors {
    hosts: Vec<String>,
}

impl Doors {
    pub(super) fn new(hosts: &[String]) -> Self {
        let plain = |host: &String| {
            let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            address.unwrap_or(host).to_ascii_lowercase()
        };
        Self { hosts: hosts.iter().map(plain).collect() }
    }

    /// Whether this authority (a host, perhaps with a port) is one of ours. A name without a port stands for all ports.
    fn knows(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        let name = host_of(&authority);
        self.hosts.iter().any(|known| *known == authority || known == name)
    }

    fn why_not(&self, headers: &HeaderMap) -> Option<&'static str> {
        let sole = |name: HeaderName| {
            let mut values = headers.get_all(name).map(|value| value.to_str().unwrap_or_default());
            let first = values.next();
            // Two of them are none that could be trusted.
            if values.next().is_some() { Some("") } else { first }
        };
        if !sole(header::HOST).is_some_and(|host| self.knows(host)) {
            return Some("this server is not reached by that host name");
        }
        let origin = sole(header::ORIGIN)?;
        let is_ours = origin.split_once("://").is_some_and(|(_, authority)| self.knows(authority));
        (!is_ours).then_some("pages of that origin may not call this server")
    }
}

/// The host of an authority, without its port and without the brackets of an IPv6 address.
fn host_of(authority: &str) -> &str {
    if let Some((address, _)) = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    authority.split_once(':').map_or(authority, |(host, _)| host)
}

/// Lets a request on when its `Host` and `Origin` are ours.
///
/// # Errors
///
/// Only those of what serves it: a request that is turned away is answered here.
#[expect(clippy::disallowed_types, reason = "a middleware's signature has this error")]
pub(super) async fn guard(
    doors: web::Data<Doors>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    match doors.why_not(request.headers()) {
        None => Ok(next.call(request).await?.map_into_boxed_body()),
        Some(why) => {
            let request = request.into_parts().0;
            let response = Problem::strange_page(why).respond_to(&request);
            Ok(ServiceResponse::new(request, response))
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn passes(host: &str, origin: Option<&str>) -> bool {
        let doors = Doors::new(
            &["localhost", "127.0.0.1", "::1", "tools.example", "door.example:8443"].map(str::to_owned),
        );
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        doors.why_not(&headers).is_none()
    }

    #[test]
    fn only_our_names_pass_as_host() {
        for ours in
            ["localhost", "LOCALHOST:8092", "127.0.0.1:1", "[::1]:80", "tools.example:9", "door.example:8443"]
        {
            assert!(passes(ours, None), "{ours}");
        }
        for other in [
            "evil.example",
            "evil.example:8092",
            "door.example",
            "door.example:1",
            "tools.example.evil",
            "",
            "[::2]",
        ] {
            assert!(!passes(other, None), "{other}");
        }
    }

    #[test]
    fn a_page_of_another_origin_is_turned_away() {
        for ours in ["http://localhost:6274", "https://tools.example", "http://[::1]:1"] {
            assert!(passes("localhost", Some(ours)), "{ours}");
        }
        for other in ["null", "", "http://evil.example", "https://localhost.evil", "localhost"] {
            assert!(!passes("localhost", Some(other)), "{other}");
        }
    }

    #[test]
    fn no_host_and_two_of_them_are_turned_away() {
        let doors = Doors::new(&["localhost".to_owned()]);
        let mut headers = HeaderMap::new();
        assert!(doors.why_not(&headers).is_some());
        headers.append(header::HOST, HeaderValue::from_static("localhost"));
        assert!(doors.why_not(&headers).is_none());
        headers.append(header::HOST, HeaderValue::from_static("localhost"));
        assert!(doors.why_not(&headers).is_some());
    }
}
