//! Sign-in of browsers: a form takes a token, and a cookie holds the id of a session of that token.
//! The session only reads.

use std::time::Duration;

use axum::extract::{Query, Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse as _, Response};
use foreglow_shared::Timestamp;
use serde::Deserialize;

use super::client::{Client, Secret};
use super::limits::{count, count_unknown};
use crate::Shared;
use crate::body::read_small;
use crate::log::Entry;
use foreglow_store::token::{Hash, random};

/// Name of the cookie, before the port.
const COOKIE: &str = "foreglow";
/// Time after which a session ends.
const MAX_AGE: Duration = Duration::from_hours(30 * 24);
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>Sign in · Foreglow</title><style>\
:root{color-scheme:light dark}body{font:1rem/1.5 system-ui;max-width:26rem;margin:4rem auto;padding:0 1rem}\
label{display:block;margin:1rem 0 .25rem}input{box-sizing:border-box;width:100%;font:inherit;padding:.5rem}\
button{font:inherit;padding:.5rem 1rem;margin-top:1rem}[role=alert]{font-weight:600}</style></head><body>";

/// Returns the page that asks for a token, in place of the planner.
pub(super) fn asked(was_refused: bool) -> Response {
    page(StatusCode::UNAUTHORIZED, was_refused.then_some(REFUSED))
}

const REFUSED: &str = "That token may not read samples, or it is unknown, revoked or expired.";

// Without `action` the form is sent to the address of the page, which keeps the part after `#`, so
// that an opened share link survives the sign-in.
fn page(status: StatusCode, refused: Option<&str>) -> Response {
    let refused = refused.map(|refused| format!("<p role=\"alert\">{refused}</p>")).unwrap_or_default();
    let text = format!(
        "{HEAD}<h1>Sign in</h1><p>This collector shows its samples to those who have a token. Ask its \
administrator for one with the role <code>read</code>.</p>{refused}<form method=\"post\">\
<label for=\"token\">Token</label><input id=\"token\" name=\"token\" type=\"password\" required autofocus \
autocomplete=\"current-password\" spellcheck=\"false\"><button>Sign in</button></form>\
<p><a href=\"index.html\">Open the planner without the collector’s samples</a></p></body></html>\n"
    );
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        // With `no-referrer`, browsers hide the origin of the form, which is then refused.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    (status, headers, Html(text)).into_response()
}

/// Fields of the form.
#[derive(Deserialize)]
struct Form {
    token: String,
}

/// `POST /`: begins a session of a valid token and opens the planner.
pub(crate) async fn enter(State(shared): State<Shared>, request: Request) -> Response {
    let is_secure = shared.is_tls || is_behind_tls(request.headers());
    let (entry, cookie) = (Entry::of(&request), cookie_name(request.headers()));
    let form = match read_small(request).await {
        Ok(form) => form,
        Err(refused) => return *refused,
    };
    let Some(token) = token_of_form(&form) else { return page(StatusCode::BAD_REQUEST, Some(REFUSED)) };
    let token = Hash::of(&token);
    match shared.gate.client(Some(Secret::Token(token))).await {
        Ok(client) if client.name().is_some() && client.may(|roles| roles.read) => {
            if let Err(refused) = count(&shared, &client) {
                return *refused;
            }
            match begin(&shared, token).await {
                Ok(session) => to_planner(&format_cookie(&cookie, &session, MAX_AGE, is_secure)),
                Err(error) => crate::failure(&error),
            }
        }
        Ok(Client::Unknown) => match count_unknown(&shared, &entry) {
            Ok(()) => page(StatusCode::UNAUTHORIZED, Some(REFUSED)),
            Err(refused) => *refused,
        },
        Ok(_) => page(StatusCode::UNAUTHORIZED, Some(REFUSED)),
        Err(error) => crate::refusal(StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}")),
    }
}

/// Begins a session of a token, and returns its id.
async fn begin(shared: &Shared, token: Hash) -> anyhow::Result<String> {
    let id = random()?;
    let (session, now) = (Hash::of(&id), Timestamp::now());
    let end = now.checked_add(MAX_AGE)?;
    shared.storage.write(move |store| store.begin_session(session, token, now, end)).await?;
    Ok(id)
}

/// `POST /sign-out`: ends the session and removes the cookie.
pub(crate) async fn leave(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    if let Some(session) = session_of(&headers)
        && let Err(error) = shared.storage.write(move |store| store.end_session(session)).await
    {
        return crate::failure(&error);
    }
    to_planner(&format_cookie(&cookie_name(&headers), "", Duration::ZERO, false))
}

/// `GET /sign-out`: asks, because a link must not sign a user out.
pub(crate) async fn ask_to_leave() -> Response {
    let text = format!("{HEAD}<h1>Sign out</h1><form method=\"post\"><button>Sign out</button></form></body></html>\n");
    ([(header::CONTENT_SECURITY_POLICY, POLICY), (header::CACHE_CONTROL, "no-store")], Html(text)).into_response()
}

fn to_planner(cookie: &str) -> Response {
    let mut response =
        (StatusCode::SEE_OTHER, [(header::LOCATION, "/"), (header::CACHE_CONTROL, "no-store")]).into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Scripts cannot read the cookie, and other sites cannot make the browser send it with anything
/// but the opening of a page.
fn format_cookie(name: &str, value: &str, max_age: Duration, is_secure: bool) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{name}={value}; HttpOnly; SameSite=Lax; Path=/; Max-Age={}{secure}", max_age.as_secs())
}

/// Returns the name of the cookie. Browsers send a cookie to all ports of a host, so that the
/// sessions of several collectors need different names.
fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let port = host.and_then(|host| host.rsplit_once(':')?.1.parse::<u16>().ok());
    port.map_or_else(|| COOKIE.to_owned(), |port| format!("{COOKIE}-{port}"))
}

/// Whether a header of a reverse proxy says that the browser uses TLS.
fn is_behind_tls(headers: &HeaderMap) -> bool {
    headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https")
}

/// Reads the body of a form, which has the syntax of a query.
fn token_of_form(body: &[u8]) -> Option<String> {
    let query = format!("/?{}", std::str::from_utf8(body).ok()?.trim());
    let uri = Uri::from(PathAndQuery::try_from(query).ok()?);
    let Query(Form { token }) = Query::try_from_uri(&uri).ok()?;
    Some(token.trim().to_owned()).filter(|token| !token.is_empty())
}

/// Returns the hash of the id of a browser's session.
pub(super) fn session_of(headers: &HeaderMap) -> Option<Hash> {
    let (name, cookies) = (cookie_name(headers), headers.get(header::COOKIE)?.to_str().ok()?);
    let mut pairs = cookies.split(';').filter_map(|cookie| cookie.trim().split_once('='));
    let id = pairs.find_map(|(found, value)| (found == name).then_some(value))?;
    (!id.is_empty()).then(|| Hash::of(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_from_the_form_as_it_is() {
        assert_eq!(token_of_form(b"token=s%C3%A9cret%3B+a%3Db").as_deref(), Some("sécret; a=b"));
        assert_eq!(token_of_form(b"token="), None);
        assert_eq!(token_of_form(b"name=a"), None);
    }

    #[test]
    fn each_port_has_a_session_of_its_own() {
        let session = |host: &'static str, cookies: &'static str| {
            let pairs = [(header::HOST, host), (header::COOKIE, cookies)];
            session_of(&HeaderMap::from_iter(pairs.map(|(name, value)| (name, HeaderValue::from_static(value)))))
        };
        let cookies = "other=1; foreglow-8787=abc; foreglow=def; foreglow-1=";
        assert_eq!(session("team.example.org:8787", cookies), Some(Hash::of("abc")));
        assert_eq!(session("team.example.org", cookies), Some(Hash::of("def")));
        assert_eq!(session("[::1]:8787", cookies), Some(Hash::of("abc")));
        assert_eq!(session("team.example.org:1", cookies), None);
        assert_eq!(session("team.example.org:2", cookies), None);
        let cookie = format_cookie("foreglow-8787", "abc", MAX_AGE, true);
        assert_eq!(cookie, "foreglow-8787=abc; HttpOnly; SameSite=Lax; Path=/; Max-Age=2592000; Secure");
    }
}
