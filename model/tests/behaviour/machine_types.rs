//! One answer over several machine types: runs are borrowed between them, and the decision is that
//! of a search over every configuration.

use foreglow_model::{
    Basis, Candidate, DecideError, Decision, ExecutorSize, JointPredictor, Limits, Plan, Space, advise, pack,
};
use foreglow_shared::{
    Accelerator, Catalog, IncompleteOutcome, IncompleteRun, Job, JobGroup, MachineType, PeakMemory, PriceSheet,
};
use proptest::prelude::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::incomplete;
use crate::simulated::Random;
use crate::two_types::{
    FAST, IMAGES, LIMITS, Law, SLOW, compare, context, group, job, machine, possible, run, secs, space, two_types,
};

fn recommended(decision: &Decision) -> &Candidate {
    &decision.candidates[decision.recommended.unwrap()]
}

#[test]
fn the_cheapest_machine_type_under_the_deadline_is_recommended_with_its_bill() {
    let plan = compare(&two_types(), &space());
    // Per hour: c5.xlarge 0.17 for four processors, c7i.large 0.08925 for two that are faster.
    let open = plan.decide(&LIMITS).unwrap();
    let best = recommended(&open);
    assert_eq!(machine(&plan, best), "c7i.large");
    assert!(
        (secs(best) / FAST.secs(best.placement.executors, best.placement.cores_per_executor, 1.0) - 1.0).abs() < 0.1
    );
    let charged = secs(best).ceil() * 0.08925 / 3600.0 * f64::from(best.placement.machines);
    assert!((best.cost.unwrap() - charged).abs() < 1e-9);
    assert_eq!(open.best_per_machine.len(), 2);
    assert_eq!(open.best_per_machine[0], open.recommended.unwrap());
    // Nothing on the front is worse in both than another point of it.
    for pair in open.pareto.windows(2) {
        let (first, second) = (&open.candidates[pair[0]], &open.candidates[pair[1]]);
        assert!(secs(first) < secs(second) && first.cost > second.cost);
    }
}

#[test]
fn a_part_of_a_plan_is_the_plan_of_that_part() {
    let (group, name) = (two_types(), "c5.xlarge");
    let part = compare(&group, &space()).only(|machine| machine == name);
    let own = compare(&group, &Space { machines: vec![name.to_owned()], ..space() });
    assert_eq!(part.decide(&LIMITS).unwrap(), own.decide(&LIMITS).unwrap());
    assert_eq!((part.omissions(), part.len()), (own.omissions(), own.len()));
    assert!(!part.is_empty() && part.len() < compare(&group, &space()).len());
}

#[test]
fn a_machine_type_with_one_run_borrows_and_its_interval_is_wider() {
    let new = vec![run(1, 1, 0.1, FAST.secs(1, 1, 0.1))];
    let group = group(vec![job("c5.xlarge", SLOW.grid(|| 0.0)), job("c7i.large", new)]);
    let joint = JointPredictor::fit(&group).unwrap();
    let [known, new] = [0, 1].map(|arm| (joint.arms()[arm].clone(), joint.predict(arm, 2, 2)));
    assert_eq!((known.0.basis, new.0.basis, new.0.runs), (Basis::Own, Basis::Borrowed, 1));
    let ratio = new.1.completion_time_secs.unwrap() / FAST.secs(2, 2, 1.0);
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
    let width = |interval: foreglow_model::Interval| interval.upper_secs / interval.lower_secs;
    assert!(width(new.1.interval.unwrap()) > width(known.1.interval.unwrap()));
}

/// A job of another CNN that takes this share of the images' time.
fn other_cnn(model: &str, machine: &str, law: Law, share: f64) -> Job {
    let law = Law { secs: law.secs * share, ..law };
    let mut job = job(machine, law.grid(|| 0.0));
    job.context.workload.model = model.to_owned();
    job
}

#[test]
fn a_machine_type_that_ran_other_cnns_is_compared_and_one_that_shares_none_is_not() {
    let mut group = group(vec![job("c5.xlarge", SLOW.grid(|| 0.0))]);
    assert_eq!(JointPredictor::fit(&group).unwrap().arms().len(), 1);
    group.lenders = vec![
        other_cnn("mobilenet_v2", "c5.xlarge", SLOW, 0.4).into(),
        other_cnn("mobilenet_v2", "c7i.large", FAST, 0.4).into(),
        other_cnn("vgg16", "c6i.large", FAST, 3.0).into(),
    ];
    let plan = compare(&group, &space());
    let arms = plan.predictor().arms();
    assert_eq!(arms.iter().map(|arm| arm.machine.as_str()).collect::<Vec<_>>(), ["c5.xlarge", "c7i.large"]);
    assert_eq!((arms[0].basis, arms[1].basis), (Basis::Own, Basis::OtherCnns));
    for (executors, cores) in [(1, 1), (2, 1), (1, 2)] {
        let predicted = plan.predictor().predict(1, executors, cores);
        let (secs, expected) = (predicted.completion_time_secs.unwrap(), FAST.secs(executors, cores, 1.0));
        assert!((secs / expected - 1.0).abs() < 0.15, "{executors} × {cores}: {secs} for {expected}");
        let interval = predicted.interval.unwrap();
        assert!((interval.lower_secs..interval.upper_secs).contains(&expected), "{interval:?} {expected}");
    }
    let open = plan.decide(&LIMITS).unwrap();
    assert_eq!(machine(&plan, recommended(&open)), "c7i.large");
}

#[test]
fn whole_machines_are_billed_and_more_executors_than_one_holds_take_several() {
    let plan = compare(&two_types(), &Space { executors: vec![1, 3], cores_per_executor: vec![2], ..space() });
    let decision = plan.decide(&LIMITS).unwrap();
    for candidate in &decision.candidates {
        let holds = if machine(&plan, candidate) == "c5.xlarge" { 2 } else { 1 };
        assert_eq!(candidate.placement.executors_per_machine, holds);
        assert_eq!(candidate.placement.machines, candidate.placement.executors.div_ceil(holds));
    }
}

#[test]
fn limits_on_time_money_and_the_hourly_price_are_kept_or_nothing_is_recommended() {
    let plan = compare(&two_types(), &space());
    let open = plan.decide(&LIMITS).unwrap();
    let fastest = secs(&open.candidates[open.fastest.unwrap()]);
    let late = plan.decide(&Limits { deadline_secs: Some(fastest * 0.5), ..LIMITS }).unwrap();
    assert_eq!(late.recommended, None);
    assert_eq!(secs(&late.candidates[late.fastest.unwrap()]), fastest);
    let hourly = plan.decide(&Limits { max_hourly_cost: Some(0.1), ..LIMITS }).unwrap();
    assert!(recommended(&hourly).hourly_cost.unwrap() <= 0.1);
    let poor = plan.decide(&Limits { budget: Some(1e-6), ..LIMITS }).unwrap();
    assert_eq!(poor.recommended, None);
    let rich = plan.decide(&Limits { budget: Some(100.0), ..LIMITS }).unwrap();
    assert_eq!(rich.recommended, rich.fastest, "a budget alone asks for speed");
    for (limits, word) in [
        (Limits { deadline_secs: Some(0.0), ..LIMITS }, "deadline"),
        (Limits { budget: Some(f64::NAN), ..LIMITS }, "budget"),
        (Limits { max_hourly_cost: Some(-1.0), ..LIMITS }, "hourly"),
        (Limits { probability: 1.0, ..LIMITS }, "probability"),
    ] {
        assert!(plan.decide(&limits).unwrap_err().to_string().contains(word));
    }
}

#[test]
fn a_decision_does_not_depend_on_the_decisions_before_it() {
    let mut plan = compare(&two_types(), &space());
    let open = plan.decide(&LIMITS).unwrap();
    let (fastest, least) = (secs(&open.candidates[open.fastest.unwrap()]), recommended(&open).cost.unwrap());
    let asked = [
        LIMITS,
        Limits { deadline_secs: Some(fastest * 1.5), ..LIMITS },
        Limits { deadline_secs: Some(fastest * 4.0), ..LIMITS },
        Limits { deadline_secs: Some(fastest * 4.0), probability: 0.5, ..LIMITS },
        Limits { budget: Some(least * 1.5), ..LIMITS },
        Limits { budget: Some(least * 1.5), deadline_secs: Some(fastest * 4.0), ..LIMITS },
        Limits { max_hourly_cost: Some(0.1), ..LIMITS },
        Limits { startup_secs: 300.0, ..LIMITS },
        Limits { spot: true, ..LIMITS },
    ];
    let mut catalog = Catalog::built_in();
    for factor in [1.0, 3.0] {
        for machine in catalog.machines.iter_mut().filter(|machine| machine.name == "c5.xlarge") {
            machine.hourly_price *= factor;
        }
        plan.reprice(&catalog);
        let mut fresh = compare(&two_types(), &space());
        fresh.reprice(&catalog);
        for limits in asked.iter().chain(asked.iter().rev()) {
            assert_eq!(plan.decide(limits).unwrap(), fresh.clone().decide(limits).unwrap(), "{limits:?}");
        }
    }
    assert_ne!(plan.decide(&LIMITS).unwrap(), open, "other prices give other answers");
}

#[test]
fn spot_prices_apply_on_request_and_machines_without_one_are_never_a_bargain() {
    let jobs = vec![job("c5.xlarge", SLOW.grid(|| 0.0)), job("cpu_4x_general", FAST.grid(|| 0.0))];
    let plan = compare(&group(jobs), &space());
    let spot = plan.decide(&Limits { spot: true, ..LIMITS }).unwrap();
    assert_eq!(machine(&plan, recommended(&spot)), "c5.xlarge");
    let lambda = spot.candidates.iter().find(|candidate| machine(&plan, candidate) == "cpu_4x_general").unwrap();
    assert_eq!((lambda.cost, lambda.is_feasible), (None, false));
    let demand = plan.decide(&LIMITS).unwrap();
    assert!(recommended(&spot).cost < demand.candidates[demand.cheapest.unwrap()].cost);
}

#[test]
fn configurations_that_ran_out_of_memory_on_one_machine_type_are_offered_on_none() {
    let mut jobs = two_types().jobs;
    jobs[0].incomplete.push(incomplete(1, 2, IncompleteOutcome::OutOfMemory));
    // Completed runs with the same memory would refute the failure.
    for job in &mut jobs {
        job.observations.retain(|run| run.cores_per_executor == 1);
    }
    let plan = compare(&group(jobs), &Space { cores_per_executor: vec![1, 2], ..space() });
    let decision = plan.decide(&LIMITS).unwrap();
    assert!(possible(&decision).all(|candidate| candidate.placement.cores_per_executor == 1));
    let reasons: Vec<&str> = plan.omissions().iter().map(|omission| omission.reason.as_str()).collect();
    assert_eq!(reasons.iter().filter(|reason| reason.contains("ran out of memory")).count(), 2, "{reasons:?}");
}

/// A GPU of this memory in a machine of this name.
fn on_gpu(machine: &str, name: &str, memory_mib: u64, law: Law) -> Job {
    let mut job = job(machine, law.grid(|| 0.0));
    job.context.accelerator = Some(name.to_owned());
    let accelerator = Accelerator { name: name.to_owned(), memory_mib: Some(memory_mib), ..Accelerator::default() };
    job.context.host.accelerators = vec![accelerator];
    job
}

#[test]
fn a_gpu_out_of_memory_excludes_the_gpus_with_no_more_memory_whatever_the_executors_have() {
    // g4dn.xlarge holds a T4 of 16 GB, g5.xlarge an A10G of 24 GB, p3.2xlarge a V100 of 16 GB.
    let machines = [("g4dn.xlarge", "Tesla T4", 15_360), ("g5.xlarge", "A10G", 23_028), ("p3.2xlarge", "V100", 16_160)];
    let failing = |failing: usize, outcome: IncompleteOutcome| {
        let mut jobs: Vec<Job> = machines.map(|(machine, name, mib)| on_gpu(machine, name, mib, FAST)).to_vec();
        let over = incomplete(1, 2, outcome);
        jobs[failing].incomplete.push(over);
        let space =
            Space { executors: vec![1], cores_per_executor: vec![2], memory_per_executor_mib: Some(8192), ..space() };
        let plan = compare(&group(jobs), &space);
        let decision = plan.decide(&LIMITS).unwrap();
        let mut offered: Vec<String> =
            possible(&decision).map(|candidate| machine(&plan, candidate).to_owned()).collect();
        offered.sort();
        (offered, plan.omissions().iter().map(|omission| omission.reason.clone()).collect::<Vec<String>>())
    };
    let (offered, reasons) = failing(0, IncompleteOutcome::OutOfAcceleratorMemory);
    assert_eq!(offered, ["g5.xlarge", "p3.2xlarge"]);
    assert!(reasons.iter().any(|reason| reason.contains("smaller batch")), "{reasons:?}");
    let (offered, _) = failing(2, IncompleteOutcome::OutOfAcceleratorMemory);
    assert_eq!(offered, ["g5.xlarge"], "a T4 has less memory than the V100");
    let (offered, _) = failing(1, IncompleteOutcome::OutOfAcceleratorMemory);
    assert!(offered.is_empty(), "{offered:?}");
    // An executor that exceeded its 1024 MiB may succeed with 8192.
    let (offered, _) = failing(1, IncompleteOutcome::OutOfMemory);
    assert_eq!(offered.len(), 3);
}

#[test]
fn a_machine_type_on_which_all_runs_ran_out_of_memory_is_named_and_its_runs_are_not_proposed_again() {
    let exceeded = |cores: &[u32]| {
        let mut small = on_gpu("g4dn.xlarge", "Tesla T4", 15_360, FAST);
        small.observations.clear();
        let run = |cores: &u32| incomplete(1, *cores, IncompleteOutcome::OutOfAcceleratorMemory);
        small.incomplete.extend(cores.iter().map(run));
        group(vec![on_gpu("g5.xlarge", "A10G", 23_028, FAST), small])
    };
    let ask = |group: &JobGroup| {
        let plan = compare(group, &space());
        let reason = plan.omissions().iter().find(|omission| omission.machine == "g4dn.xlarge").unwrap().reason.clone();
        let advice = advise(group, &plan, &LIMITS, &[]).unwrap();
        let proposed: Vec<u32> = advice
            .suggestions
            .iter()
            .filter(|run| run.machine == "g4dn.xlarge")
            .map(|run| run.cores_per_executor)
            .collect();
        (possible(&plan.decide(&LIMITS).unwrap()).count(), reason, proposed)
    };
    let alone = compare(&group(vec![on_gpu("g5.xlarge", "A10G", 23_028, FAST)]), &space());
    let alone = possible(&alone.decide(&LIMITS).unwrap()).count();
    let (count, reason, proposed) = ask(&exceeded(&[1, 2]));
    assert_eq!(count, alone, "the other machine type is compared as if it were alone");
    assert!(reason.contains("all its runs ran out of memory"), "{reason}");
    assert_eq!(proposed, Vec::<u32>::new());
    let (_, _, proposed) = ask(&exceeded(&[2]));
    assert!(proposed.iter().all(|cores| *cores == 1), "{proposed:?}");
}

#[test]
fn what_ran_out_of_memory_with_a_smaller_batch_does_so_with_a_larger_one() {
    let mut jobs = two_types().jobs;
    let mut larger = job("c7i.large", FAST.grid(|| 0.0));
    larger.context = context("c7i.large", 32);
    jobs.push(larger);
    let mut smaller = job("c5.xlarge", Vec::new());
    smaller.context = context("c5.xlarge", 16);
    smaller.incomplete.push(incomplete(1, 1, IncompleteOutcome::OutOfMemory));
    jobs.push(smaller);
    let plan = compare(&group(jobs), &space());
    let batch = |candidate: &Candidate| plan.predictor().arms()[candidate.placement.arm].batch_size;
    assert!(possible(&plan.decide(&LIMITS).unwrap()).all(|candidate| batch(candidate) == 8));
}

#[test]
fn the_memory_of_an_executor_follows_the_measured_peaks() {
    let mut jobs = two_types().jobs;
    for (cores_per_executor, peak_mib) in [(1, 300), (2, 400)] {
        jobs[0].peaks.push(PeakMemory { cores_per_executor, partition_size: 8, peak_mib });
    }
    let plan = compare(&group(jobs.clone()), &Space { executors: vec![1], cores_per_executor: vec![2], ..space() });
    // 400 MiB and a fifth, rounded up to a multiple of 256 MiB, on both machine types.
    let decision = plan.decide(&LIMITS).unwrap();
    assert_eq!(decision.compared, 2);
    assert!(decision.candidates.iter().all(|candidate| candidate.placement.memory_per_executor_mib == 512));
    // The requested memory is below the expected need, with more cores than any completed run.
    let tight =
        Space { memory_per_executor_mib: Some(256), cores_per_executor: vec![4], executors: vec![1], ..space() };
    let plan = compare(&group(jobs), &tight);
    assert!(plan.is_empty());
    assert!(plan.omissions().iter().any(|omission| omission.reason.contains("is expected to need")));
}

#[test]
fn what_cannot_be_compared_is_said_for_each_machine_type() {
    let mut jobs = two_types().jobs;
    jobs.push(job("mine", FAST.grid(|| 0.0)));
    let machines = ["c5.xlarge", "mine", "g5.xlarge"].map(str::to_owned).to_vec();
    let plan = compare(&group(jobs.clone()), &Space { machines, cores_per_executor: vec![1, 8], ..space() });
    let said = |machine: &str, words: &str| {
        plan.omissions().iter().any(|omission| omission.machine == machine && omission.reason.contains(words))
    };
    assert!(said("c5.xlarge", "c5.xlarge has 4 processors, and an executor takes 8"));
    assert!(said("mine", "neither the catalog nor a price sheet has its price"));
    assert!(said("g5.xlarge", "it was not measured"));
    assert!(plan.omissions().iter().all(|omission| omission.machine != "c7i.large"), "it was not asked for");
    // A price sheet covers what the catalog lacks.
    let sheet = Some(PriceSheet { core_hour: 0.5, gib_hour: 0.0, ..PriceSheet::example() });
    let plan = compare(&group(jobs), &Space { sheet, ..space() });
    let decision = plan.decide(&LIMITS).unwrap();
    let mine = decision.candidates.iter().find(|candidate| machine(&plan, candidate) == "mine").unwrap();
    let hourly = 0.5 * f64::from(mine.placement.executors * mine.placement.cores_per_executor);
    assert!((mine.hourly_cost.unwrap() - hourly).abs() < 1e-9 && mine.placement.machines == 0);
}

#[test]
fn two_currencies_and_counts_of_zero_are_refused() {
    let predictor = || JointPredictor::fit(&two_types()).unwrap();
    let sheet = Some(PriceSheet { currency: "EUR".into(), ..PriceSheet::example() });
    let error = Plan::new(predictor(), Space { sheet, ..space() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "prices are in USD and in EUR, which cannot be compared; give all prices in one currency"
    );
    let zero = Plan::new(predictor(), Space { executors: vec![0], ..space() }).unwrap_err();
    assert_eq!(zero, DecideError::ZeroConfiguration);
    let many = Space { executors: (1..=1000).collect(), cores_per_executor: (1..=1000).collect(), ..space() };
    assert_eq!(Plan::new(predictor(), many).unwrap_err(), DecideError::TooMany(2_000_000));
}

#[test]
fn a_job_on_gpus_is_not_offered_machines_without_any() {
    let mut jobs = two_types().jobs;
    for job in &mut jobs {
        job.context.accelerator = Some("Tesla T4".into());
    }
    jobs[0].context.host.machine = Some("g4dn.xlarge".into());
    let plan = compare(&group(jobs), &space());
    let decision = plan.decide(&LIMITS).unwrap();
    assert!(decision.candidates.iter().all(|candidate| machine(&plan, candidate) == "g4dn.xlarge"));
    let reason = "the job runs on GPUs, and c7i.large has none; choose a machine type with GPUs";
    assert!(plan.omissions().iter().any(|omission| omission.reason == reason));
}

#[test]
fn a_machine_without_a_catalog_entry_is_not_offered_more_executors_than_it_has_gpus() {
    let gpus = |batch_size: u32, count: usize| {
        let mut job = on_gpu("mine", "Tesla T4", 15_360, FAST);
        job.context.workload.batch_size = batch_size;
        let one = job.context.host.accelerators[0].clone();
        job.context.host.accelerators = vec![one; count];
        job
    };
    let sheet = Some(PriceSheet { accelerator_hour: 1.0, ..PriceSheet::example() });
    let space = Space { sheet, executors: (1..=8).collect(), cores_per_executor: vec![1], ..space() };
    let most = |jobs: Vec<Job>| {
        let plan = compare(&group(jobs), &space);
        let decision = plan.decide(&LIMITS).unwrap();
        let most = decision.candidates[decision.fastest.unwrap()].placement.executors;
        let beyond = decision.candidates.iter().filter(|candidate| !candidate.prediction.warnings.is_empty()).count();
        (most, plan.predictor().arms()[0].accelerators, beyond)
    };
    let (executors, known, beyond) = most(vec![gpus(8, 2), gpus(32, 2)]);
    assert_eq!((executors, known), (2, Some(2)));
    assert!(beyond >= 12, "six numbers of executors with each batch size exceed the GPUs");
    // Runs with one GPU and with two are on the same machine.
    assert_eq!(most(vec![gpus(8, 1), gpus(32, 2)]).0, 2);
    let shared = [8, 32].map(|batch_size| {
        let mut job = gpus(batch_size, 2);
        job.context.shares_accelerators = true;
        job
    });
    assert_eq!(most(shared.to_vec()).0, 8, "executors share the GPUs");
}

#[test]
fn other_images_and_epochs_scale_the_job() {
    let mut group = two_types();
    let secs_of = |group: &JobGroup| JointPredictor::fit(group).unwrap().predict(0, 1, 1).completion_time_secs.unwrap();
    let whole = secs_of(&group);
    group.definition.images = 10 * IMAGES;
    let ten = secs_of(&group);
    group.definition.images = IMAGES / 50;
    let fiftieth = secs_of(&group);
    assert!((ten / SLOW.secs(1, 1, 10.0) - 1.0).abs() < 0.1, "{ten}");
    // Fewer images than the largest sample had.
    assert!((fiftieth / SLOW.secs(1, 1, 0.02) - 1.0).abs() < 0.1, "{fiftieth}");
    assert!(fiftieth < whole && whole < ten);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The decision equals a search over every configuration, each predicted and billed by itself.
    #[test]
    fn the_decision_is_that_of_a_search_over_every_configuration(
        deadline in 100.0..3000.0_f64, probability in prop::sample::select(vec![0.5, 0.8, 0.9]),
        most in prop::option::of(0.1..2.0_f64), spot: bool,
    ) {
        let plan = compare(&two_types(), &Space { executors: vec![1, 2, 4, 8], ..space() });
        let limits =
            Limits { deadline_secs: Some(deadline), probability, max_hourly_cost: most, spot, ..LIMITS };
        let decision = plan.decide(&limits).unwrap();
        let catalog = Catalog::built_in();
        let mut least = f64::INFINITY;
        for (arm, name) in ["c5.xlarge", "c7i.large"].into_iter().enumerate() {
            let machine = catalog.find(name).unwrap();
            for (executors, cores) in [1, 2, 4, 8].into_iter().flat_map(|e| [(e, 1), (e, 2)]) {
                let prediction = plan.predictor().predict(arm, executors, cores);
                let size = ExecutorSize { cores, memory_mib: 1024, holds_accelerator: false };
                let machines = pack(machine, executors, size).unwrap().machines;
                let rate = machine.rate(machines, spot, 0.0).unwrap();
                let secs = prediction.completion_time_secs.unwrap();
                let late = if probability > 0.5 { secs * prediction.spread.unwrap().quantile(probability) } else { secs };
                let is_affordable = most.is_none_or(|most| rate.hourly() <= most);
                if late <= deadline && is_affordable {
                    least = least.min(rate.cost(secs));
                }
            }
        }
        let found = decision.least().map_or(f64::INFINITY, |candidate| candidate.cost.unwrap());
        prop_assert!(found <= least * (1.0 + 1e-9) && found >= least * (1.0 - 1e-9), "{found} {least}");
    }
}

#[test]
fn intervals_of_a_machine_type_with_one_to_three_runs_hold() {
    let mut random = Random(19);
    let (mut held, mut asked, mut error) = (0, 0, 0.0);
    for draw in 0..60 {
        let serial = random.between(0.0, 0.1);
        let law = |random: &mut Random| {
            let speed = libm::exp(random.between(-0.7, 0.7));
            // Machine types differ in how well the job scales too.
            Law { secs: 3000.0 / speed, serial: serial * random.between(0.7, 1.3), fixed_secs: 1.0 / speed }
        };
        let laws: Vec<Law> = (0..4).map(|_| law(&mut random)).collect();
        let mut noise = || random.between(-0.05, 0.05);
        let mut jobs: Vec<Job> = laws[..3]
            .iter()
            .enumerate()
            .map(|(place, law)| job(&format!("type {place}"), law.grid(&mut noise)))
            .collect();
        let mut own = laws[3].grid(&mut noise);
        own.rotate_left(draw % 8);
        own.truncate(1 + draw % 3);
        jobs.push(job("type 3", own));
        let joint = JointPredictor::fit(&group(jobs)).unwrap();
        assert_eq!(joint.arms()[3].basis, Basis::Borrowed);
        for (executors, cores) in [(1, 1), (2, 2), (4, 1)] {
            let truth = laws[3].secs(executors, cores, 1.0);
            let prediction = joint.predict(3, executors, cores);
            let interval = prediction.interval.unwrap();
            held += u32::from(interval.lower_secs <= truth && truth <= interval.upper_secs);
            error += (prediction.completion_time_secs.unwrap() / truth - 1.0).abs();
            asked += 1;
        }
    }
    let (share, mape) = (f64::from(held) / f64::from(asked), 100.0 * error / f64::from(asked));
    // `make accuracy` checks on real runs that they are not too wide either.
    assert!(share >= 0.87 && mape < 8.0, "{share} {mape}");
}

#[test]
fn a_stopped_run_of_more_images_says_nothing_about_a_smaller_job() {
    let mut jobs = two_types().jobs;
    let stopped = incomplete(2, 2, IncompleteOutcome::TimedOut);
    for job in &mut jobs {
        job.incomplete = vec![IncompleteRun { sampling_rate: 1.0, at_least_secs: Some(120.0), ..stopped }];
    }
    let mut group = group(jobs);
    let space = Space { executors: vec![2], cores_per_executor: vec![2], ..space() };
    let limits = Limits { deadline_secs: Some(100.0), ..LIMITS };
    group.definition.images = IMAGES / 20;
    let decision = compare(&group, &space).decide(&limits).unwrap();
    assert!(recommended(&decision).success_probability.unwrap() > 0.9);
    group.definition.images = IMAGES;
    assert_eq!(compare(&group, &space).decide(&limits).unwrap().recommended, None, "it took at least 120 s");
}

#[test]
fn a_machine_with_one_processor_is_told_in_the_singular() {
    let machine = MachineType { processors: 1, ..Catalog::built_in().find("c5.xlarge").unwrap().clone() };
    let size = ExecutorSize { cores: 2, memory_mib: 512, holds_accelerator: false };
    let refused = pack(&machine, 1, size).unwrap_err().to_string();
    assert!(refused.contains("c5.xlarge has 1 processor, and"), "{refused}");
}
