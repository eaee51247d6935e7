//! The files of the console, embedded.

use actix_web::web::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

/// One file of the console.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path below the mount.
    pub path: &'static str,
    /// What is in it.
    pub bytes: Bytes,
    /// Its name for caches: a hash, in quotes.
    pub etag: String,
}

impl File {
    pub(crate) fn new(path: &'static str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let digest = HEXLOWER.encode(&Sha256::digest(&bytes));
        Self { path, bytes, etag: format!("\"{}\"", digest.get(..32).unwrap_or(&digest)) }
    }

    /// The type that a browser takes it for.
    pub fn content_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "html" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "json" => "application/json",
            "svg" => "image/svg+xml",
            "woff2" => "font/woff2",
            _ => "text/plain; charset=utf-8",
        }
    }

    /// How long it may be kept: for ever when its path carries a version, and otherwise until it is asked for again.
    pub fn cache_control(&self) -> &'static str {
        if self.path.starts_with("vendor/") { "public, max-age=31536000, immutable" } else { "no-cache" }
    }
}

macro_rules! embedded {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../static/", $path)) as &[u8])),*]
    };
}

/// Every file of `static/`; a test compares the list with the folder.
const EMBEDDED: &[(&str, &[u8])] = embedded![
    "css/base.css",
    "css/ending.css",
    "css/page.css",
    "css/turn.css",
    "icon.svg",
    "index.html",
    "js/announce.js",
    "js/answer.js",
    "js/api.js",
    "js/backoff.js",
    "js/chart-choice.js",
    "js/chart.js",
    "js/columns.js",
    "js/composer.js",
    "js/config.js",
    "js/csv.js",
    "js/dom.js",
    "js/follow.js",
    "js/json.js",
    "js/main.js",
    "js/neutral.js",
    "js/no-answer.js",
    "js/notices.js",
    "js/pkce.js",
    "js/problem.js",
    "js/provenance.js",
    "js/run.js",
    "js/session.js",
    "js/sign-in.js",
    "js/sse.js",
    "js/table.js",
    "js/thread.js",
    "js/timeline.js",
    "js/turn.js",
    "js/words.js",
    "vendor/inter-5.3.0/LICENSE",
    "vendor/inter-5.3.0/inter-latin-wght-normal.woff2",
    "vendor/source-serif-4-5.3.1/LICENSE",
    "vendor/source-serif-4-5.3.1/source-serif-4-latin-wght-normal.woff2",
    "vendor/uplot-1.6.32/LICENSE",
    "vendor/uplot-1.6.32/uPlot.esm.js",
    "vendor/uplot-1.6.32/uPlot.min.css",
];

/// All files, `config.json` excepted, which is a deployment's own.
pub fn files() -> impl Iterator<Item = File> {
    EMBEDDED.iter().map(|(path, bytes)| File::new(path, *bytes))
}
