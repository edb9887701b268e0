//! Addresses of collectors and planners.

/// Parses the address of a collector or planner; `http://` is the default scheme: `localhost:8787`.
/// Messages, links and the queue contain the address, so it must not contain a password.
///
/// # Errors
/// The text is not an address, or it contains a user or password.
pub fn url(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is not an address; give one such as http://127.0.0.1:8787");
    let text = text.trim().split(['#', '?']).next().unwrap_or_default();
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    // A password may contain `/`, although it should be percent-encoded.
    if let Some((_, host)) = rest.rsplit_once('@') {
        return Err(format!(
            "an address contains no user or password; give {scheme}://{host}, and a token of the collector with \
             --token-file or FOREGLOW_TOKEN"
        ));
    }
    let rest = rest.trim_end_matches('/');
    let url = format!("{scheme}://{rest}");
    let host = rest.split('/').next().unwrap_or_default();
    // A single word is more likely a typing error than a host.
    let is_host = text.contains("://") || host == "localhost" || host.contains([':', '.']);
    let is_uri = url.parse::<ureq::http::Uri>().is_ok_and(|uri| uri.host().is_some_and(|host| !host.is_empty()));
    if matches!(scheme, "http" | "https") && is_host && is_uri { Ok(url) } else { Err(wrong()) }
}

/// Whether the host of a URL is `localhost` or a loopback address.
pub fn is_loopback(url: &str) -> bool {
    let host = url.parse::<ureq::http::Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
    host.is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        address == "localhost" || address.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_no_scheme_and_a_mere_word_is_none() {
        for text in ["http://127.0.0.1:8787", "127.0.0.1:8787/", " http://127.0.0.1:8787/#v1.abc", "127.0.0.1:8787?x"] {
            assert_eq!(url(text), Ok("http://127.0.0.1:8787".into()), "{text}");
        }
        assert_eq!(url("localhost:8787"), Ok("http://localhost:8787".into()));
        assert_eq!(url("https://planner.example.org/a/"), Ok("https://planner.example.org/a".into()));
        for text in ["", "nonsense", "http://", "ftp://a", "http://a b", "://a"] {
            assert!(url(text).unwrap_err().contains("is not an address"), "{text}");
        }
    }

    #[test]
    fn an_address_with_a_password_is_refused_without_printing_it() {
        for text in ["https://anna:secret@team.example.org", "anna:secret@team.example.org:1", "https://a:secret/@h"] {
            let error = url(text).unwrap_err();
            assert!(error.contains("no user or password") && !error.contains("secret"), "{error}");
        }
    }
}
