//! `POST` and `GET /api/v1/running`: the jobs that `foreglow watch` follows, in memory only.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse as _;
use foreglow_shared::{Uuid, printable};
use serde::{Deserialize, Serialize};

use super::body::read_small;
use super::lists::Asked;
use super::{Answer, Shared, refusal};

/// Limit on the jobs.
const MOST_JOBS: usize = 200;
/// Limits on the characters of a name and of a state: together less than a small body.
const MOST_OF_NAME: usize = 200;
const MOST_OF_STATE: usize = 500;
/// Intervals after which a job that sends no state is forgotten, and bounds of this time.
const MISSED: f64 = 3.0;
const LEAST_KEPT_SECS: f64 = 60.0;
const MOST_KEPT_SECS: f64 = 86_400.0;
/// Time for which an ended job is listed.
const ENDED_SECS: f64 = 600.0;

/// State of a job that is followed while it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowedJob {
    /// Identifier of the job (UUID version 7); a later state with the same id replaces it.
    pub id: Uuid,
    /// Name of the job, and where it runs.
    pub name: String,
    /// State as a sentence, such as `120 of 1000 steps, 12 %; left 1 h 12 min (1 h 8 min to 1 h
    /// 17 min)`.
    pub state: String,
    /// Share of the work that is done, in [0, 1]; `None` if it is unknown.
    #[serde(default)]
    pub done: Option<f64>,
    /// Whether the job is over.
    pub is_over: bool,
    /// Time until the next state, seconds.
    pub every_secs: f64,
}

/// The jobs, in the order of their first state.
#[derive(Clone, Debug, Default)]
pub(super) struct FollowedJobs(Arc<Mutex<Vec<(Instant, FollowedJob)>>>);

impl FollowedJob {
    /// Returns the job with a name and a state of at most the length that a collector takes.
    pub fn shortened(self) -> Self {
        let start = |text: &str, most: usize| text.chars().take(most).collect();
        Self { name: start(&self.name, MOST_OF_NAME), state: start(&self.state, MOST_OF_STATE), ..self }
    }

    /// Checks the limits.
    ///
    /// # Errors
    /// The first field that is out of range.
    fn check(&self) -> Result<(), String> {
        for (field, text, most) in [("name", &self.name, MOST_OF_NAME), ("state", &self.state, MOST_OF_STATE)] {
            if text.chars().count() > most {
                return Err(format!("{field} has more than {most} characters"));
            }
        }
        match self.done {
            Some(done) if !(0.0..=1.0).contains(&done) => Err(format!("done is {done}; it must be 0 to 1")),
            _ if self.every_secs.is_nan() || self.every_secs <= 0.0 => {
                Err(format!("every_secs is {}; it must be above 0", self.every_secs))
            }
            _ => Ok(()),
        }
    }

    fn kept(&self) -> Duration {
        let until_forgotten = (MISSED * self.every_secs).clamp(LEAST_KEPT_SECS, MOST_KEPT_SECS);
        Duration::from_secs_f64(if self.is_over { ENDED_SECS } else { until_forgotten })
    }
}

impl FollowedJobs {
    /// Takes the state of a job; `false` if there are too many jobs.
    fn take(&self, job: FollowedJob, now: Instant) -> bool {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.retain(|(at, job)| now.duration_since(*at) < job.kept());
        let known = jobs.iter().position(|(_, known)| known.id == job.id);
        match known {
            Some(place) => jobs[place] = (now, job),
            None if jobs.len() >= MOST_JOBS => return false,
            None => jobs.push((now, job)),
        }
        true
    }

    fn list(&self, now: Instant) -> Vec<FollowedJob> {
        let jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = jobs.iter().filter(|(at, job)| now.duration_since(*at) < job.kept());
        known.map(|(_, job)| job.clone()).collect()
    }
}

/// Takes the state of a job.
pub(super) async fn tell(State(shared): State<Shared>, request: Request) -> Answer {
    let body = read_small(request).await?;
    let job: FollowedJob = serde_json::from_slice(&body)
        .map_err(|error| refusal(StatusCode::BAD_REQUEST, format!("that is not the state of a job: {error}")))?;
    job.check().map_err(|error| refusal(StatusCode::BAD_REQUEST, error))?;
    if !shared.followed.take(job, Instant::now()) {
        let sentence = format!("{MOST_JOBS} jobs are followed already; send it again when one has ended");
        return Err(refusal(StatusCode::TOO_MANY_REQUESTS, sentence).into());
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Format of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ListFormat {
    #[default]
    Json,
    /// A line for each job, for the planner.
    Text,
}

/// Query of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FollowedQuery {
    #[serde(default)]
    format: ListFormat,
}

/// Lists the jobs.
pub(super) async fn list(State(shared): State<Shared>, Asked(query): Asked<FollowedQuery>) -> Answer {
    let jobs = shared.followed.list(Instant::now());
    let headers = [(header::CACHE_CONTROL, "no-store")];
    Ok(match query.format {
        ListFormat::Json => (headers, Json(serde_json::json!({ "schema": 1, "running": jobs }))).into_response(),
        ListFormat::Text => (headers, lines(&jobs)).into_response(),
    })
}

fn lines(jobs: &[FollowedJob]) -> String {
    jobs.iter().map(|FollowedJob { name, state, .. }| printable(&format!("{name}: {state}")) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: u128, every_secs: f64) -> FollowedJob {
        let (name, state) = ("train.py on a".to_owned(), "no progress yet".to_owned());
        FollowedJob { id: Uuid::from_u128(id), name, state, done: None, is_over: false, every_secs }
    }

    #[test]
    fn a_job_is_forgotten_after_three_missed_states_or_ten_minutes_after_its_end() {
        let (jobs, start) = (FollowedJobs::default(), Instant::now());
        let after = |secs: u64| start + Duration::from_secs(secs);
        let ids = |now: Instant| jobs.list(now).iter().map(|job| job.id.as_u128()).collect::<Vec<u128>>();
        for job in [job(1, 10.0), job(2, 40.0), FollowedJob { is_over: true, ..job(3, 10.0) }, job(4, 1e300)] {
            assert!(jobs.take(job, start));
        }
        assert_eq!(ids(after(59)), [1, 2, 3, 4]);
        assert_eq!(ids(after(119)), [2, 3, 4]);
        assert_eq!(ids(after(599)), [3, 4]);
        assert_eq!(ids(after(86_399)), [4]);
        let told = FollowedJob { name: "a\nb".to_owned(), done: Some(0.5), ..job(1, 10.0) };
        assert!(jobs.take(told, after(86_400)));
        assert_eq!(lines(&jobs.list(after(86_400))), "a\\nb: no progress yet\n");
        assert_eq!((jobs.list(after(86_400)).len(), jobs.list(after(86_400))[0].done), (1, Some(0.5)));
    }

    #[test]
    fn jobs_and_their_texts_are_limited() {
        let (jobs, now) = (FollowedJobs::default(), Instant::now());
        assert!((0..200).all(|id| jobs.take(job(id, 10.0), now)) && !jobs.take(job(200, 10.0), now));
        assert!(jobs.take(job(7, 10.0), now), "a known job is renewed");
        for (wrong, field) in [
            (FollowedJob { name: "x".repeat(201), ..job(1, 1.0) }, "name"),
            (FollowedJob { state: "x".repeat(501), ..job(1, 1.0) }, "state"),
            (FollowedJob { done: Some(1.1), ..job(1, 1.0) }, "done"),
            (job(1, 0.0), "every_secs"),
            (job(1, f64::NAN), "every_secs"),
        ] {
            assert!(wrong.check().unwrap_err().starts_with(field), "{wrong:?}");
            let is_text = ["name", "state"].contains(&field);
            assert_eq!(wrong.shortened().check().is_ok(), is_text);
        }
    }
}
