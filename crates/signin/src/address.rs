//! Where secrets may be sent: over TLS, or to this machine.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

/// An address of a provider: `https`, or `http` on this machine's loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(Url);

/// Why secrets may not be sent there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// No absolute URL.
    #[error("not an absolute URL")]
    NotAUrl,
    /// Not over TLS, and not this machine.
    #[error("neither https nor this machine")]
    InTheClear,
    /// It carries a user name, a password or a fragment.
    #[error("a URL with credentials or a fragment")]
    Extras,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    ///
    /// [`InvalidAddress`] says which rule the text breaks.
    pub fn parse(text: &str) -> Result<Self, InvalidAddress> {
        let url = Url::parse(text.trim()).ok().ok_or(InvalidAddress::NotAUrl)?;
        let on_this_machine = match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => return Err(InvalidAddress::NotAUrl),
        };
        if url.scheme() != "https" && !(url.scheme() == "http" && on_this_machine) {
            return Err(InvalidAddress::InTheClear);
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(InvalidAddress::Extras);
        }
        Ok(Self(url))
    }

    /// The address as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether what is sent there is protected on its way.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The socket of a literal IPv6 host, which the HTTP client would look up by name.
    pub fn socket(&self) -> Option<SocketAddr> {
        match (self.0.host(), self.0.port_or_known_default()) {
            (Some(Host::Ipv6(ip)), Some(port)) => Some(SocketAddr::new(IpAddr::V6(ip), port)),
            _ => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_over_tls_or_stay_on_this_machine() {
        for text in [
            "https://id.example/t/v2.0",
            "http://127.0.0.1:8090/t",
            "http://127.9.9.9/",
            "http://localhost:1",
            "http://[::1]:1/x",
        ] {
            assert!(Address::parse(text).is_ok(), "{text}");
        }
        for (text, why) in [
            ("http://id.example", InvalidAddress::InTheClear),
            ("http://127.0.0.1.id.example", InvalidAddress::InTheClear),
            ("http://localhost.example", InvalidAddress::InTheClear),
            ("file:///etc/passwd", InvalidAddress::NotAUrl),
            ("ftp://id.example/", InvalidAddress::InTheClear),
            ("javascript:alert(1)", InvalidAddress::NotAUrl),
            ("id.example", InvalidAddress::NotAUrl),
            ("", InvalidAddress::NotAUrl),
            ("https://me:pw@id.example", InvalidAddress::Extras),
            ("https://id.example/#x", InvalidAddress::Extras),
        ] {
            assert_eq!(Address::parse(text), Err(why), "{text}");
        }
        assert_eq!(Address::parse("http://[::1]:7/").unwrap().socket(), Some("[::1]:7".parse().unwrap()));
    }
}
