//! The same runs as those of a larger or smaller job: a run over so many images is then another share of them.

use foreglow_shared::{IncompleteRun, Job, LeftOut, Observation};

/// A job over other numbers of images and of passes over them, with the runs of this one. An epoch is as many images
/// again: what happens between two epochs is taken to cost nothing.
///
/// # Errors
/// One sentence: no images, or fewer than a run of the job had.
pub fn with_work(job: &Job, left_out: &LeftOut, images: u64, epochs: u32) -> Result<(Job, LeftOut), String> {
    let workload = &job.context.workload;
    let work = |images: u64, epochs: u32| images as f64 * f64::from(epochs);
    if images == 0 || epochs == 0 {
        return Err("write a number of 1 or more".into());
    }
    let factor = work(workload.images, workload.epochs) / work(images, epochs);
    let rates = || {
        let completed = job.observations.iter().chain(&left_out.observations).map(|run| run.sampling_rate);
        completed.chain(job.incomplete.iter().chain(&left_out.incomplete).map(|run| run.sampling_rate))
    };
    let most = rates().fold(0.0, f64::max);
    // A run over exactly all of the images is one, whatever the rounding.
    if most * factor > 1.0 + 1e-9 {
        let least = (most * work(workload.images, workload.epochs) / f64::from(epochs)).ceil();
        return Err(format!("a run had more images than that; write {least} or more"));
    }
    let share = |rate: f64| if rate * factor > 1.0 - 1e-9 { 1.0 } else { rate * factor };
    let completed = |run: &Observation| Observation { sampling_rate: share(run.sampling_rate), ..*run };
    let incomplete = |run: &IncompleteRun| IncompleteRun { sampling_rate: share(run.sampling_rate), ..*run };
    let mut other = Job {
        context: job.context.clone(),
        observations: job.observations.iter().map(completed).collect(),
        incomplete: job.incomplete.iter().map(incomplete).collect(),
        peaks: job.peaks.clone(),
    };
    (other.context.workload.images, other.context.workload.epochs) = (images, epochs);
    let left_out = LeftOut {
        observations: left_out.observations.iter().map(completed).collect(),
        incomplete: left_out.incomplete.iter().map(incomplete).collect(),
    };
    Ok((other, left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        let run = |sampling_rate: f64| (1, 2, 1024, 8, sampling_rate, 300.0 * sampling_rate, None::<f64>);
        serde_json::from_value(serde_json::json!({
            "context": {"workload": {"model": "lenet5", "mode": "training", "image_px": 28, "images": 1000, "epochs": 2,
                "batch_size": 8}, "engine": "local", "host": {"cpu": "Some CPU"}},
            "observations": [run(0.01), run(0.1)],
        }))
        .unwrap()
    }

    #[test]
    fn runs_are_smaller_shares_of_a_larger_job_and_larger_ones_of_a_smaller() {
        let rates = |images, epochs| {
            let (other, _) = with_work(&job(), &LeftOut::default(), images, epochs).unwrap();
            assert_eq!((other.context.workload.images, other.context.workload.epochs), (images, epochs));
            other.observations.iter().map(|run| run.sampling_rate).collect::<Vec<f64>>()
        };
        assert_eq!(rates(1000, 2), [0.01, 0.1]);
        assert_eq!(rates(4000, 2), [0.0025, 0.025]);
        assert_eq!(rates(1000, 4), [0.005, 0.05]);
        assert_eq!(rates(100, 2), [0.1, 1.0]);
    }

    #[test]
    fn a_job_smaller_than_a_run_of_it_is_refused_with_the_least_that_can_be_asked() {
        let refused = |images, epochs| with_work(&job(), &LeftOut::default(), images, epochs).unwrap_err();
        assert!(refused(99, 2).contains("100 or more"), "{}", refused(99, 2));
        assert!(refused(0, 2).contains("1 or more"));
        assert!(refused(1000, 0).contains("1 or more"));
    }

    #[test]
    fn what_was_left_out_follows_and_counts() {
        let mut job = job();
        let left_out = LeftOut { observations: vec![job.observations.remove(1)], incomplete: Vec::new() };
        let (other, out) = with_work(&job, &left_out, 2000, 2).unwrap();
        assert_eq!((other.observations[0].sampling_rate, out.observations[0].sampling_rate), (0.005, 0.05));
        assert!(with_work(&job, &left_out, 50, 2).is_err());
    }
}
