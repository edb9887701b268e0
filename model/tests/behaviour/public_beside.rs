//! Own runs, and public measurements of the machine types without runs.

use foreglow_model::{
    Basis, Candidate, JointPredictor, MeasuredJob, NetworkSource, Plan, Prediction, PublicData, PublicJob,
    SoftwareKind, Space, UnmeasuredError, UnmeasuredJob,
};
use foreglow_shared::{Catalog, Context, IncompleteOutcome, Job, JobGroup, MachineType, Mode, Observation};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::grid::incomplete;
use crate::two_types::{LIMITS, group, run};

const IMAGES: u64 = 1_281_167;

/// A training of ResNet-50 by a program of the user's own, with the GPU that the driver reports.
fn context(machine: &str, gpu: Option<&str>) -> Context {
    let accelerator = gpu.map_or_else(String::new, |gpu| format!(r#","accelerator":"{gpu}""#));
    let text = format!(
        r#"{{"workload":{{"model":"resnet50","mode":"training","image_px":224,"images":{IMAGES},"epochs":1,
            "batch_size":128,"command":["train.py","{{images}}"]}},"engine":"command",
            "host":{{"machine":"{machine}"}}{accelerator}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

/// Runs of up to 5 % of the images at this speed, after 2 seconds.
fn runs(images_per_sec: f64) -> Vec<Observation> {
    let run_of = |rate: f64| run(1, 1, rate, 2.0 + rate * IMAGES as f64 / images_per_sec);
    [0.005, 0.01, 0.02, 0.05].map(run_of).to_vec()
}

fn on_l4(images_per_sec: f64) -> JobGroup {
    group(vec![Job::of_runs(context("g6.xlarge", Some("NVIDIA L4")), runs(images_per_sec))])
}

fn asked(group: &JobGroup) -> UnmeasuredJob {
    let network = NetworkSource::Named("resnet50".to_owned());
    let software = Some(SoftwareKind::Plain);
    UnmeasuredJob { software, ..UnmeasuredJob::of_runs(&group.definition, network).unwrap() }
}

fn gpu_machines(catalog: &Catalog) -> Vec<&MachineType> {
    catalog.machines.iter().filter(|machine| machine.accelerators.is_some()).collect()
}

fn beside(data: &mut PublicData, group: JobGroup, executors: &[u32]) -> PublicJob {
    let catalog = Catalog::built_in();
    let predictor = JointPredictor::fit(&group).unwrap();
    let job = asked(&group);
    let own = MeasuredJob { group, predictor, catalog: &catalog, batch_size: None };
    data.beside(own, &job, &gpu_machines(&catalog), executors).unwrap()
}

/// The prediction of the whole job on one GPU of a machine type.
fn on(predictor: &JointPredictor, machine: &str) -> Prediction {
    let arm = predictor.arms().iter().position(|arm| arm.machine == machine).unwrap();
    predictor.predict(arm, 1, 1)
}

fn secs(prediction: &Prediction) -> f64 {
    prediction.completion_time_secs.unwrap()
}

fn width(prediction: &Prediction) -> f64 {
    let interval = prediction.interval.unwrap();
    interval.upper_secs / interval.lower_secs
}

#[test]
fn own_runs_on_one_gpu_carry_over_to_others_by_the_ratio_of_public_speeds() {
    let mut data = PublicData::built_in();
    let catalog = Catalog::built_in();
    let without = data.predict(&asked(&on_l4(1.0)), &gpu_machines(&catalog), &[]).unwrap().predictor;
    let ratio = secs(&on(&without, "a2-highgpu-1g")) / secs(&on(&without, "g6.xlarge"));
    let public = IMAGES as f64 / secs(&on(&without, "g6.xlarge"));
    for factor in [0.5, 1.0, 1.5] {
        let own = beside(&mut data, on_l4(public * factor), &[]).predictor;
        let (measured, other) = (on(&own, "g6.xlarge"), on(&own, "a2-highgpu-1g"));
        let carried = secs(&other) / secs(&measured) / ratio;
        // Half of what the own speed differs by is of the GPU or of the pair, and stays there.
        assert!((0.75..1.33).contains(&carried), "{factor}: {carried}");
        let moved = secs(&on(&without, "a2-highgpu-1g")) / secs(&other);
        assert!(libm::log(moved) * libm::log(factor) >= 0.0, "{factor}: {moved}");
        assert!(width(&other) < 0.8 * width(&on(&without, "a2-highgpu-1g")), "{factor}: {}", width(&other));
        assert!(width(&measured) < width(&other), "{factor}");
    }
}

#[test]
fn own_runs_decide_on_the_machine_types_that_they_measured() {
    let group = on_l4(300.0);
    let alone = JointPredictor::fit(&group).unwrap();
    let job = beside(&mut PublicData::built_in(), group, &[]);
    let arms = job.predictor.arms();
    assert_eq!((arms[0].machine.as_str(), arms[0].basis, arms[0].runs), ("g6.xlarge", Basis::Own, 4));
    assert_eq!(job.predictor.predict(0, 1, 1), alone.predict(0, 1, 1));
    assert!(arms.len() > 30 && arms[1..].iter().all(|arm| arm.basis == Basis::Public && arm.runs == 0));
    assert_eq!(arms.iter().filter(|arm| arm.machine == "g6.xlarge").count(), 1);
    let own = job.basis.own_runs.as_ref().unwrap();
    assert_eq!((own.len(), own[0].gpu.as_str(), own[0].gpus, job.basis.known), (1, "NVIDIA L4", 1, 0));
    assert!((own[0].images_per_sec / 300.0 - 1.0).abs() < 0.05 && own[0].log_deviation > 0.0, "{own:?}");
    let text = job.basis.to_string();
    assert!(text.contains("your own runs (") && !text.contains("Nothing was measured"), "{text}");
}

#[test]
fn one_decision_compares_measured_machine_types_with_others() {
    let job = beside(&mut PublicData::built_in(), on_l4(300.0), &[]);
    let space = Space { catalog: Some(Catalog::built_in()), ..Space::default() };
    let plan = Plan::new(job.predictor, space).unwrap();
    let decision = plan.decide(&LIMITS).unwrap();
    let basis = |one: &Candidate| plan.predictor().arms()[one.placement.arm].basis;
    let count = |wanted: Basis| decision.candidates.iter().filter(|one| basis(one) == wanted).count();
    assert_eq!((count(Basis::Own), count(Basis::Public) > 30), (1, true));
    assert!(decision.candidates.iter().all(|one| one.cost.is_some() && one.prediction.interval.is_some()));
}

#[test]
fn only_machine_types_from_public_measurements_are_ordered_by_the_ratio_of_their_speeds() {
    let order = |machines: &[&str]| {
        let job = beside(&mut PublicData::built_in(), on_l4(300.0), &[]);
        let machines = machines.iter().map(|name| (*name).to_owned()).collect();
        let space = Space { catalog: Some(Catalog::built_in()), machines, ..Space::default() };
        let plan = Plan::new(job.predictor, space).unwrap();
        let decision = plan.decide(&LIMITS).unwrap();
        let best = decision.candidates[decision.recommended.unwrap()].placement.arm;
        (plan.predictor().arms()[best].basis, job.comparison.order(&plan, &decision))
    };
    // The same GPU is cheaper in another cloud.
    assert_eq!(order(&["g6.xlarge", "a2-highgpu-1g"]), (Basis::Own, Vec::new()));
    let (basis, of_public) = order(&["g6.xlarge", "g2-standard-4", "a2-highgpu-1g"]);
    assert_eq!((basis, of_public.is_empty()), (Basis::Public, false));
    assert!(of_public.iter().all(|order| order.than != "g6.xlarge"), "{of_public:?}");
}

#[test]
fn runs_on_several_gpus_and_machine_types_are_numbers_of_their_own() {
    let two = |images_per_sec: f64| {
        let mut all = runs(images_per_sec);
        all.extend(runs(images_per_sec * 1.8).into_iter().map(|run| Observation { executors: 2, ..run }));
        all
    };
    let jobs = vec![
        Job::of_runs(context("g6.xlarge", Some("NVIDIA L4")), runs(300.0)),
        Job::of_runs(context("g4dn.12xlarge", Some("Tesla T4")), two(150.0)),
        Job::of_runs(context("g4dn.xlarge", Some("Tesla T4")), runs(140.0)),
        Job::of_runs(context("g5.xlarge", Some("gpu")), runs(400.0)),
    ];
    let own = beside(&mut PublicData::built_in(), group(jobs), &[]).basis.own_runs.unwrap();
    let mut counts: Vec<(&str, u32)> = own.iter().map(|own| (own.gpu.as_str(), own.gpus)).collect();
    counts.sort_unstable();
    // The GPU that no driver named is that of the catalog.
    assert_eq!(counts, [("NVIDIA A10G", 1), ("NVIDIA L4", 1), ("Tesla T4", 1), ("Tesla T4", 2)]);
    // Of two machine types with one GPU, the faster counts.
    let t4 = own.iter().find(|own| own.gpu == "Tesla T4" && own.gpus == 1).unwrap();
    assert!((t4.images_per_sec / 150.0 - 1.0).abs() < 0.05, "{t4:?}");
}

#[test]
fn runs_on_processors_or_on_an_unknown_gpu_anchor_nothing_and_a_note_says_so() {
    for (gpu, note) in
        [(None, "public measurements are of GPUs"), (Some("llvmpipe"), "no data sheet has the GPU llvmpipe")]
    {
        let group = group(vec![Job::of_runs(context("c5.xlarge", gpu), runs(20.0))]);
        let job = beside(&mut PublicData::built_in(), group, &[]);
        assert!(job.basis.notes.iter().any(|own| own.contains(note)), "{:?}", job.basis.notes);
        assert_eq!(job.basis.own_runs, Some(Vec::new()));
        assert!(job.predictor.arms().iter().filter(|arm| arm.basis == Basis::Public).count() > 30);
    }
}

#[test]
fn own_runs_that_contradict_the_public_measurements_are_reported() {
    let notes = |images_per_sec: f64| beside(&mut PublicData::built_in(), on_l4(images_per_sec), &[]).basis.notes;
    assert!(notes(3.0)[0].contains("times slower than public measurements suggest"), "{:?}", notes(3.0));
    assert!(notes(300.0).is_empty(), "{:?}", notes(300.0));
}

#[test]
fn a_gpu_with_no_more_memory_than_one_that_ran_out_of_it_is_not_offered() {
    let mut group = on_l4(300.0);
    let gpu = |mib: u64| format!(r#"{{"name":"GPU","memory_mib":{mib}}}"#);
    group.jobs[0].context.host.accelerators = vec![serde_json::from_str(&gpu(23_034)).unwrap()];
    group.jobs[0].incomplete = vec![incomplete(1, 1, IncompleteOutcome::OutOfAcceleratorMemory)];
    let job = beside(&mut PublicData::built_in(), group, &[]);
    let space = Space { catalog: Some(Catalog::built_in()), ..Space::default() };
    let decision = Plan::new(job.predictor.clone(), space).unwrap().decide(&LIMITS).unwrap();
    let is_excluded = |machine: &str| {
        let is_on = |one: &&Candidate| job.predictor.arms()[one.placement.arm].machine == machine;
        decision.candidates.iter().find(is_on).unwrap().exclusion.is_some()
    };
    assert!(is_excluded("g4dn.xlarge") && !is_excluded("a2-highgpu-1g"));
}

#[test]
fn numbers_of_executors_are_gpus_on_as_few_machines_as_hold_them() {
    let job = beside(&mut PublicData::built_in(), on_l4(300.0), &[16]);
    let space = Space { catalog: Some(Catalog::built_in()), executors: vec![16], ..Space::default() };
    let decision = Plan::new(job.predictor, space).unwrap().decide(&LIMITS).unwrap();
    let placements = decision.candidates.iter().map(|one| one.placement);
    let of_others: Vec<_> = placements.filter(|placement| placement.arm > 0).collect();
    assert!(of_others.len() > 10 && of_others.iter().all(|one| one.executors == 16 && one.machines >= 2));
}

#[test]
fn jobs_that_count_no_images_are_refused() {
    let of = |unit: Option<&str>| {
        let mut group = on_l4(1.0);
        group.definition.unit = unit.map(str::to_owned);
        UnmeasuredJob::of_runs(&group.definition, NetworkSource::Named("resnet50".to_owned()))
    };
    assert!(of(Some("images")).is_ok());
    assert_eq!(of(Some("steps")), Err(UnmeasuredError::NoImages("steps".to_owned())));
    assert_eq!(of(Some("%")), Err(UnmeasuredError::NoImages("no images".to_owned())));
    let job = of(None).unwrap();
    assert_eq!((job.mode, job.image_px, job.images), (Mode::Training, Some(224), IMAGES));
}
