//! Whom to call, and the bytes of each request.

use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::{Context as _, Result, bail};
use ask_client::{Base, Bearer, Client};
use url::Url;

use crate::args::Args;

/// One service, for one caller.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    host: String,
    prefix: String,
    bearer: Option<Bearer>,
    base: String,
}

impl Target {
    pub(crate) fn of(args: &Args) -> Result<Self> {
        let url = Url::parse(&args.base).with_context(|| format!("--base {}", args.base))?;
        if url.scheme() != "http" {
            bail!("--base {}: only http is measured", args.base);
        }
        let host = url.host_str().context("--base has no host")?.to_owned();
        let port = url.port_or_known_default().unwrap_or(80);
        let address = (host.as_str(), port).to_socket_addrs()?.next().context("--base has no address")?;
        let file = args.token_file.as_ref();
        let read = |path| {
            std::fs::read_to_string(path).with_context(|| {
                format!("--token-file {}", file.map_or_else(String::new, |path| path.display().to_string()))
            })
        };
        let token = file.map(read).transpose()?.or_else(|| args.token.clone());
        let bearer = token.map(|token| Bearer::new(token.trim())).transpose().context("the token")?;
        let prefix = url.path().trim_end_matches('/').to_owned();
        Ok(Self { address, host: format!("{host}:{port}"), prefix, bearer, base: args.base.clone() })
    }

    /// The project's own client, for what is not measured.
    pub(crate) fn client(&self) -> Result<Client> {
        let bearer = self.bearer.clone().map_or_else(|| Bearer::new("none"), Ok)?;
        Ok(Client::new(Base::parse(&self.base)?, bearer))
    }

    /// A request without a body.
    pub(crate) fn bare(&self, method: &str, path: &str) -> Vec<u8> {
        self.request(method, path, None)
    }

    /// A request with a JSON body.
    pub(crate) fn json(&self, path: &str, body: &[u8]) -> Vec<u8> {
        self.request("POST", path, Some(body))
    }

    fn request(&self, method: &str, path: &str, body: Option<&[u8]>) -> Vec<u8> {
        let mut text = format!("{method} {}{path} HTTP/1.1\r\nHost: {}\r\n", self.prefix, self.host);
        if let Some(bearer) = &self.bearer {
            text.push_str("Authorization: Bearer ");
            text.push_str(bearer.expose());
            text.push_str("\r\n");
        }
        if let Some(body) = body {
            text.push_str("Content-Type: application/json\r\nContent-Length: ");
            text.push_str(&body.len().to_string());
            text.push_str("\r\n");
        } else if method == "POST" {
            text.push_str("Content-Length: 0\r\n");
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        bytes
    }
}
