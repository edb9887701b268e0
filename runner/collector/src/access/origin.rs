//! Origin of a request, from the headers of browsers.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, Uri, header};

/// Names under which browsers may reach the collector.
///
/// Protects against DNS rebinding: a page whose name was rebound to this machine still sends its
/// own name as host. An IP address as host is safe, because a page with that host was served from
/// that address.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    names: Vec<String>,
    /// Whether addresses of other machines are allowed.
    remote: bool,
}

impl Hosts {
    pub(super) fn new(names: &[String], remote: bool) -> Self {
        let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().filter(|_| remote);
        let names = names.iter().cloned().chain(machine).map(|name| name.trim().to_ascii_lowercase());
        Self { names: names.filter(|name| !name.is_empty()).collect(), remote }
    }

    pub(super) fn allow(&self, headers: &HeaderMap) -> bool {
        // Browsers always send a host.
        let Some(host) = headers.get(header::HOST) else { return true };
        let Ok(host) = host.to_str() else { return false };
        let name = name_of(host);
        if name.eq_ignore_ascii_case("localhost") || self.names.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return true;
        }
        address_of(name).is_some_and(|address| self.remote || address.is_loopback())
    }
}

/// Whether a request names several hosts, so that a proxy or cache may take it for another one (RFC
/// 9112, 3.2).
pub(super) fn is_ambiguous(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next();
    let authority = uri.authority().map(|authority| authority.as_str().as_bytes());
    let differs = |host: &HeaderValue| authority.is_some_and(|there| !there.eq_ignore_ascii_case(host.as_bytes()));
    hosts.next().is_some() || host.is_some_and(differs)
}

/// Whether the host of a request is the name of a machine, not an address or `localhost`.
pub(super) fn is_by_name(headers: &HeaderMap) -> bool {
    let name = headers.get(header::HOST).and_then(|host| host.to_str().ok()).map(name_of);
    name.is_some_and(|name| !name.eq_ignore_ascii_case("localhost") && address_of(name).is_none())
}

/// Returns a host without its port.
fn name_of(host: &str) -> &str {
    host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(host, |(name, _)| name)
}

fn address_of(name: &str) -> Option<IpAddr> {
    name.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether a page of another site sent the request, by the origin header of browsers.
pub(super) fn is_foreign(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return false };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    origin.map(|(_, authority)| authority) != host || host.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn pages_of_other_origins_are_distinguished_from_the_planner() {
        let from = |origin| is_foreign(&headers(&[(header::ORIGIN, origin), (header::HOST, "127.0.0.1:8787")]));
        assert!(!from("http://127.0.0.1:8787"));
        assert!(from("http://example.org") && from("null") && from("http://127.0.0.1:1"));
        assert!(!is_foreign(&HeaderMap::new()), "a program sends no origin");
    }

    #[test]
    fn a_request_names_one_host() {
        let one = headers(&[(header::HOST, "team.example.org:8787")]);
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        assert!(!is_ambiguous(&uri("/api/v1/samples"), &one) && !is_ambiguous(&uri("/"), &HeaderMap::new()));
        assert!(!is_ambiguous(&uri("http://TEAM.example.org:8787/"), &one));
        assert!(is_ambiguous(&uri("http://other.example.org:8787/"), &one));
        let mut two = one;
        two.append(header::HOST, HeaderValue::from_static("team.example.org:8787"));
        assert!(is_ambiguous(&uri("/"), &two));
    }

    #[test]
    fn names_of_machines_are_distinguished_from_addresses() {
        let by_name = |host| is_by_name(&headers(&[(header::HOST, host)]));
        assert!(by_name("timing.example.org") && by_name("node1:8787"));
        assert!(
            !by_name("localhost:8787") && !by_name("127.0.0.1:8787") && !by_name("[::1]:8787") && !by_name("[::1]")
        );
        assert!(!is_by_name(&HeaderMap::new()));
    }

    #[test]
    fn a_rebound_host_name_is_not_this_machine() {
        let local = Hosts::new(&[], false);
        let asks = |host| local.allow(&headers(&[(header::HOST, host)]));
        assert!(
            asks("127.0.0.1:8787")
                && asks("localhost:8787")
                && asks("localhost")
                && asks("[::1]:8787")
                && asks("[::1]")
        );
        assert!(!asks("example.org:8787") && !asks("127.0.0.1.example.org") && !asks("10.0.0.1:80"));
    }

    #[test]
    fn a_shared_collector_answers_to_addresses_and_its_names_only() {
        let shared = Hosts::new(&["timing.example.org".to_owned()], true);
        let asks = |host| shared.allow(&headers(&[(header::HOST, host)]));
        assert!(asks("10.0.0.1:8787") && asks("Timing.example.org") && asks("timing.example.org:443"));
        assert!(!asks("example.org") && !asks("evil.timing.example.org") && !asks("timing.example.org.evil.com"));
        assert!(shared.allow(&HeaderMap::new()), "a program may send no host");
    }
}
