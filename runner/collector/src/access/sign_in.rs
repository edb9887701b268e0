//! Sign-in of browsers: a form that stores the token in a cookie.

use axum::extract::{Query, Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse as _, Response};
use serde::Deserialize;

use super::client::Client;
use super::guard::count_unknown;
use crate::Shared;
use crate::body::read_form;
use crate::log::Entry;
use foreglow_store::token::{Hash, from_hex, hex};

const COOKIE: &str = "foreglow";
/// Time after which a browser forgets the token, seconds.
const MAX_AGE_SECS: u32 = 30 * 24 * 60 * 60;
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

/// `POST /`: stores a valid token in a cookie and opens the planner.
pub(crate) async fn enter(State(shared): State<Shared>, request: Request) -> Response {
    let is_secure = shared.is_tls || is_behind_tls(request.headers());
    let entry = Entry::of(&request);
    let form = match read_form(request).await {
        Ok(form) => form,
        Err(refused) => return *refused,
    };
    let Some(token) = token_of_form(&form) else { return page(StatusCode::BAD_REQUEST, Some(REFUSED)) };
    match shared.gate.client(Some(Hash::of(&token))).await {
        Ok(client) if client.name().is_some() && client.may(|roles| roles.read) => {
            to_planner(&cookie(&hex(token.as_bytes()), MAX_AGE_SECS, is_secure))
        }
        Ok(Client::Unknown) => match count_unknown(&shared, &entry) {
            Ok(()) => page(StatusCode::UNAUTHORIZED, Some(REFUSED)),
            Err(refused) => *refused,
        },
        Ok(_) => page(StatusCode::UNAUTHORIZED, Some(REFUSED)),
        Err(error) => crate::refusal(StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}")),
    }
}

/// `POST /sign-out`: removes the cookie.
pub(crate) async fn leave() -> Response {
    to_planner(&cookie("", 0, false))
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
fn cookie(value: &str, max_age_secs: u32, is_secure: bool) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{COOKIE}={value}; HttpOnly; SameSite=Lax; Path=/; Max-Age={max_age_secs}{secure}")
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

/// Returns the token in a header of cookies.
pub(super) fn token_of_cookies(cookies: &str) -> Option<String> {
    let pairs = cookies.split(';').filter_map(|cookie| cookie.trim().split_once('='));
    let value = pairs.into_iter().find_map(|(name, value)| (name == COOKIE).then_some(value))?;
    String::from_utf8(from_hex(value)?).ok().filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_through_the_form_and_the_cookie_unchanged() {
        for token in ["foreglow_12ab", "sécret; a=b & c+d"] {
            let cookie = cookie(&hex(token.as_bytes()), 60, true);
            assert!(cookie.contains("HttpOnly; SameSite=Lax") && cookie.ends_with("; Secure"));
            let sent = format!("other=1; {}", cookie.split(';').next().unwrap());
            assert_eq!(token_of_cookies(&sent).as_deref(), Some(token));
        }
        assert_eq!(token_of_form(b"token=s%C3%A9cret%3B+a%3Db").as_deref(), Some("sécret; a=b"));
        assert_eq!(token_of_form(b"token="), None);
        assert_eq!(token_of_form(b"name=a"), None);
        assert_eq!(token_of_cookies("foreglow=; a=b"), None);
    }
}
