//! Jobs without samples, from public measurements.

use foreglow_model::{
    Basis, BatchMemory, JointPredictor, Limits, Measurements, MemorySource, OwnSpeed, PeakBytes, Plan, Precision,
    PublicModel, PublicQuestion, Space, StepBytes, StepMemory, Variances,
};
use foreglow_shared::{Catalog, MachineType, Mode, Workload};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// No deadline that a GPU misses.
const LIMITS: Limits = Limits {
    deadline_secs: Some(1_000.0 * 3600.0),
    budget: None,
    max_hourly_cost: None,
    min_accuracy: None,
    probability: 0.9,
    spot: false,
    startup_secs: 0.0,
};

struct Public {
    table: Measurements,
    model: PublicModel,
    catalog: Catalog,
}

/// Memory of a network in mixed precision with this peak for an image.
fn memory(bytes_per_image: u64) -> BatchMemory {
    let peaks = [2 * bytes_per_image, bytes_per_image].map(|per_image| PeakBytes { fixed: 0, per_image });
    let peaks = StepBytes { inference: peaks, training: peaks };
    let step = StepMemory { parameters: 1, peaks, source: MemorySource::Graph };
    BatchMemory::on_gpu(&step, Mode::Training, Precision::Mixed)
}

impl Public {
    fn new() -> Self {
        let table = Measurements::built_in();
        let model = table.model_for("resnet50", &Variances::built_in()).unwrap();
        Self { table, model, catalog: Catalog::built_in() }
    }

    fn question(&self, known: &[(&str, f64)]) -> PublicQuestion {
        let workload =
            Workload { epochs: 90, batch_size: 128, ..Workload::new("resnet50", Mode::Training, 224, 1_281_167) };
        let known = known.iter().map(|(gpu, images_per_sec)| OwnSpeed::new(*gpu, 1, *images_per_sec));
        PublicQuestion {
            workload,
            batch_size: 128,
            network: self.table.costs("resnet50", 224).unwrap(),
            precision: Precision::Mixed,
            software: None,
            year: 2025,
            memory: memory(1),
            known: known.collect(),
        }
    }

    fn plan(&self, question: &PublicQuestion, executors: &[u32]) -> Plan {
        let machines: Vec<&MachineType> =
            self.catalog.machines.iter().filter(|machine| machine.accelerators.is_some()).collect();
        let answer = question.answer(&self.model, &self.table.gpus, &machines, executors).unwrap();
        let joint = JointPredictor::from_public(answer).unwrap();
        let space = Space { catalog: Some(self.catalog.clone()), executors: executors.to_vec(), ..Space::default() };
        Plan::new(joint, space).unwrap()
    }
}

#[test]
fn a_plan_without_samples_has_a_price_and_an_interval_for_every_gpu_machine_type() {
    let public = Public::new();
    let plan = public.plan(&public.question(&[]), &[]);
    assert!(plan.predictor().arms().iter().all(|arm| arm.basis == Basis::Public && arm.runs == 0));
    let decision = plan.decide(&LIMITS).unwrap();
    assert!(decision.candidates.len() > 30, "{}", decision.candidates.len());
    for candidate in &decision.candidates {
        let interval = candidate.prediction.interval.unwrap();
        assert!(candidate.cost.is_some() && interval.lower_secs < interval.upper_secs, "{candidate:?}");
        assert!(candidate.success_probability.is_some(), "{candidate:?}");
    }
    assert!(decision.recommended.is_some());
}

#[test]
fn a_known_speed_narrows_every_interval_and_several_machines_are_planned() {
    let public = Public::new();
    let widths = |question: &PublicQuestion| -> Vec<f64> {
        let plan = public.plan(question, &[16]);
        let decision = plan.decide(&LIMITS).unwrap();
        assert!(decision.candidates.iter().all(|one| one.placement.executors == 16 && one.placement.machines >= 2));
        let interval = |one: &foreglow_model::Candidate| one.prediction.interval.unwrap();
        let mut widths: Vec<(usize, f64)> = decision
            .candidates
            .iter()
            .map(|one| (one.placement.arm, interval(one).upper_secs / interval(one).lower_secs))
            .collect();
        widths.sort_by_key(|(arm, _)| *arm);
        widths.into_iter().map(|(_, width)| width).collect()
    };
    let (without, with) = (widths(&public.question(&[])), widths(&public.question(&[("RTX 3090", 812.0)])));
    assert!(
        without.len() > 10 && without.iter().zip(&with).all(|(without, with)| with < without),
        "{without:?} {with:?}"
    );
}

#[test]
fn machine_types_whose_gpus_cannot_hold_a_step_are_left_out() {
    let public = Public::new();
    let question = PublicQuestion { memory: memory(172_000_000), ..public.question(&[]) };
    let machines: Vec<&MachineType> =
        public.catalog.machines.iter().filter(|machine| machine.accelerators.is_some()).collect();
    let answer = question.answer(&public.model, &public.table.gpus, &machines, &[]).unwrap();
    let reason =
        |name: &str| answer.refused.iter().find(|(machine, _)| machine == name).map(|(_, reason)| reason.to_string());
    let reason_of_t4 = reason("g4dn.xlarge").unwrap();
    assert!(reason_of_t4.contains("needs about 23 GiB") && reason_of_t4.contains("no batch above"), "{reason_of_t4}");
    assert_eq!(reason("a2-highgpu-1g"), None);
    let doubt = |name: &str| answer.may_not_fit.iter().any(|(machine, _)| machine == name);
    assert!(doubt("g5.xlarge") && !doubt("a2-highgpu-1g") && !doubt("g4dn.xlarge"), "{:?}", answer.may_not_fit);
}

/// The page and the command line print the same digits: `make wasm-unit` runs this test in a
/// browser.
#[test]
fn public_speeds_have_the_same_digits_natively_and_in_a_browser() {
    let public = Public::new();
    let plan = public.plan(&public.question(&[("RTX 3090", 812.0)]), &[]);
    let secs = |machine: &str| {
        let arm = plan.predictor().arms().iter().position(|arm| arm.machine == machine).unwrap();
        let executors = plan.decide(&LIMITS).unwrap().candidates;
        let candidate = executors.into_iter().find(|one| one.placement.arm == arm).unwrap();
        candidate.prediction.completion_time_secs.unwrap()
    };
    let digits = ["g6.xlarge", "a2-highgpu-1g", "p5.48xlarge"].map(|machine| format!("{:e}", secs(machine)));
    assert_eq!(digits, ["2.3054462788794513e5", "5.848600864215775e4", "5.1780581234226065e3"]);
}
