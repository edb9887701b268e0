//! Another job size with the same runs: their sampling rates are rescaled to its number of images.

use foreglow_shared::{IncompleteRun, Job, LeftOut, Observation};

/// Rescales a job and its excluded runs to another number of images and epochs. Assumes that the
/// time is proportional to the images processed, because the time between two epochs is negligible.
///
/// # Errors
/// There are no images, or fewer than a run had; one sentence.
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
    // Tolerates rounding for a run over all images.
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
        // Unchanged, because each has its own numbers of images and epochs.
        accuracies: job.accuracies.clone(),
        logged: job.logged.clone(),
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
    fn sampling_rates_scale_inversely_with_the_size_of_the_job() {
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
    fn a_job_smaller_than_one_of_its_runs_is_rejected_with_the_smallest_valid_size() {
        let refused = |images, epochs| with_work(&job(), &LeftOut::default(), images, epochs).unwrap_err();
        assert!(refused(99, 2).contains("100 or more"), "{}", refused(99, 2));
        assert!(refused(0, 2).contains("1 or more"));
        assert!(refused(1000, 0).contains("1 or more"));
    }

    #[test]
    fn excluded_runs_are_rescaled_and_bound_the_size_too() {
        let mut job = job();
        let left_out = LeftOut { observations: vec![job.observations.remove(1)], incomplete: Vec::new() };
        let (other, out) = with_work(&job, &left_out, 2000, 2).unwrap();
        assert_eq!((other.observations[0].sampling_rate, out.observations[0].sampling_rate), (0.005, 0.05));
        assert!(with_work(&job, &left_out, 50, 2).is_err());
    }
}
