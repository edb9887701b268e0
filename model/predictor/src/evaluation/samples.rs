//! The trial on which the published scenarios are compared with rivals.

use foreglow_shared::Observation;

use crate::evaluation::{Repeats, Trial};
use crate::rival::{Roles, Term};
use crate::{Column, Dataset, DatasetError, Features};

/// Returns the scenarios' trial, trained on runs with SR < 1 and tested on whole jobs (SR = 1), and
/// the roles of its columns for rivals: the number of machines is E·C, data size and number of
/// iterations are SR.
///
/// # Errors
/// [`DatasetError`]: there are no runs with SR < 1 or none with SR = 1, or a time is invalid.
pub fn sample_trial(runs: &[Observation]) -> Result<(Trial, Roles), DatasetError> {
    let (samples, whole): (Vec<&Observation>, Vec<&Observation>) = runs.iter().partition(|run| run.sampling_rate < 1.0);
    let trial = Trial::new(&dataset(&samples)?, &dataset(&whole)?, Repeats::Median);
    let threads: Term = "executors*cores_per_executor".parse().expect("a product of two columns");
    let rate = Term::new("sampling_rate");
    let roles =
        Roles { machines: Some(threads), data_size: Some(rate.clone()), iterations: Some(rate), ..Roles::default() };
    Ok((trial, roles))
}

fn dataset(runs: &[&Observation]) -> Result<Dataset, DatasetError> {
    let column = |name: &str, value: fn(&Observation) -> f64| {
        Column::numeric(name, runs.iter().map(|run| value(run)).collect(), None)
    };
    let features = Features::new(vec![
        column("executors", |run| f64::from(run.executors)),
        column("cores_per_executor", |run| run.split().mean_cores()),
        column("sampling_rate", |run| run.sampling_rate),
    ])?;
    let secs = runs.iter().map(|run| run.completion_time_secs).collect();
    Dataset::new(features, secs, vec![false; runs.len()])
}
