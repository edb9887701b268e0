//! Middleware that checks every request.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Body as _;

use super::client::{Client, Secret};
use super::limits::{count, count_unknown};
use super::{origin, sign_in};
use crate::log::Entry;
use crate::{EVENTS, Shared, refusal};
use foreglow_store::Roles;
use foreglow_store::token::Hash;

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// Token of a request that was admitted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credential {
    /// What the sender proved itself with, for checking open event streams.
    pub(crate) secret: Option<Secret>,
    /// Name of the token, for the record.
    pub(crate) name: Option<String>,
}

/// Checks a request, answers or refuses it, and records it.
pub(crate) async fn guard(State(shared): State<Shared>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let mut entry = Entry::of(&request);
    let sent = credential(request.headers());
    let route = Route::of(&request);
    let is_encrypted_name = shared.is_tls && origin::is_by_name(request.headers());
    let is_ambiguous = origin::is_ambiguous(request.uri(), request.headers());
    let admitted = match is_ambiguous {
        true => Err(Box::new(refusal(StatusCode::BAD_REQUEST, "the request names several hosts"))),
        false => admit(&shared, request.headers(), sent, route, &mut entry).await,
    };
    let mut response = match admitted {
        Ok(()) => {
            request.extensions_mut().insert(Credential { secret: sent, name: entry.token.clone() });
            answer(&shared, route, &entry, request, next).await
        }
        Err(refused) => *refused,
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Browsers ignore it for addresses. For `localhost` it would encrypt the other ports as well.
    if is_encrypted_name {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    // Another site that opens the planner gets no hold of its window.
    if !shared.hand_over {
        headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    }
    let took = started.elapsed();
    shared.metrics.answered(&entry.method, &entry.path, response.status(), took);
    if let Some(log) = &shared.log {
        log.add(&entry, response.status(), took);
    }
    response
}

/// Answers an admitted request. One that reads the store takes a share of its token or address,
/// until the last part of the answer is sent.
async fn answer(shared: &Shared, route: Route, entry: &Entry, mut request: Request, next: Next) -> Response {
    if !matches!(route, Route::Read | Route::Page) {
        return next.run(request).await;
    }
    let (holder, is_stream) = (entry.holder(), entry.path == EVENTS);
    let refused = || {
        let sentence = format!("{holder} has too many answers at once; read them, and send the request again");
        ([(header::RETRY_AFTER, "1")], refusal(StatusCode::TOO_MANY_REQUESTS, sentence)).into_response()
    };
    let Some((mut share, work, turns)) = shared.shares.take(&holder, is_stream).await else { return refused() };
    request.extensions_mut().insert(turns);
    let mut response = next.run(request).await;
    // The events are in a memory that all streams share.
    if !is_stream {
        let bytes = response.body().size_hint().exact();
        let Some(with_memory) = shared.shares.hold(share, bytes).await else { return refused() };
        share = with_memory;
    }
    drop(work);
    response.extensions_mut().insert(Arc::new(share));
    response
}

/// Kind of a request for access control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// The planner's first page, where a browser can sign in.
    Page,
    /// Samples and metrics.
    Read,
    Write,
    Delete,
    /// The planner's files, which are the same in every collector, and the state of the process.
    Public,
}

impl Route {
    fn of(request: &Request) -> Self {
        let path = request.uri().path();
        let reads = [Method::GET, Method::HEAD].contains(request.method());
        if path == "/" && reads {
            return Self::Page;
        }
        if path.starts_with("/api/") || path == "/metrics" {
            return match *request.method() {
                Method::POST => Self::Write,
                Method::DELETE => Self::Delete,
                _ => Self::Read,
            };
        }
        Self::Public
    }

    /// Returns the required roles and their purpose; `None` if no role is needed.
    fn needs(self) -> Option<Need> {
        match self {
            Self::Page | Self::Read => Some((|roles| roles.read, "read samples")),
            Self::Write => Some((|roles| roles.write, "send samples")),
            Self::Delete => Some((|_| false, "delete samples")),
            Self::Public => None,
        }
    }
}

/// A test of roles, and the purpose that it is for.
type Need = (fn(&Roles) -> bool, &'static str);

async fn admit(
    shared: &Shared,
    headers: &HeaderMap,
    sent: Option<Secret>,
    route: Route,
    entry: &mut Entry,
) -> Result<(), Box<Response>> {
    let refuse = |status, sentence: &str| Err(Box::new(refusal(status, sentence)));
    if origin::is_foreign(headers) {
        let sentence =
            "pages of another site may not use this collector; a proxy in front of it must pass the Host header on";
        return refuse(StatusCode::FORBIDDEN, sentence);
    }
    let is_known_host = shared.gate.hosts.allow(headers);
    let needs = route.needs();
    if needs.is_none() && is_known_host {
        return Ok(());
    }
    let client = match shared.gate.client(sent).await {
        Ok(client) => client,
        Err(error) => return refuse(StatusCode::SERVICE_UNAVAILABLE, &format!("{error:#}")),
    };
    entry.token = client.name().map(str::to_owned);
    if client == Client::Unknown {
        count_unknown(shared, entry)?;
    }
    // Pages cannot set this header to a valid token, so it comes from a program.
    let is_program = client.name().is_some() && headers.contains_key(header::AUTHORIZATION);
    if !is_known_host && !is_program {
        let sentence = "this collector does not know that name for itself; start it with --host NAME";
        return refuse(StatusCode::FORBIDDEN, sentence);
    }
    let Some((has_role, to_do)) = needs else { return Ok(()) };
    match &client {
        Client::Missing | Client::Unknown if route == Route::Page => {
            Err(Box::new(sign_in::asked(client == Client::Unknown)))
        }
        Client::Missing => {
            let sentence =
                "this collector requires a token; send it as `Authorization: Bearer TOKEN` (`--token`, FOREGLOW_TOKEN)";
            Err(Box::new(unauthorized(sentence)))
        }
        Client::Unknown => {
            let sentence = "this collector requires a token, and the one that was sent is unknown, revoked or expired";
            Err(Box::new(unauthorized(sentence)))
        }
        Client::Token { name, roles, .. } if !client.may(has_role) => {
            if route == Route::Page {
                return Err(Box::new(sign_in::asked(true)));
            }
            let sentence = format!("the token {name} may not {to_do} (its role: {roles})");
            refuse(StatusCode::FORBIDDEN, &sentence)
        }
        Client::Token { .. } | Client::Open => count(shared, &client),
    }
}

fn unauthorized(sentence: &str) -> Response {
    ([(header::WWW_AUTHENTICATE, "Bearer")], refusal(StatusCode::UNAUTHORIZED, sentence)).into_response()
}

/// Returns what a request proves its sender with: the token of the header, or else the session of
/// the cookie.
fn credential(headers: &HeaderMap) -> Option<Secret> {
    match headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()) {
        Some(value) => Some(Secret::Token(Hash::of(bearer(value)))),
        None => sign_in::session_of(headers).map(Secret::Session),
    }
}

/// Returns the token of an `Authorization` header. The case of the scheme has no meaning (RFC 9110,
/// 11.1). Another scheme, such as a proxy's, counts as an unknown token.
fn bearer(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn each_request_needs_the_role_of_what_it_does() {
        let route = |method: &str, path: &str| {
            Route::of(&Request::builder().method(method).uri(path).body(Body::empty()).unwrap())
        };
        assert_eq!(route("GET", "/"), Route::Page);
        assert_eq!(route("POST", "/"), Route::Public);
        assert_eq!(route("GET", "/index.html"), Route::Public);
        assert_eq!(route("GET", "/api/v1/samples?limit=1"), Route::Read);
        assert_eq!(route("HEAD", "/metrics"), Route::Read);
        assert_eq!(route("POST", "/api/v1/samples"), Route::Write);
        assert_eq!(route("DELETE", "/api/v1/samples/1"), Route::Delete);
        assert_eq!(route("GET", "/healthz"), Route::Public);
    }

    #[test]
    fn the_scheme_of_a_token_may_be_written_in_either_case() {
        for value in ["Bearer abc", "bearer abc", "BEARER  abc "] {
            assert_eq!(bearer(value), "abc", "{value}");
        }
        for value in ["Basic abc", "abc", "Bearerabc", ""] {
            assert_eq!(bearer(value), "", "{value}");
        }
    }
}
