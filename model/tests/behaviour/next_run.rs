//! The next run over several machine types, and when to stop.

use foreglow_model::{
    Comparison, ExecutorSize, JointPredictor, MachineLimits, NextRun, NextRuns, Offer, Rental, Saves, Verdict,
    next_runs, pack,
};
use foreglow_shared::{Catalog, Context, Job, JobDefinition, JobGroup, MachineType, Observation};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::simulated::Random;

const TYPES: [&str; 4] = ["c5.xlarge", "c7i.large", "m5.xlarge", "c5.2xlarge"];
const STARTUP_SECS: f64 = 3.0;
const LIMITS: MachineLimits = MachineLimits {
    deadline_secs: None,
    budget: None,
    max_hourly_cost: None,
    min_accuracy: None,
    probability: 0.9,
    spot: false,
    startup_secs: STARTUP_SECS,
};

/// A job whose time is known on every machine type.
struct World {
    /// Speed of each type, per thread.
    speeds: [f64; TYPES.len()],
    serial: f64,
    secs: f64,
    seed: u64,
}

impl World {
    fn draw(seed: u64) -> Self {
        let mut random = Random(seed * 7919);
        let speeds = TYPES.map(|_| libm::exp(random.between(-0.5, 0.5)));
        Self { speeds, serial: random.between(0.0, 0.15), secs: libm::exp(random.between(7.0, 8.5)), seed }
    }

    fn secs(&self, machine: usize, (executors, cores): (u32, u32), rate: f64) -> f64 {
        let threads = f64::from(executors) * libm::pow(f64::from(cores), 0.9);
        (1.0 + self.secs * rate * (self.serial + (1.0 - self.serial) / threads)) / self.speeds[machine]
    }

    fn run(&self, machine: usize, (executors, cores): (u32, u32), rate: f64) -> Observation {
        let state = self.seed ^ (u64::from(executors) << 40) ^ (u64::from(cores) << 20) ^ ((rate * 1e4) as u64) << 8;
        let noise = Random(state ^ machine as u64).between(-0.04, 0.04);
        Observation {
            executors,
            cores_per_executor: cores,
            total_cores: None,
            memory_per_executor_mib: 512,
            partition_size: 8,
            sampling_rate: rate,
            completion_time_secs: self.secs(machine, (executors, cores), rate) * libm::exp(noise),
            startup_secs: Some(STARTUP_SECS),
            disturbed: false,
        }
    }

    /// Returns the cost of the whole job on one machine, if it fits and meets the deadline.
    fn cost(&self, machine: usize, configuration: (u32, u32), deadline: f64) -> Option<f64> {
        let secs = self.secs(machine, configuration, 1.0);
        let size = ExecutorSize { cores: configuration.1, memory_mib: 512, holds_accelerator: false };
        let kind = kind(TYPES[machine]);
        let machines = pack(&kind, configuration.0, size).ok().filter(|packing| packing.machines == 1)?.machines;
        let rental = Rental { machine: &kind, machines, spot: false, startup_secs: STARTUP_SECS };
        (secs <= deadline).then(|| rental.bill(secs).unwrap().amount)
    }

    fn least_cost(&self, deadline: f64) -> f64 {
        let all = (0..TYPES.len()).flat_map(|machine| {
            (1..=8).flat_map(move |executors| (1..=8).map(move |cores| (machine, (executors, cores))))
        });
        all.filter_map(|(machine, at)| self.cost(machine, at, deadline)).fold(f64::INFINITY, f64::min)
    }
}

fn kind(name: &str) -> MachineType {
    Catalog::built_in().find(name).unwrap().clone()
}

/// Runs by machine type.
type Runs = [Vec<Observation>; TYPES.len()];

fn group(runs: &Runs) -> JobGroup {
    let job = |(machine, runs): (&str, &Vec<Observation>)| {
        let processors = kind(machine).processors;
        let text = format!(
            r#"{{"workload":{{"model":"resnet18","mode":"inference","image_px":64,"images":100000,"epochs":1,
                "batch_size":8}},"engine":"local","host":{{"cpu":"Some CPU","machine":"{machine}",
                "processors":{processors}}}}}"#
        );
        let context: Context = serde_json::from_str(&text).unwrap();
        Job::of_runs(context, runs.clone())
    };
    let jobs: Vec<Job> = TYPES.into_iter().zip(runs).filter(|(_, runs)| !runs.is_empty()).map(job).collect();
    JobGroup { definition: JobDefinition::of(&jobs[0].context), jobs, lenders: Vec::new() }
}

fn ask(runs: &Runs, limits: &MachineLimits) -> (Comparison, NextRuns) {
    let (group, offer) = (group(runs), Offer { catalog: Some(Catalog::built_in()), ..Offer::default() });
    let comparison = Comparison::of(JointPredictor::fit(&group).unwrap(), &offer).unwrap();
    let is_new = |name: &&str| group.jobs.iter().all(|job| job.context.machine_name() != *name);
    let unmeasured: Vec<MachineType> = TYPES.iter().filter(|name| is_new(name)).map(|name| kind(name)).collect();
    let next = next_runs(&group, &comparison, &offer, limits, &unmeasured).unwrap();
    (comparison, next)
}

/// Returns the machine type, configuration and sampling rate of a run.
fn place(run: &NextRun) -> (usize, (u32, u32), f64) {
    let machine = TYPES.iter().position(|name| *name == run.machine).unwrap();
    let suggestion = &run.suggestion;
    (machine, (suggestion.executors, suggestion.cores_per_executor), suggestion.sampling_rate)
}

/// The end of a search: what is recommended, the runs, and what they cost.
struct End {
    machine: usize,
    configuration: (u32, u32),
    runs: usize,
    money: f64,
}

/// Makes runs until the advice says stop or there is no other, from one run on the first machine
/// type. `choose` returns the next run.
fn follow(
    world: &World,
    limits: &MachineLimits,
    mut choose: impl FnMut(&NextRuns) -> Option<(usize, (u32, u32), f64)>,
) -> End {
    let mut runs: Runs = Default::default();
    runs[0].push(world.run(0, (1, 1), 0.01));
    let mut money = 0.0;
    loop {
        let (comparison, next) = ask(&runs, limits);
        let count = runs.iter().map(Vec::len).sum();
        let goes_on = matches!(next.verdict, Verdict::GoOn | Verdict::First { .. });
        let Some((machine, configuration, rate)) = choose(&next).filter(|_| goes_on) else {
            let decision = comparison.decide(limits).unwrap();
            let best = decision.candidates[decision.recommended.unwrap()].placement;
            let name = &comparison.predictor().arms()[best.arm].machine;
            let machine = TYPES.iter().position(|known| known == name).unwrap();
            return End { machine, configuration: (best.executors, best.cores_per_executor), runs: count, money };
        };
        assert!(count < 80, "80 runs and no end: {:?}", next.runs.first());
        let run = world.run(machine, configuration, rate);
        let kind = kind(TYPES[machine]);
        let rental = Rental { machine: &kind, machines: 1, spot: false, startup_secs: STARTUP_SECS };
        money += rental.bill(run.completion_time_secs).unwrap().amount;
        runs[machine].push(run);
    }
}

/// Returns the runs that can be made, in random order.
fn shuffled(world: &World) -> Vec<(usize, (u32, u32), f64)> {
    let mut random = Random(world.seed ^ 0x5eed);
    let mut all = Vec::new();
    for machine in 0..TYPES.len() {
        for configuration in [(1, 1), (2, 1), (1, 2), (4, 1), (2, 2), (8, 1), (4, 2)] {
            if world.cost(machine, configuration, f64::INFINITY).is_some() {
                all.extend(
                    [0.01, 0.03, 0.1, 0.3].map(|rate| (random.between(0.0, 1.0), (machine, configuration, rate))),
                );
            }
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().map(|(_, run)| run).collect()
}

const WORLDS: u64 = if cfg!(target_arch = "wasm32") { 1 } else { 6 };

#[test]
fn from_one_run_the_advice_finds_a_nearly_cheapest_configuration_for_less_than_random_runs() {
    let (mut good, mut money, mut by_chance, mut runs, mut runs_by_chance) = (0, 0.0, 0.0, 0, 0);
    for seed in 1..=WORLDS {
        let world = World::draw(seed);
        let least = world.least_cost(f64::INFINITY);
        let end = follow(&world, &LIMITS, |next| next.runs.first().map(place));
        let cost = world.cost(end.machine, end.configuration, f64::INFINITY).unwrap();
        good += u64::from(cost <= 1.1 * least);
        let mut order = shuffled(&world).into_iter();
        let random = follow(&world, &LIMITS, |_| order.next());
        eprintln!(
            "world {seed}: regret {:.3} with {} runs for {:.4}; random {} runs for {:.4}",
            cost / least - 1.0,
            end.runs,
            end.money,
            random.runs,
            random.money
        );
        (money, by_chance) = (money + end.money, by_chance + random.money);
        (runs, runs_by_chance) = (runs + end.runs, runs_by_chance + random.runs);
    }
    assert!(good + 1 >= WORLDS, "{good} of {WORLDS}");
    assert!(money < by_chance && runs < runs_by_chance, "{money} {by_chance}, {runs} {runs_by_chance}");
}

#[test]
fn following_the_advice_keeps_a_deadline() {
    let mut late = 0;
    for seed in 11..11 + WORLDS.min(3) {
        let world = World::draw(seed);
        // A third of the time on one thread of the first machine type.
        let deadline = world.secs(0, (1, 1), 1.0) / 3.0;
        let limits = MachineLimits { deadline_secs: Some(deadline), ..LIMITS };
        let end = follow(&world, &limits, |next| next.runs.first().map(place));
        late += u32::from(world.secs(end.machine, end.configuration, 1.0) > deadline);
        let cost = world.cost(end.machine, end.configuration, f64::INFINITY).unwrap();
        eprintln!("world {seed}: {:.3} of the least cost, {} runs", cost / world.least_cost(deadline), end.runs);
    }
    assert_eq!(late, 0);
}

/// Eight runs on the first machine type.
fn measured(world: &World) -> Runs {
    let mut runs: Runs = Default::default();
    for configuration in [(1, 1), (2, 1), (1, 2), (2, 2)] {
        runs[0].extend([0.01, 0.1].map(|rate| world.run(0, configuration, rate)));
    }
    runs
}

#[test]
fn a_machine_type_that_was_never_measured_is_proposed_if_it_may_be_cheaper() {
    let world = World::draw(1);
    let (_, next) = ask(&measured(&world), &LIMITS);
    assert_eq!((&next.verdict, next.saves), (&Verdict::GoOn, Saves::Money));
    let first = &next.runs[0];
    assert!(first.is_new_machine && first.expected_saving > Some(0.02), "{first:?}");
    let context = first.context.as_ref().unwrap();
    assert_eq!(context.host.machine.as_deref(), Some(first.machine.as_str()));
    // Whole machines are billed, for at least a minute.
    let least = kind(&first.machine).hourly_price / 60.0;
    assert!(first.suggestion.cost.unwrap() >= least * (1.0 - 1e-9), "{first:?}");
}

#[test]
fn runs_too_dear_per_hour_or_on_other_devices_are_not_proposed() {
    let world = World::draw(1);
    let limits = MachineLimits { max_hourly_cost: Some(0.18), ..LIMITS };
    let (_, next) = ask(&measured(&world), &limits);
    assert!(next.runs.iter().all(|run| ["c5.xlarge", "c7i.large"].contains(&run.machine.as_str())));
    let (group, offer) = (group(&measured(&world)), Offer { catalog: Some(Catalog::built_in()), ..Offer::default() });
    let comparison = Comparison::of(JointPredictor::fit(&group).unwrap(), &offer).unwrap();
    let next = next_runs(&group, &comparison, &offer, &LIMITS, &[kind("g4dn.xlarge")]).unwrap();
    assert!(next.runs.iter().all(|run| run.machine == "c5.xlarge"));
    assert_eq!(next.left_out.len(), 1);
    assert!(next.left_out[0].1.contains("the job never ran on a GPU"), "{}", next.left_out[0].1);
}

#[test]
fn without_prices_the_advice_saves_time() {
    let world = World::draw(1);
    let mut runs = measured(&world);
    runs[1].push(world.run(1, (1, 1), 0.01));
    let (group, offer) = (group(&runs), Offer::default());
    let comparison = Comparison::of(JointPredictor::fit(&group).unwrap(), &offer).unwrap();
    let next = next_runs(&group, &comparison, &offer, &LIMITS, &[]).unwrap();
    assert_eq!(next.saves, Saves::Time);
    assert!(next.runs.iter().all(|run| run.suggestion.cost.is_none()), "{:?}", next.runs.first());
    assert!(next.expected_saving.is_some());
}
