//! Evaluation of Foreglow's predictor and its rivals on the samples of a job.

use std::time::Instant;

use foreglow_model::{Answer, Outcome, Predictor, Setting, sample_trial, score};
use foreglow_shared::{Job, Observation};

use super::benchmark::{FOREGLOW, MethodResult, benchmark};

/// Evaluates every predictor, fitted on the runs over a part of the images and tested on the runs
/// over all images. Empty if there are no runs of either kind.
pub fn on_samples(job: &Job) -> Vec<MethodResult> {
    let Ok((trial, roles)) = sample_trial(&job.observations) else { return Vec::new() };
    let mut results = benchmark(&[trial], &roles, |_, _| ());
    // The predictor of a job also uses the machine, which a plain table does not contain.
    if let Some((own, known)) = results.iter_mut().find(|own| own.name == FOREGLOW).zip(of_job(job)) {
        *own = known;
    }
    results
}

fn of_job(job: &Job) -> Option<MethodResult> {
    let (samples, mut whole): (Vec<Observation>, Vec<Observation>) =
        job.observations.iter().partition(|run| run.sampling_rate < 1.0);
    let start = Instant::now();
    let predictor = Predictor::fit_job(&Job { observations: samples, ..job.clone() }).ok()?;
    whole.sort_by(|a, b| place(a).cmp(&place(b)).then(a.completion_time_secs.total_cmp(&b.completion_time_secs)));
    let outcome = |repeats: &[Observation]| {
        let prediction = predictor.predict(Setting::of(&repeats[0]));
        // A whole job is beyond the sampling rates of its samples.
        let answer = Answer::of(&prediction, true);
        let middle = |place: usize| repeats[place].completion_time_secs;
        Outcome { measured_secs: (middle((repeats.len() - 1) / 2) + middle(repeats.len() / 2)) / 2.0, answer }
    };
    let outcomes: Vec<Outcome> = whole.chunk_by(|a, b| place(a) == place(b)).map(outcome).collect();
    let fit_secs = Some(start.elapsed().as_secs_f64());
    Some(MethodResult { name: FOREGLOW, score: score(&outcomes), fit_secs, reason: None })
}

fn place(run: &Observation) -> (u32, u32) {
    (run.executors, run.cores_per_executor)
}
