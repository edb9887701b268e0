//! Serves the planner's files from the binary.

use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use rust_embed::RustEmbed;

/// Output of `make run`. A missing folder embeds no files, so that the runner also builds without
/// the planner.
#[derive(RustEmbed)]
#[folder = "../../target/planner"]
#[allow_missing = true]
struct Planner;

/// The policy of the page's own meta tag, plus `frame-ancestors`, which a meta tag cannot set.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
     style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Foreglow</title>\
<body style=\"font: 1.1rem system-ui; max-width: 40rem; margin: 4rem auto; padding: 0 1rem\">\
<h1>The planner is not in this binary</h1>\
<p>This <code>foreglow</code> was built without its web page. Run <code>make run</code> in the repository: it builds the \
page and then the binary that holds it. The collector's API under <code>/api/v1</code> works as it is.</p>";

/// Serves the planner's file for any path that is not a route.
pub(super) async fn file(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    if method != Method::GET && method != Method::HEAD {
        return super::refusal(StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not for {}", uri.path()));
    }
    if uri.path().starts_with("/api/") {
        return super::refusal(StatusCode::NOT_FOUND, format!("there is no route {}", uri.path()));
    }
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    match Planner::get(path) {
        Some(file) => with_tag(&file, &headers),
        None if path == "index.html" => (StatusCode::NOT_FOUND, Html(NOT_BUILT)).into_response(),
        None => (StatusCode::NOT_FOUND, format!("there is nothing at /{path}; the planner is at /\n")).into_response(),
    }
}

/// Serves the file, or 304 if the browser has the current version. `no-cache` makes the browser
/// revalidate every time, so that a new binary never runs with an old page.
fn with_tag(file: &rust_embed::EmbeddedFile, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", foreglow_store::token::hex(&file.metadata.sha256_hash()[..16]));
    let is_known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    let caching = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, "no-cache".to_owned())];
    if is_known.is_some_and(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    let content = [
        (header::CONTENT_TYPE, content_type(file.metadata.mimetype())),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY.to_owned()),
        (header::REFERRER_POLICY, "no-referrer".to_owned()),
    ];
    (caching, content, file.data.to_vec()).into_response()
}

fn content_type(mime: &str) -> String {
    if mime.starts_with("text/") { format!("{mime}; charset=utf-8") } else { mime.to_owned() }
}
