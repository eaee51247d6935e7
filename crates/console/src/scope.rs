//! The files over HTTP: types, caching, the one redirect, and a plain answer to everything else.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::http::{Method, header};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, Scope, web};

use crate::config::{Config, ConfigError};
use crate::files::{File, files};
use crate::headers::headers;

/// What the requests of one worker share.
struct Served {
    files: HashMap<&'static str, File>,
    config: File,
    headers: Vec<(&'static str, String)>,
}

/// A scope that serves the console at `path`, such as `/console`.
///
/// Files whose path carries a version may be kept for ever; the others are asked for again each time, which costs a 304.
///
/// # Errors
///
/// When the configuration names an address that no browser can call.
pub fn scope(path: &str, config: &Config) -> Result<Scope, ConfigError> {
    let text = serde_json::to_vec(config).unwrap_or_default();
    let served = Arc::new(Served {
        files: files().map(|file| (file.path, file)).collect(),
        config: File::new("config.json", text),
        headers: headers(config)?,
    });
    Ok(web::scope(path)
        .app_data(web::Data::from(served))
        .service(web::resource("").default_service(web::to(folder)))
        .service(web::resource("/{file:.*}").default_service(web::to(answer))))
}

/// The mount without its slash. Everything in the page is relative to its folder, and so is this target, which makes it right
/// behind any gateway.
async fn folder(served: web::Data<Served>, request: HttpRequest) -> HttpResponse {
    let folder = request.path().rsplit('/').next().unwrap_or_default();
    served
        .begin(HttpResponse::PermanentRedirect())
        .insert_header((header::LOCATION, format!("{folder}/")))
        .finish()
}

async fn answer(served: web::Data<Served>, request: HttpRequest, path: web::Path<String>) -> HttpResponse {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return served
            .begin(HttpResponse::MethodNotAllowed())
            .insert_header((header::ALLOW, "GET, HEAD"))
            .finish();
    }
    let path = if path.is_empty() { "index.html" } else { path.as_str() };
    match if path == served.config.path { Some(&served.config) } else { served.files.get(path) } {
        Some(file) => served.file(file, &request),
        None => served
            .begin(HttpResponse::NotFound())
            .content_type("text/plain; charset=utf-8")
            .body("There is no such file.\n"),
    }
}

impl Served {
    fn begin(&self, mut response: HttpResponseBuilder) -> HttpResponseBuilder {
        for (name, value) in &self.headers {
            response.insert_header((*name, value.as_str()));
        }
        response
    }

    fn file(&self, file: &File, request: &HttpRequest) -> HttpResponse {
        let kept =
            request.headers().get_all(header::IF_NONE_MATCH).filter_map(|value| value.to_str().ok()).any(
                |value| {
                    value
                        .split(',')
                        .map(|tag| tag.trim().trim_start_matches("W/"))
                        .any(|tag| tag == "*" || tag == file.etag)
                },
            );
        let mut response = self.begin(if kept { HttpResponse::NotModified() } else { HttpResponse::Ok() });
        response
            .insert_header((header::ETAG, file.etag.as_str()))
            .insert_header((header::CACHE_CONTROL, file.cache_control()));
        if kept {
            return response.finish();
        }
        response.content_type(file.content_type()).body(file.bytes.clone())
    }
}
