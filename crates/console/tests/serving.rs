//! The console's files as a browser asks for them.
#![expect(clippy::unwrap_used, reason = "a test says by failing")]

use std::collections::BTreeSet;
use std::path::Path;

use actix_web::http::{Method, StatusCode};
use actix_web::{App, test as http};
use ask_console::{Config, files, headers, scope};

fn config() -> Config {
    Config {
        ask: "/ask".to_owned(),
        issuer: "https://login.example:8443/tenant/v2.0".to_owned(),
        client_id: "console".to_owned(),
        scope: "api://x/y".to_owned(),
        examples: vec!["How many?".to_owned()],
        connect: vec!["https://tokens.example/token".to_owned()],
    }
}

/// Status, headers and body of one request.
async fn ask(
    method: Method,
    path: &str,
    more: &[(&'static str, &str)],
) -> (StatusCode, Vec<(String, String)>, Vec<u8>) {
    let app = http::init_service(App::new().service(scope("/console", &config()).unwrap())).await;
    let mut request = http::TestRequest::with_uri(path).method(method);
    for (name, value) in more {
        request = request.insert_header((*name, *value));
    }
    let response = http::call_service(&app, request.to_request()).await;
    let status = response.status();
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    (status, headers, http::read_body(response).await.to_vec())
}

fn value<'a>(headers: &'a [(String, String)], name: &str) -> &'a str {
    headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

#[test]
fn every_file_of_the_folder_is_embedded() {
    fn walk(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("static");
    let mut there = BTreeSet::new();
    walk(&root, &root, &mut there);
    let embedded: BTreeSet<String> = files().map(|file| file.path.to_owned()).collect();
    assert_eq!(there, embedded);
    for file in files() {
        assert_eq!(file.bytes, std::fs::read(root.join(file.path)).unwrap(), "{}", file.path);
    }
}

#[actix_rt::test]
async fn the_page_comes_with_its_policy() {
    let (status, sent, body) = ask(Method::GET, "/console/", &[]).await;
    assert_eq!((status, value(&sent, "content-type")), (StatusCode::OK, "text/html; charset=utf-8"));
    assert!(String::from_utf8(body).unwrap().contains("js/main.js"));
    let policy = value(&sent, "content-security-policy");
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self' https://login.example:8443 https://tokens.example",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(policy.split("; ").any(|known| known == rule), "{rule}: {policy}");
    }
    assert!(!policy.contains("unsafe"));
    for (name, expected) in headers(&config()).unwrap() {
        assert_eq!(value(&sent, name), expected, "{name}");
    }
}

#[actix_rt::test]
async fn each_type_is_named_and_what_has_a_version_is_kept() {
    for (path, kind, caching) in [
        ("js/main.js", "text/javascript; charset=utf-8", "no-cache"),
        ("css/base.css", "text/css; charset=utf-8", "no-cache"),
        ("icon.svg", "image/svg+xml", "no-cache"),
        ("config.json", "application/json", "no-cache"),
        (
            "vendor/uplot-1.6.32/uPlot.esm.js",
            "text/javascript; charset=utf-8",
            "public, max-age=31536000, immutable",
        ),
        ("vendor/inter-5.3.0/LICENSE", "text/plain; charset=utf-8", "public, max-age=31536000, immutable"),
    ] {
        let (status, sent, _) = ask(Method::GET, &format!("/console/{path}"), &[]).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert_eq!((value(&sent, "content-type"), value(&sent, "cache-control")), (kind, caching), "{path}");
        let tag = value(&sent, "etag").to_owned();
        assert_eq!(tag.len(), 34, "{tag}");
        for asked in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
            let (status, sent, body) =
                ask(Method::GET, &format!("/console/{path}"), &[("if-none-match", &asked)]).await;
            assert_eq!(
                (status, body.len(), value(&sent, "etag")),
                (StatusCode::NOT_MODIFIED, 0, tag.as_str())
            );
        }
        let (status, ..) =
            ask(Method::GET, &format!("/console/{path}"), &[("if-none-match", "\"other\"")]).await;
        assert_eq!(status, StatusCode::OK);
    }
}

#[actix_rt::test]
async fn the_configuration_tells_what_a_page_needs_and_no_more() {
    let (_, _, body) = ask(Method::GET, "/console/config.json", &[]).await;
    let told: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(told["ask"], "/ask");
    assert_eq!(told["examples"][0], "How many?");
    let mut names: Vec<&String> = told.as_object().unwrap().keys().collect();
    // Their order is that of the build: some features keep it as written.
    names.sort();
    assert_eq!(names, ["ask", "client_id", "examples", "issuer", "scope"]);
}

#[actix_rt::test]
async fn everything_else_is_told_apart() {
    let (status, sent, _) = ask(Method::GET, "/console", &[]).await;
    assert_eq!((status, value(&sent, "location")), (StatusCode::PERMANENT_REDIRECT, "console/"));
    for path in [
        "/console/nothing",
        "/console/js",
        "/console/../Cargo.toml",
        "/console/js/%2e%2e/index.html",
        "/console//index.html",
    ] {
        assert_eq!(ask(Method::GET, path, &[]).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let (status, sent, _) = ask(Method::POST, "/console/index.html", &[]).await;
    assert_eq!((status, value(&sent, "allow")), (StatusCode::METHOD_NOT_ALLOWED, "GET, HEAD"));
    let (status, sent, _) = ask(Method::HEAD, "/console/index.html", &[]).await;
    assert_eq!((status, value(&sent, "content-type")), (StatusCode::OK, "text/html; charset=utf-8"));
}

#[test]
fn a_deployment_that_no_browser_can_follow_is_refused() {
    for (name, wrong) in [
        ("no address", Config { issuer: "login".to_owned(), ..config() }),
        ("a script", Config { issuer: "javascript:alert(1)".to_owned(), ..config() }),
        ("a policy of its own", Config { connect: vec!["x; script-src *".to_owned()], ..config() }),
        ("another origin", Config { ask: "//elsewhere.example/ask".to_owned(), ..config() }),
        ("no path", Config { ask: "https://elsewhere.example/ask".to_owned(), ..config() }),
    ] {
        assert!(headers(&wrong).is_err(), "{name}");
        assert!(scope("/console", &wrong).is_err(), "{name}");
    }
}

#[test]
fn no_module_puts_text_in_as_html_or_runs_text() {
    for file in files().filter(|file| file.path.starts_with("js/") || file.path == "index.html") {
        let text = std::str::from_utf8(&file.bytes).unwrap();
        for banned in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "DOMParser",
            "localStorage",
            "style=\"",
            "<script>",
            "http://",
            "https://",
        ] {
            let allowed = banned == "http://"
                && text.matches("http://").count() == text.matches("http://www.w3.org/").count();
            assert!(!text.contains(banned) || allowed, "{} has {banned}", file.path);
        }
    }
}
