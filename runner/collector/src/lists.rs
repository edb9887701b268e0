//! Common parts of the lists of the API: a limit, and a link to the next page.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde::de::DeserializeOwned;

use super::{Refused, refusal};

/// The query of a request. A wrong one is refused as all requests are.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let query = Query::from_request_parts(parts, state).await;
        query
            .map(|Query(query)| Self(query))
            .map_err(|error| refusal(StatusCode::BAD_REQUEST, error.body_text()).into())
    }
}

/// Numbers of items in an answer.
pub(super) struct Limits {
    /// Number without a limit in the query.
    pub(super) default: usize,
    pub(super) most: usize,
}

impl Limits {
    /// Returns the number of items to list.
    ///
    /// # Errors
    /// The answer to a query whose limit is out of range.
    pub(super) fn apply(&self, asked: Option<usize>) -> Result<usize, Box<Response>> {
        let (limit, most) = (asked.unwrap_or(self.default), self.most);
        if (1..=most).contains(&limit) {
            return Ok(limit);
        }
        Err(Box::new(refusal(StatusCode::BAD_REQUEST, format!("limit is {limit}; it must be 1 to {most}"))))
    }
}

/// Returns a list as JSON, with its rows of JSON on a line each.
pub(super) fn text(name: &str, rows: impl Iterator<Item = String>) -> String {
    let rows: Vec<String> = rows.map(|row| format!("\n{row}")).collect();
    format!("{{\"schema\":1,{name}:[{}]}}\n", rows.join(","))
}

/// Answers with a list as JSON. If there are more items, the `Link` header has the next page.
pub(super) fn page(list: String, next: Option<String>) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    let mut response = (headers, list).into_response();
    set_next(&mut response, next);
    response
}

/// Sets the `Link` header to the next page, if there is one.
pub(super) fn set_next(response: &mut Response, next: Option<String>) {
    let link = next.map(|next| HeaderValue::from_str(&format!("<{next}>; rel=\"next\"")));
    if let Some(Ok(link)) = link {
        response.headers_mut().insert(header::LINK, link);
    }
}

/// Returns the address of the next page: that of this page, with the client's encoding of the
/// parameters, after the last item.
pub(super) fn next_page(uri: &Uri, last: impl std::fmt::Display) -> String {
    let kept = uri.query().unwrap_or_default().split('&');
    let kept = kept.filter(|pair| !pair.is_empty() && !pair.starts_with("after="));
    let pairs: Vec<String> = kept.map(str::to_owned).chain([format!("after={last}")]).collect();
    format!("{}?{}", uri.path(), pairs.join("&"))
}
