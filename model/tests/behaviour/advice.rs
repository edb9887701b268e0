//! The next run over several machine types, and when to stop.

use foreglow_model::{
    Advice, ExecutorSize, JointPredictor, Limits, Objective, Plan, Space, Suggestion, Verdict, advise, pack,
};
use foreglow_shared::{Catalog, Context, Job, JobDefinition, JobGroup, MachineType, Observation};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::simulated::Random;
use crate::two_types;

const TYPES: [&str; 4] = ["c5.xlarge", "c7i.large", "m5.xlarge", "c5.2xlarge"];
const STARTUP_SECS: f64 = 3.0;
const LIMITS: Limits = Limits { startup_secs: STARTUP_SECS, ..two_types::LIMITS };

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
            log_error: 0.0,
        }
    }

    /// Returns the cost of the whole job on one machine, if it fits and meets the deadline.
    fn cost(&self, machine: usize, configuration: (u32, u32), deadline: f64) -> Option<f64> {
        let secs = self.secs(machine, configuration, 1.0);
        let size = ExecutorSize { cores: configuration.1, memory_mib: 512, holds_accelerator: false };
        let kind = kind(TYPES[machine]);
        let machines = pack(&kind, configuration.0, size).ok().filter(|packing| packing.machines == 1)?.machines;
        (secs <= deadline).then(|| kind.rate(machines, false, STARTUP_SECS).unwrap().cost(secs))
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

fn ask(runs: &Runs, limits: &Limits) -> (Plan, Advice) {
    let (group, space) = (group(runs), Space { catalog: Some(Catalog::built_in()), ..Space::default() });
    let plan = Plan::new(JointPredictor::fit(&group).unwrap(), space).unwrap();
    let is_new = |name: &&str| group.jobs.iter().all(|job| job.context.machine_name() != *name);
    let unmeasured: Vec<MachineType> = TYPES.iter().filter(|name| is_new(name)).map(|name| kind(name)).collect();
    let next = advise(&group, &plan, limits, &unmeasured).unwrap();
    (plan, next)
}

/// Returns the machine type, configuration and sampling rate of a run.
fn place(run: &Suggestion) -> (usize, (u32, u32), f64) {
    let machine = TYPES.iter().position(|name| *name == run.machine).unwrap();
    (machine, (run.executors, run.cores_per_executor), run.sampling_rate)
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
fn follow(world: &World, limits: &Limits, mut choose: impl FnMut(&Advice) -> Option<(usize, (u32, u32), f64)>) -> End {
    let mut runs: Runs = Default::default();
    runs[0].push(world.run(0, (1, 1), 0.01));
    let mut money = 0.0;
    loop {
        let (plan, next) = ask(&runs, limits);
        let count = runs.iter().map(Vec::len).sum();
        let goes_on = matches!(next.verdict, Verdict::GoOn | Verdict::First { .. });
        // Runs in random order may omit the runs that the advice needs, and then never suffice.
        let Some((machine, configuration, rate)) = choose(&next).filter(|_| goes_on && count < 40) else {
            let decision = plan.decide(limits).unwrap();
            let best = decision.candidates[decision.recommended.unwrap()].placement;
            let name = &plan.predictor().arms()[best.arm].machine;
            let machine = TYPES.iter().position(|known| known == name).unwrap();
            return End { machine, configuration: (best.executors, best.cores_per_executor), runs: count, money };
        };
        let run = world.run(machine, configuration, rate);
        let kind = kind(TYPES[machine]);
        money += kind.rate(1, false, STARTUP_SECS).unwrap().cost(run.completion_time_secs);
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
        let end = follow(&world, &LIMITS, |next| next.suggestions.first().map(place));
        let cost = world.cost(end.machine, end.configuration, f64::INFINITY).unwrap();
        good += u64::from(cost <= 1.1 * least);
        let mut order = shuffled(&world).into_iter();
        let random = follow(&world, &LIMITS, |_| order.next());
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
        let limits = Limits { deadline_secs: Some(deadline), ..LIMITS };
        let end = follow(&world, &limits, |next| next.suggestions.first().map(place));
        late += u32::from(world.secs(end.machine, end.configuration, 1.0) > deadline);
        // The predicted interval needs some slack.
        let least = world.least_cost(deadline / 1.1);
        let cost = world.cost(end.machine, end.configuration, f64::INFINITY).unwrap();
        assert!(cost <= 1.15 * least && end.runs <= 20, "world {seed}: {cost} {least} with {} runs", end.runs);
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
fn a_machine_type_whose_runs_failed_is_not_called_new() {
    let ask = |was_tried: bool| {
        let mut group = group(&measured(&World::draw(1)));
        if was_tried {
            // A job whose runs all failed has no runs.
            let mut context = group.jobs[0].context.clone();
            context.host.machine = Some(TYPES[1].to_owned());
            group.jobs.push(Job::of_runs(context, Vec::new()));
        }
        let machines = vec![TYPES[0].to_owned(), TYPES[1].to_owned()];
        let space = Space { catalog: Some(Catalog::built_in()), machines, ..Space::default() };
        let plan = Plan::new(JointPredictor::fit(&group).unwrap(), space).unwrap();
        let next = advise(&group, &plan, &LIMITS, &[kind(TYPES[1])]).unwrap();
        let proposed = next.suggestions.iter().find(|run| run.machine == TYPES[1]).unwrap();
        (proposed.is_new_machine, plan.omissions()[0].reason.clone())
    };
    let (is_new, reason) = ask(true);
    assert!(!is_new && reason.contains("no run completed there"), "{is_new} {reason}");
    let (is_new, reason) = ask(false);
    assert!(is_new && reason.contains("it was not measured"), "{is_new} {reason}");
}

#[test]
fn a_machine_type_that_was_never_measured_is_proposed_if_it_may_be_cheaper() {
    let world = World::draw(1);
    let (_, next) = ask(&measured(&world), &LIMITS);
    assert_eq!((&next.verdict, next.saves), (&Verdict::GoOn, Objective::Cost));
    let first = &next.suggestions[0];
    assert!(first.is_new_machine && first.expected_saving > Some(0.02), "{first:?}");
    assert_eq!(next.expected_saving, next.suggestions.iter().map(|run| run.expected_saving.unwrap()).reduce(f64::max));
    // Runs worth making come first, ordered by saving per cost.
    let worth =
        |run: &Suggestion| (run.expected_saving >= Some(0.02), run.expected_saving.unwrap() / run.cost.unwrap());
    assert!(next.suggestions.windows(2).all(|pair| worth(&pair[0]) >= worth(&pair[1])));
    let context = first.context.as_ref().unwrap();
    assert_eq!(context.host.machine.as_deref(), Some(first.machine.as_str()));
    // Whole machines are billed, for at least a minute.
    let least = kind(&first.machine).hourly_price / 60.0;
    assert!(first.cost.unwrap() >= least * (1.0 - 1e-9), "{first:?}");
}

#[test]
fn runs_too_dear_per_hour_or_on_other_devices_are_not_proposed() {
    let world = World::draw(1);
    let limits = Limits { max_hourly_cost: Some(0.18), ..LIMITS };
    let (_, next) = ask(&measured(&world), &limits);
    assert!(!next.suggestions.is_empty() && next.suggestions.iter().all(|run| kind(&run.machine).hourly_price <= 0.18));
    let (group, space) = (group(&measured(&world)), Space { catalog: Some(Catalog::built_in()), ..Space::default() });
    let plan = Plan::new(JointPredictor::fit(&group).unwrap(), space).unwrap();
    let next = advise(&group, &plan, &LIMITS, &[kind("g4dn.xlarge")]).unwrap();
    assert!(next.suggestions.iter().all(|run| run.machine == "c5.xlarge"));
    assert_eq!(next.left_out.len(), 1);
    assert!(next.left_out[0].1.contains("the job never ran on a GPU"), "{}", next.left_out[0].1);
}

#[test]
fn without_prices_the_advice_saves_time() {
    let world = World::draw(1);
    let mut runs = measured(&world);
    runs[1].push(world.run(1, (1, 1), 0.01));
    let (group, space) = (group(&runs), Space::default());
    let plan = Plan::new(JointPredictor::fit(&group).unwrap(), space).unwrap();
    let next = advise(&group, &plan, &LIMITS, &[]).unwrap();
    assert_eq!(next.saves, Objective::Time);
    assert!(
        !next.suggestions.is_empty() && next.suggestions.iter().all(|run| run.cost.is_none()),
        "{:?}",
        next.suggestions
    );
    assert!(next.expected_saving.is_some());
}

#[test]
fn of_two_equal_machine_types_the_cheaper_one_is_proposed_first() {
    let world = World::draw(1);
    let own = |name: &str, price: f64| MachineType { name: name.into(), hourly_price: price, ..kind("c5.xlarge") };
    let new = [own("dear", 0.16), own("cheap", 0.12)];
    let mut catalog = Catalog::built_in();
    catalog.machines.extend(new.clone());
    let (group, space) = (group(&measured(&world)), Space { catalog: Some(catalog), ..Space::default() });
    let plan = Plan::new(JointPredictor::fit(&group).unwrap(), space).unwrap();
    let next = advise(&group, &plan, &LIMITS, &new).unwrap();
    assert_eq!(next.suggestions[0].machine, "cheap");
    let most = |name: &str| {
        next.suggestions
            .iter()
            .filter(|run| run.machine == name)
            .map(|run| run.expected_saving.unwrap())
            .fold(0.0, f64::max)
    };
    assert!(
        most("cheap") > most("dear") && most("dear") > most("c5.xlarge"),
        "{} {} {}",
        most("cheap"),
        most("dear"),
        most("c5.xlarge")
    );
}

#[test]
fn it_stops_when_no_run_is_expected_to_save_two_percent() {
    let world = World::draw(1);
    let mut runs: Runs = Default::default();
    for configuration in [(1, 1), (2, 1), (1, 2), (4, 1), (2, 2), (1, 4)] {
        runs[0].extend([0.01, 0.1, 0.3].map(|rate| world.run(0, configuration, rate)));
    }
    let (group, space) = (group(&runs), Space { catalog: Some(Catalog::built_in()), ..Space::default() });
    let plan = Plan::new(JointPredictor::fit(&group).unwrap(), space).unwrap();
    let next = advise(&group, &plan, &LIMITS, &[]).unwrap();
    assert_eq!(next.verdict, Verdict::Enough);
    assert!(next.expected_saving < Some(0.02), "{:?}", next.expected_saving);
    let decision = plan.decide(&LIMITS).unwrap();
    let recommended = &decision.candidates[decision.recommended.unwrap()];
    let best = next.best.unwrap();
    assert_eq!((best.placement, best.cost), (recommended.placement, recommended.cost));
    // A deadline that no configuration can meet.
    let limits = Limits { deadline_secs: Some(1.0), ..LIMITS };
    let hopeless = advise(&group, &plan, &limits, &[]).unwrap();
    assert_eq!((hopeless.verdict, hopeless.best, hopeless.suggestions), (Verdict::Exhausted, None, Vec::new()));
}

#[test]
fn without_a_run_that_could_still_be_made_it_stops() {
    let world = World::draw(1);
    let mut runs: Runs = Default::default();
    runs[0].extend([0.01, 0.03, 0.1, 0.3].map(|rate| world.run(0, (1, 1), rate)));
    let catalog = Some(Catalog::built_in());
    let space = Space { catalog, executors: vec![1], cores_per_executor: vec![1], ..Space::default() };
    let group = group(&runs);
    let plan = Plan::new(JointPredictor::fit(&group).unwrap(), space).unwrap();
    let next = advise(&group, &plan, &LIMITS, &[]).unwrap();
    assert_eq!((next.verdict, next.suggestions), (Verdict::Enough, Vec::new()));
    assert!(next.best.is_some());
}

#[test]
fn runs_that_only_together_tell_no_time_are_followed_by_first_runs() {
    let world = World::draw(1);
    for repeats in [1, 3] {
        let mut runs: Runs = Default::default();
        runs[0] = vec![world.run(0, (1, 1), 0.01); repeats];
        runs[1].push(world.run(1, (1, 1), 0.01));
        let (_, next) = ask(&runs, &LIMITS);
        assert!(matches!(next.verdict, Verdict::First { .. }), "{:?}", next.verdict);
        let first = &next.suggestions[0];
        assert!(first.sampling_rate > 0.01 && first.expected_saving.is_none(), "{first:?}");
    }
}

#[test]
fn among_several_partition_sizes_each_run_is_proposed_once_with_the_usual_one() {
    let world = World::draw(1);
    let mut runs = measured(&world);
    let larger = |run: &Observation| Observation {
        partition_size: 32,
        completion_time_secs: run.completion_time_secs * 0.9,
        ..*run
    };
    let others: Vec<Observation> = runs[0][..6].iter().map(larger).collect();
    runs[0].extend(others);
    let (plan, next) = ask(&runs, &LIMITS);
    assert!(plan.predictor().arms().iter().any(|arm| arm.partition_size == 32));
    assert!(!next.suggestions.is_empty() && next.suggestions.iter().all(|run| run.partition_size == 8));
    let key = |run: &Suggestion| {
        let (machine, configuration, rate) = place(run);
        (machine, configuration, rate.to_bits())
    };
    let distinct: std::collections::BTreeSet<_> = next.suggestions.iter().map(key).collect();
    assert_eq!(distinct.len(), next.suggestions.len());
}

/// A training job on one machine type, averaged at two intervals.
fn training() -> JobGroup {
    let job = |every: u32, count: usize| {
        let text = format!(
            r#"{{"workload":{{"model":"lenet5","mode":"training","image_px":32,"images":12000,"epochs":3,
                "batch_size":32,"average_every":{every}}},"engine":"local",
                "host":{{"machine":"c5.xlarge","processors":4}}}}"#
        );
        let runs = [(1, 0.1), (1, 0.3), (2, 0.1), (2, 0.3), (4, 0.1), (4, 0.3)].into_iter().take(count);
        let row = |(executors, rate): (u32, f64)| {
            let secs = 1.0 + 400.0 * rate * (1.0 / f64::from(executors) + 0.1 / f64::from(every));
            serde_json::from_value(serde_json::json!([executors, 1, 512, 32, rate, secs, null])).unwrap()
        };
        Job::of_runs(serde_json::from_str(&text).unwrap(), runs.map(row).collect())
    };
    let jobs = vec![job(1, 6), job(8, 2)];
    JobGroup { definition: JobDefinition::of(&jobs[0].context), jobs, lenders: Vec::new() }
}

#[test]
fn averaging_intervals_are_told_apart_and_an_unknown_accuracy_is_not_promised() {
    let (group, space) = (training(), Space { catalog: Some(Catalog::built_in()), ..Space::default() });
    let plan = Plan::new(JointPredictor::fit(&group).unwrap(), space).unwrap();
    let next = advise(&group, &plan, &LIMITS, &[]).unwrap();
    let context = |run: &Suggestion| run.context.as_ref().unwrap().workload.average_every;
    assert!(next.suggestions.iter().all(|run| run.average_every.is_some() && run.average_every == context(run)));
    assert!(next.suggestions.iter().any(|run| run.average_every == Some(8)), "{:?}", next.suggestions.first());
    // Runs at a sampling rate below 1 give no accuracy of the whole job.
    let limits = Limits { min_accuracy: Some(0.9), ..LIMITS };
    let next = advise(&group, &plan, &limits, &[]).unwrap();
    assert_eq!((next.verdict, next.best, next.suggestions), (Verdict::Exhausted, None, Vec::new()));
}
