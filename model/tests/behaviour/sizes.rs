//! Partition and batch sizes among the configurations of a job.

use foreglow_model::{Basis, Candidate, JointPredictor, Plan, Space};
use foreglow_shared::{IncompleteOutcome, IncompleteRun, Job, JobGroup, Observation, PeakMemory};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::incomplete;
use crate::two_types::{
    FAST, LIMITS, Law, SLOW, compare, context, group, job, machine, possible, run, secs, space, two_types,
};

#[test]
fn a_partition_size_whose_effect_the_runs_do_not_tell_is_refused() {
    let job = job("c5.xlarge", SLOW.grid(|| 0.0));
    let usual = job.observations[0].partition_size;
    let predictor = foreglow_model::Predictor::fit_job(&job).unwrap();
    assert!(predictor.clone().with_partition_size(&job, usual).is_ok());
    let refused = predictor.with_partition_size(&job, usual + 1).unwrap_err();
    assert!(refused.to_string().contains("--partition-size"), "{refused}");
}

#[test]
fn batch_sizes_are_compared_and_may_be_chosen() {
    let mut jobs = two_types().jobs;
    let mut larger = job("c5.xlarge", Law { secs: 2400.0, ..SLOW }.grid(|| 0.0));
    larger.context = context("c5.xlarge", 32);
    jobs.push(larger);
    let plan = compare(&group(jobs), &space());
    let batch = |candidate: &Candidate| plan.predictor().arms()[candidate.placement.arm].batch_size;
    let on_c5 = Space { machines: vec!["c5.xlarge".into()], ..space() };
    let jobs = plan.predictor().arms().iter().filter(|arm| arm.machine == "c7i.large").count();
    assert_eq!(jobs, 2, "a batch size that was measured on another machine type is offered too");
    let plan_c5 = compare(&group(two_types().jobs), &Space { batch_sizes: vec![32], ..on_c5 });
    assert!(plan_c5.is_empty(), "a batch size that nobody measured is not offered");
    let decision = plan.decide(&LIMITS).unwrap();
    assert!(decision.candidates.iter().any(|candidate| batch(candidate) == 32));
}

#[test]
fn an_asked_partition_size_changes_the_time_where_it_was_measured_and_is_refused_elsewhere() {
    let sized = |law: Law, size: u32| {
        let mut runs = law.grid(|| 0.0);
        runs.iter_mut().for_each(|run| run.partition_size = size);
        runs
    };
    let quicker = Law { secs: 2400.0, ..SLOW };
    let both = [sized(SLOW, 8), sized(quicker, 16)].concat();
    let group = group(vec![job("c5.xlarge", both), job("c7i.large", FAST.grid(|| 0.0))]);
    assert_eq!(JointPredictor::fit(&group).unwrap().partition_sizes(), [8, 16]);
    let asked = |size: u32| {
        compare(
            &group,
            &Space { partition_size: Some(size), executors: vec![2], cores_per_executor: vec![1], ..space() },
        )
    };
    for (size, law) in [(8, SLOW), (16, quicker)] {
        let plan = asked(size);
        let decision = plan.decide(&LIMITS).unwrap();
        let on_c5 = decision.candidates.iter().find(|candidate| machine(&plan, candidate) == "c5.xlarge").unwrap();
        assert!((secs(on_c5) / law.secs(2, 1, 1.0) - 1.0).abs() < 0.1, "{size}: {}", secs(on_c5));
    }
    let plan = asked(16);
    let refused = plan.omissions().iter().find(|omission| omission.machine == "c7i.large").unwrap();
    assert!(refused.reason.contains("partition size"), "{}", refused.reason);
    assert!(asked(8).omissions().is_empty(), "{:?}", asked(8).omissions());
}

/// Runs of a grid with this partition size.
fn sized(law: Law, partition_size: u32) -> Vec<Observation> {
    law.grid(|| 0.0).into_iter().map(|run| Observation { partition_size, ..run }).collect()
}

/// The partition size of a candidate.
fn size_of(plan: &Plan, candidate: &Candidate) -> u32 {
    plan.predictor().arms()[candidate.placement.arm].partition_size
}

#[test]
fn the_best_measured_partition_size_of_each_machine_type_is_chosen() {
    let quicker = Law { secs: 2400.0, ..SLOW };
    // Most runs have partitions of 8; larger ones are quicker on the first machine type alone.
    let first = [sized(SLOW, 8), vec![run(1, 1, 0.05, SLOW.secs(1, 1, 0.05))], sized(quicker, 16)].concat();
    let second = [sized(FAST, 8), vec![run(1, 1, 0.05, FAST.secs(1, 1, 0.05))], sized(SLOW, 16)].concat();
    let group = group(vec![job("c5.xlarge", first), job("c7i.large", second)]);
    let plan = compare(&group, &space());
    let decision = plan.decide(&LIMITS).unwrap();
    for place in &decision.best_per_machine {
        let candidate = &decision.candidates[*place];
        let (size, law) = match machine(&plan, candidate) {
            "c5.xlarge" => (16, quicker),
            _ => (8, FAST),
        };
        assert_eq!(size_of(&plan, candidate), size);
        let expected = law.secs(candidate.placement.executors, candidate.placement.cores_per_executor, 1.0);
        assert!((secs(candidate) / expected - 1.0).abs() < 0.1, "{} for {expected}", secs(candidate));
    }
    let asked = compare(&group, &Space { partition_size: Some(8), ..space() });
    assert_eq!(asked.len() * 2, plan.len(), "one size is asked for");
}

#[test]
fn a_partition_size_is_not_chosen_with_more_cores_than_completed_with_it() {
    let quicker = Law { secs: 1500.0, ..SLOW };
    let mut runs = [sized(SLOW, 8), vec![run(1, 1, 0.05, SLOW.secs(1, 1, 0.05))]].concat();
    runs.extend(sized(quicker, 64).into_iter().filter(|run| run.cores_per_executor == 1));
    let space = Space { executors: vec![1], cores_per_executor: vec![1, 2], ..space() };
    let sizes = |group: &JobGroup| {
        let plan = compare(group, &space);
        let decision = plan.decide(&LIMITS).unwrap();
        let all =
            possible(&decision).map(|candidate| (candidate.placement.cores_per_executor, size_of(&plan, candidate)));
        (all.collect::<Vec<(u32, u32)>>(), plan.omissions().to_vec(), plan.len())
    };
    let mut group = group(vec![job("c5.xlarge", runs)]);
    let (all, omissions, _) = sizes(&group);
    assert!(all.contains(&(1, 64)) && !all.contains(&(2, 64)), "{all:?}");
    assert!(omissions.iter().any(|left| left.reason.contains("whether they fit into memory is not known")));
    // Measured peaks give the memory need of two cores.
    group.jobs[0].peaks = [(1, 8, 300), (2, 8, 400), (1, 64, 600)]
        .map(|(cores_per_executor, partition_size, peak_mib)| PeakMemory {
            cores_per_executor,
            partition_size,
            peak_mib,
        })
        .to_vec();
    let (_, omissions, count) = sizes(&group);
    assert!(omissions.is_empty() && count == 4, "{omissions:?} {count}");
    // A failure excludes the size again.
    group.jobs[0].peaks.clear();
    group.jobs[0]
        .incomplete
        .push(IncompleteRun { partition_size: 64, ..incomplete(1, 1, IncompleteOutcome::OutOfMemory) });
    let (all, ..) = sizes(&group);
    assert!(all.iter().all(|(_, size)| *size == 8), "{all:?}");
}

#[test]
fn an_asked_batch_size_between_measured_ones_is_interpolated_and_one_beyond_is_refused() {
    // A batch costs 0.2 s and each of its images 0.02 s.
    let law = |batch_size: u32| Law { secs: 2000.0 + 20_000.0 / f64::from(batch_size), ..SLOW };
    let batches = |machine: &str, sizes: &[u32]| -> Vec<Job> {
        let of = |size: &u32| Job { context: context(machine, *size), ..job(machine, law(*size).grid(|| 0.0)) };
        sizes.iter().map(of).collect()
    };
    let group = group([batches("c5.xlarge", &[8, 16, 64]), batches("c7i.large", &[8, 64])].concat());
    let asked = |size: u32| {
        compare(&group, &Space { batch_sizes: vec![size], executors: vec![1], cores_per_executor: vec![1], ..space() })
    };
    let plan = asked(32);
    let decision = plan.decide(&LIMITS).unwrap();
    assert_eq!((decision.compared, plan.omissions().len()), (2, 0), "{:?}", plan.omissions());
    for candidate in &decision.candidates {
        let arm = &plan.predictor().arms()[candidate.placement.arm];
        assert_eq!((arm.batch_size, arm.basis, arm.runs), (32, Basis::Interpolated, 0));
        let (interval, truth) = (candidate.prediction.interval.unwrap(), law(32).secs(1, 1, 1.0));
        assert!((interval.lower_secs..interval.upper_secs).contains(&truth), "{interval:?} {truth}");
        assert!((secs(candidate) / truth - 1.0).abs() < 0.15, "{} for {truth}", secs(candidate));
    }
    for size in [4, 128] {
        let refused = asked(size);
        assert!(refused.is_empty());
        let reason = &refused.omissions()[0].reason;
        assert!(reason.contains("it was not measured, only 8, 16, 64"), "{reason}");
    }
}

#[test]
fn an_asked_partition_size_that_needs_too_much_memory_is_refused() {
    let mut sized = job("c5.xlarge", Vec::new());
    for size in [8, 16] {
        let mut runs = SLOW.grid(|| 0.0);
        runs.iter_mut().for_each(|run| run.partition_size = size);
        sized.observations.extend(runs);
        sized.peaks.extend([1, 2].map(|cores| PeakMemory {
            cores_per_executor: cores,
            partition_size: size,
            peak_mib: 100 + 25 * cores * size,
        }));
    }
    let group = group(vec![sized]);
    let asked = |size: u32| {
        let memory_per_executor_mib = Some(512);
        let (executors, cores_per_executor) = (vec![1], vec![1]);
        compare(
            &group,
            &Space { partition_size: Some(size), memory_per_executor_mib, executors, cores_per_executor, ..space() },
        )
    };
    assert_eq!(asked(16).len(), 1);
    let refused = asked(32);
    assert!(refused.is_empty());
    // 100 + 25 · 32 MiB, rounded up after the fit.
    let reason = &refused.omissions()[0].reason;
    assert!(["900", "901"].iter().any(|mib| reason.contains(&format!("expected to need {mib} MiB"))), "{reason}");
}
