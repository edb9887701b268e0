//! Routes for samples.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest as _, Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use foreglow_exit::UnusableInput;
use foreglow_shared::{Engine, Mode, Outcome, Sample, Timestamp, Uuid, parse_line, write_csv};
use serde::{Deserialize, Serialize};

use super::{Shared, refusal};
use crate::store::{Filter, Store, id_of};

/// Default and maximum number of samples in an answer.
const DEFAULT_LIMIT: usize = 10_000;
const MAX_LIMIT: usize = 100_000;
/// Invalid lines that are reported individually; further ones are only counted.
const MAX_NAMED_REJECTIONS: usize = 1_000;

/// Result of posting samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Samples that the collector did not have.
    pub new: usize,
    /// Samples that it already had. Posting a sample twice has no effect.
    pub known: usize,
    /// Invalid lines.
    pub rejected: Vec<Rejection>,
    /// Number of further invalid lines.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejected_more: usize,
}

/// An invalid line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rejection {
    /// Line number, from 1.
    pub line: usize,
    /// Reason.
    pub error: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// `POST /api/v1/samples`: stores a JSON Lines body, and answers once the samples are on disk.
pub(super) async fn accept(State(shared): State<Shared>, request: Request) -> Response {
    let too_large = || {
        let limit = super::MAX_BODY_BYTES >> 20;
        refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "a request may have at most {limit} MiB; send the samples in \
                several requests"
            ),
        )
    };
    // If the client sends the length, a large request is rejected before its body.
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > super::MAX_BODY_BYTES) {
        return too_large();
    }
    let body = match Bytes::from_request(request, &()).await {
        Ok(body) => body,
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => return too_large(),
        Err(error) => return refusal(error.status(), format!("the samples did not arrive: {error}")),
    };
    let (samples, mut receipt) = sort_out(&body);
    if samples.is_empty() {
        return match receipt.rejected.is_empty() {
            true => refusal(StatusCode::BAD_REQUEST, "the request has no samples; send one JSON object per line"),
            false => (StatusCode::BAD_REQUEST, Json(receipt)).into_response(),
        };
    }
    match shared.with_store(move |store| store.insert(&samples)).await {
        Ok(inserted) => {
            receipt.new = inserted.new;
            receipt.known = inserted.known;
            if inserted.new > 0 {
                shared.news.send_modify(|news| news.posted += 1);
            }
            Json(receipt).into_response()
        }
        Err(error) => {
            eprintln!("foreglow: samples were rejected: {error:#}");
            refusal(StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}"))
        }
    }
}

/// Parses the lines into samples and rejections, ignoring blank lines.
fn sort_out(body: &[u8]) -> (Vec<Sample>, Receipt) {
    let mut samples = Vec::new();
    let mut receipt = Receipt::default();
    let lines = body.split(|byte| *byte == b'\n').enumerate();
    for (index, bytes) in lines.filter(|(_, bytes)| !bytes.trim_ascii().is_empty()) {
        let parsed = std::str::from_utf8(bytes)
            .map_err(|_| "it is not UTF-8 text".to_owned())
            .and_then(|text| parse_line(text).map_err(|error| error.to_string()));
        match parsed {
            Ok(sample) => samples.push(sample),
            Err(_) if receipt.rejected.len() == MAX_NAMED_REJECTIONS => receipt.rejected_more += 1,
            Err(error) => receipt.rejected.push(Rejection { line: index + 1, error }),
        }
    }
    (samples, receipt)
}

/// Query of `GET /api/v1/samples`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    model: Option<String>,
    mode: Option<Mode>,
    engine: Option<Engine>,
    outcome: Option<Outcome>,
    since: Option<Timestamp>,
    after: Option<Uuid>,
    limit: Option<usize>,
    format: Option<ListFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ListFormat {
    Jsonl,
    Csv,
}

/// `GET /api/v1/samples`: the samples that match the filters, in order of arrival, as JSON Lines or
/// CSV. If there are more, the `Link` header has the next page.
pub(super) async fn list(
    State(shared): State<Shared>,
    headers: HeaderMap,
    uri: axum::http::Uri,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Response {
    let query = match query {
        Ok(Query(query)) => query,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, error.body_text()),
    };
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return refusal(StatusCode::BAD_REQUEST, format!("limit is {limit}; it must be 1 to {MAX_LIMIT}"));
    }
    let format = query.format.unwrap_or_else(|| accepted_format(&headers));
    let filter = Filter {
        model: query.model,
        mode: query.mode,
        engine: query.engine,
        outcome: query.outcome,
        since: query.since,
        after: query.after,
        // One extra sample tells whether there is a next page.
        limit: Some(limit + 1),
    };
    match shared.with_store(move |store| page(store, &filter, limit, format)).await {
        Ok(page) => page.into_response(&uri),
        Err(error) if error.is::<UnusableInput>() => refusal(StatusCode::BAD_REQUEST, error),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")),
    }
}

/// `GET /api/v1/samples/ID`: one sample as JSON.
pub(super) async fn one(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    let Ok(id) = id.parse::<Uuid>() else { return no_id(&id) };
    match shared.with_store(move |store| store.sample_line(id)).await {
        Ok(Some(line)) => ([(header::CONTENT_TYPE, "application/json")], line + "\n").into_response(),
        Ok(None) => not_there(id),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")),
    }
}

/// `DELETE /api/v1/samples/ID`: removes one sample. Open planners keep it until they are reloaded.
pub(super) async fn remove(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    let Ok(id) = id.parse::<Uuid>() else { return no_id(&id) };
    match shared.with_store(move |store| store.remove(&[id])).await {
        Ok(0) => not_there(id),
        Ok(removed) => Json(serde_json::json!({ "removed": removed })).into_response(),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")),
    }
}

fn no_id(text: &str) -> Response {
    refusal(StatusCode::BAD_REQUEST, format!("{text:?} is no id of a sample; it is a UUID"))
}

fn not_there(id: Uuid) -> Response {
    refusal(StatusCode::NOT_FOUND, format!("there is no sample with the id {id}"))
}

struct Page {
    text: String,
    format: ListFormat,
    /// Last sample of the page, if others follow.
    last: Option<Uuid>,
}

fn page(store: &Store, filter: &Filter, limit: usize, format: ListFormat) -> anyhow::Result<Page> {
    let mut lines = store.sample_lines(filter)?;
    let more = lines.len() > limit;
    lines.truncate(limit);
    let last = if more { lines.last().and_then(|line| id_of(line)) } else { None };
    // A sample outside the limits would break every reader of the page.
    lines.retain(|line| parse_line(line).is_ok());
    let text = match format {
        ListFormat::Jsonl => lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect(),
        ListFormat::Csv => {
            let samples: Vec<Sample> = lines.iter().map(|line| parse_line(line)).collect::<Result<_, _>>()?;
            write_csv(&samples)
        }
    };
    Ok(Page { text, format, last })
}

impl Page {
    fn into_response(self, uri: &axum::http::Uri) -> Response {
        let content_type = match self.format {
            ListFormat::Jsonl => "application/jsonl",
            ListFormat::Csv => "text/csv; charset=utf-8; header=present",
        };
        let headers = [(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-store")];
        let next = self.last.and_then(|id| HeaderValue::from_str(&next_page(uri, id)).ok());
        let mut response = (headers, self.text).into_response();
        if let Some(next) = next {
            response.headers_mut().insert(header::LINK, next);
        }
        response
    }
}

fn next_page(uri: &axum::http::Uri, last: Uuid) -> String {
    let kept =
        uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("after="));
    let pairs: Vec<String> = kept.map(str::to_owned).chain([format!("after={last}")]).collect();
    format!("<{}?{}>; rel=\"next\"", uri.path(), pairs.join("&"))
}

fn accepted_format(headers: &HeaderMap) -> ListFormat {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("text/csv")) { ListFormat::Csv } else { ListFormat::Jsonl }
}

/// `GET /api/v1/workloads`: all workloads with samples.
pub(super) async fn workloads(State(shared): State<Shared>) -> Response {
    match shared.with_store(|store| store.workloads()).await {
        Ok(counts) => {
            let workloads: Vec<_> = counts
                .into_iter()
                .map(|(workload, samples)| serde_json::json!({ "workload": workload, "samples": samples }))
                .collect();
            Json(serde_json::json!({ "schema": 1, "workloads": workloads })).into_response()
        }
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")),
    }
}
