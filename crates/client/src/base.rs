//! Where the service's root is, and the URLs below it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

/// The service's root: an `http` or `https` URL, with or without a path prefix such as a gateway's `/ask`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    root: String,
    address: Option<SocketAddr>,
}

/// The text is no base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBase {
    /// No absolute URL.
    #[error("not an absolute URL")]
    NotAUrl,
    /// Neither `http` nor `https`.
    #[error("neither an http nor an https URL")]
    Scheme,
    /// It carries a user name or a password.
    #[error("a URL with credentials in it")]
    Credentials,
    /// It carries a query or a fragment, which would end up in the middle of every other URL.
    #[error("a URL with a query or a fragment")]
    QueryOrFragment,
}

impl Base {
    /// Reads a base URL; one trailing slash more or less makes no difference.
    ///
    /// # Errors
    ///
    /// [`InvalidBase`] says which rule the text breaks.
    pub fn parse(text: &str) -> Result<Self, InvalidBase> {
        let url = Url::parse(text.trim()).ok().ok_or(InvalidBase::NotAUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidBase::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidBase::Credentials);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidBase::QueryOrFragment);
        }
        // The HTTP client looks bracketed hosts up by name, so it is told the address of a literal one.
        let address = match (url.host(), url.port_or_known_default()) {
            (Some(Host::Ipv6(ip)), Some(port)) => Some(SocketAddr::new(IpAddr::V6(ip), port)),
            _ => None,
        };
        Ok(Self { root: url.as_str().trim_end_matches('/').to_owned(), address })
    }

    /// The URL of the resource at `segments` below the root; each segment is escaped, so that no id can name another path.
    pub(crate) fn url(&self, segments: &[&str]) -> String {
        let mut url = self.root.clone();
        for segment in segments {
            url.push('/');
            push_escaped(&mut url, segment);
        }
        url
    }

    /// The address to connect to where it is not for a resolver to find.
    pub(crate) const fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)
    }
}

fn push_escaped(url: &mut String, segment: &str) {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    let dots = matches!(segment, "." | "..");
    for byte in segment.bytes() {
        let plain =
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~') || (byte == b'.' && !dots);
        if plain {
            url.push(char::from(byte));
        } else {
            url.push('%');
            url.extend([byte >> 4, byte & 15].iter().filter_map(|half| HEX.get(usize::from(*half))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_stays_in_front_of_every_path() {
        for text in ["http://gw/ask", "http://gw/ask/", " http://gw:80/ask "] {
            assert_eq!(
                Base::parse(text).unwrap().url(&["v1", "conversations"]),
                "http://gw/ask/v1/conversations"
            );
        }
        assert_eq!(Base::parse("https://gw").unwrap().url(&["health"]), "https://gw/health");
    }

    #[test]
    fn an_id_names_no_other_path() {
        let base = Base::parse("http://h").unwrap();
        assert_eq!(base.url(&["a/../b?x#y%"]), "http://h/a%2F..%2Fb%3Fx%23y%25");
        assert_eq!(base.url(&[".."]), "http://h/%2E%2E");
        assert_eq!(base.url(&["é\r\n"]), "http://h/%C3%A9%0D%0A");
    }

    #[test]
    fn what_is_no_base_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", InvalidBase::NotAUrl),
            ("127.0.0.1:8091", InvalidBase::NotAUrl),
            ("localhost:8091", InvalidBase::Scheme),
            ("ftp://h", InvalidBase::Scheme),
            ("http://me:pw@h", InvalidBase::Credentials),
            ("http://h?x=1", InvalidBase::QueryOrFragment),
            ("http://h/#top", InvalidBase::QueryOrFragment),
        ] {
            assert_eq!(Base::parse(text), Err(reason), "{text}");
        }
    }

    #[test]
    fn a_literal_ipv6_host_brings_its_address() {
        let base = Base::parse("http://[::1]:8091").unwrap();
        assert_eq!(base.address(), Some("[::1]:8091".parse().unwrap()));
        assert_eq!(Base::parse("http://127.0.0.1").unwrap().address(), None);
    }
}
