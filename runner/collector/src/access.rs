//! Access control of the collector.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use foreglow_exit::unusable;

use super::{Shared, refusal};

/// Access rules of a collector.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Token that requests must send in `Authorization: Bearer TOKEN`; `None` if no token is
    /// required.
    pub token: Option<String>,
    /// Whether other machines have access without a token.
    pub open: bool,
}

impl Access {
    /// Rejects an address that other machines can reach, unless a token protects it or open access
    /// is allowed.
    pub(super) fn check(&self, listen: SocketAddr) -> anyhow::Result<()> {
        if listen.ip().is_loopback() || self.open || self.token.is_some() {
            return Ok(());
        }
        Err(unusable(format!(
            "other machines can reach {listen}; set a token that they must send (--token TOKEN or FOREGLOW_TOKEN), \
            or allow access without a token with --allow-open"
        )))
    }

    /// Returns whether a collector at `address` is for programs of this machine only.
    pub(super) fn is_local(&self, address: SocketAddr) -> bool {
        address.ip().is_loopback() && !self.open && self.token.is_none()
    }

    fn is_granted(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        sent.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(|sent| is_same(sent, token))
    }
}

/// Compares in constant time, so that the time does not reveal the position of the first
/// difference.
fn is_same(sent: &str, token: &str) -> bool {
    let differences = sent.bytes().zip(token.bytes()).fold(0, |differences, (a, b)| differences | (a ^ b));
    sent.len() == token.len() && differences == 0
}

/// Middleware that checks every request. Web pages of other origins must not write to a collector
/// on this machine: browsers send the origin, and such requests are rejected.
pub(super) async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if comes_from_elsewhere(headers) || (shared.is_local && !asks_this_machine(headers)) {
        let sentence =
            "pages of another site may not use this collector; if it is behind a proxy, start it with --token";
        return refusal(StatusCode::FORBIDDEN, sentence);
    }
    if request.uri().path().starts_with("/api/") && !shared.access.is_granted(headers) {
        let sentence =
            "this collector requires a token; send it as `Authorization: Bearer TOKEN` (`--token`, FOREGLOW_TOKEN)";
        return refusal(StatusCode::UNAUTHORIZED, sentence);
    }
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn comes_from_elsewhere(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return false };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    origin.map(|(_, authority)| authority) != host || host.is_none()
}

/// Protects against DNS rebinding: a page whose name was rebound to this machine still sends its
/// own name as host.
fn asks_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return true };
    let name = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_the_token_is_granted() {
        let access = Access { token: Some("abc".into()), open: false };
        let granted = |value| access.is_granted(&headers(&[(header::AUTHORIZATION, value)]));
        assert!(granted("Bearer abc"));
        assert!(!granted("Bearer abd") && !granted("Bearer ab") && !granted("Bearer abcd") && !granted("abc"));
        assert!(!access.is_granted(&HeaderMap::new()));
        assert!(Access::default().is_granted(&HeaderMap::new()));
    }

    #[test]
    fn pages_of_other_origins_are_distinguished_from_the_planner() {
        let from =
            |origin| comes_from_elsewhere(&headers(&[(header::ORIGIN, origin), (header::HOST, "127.0.0.1:8787")]));
        assert!(!from("http://127.0.0.1:8787"));
        assert!(from("http://example.org") && from("null") && from("http://127.0.0.1:1"));
        assert!(!comes_from_elsewhere(&HeaderMap::new()), "a program sends no origin");
    }

    #[test]
    fn a_rebound_host_name_is_not_this_machine() {
        let asks = |host| asks_this_machine(&headers(&[(header::HOST, host)]));
        assert!(
            asks("127.0.0.1:8787")
                && asks("localhost:8787")
                && asks("localhost")
                && asks("[::1]:8787")
                && asks("[::1]")
        );
        assert!(!asks("example.org:8787") && !asks("127.0.0.1.example.org") && !asks("10.0.0.1:80"));
    }
}
