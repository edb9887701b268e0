//! Runs of one job with several numbers of images or epochs.

use foreglow_model::{JointPredictor, Plan, Space};
use foreglow_shared::{Context, CoreSplit, IncompleteOutcome, IncompleteRun, Job, JobDefinition, JobGroup, group_jobs};

/// The seconds of a run: start-up, and a share of 0.01 s of each image on one executor.
fn secs(images: f64, executors: u32) -> f64 {
    5.0 + 0.01 * images / f64::from(executors)
}

/// Runs of a whole job with this number of images, one on each number of executors.
fn whole_runs(images: u64, epochs: u32, executors: &[u32]) -> Job {
    let context: Context = serde_json::from_value(serde_json::json!({
        "workload": {"model": "lenet5", "mode": "training", "image_px": 28, "images": images, "epochs": epochs,
            "batch_size": 8},
        "engine": "local", "host": {"cpu": "Some CPU", "processors": 8},
    }))
    .unwrap();
    let work = context.workload.images_processed();
    let rows =
        executors.iter().map(|executors| serde_json::json!([executors, 1, 512, 8, 1.0, secs(work, *executors), null]));
    Job::of_runs(context, serde_json::from_value(rows.collect()).unwrap())
}

fn group(jobs: &[Job]) -> JobGroup {
    let mut groups = group_jobs(jobs.to_vec());
    assert_eq!(groups.len(), 1);
    groups.remove(0)
}

fn predicted(group: &JobGroup, executors: u32) -> f64 {
    JointPredictor::fit(group).unwrap().predict(0, executors, 1).completion_time_secs.unwrap()
}

#[test]
fn whole_jobs_of_two_sizes_are_one_job_and_tell_the_start_up() {
    let jobs = [whole_runs(40_000, 1, &[1, 2, 4]), whole_runs(80_000, 1, &[1, 2])];
    let both = group(&jobs);
    assert_eq!((both.definition.images, both.definition.epochs), (80_000, 1));
    let error = predicted(&both, 4) / secs(80_000.0, 4) - 1.0;
    assert!(error.abs() < 0.03, "{error}");
    // Any size may be asked about, in between and beyond.
    for images in [40_000, 60_000, 160_000] {
        let definition = JobDefinition::of(&whole_runs(images, 1, &[]).context);
        let asked = JobGroup { definition, ..both.clone() };
        let error = predicted(&asked, 2) / secs(images as f64, 2) - 1.0;
        assert!(error.abs() < 0.03, "{images}: {error}");
    }
}

#[test]
fn epochs_are_an_amount_of_work_as_images_are() {
    let twice = group(&[whole_runs(40_000, 1, &[1, 2, 4]), whole_runs(40_000, 2, &[1])]);
    assert_eq!((twice.definition.images, twice.definition.epochs), (40_000, 2));
    let error = predicted(&twice, 4) / secs(80_000.0, 4) - 1.0;
    assert!(error.abs() < 0.05, "{error}");
}

#[test]
fn a_stopped_run_of_a_larger_size_bounds_only_jobs_of_this_size() {
    let mut larger = whole_runs(80_000, 1, &[1, 2]);
    larger.incomplete.push(IncompleteRun {
        executors: 4,
        cores_per_executor: 1,
        total_cores: None,
        memory_per_executor_mib: 512,
        partition_size: 8,
        sampling_rate: 1.0,
        outcome: IncompleteOutcome::TimedOut,
        at_least_secs: Some(190.0),
    });
    let both = group(&[whole_runs(40_000, 1, &[1, 2, 4]), larger]);
    let chance = |definition: &JobDefinition| {
        let joint = JointPredictor::fit(&JobGroup { definition: definition.clone(), ..both.clone() }).unwrap();
        let prediction = joint.predict(0, 4, 1);
        joint.chance(0, CoreSplit::even(4, 1), &prediction, 180.0).unwrap()
    };
    assert_eq!(chance(&both.definition), 0.0);
    assert!(chance(&JobDefinition::of(&whole_runs(40_000, 1, &[]).context)) > 0.9);
}

#[test]
fn the_times_of_a_grid_are_those_of_the_size_that_is_asked_about() {
    let both = group(&[whole_runs(40_000, 1, &[1, 2, 4]), whole_runs(80_000, 1, &[1, 2])]);
    let definition = JobDefinition::of(&whole_runs(40_000, 1, &[]).context);
    let joint = JointPredictor::fit(&JobGroup { definition, ..both }).unwrap();
    let plan = Plan::new(joint, Space::default()).unwrap();
    let listed = plan.decide(&crate::two_types::LIMITS).unwrap().candidates;
    let secs = plan.times(0, &[1, 2, 4], &[1]);
    assert_eq!(listed.len(), 4);
    for candidate in listed.iter().filter(|candidate| candidate.placement.executors != 3) {
        let place = candidate.placement.executors.ilog2() as usize;
        assert_eq!(secs[place][0], candidate.prediction.completion_time_secs);
    }
}
