use foreglow_data::Kind;
use foreglow_machine::device::{self, DeviceChoice};
use foreglow_shared::{CoreSplit, Outcome, PriceSheet};

use super::*;
use crate::Local;

/// An engine that simulates runs: a function gives their time.
struct Simulated<F> {
    secs: F,
    is_cluster: bool,
}

impl<F: FnMut(&Configuration, f64) -> Option<f64>> Engine for Simulated<F> {
    fn measure(
        &mut self,
        job: &Job,
        configuration: &Configuration,
        sampling_rate: f64,
        _: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> anyhow::Result<Sample> {
        progress(Progress::Starting);
        let secs = (self.secs)(configuration, sampling_rate);
        let run =
            Run { workload: job.workload.clone(), configuration: configuration.clone(), sampling_rate, repetition: 0 };
        let outcome = if secs.is_some() { Outcome::Completed } else { Outcome::OutOfMemory };
        Ok(Sample { completion_time_secs: secs, ..sample(job, &run, outcome, 0.0) })
    }

    fn has_measured(&self, sample: &Sample, job: &Job) -> bool {
        Local.has_measured(sample, job)
    }

    fn processors(&self, _: &Job) -> Option<u32> {
        None
    }

    fn is_cluster(&self) -> bool {
        self.is_cluster
    }

    fn check(&self, _: &Job, _: &[&Configuration]) -> anyhow::Result<()> {
        Ok(())
    }
}

/// A linear job: 40 s for all images on one executor.
fn linear(is_cluster: bool) -> Simulated<impl FnMut(&Configuration, f64) -> Option<f64>> {
    let secs = |configuration: &Configuration, rate| Some(40.0 * rate / f64::from(configuration.executors));
    Simulated { secs, is_cluster }
}

/// Makes the runs, and returns the samples, the numbers of the runs at each step, and the runs that
/// were not made.
fn swept(engine: &mut dyn Engine, runs: &[Run], limits: Limits) -> (Vec<Sample>, Vec<usize>, SkippedRuns) {
    let (mut samples, mut numbers) = (Vec::new(), Vec::new());
    let job = job();
    let plan = (Forecast::of(engine, &job, &[]), limits);
    let skipped = sweep(
        engine,
        &job,
        runs,
        plan,
        &Interrupt::default(),
        &mut |step| numbers.push(step.number),
        &mut |_, _, sample| {
            samples.push(sample);
            Ok(())
        },
    );
    (samples, numbers, skipped.unwrap())
}

/// A job on the CPU.
pub(crate) fn job() -> Job {
    Job {
        workload: Job::workload("lenet5", 32, 1000, 8),
        source: Kind::Folder.at("images"),
        device: device::choose(&DeviceChoice::Cpu).unwrap(),
        seed: 0,
        timeout: None,
        broken_limit: None,
        monitor: None,
        core_share: None,
        machine_type: None,
        weights: None,
        normalisation: None,
        training: None,
        program: None,
    }
}

fn grid(repeat: u32) -> Grid {
    Grid {
        workloads: vec![job().workload],
        placements: [1, 2].map(|executors| CoreSplit::even(executors, 1).into()).to_vec(),
        memory_mib: vec![1024],
        partition_sizes: vec![8],
        sampling_rates: vec![0.1, 0.01],
        repeat,
    }
}

fn sample(job: &Job, run: &Run, outcome: Outcome, secs: f64) -> Sample {
    Sample {
        schema: foreglow_shared::SCHEMA,
        id: foreglow_shared::Uuid::nil(),
        workload: run.workload.clone(),
        configuration: run.configuration.clone(),
        sampling_rate: run.sampling_rate,
        outcome,
        completion_time_secs: Some(secs),
        startup_secs: Some(1.0),
        predicted: None,
        reason: None,
        engine: foreglow_shared::Engine::Local,
        runner_version: String::new(),
        host: job.host(),
        started_at: foreglow_shared::Timestamp::UNIX_EPOCH,
        seed: None,
        images_processed: None,
        peak_memory_mib: None,
        exceeded_memory: None,
        progress: None,
        simulated: None,
        log_error: 0.0,
        extra: serde_json::Map::new(),
    }
}

#[test]
fn small_samples_come_first_and_repetitions_cover_all_configurations() {
    let order: Vec<_> = grid(2)
        .runs(&job())
        .iter()
        .map(|run| (run.sampling_rate, run.repetition, run.configuration.executors))
        .collect();
    let expected =
        [(0.01, 0, 1), (0.01, 0, 2), (0.1, 0, 1), (0.1, 0, 2), (0.01, 1, 1), (0.01, 1, 2), (0.1, 1, 1), (0.1, 1, 2)];
    assert_eq!(order, expected);
}

#[test]
fn rates_that_come_to_the_same_images_are_one_and_are_shares_of_whole_images() {
    let grid = Grid {
        placements: vec![CoreSplit::even(1, 1).into()],
        sampling_rates: vec![1e-9, 0.001, 0.0333, 1.0],
        ..grid(1)
    };
    let rates: Vec<f64> = grid.runs(&job()).iter().map(|run| run.sampling_rate).collect();
    assert_eq!(rates, [0.001, 0.033, 1.0]);
    let mut run = grid.runs(&job()).remove(1);
    let mut earlier = sample(&job(), &run, Outcome::Completed, 1.0);
    earlier.sampling_rate = 0.0333;
    assert!(run.is_of(&earlier), "a sample of an earlier version");
    run.sampling_rate = 0.034;
    assert!(!run.is_of(&earlier));
}

#[test]
fn where_a_precision_is_sought_every_combination_runs_once_and_then_the_least_known_one() {
    let job = job();
    let runs = grid(20).runs(&job);
    let left: Vec<&Run> = runs.iter().collect();
    assert_eq!(Limits::none().next(&left), 0, "in their order");
    let mut limits = Limits::new(Some(0.02), Budget::default(), &[]);
    let mut made = Vec::new();
    let mut left = left;
    for _ in 0..25 {
        let run = left.remove(limits.next(&left));
        // The second configuration is noisy at the larger rate; the first one never completes at
        // the smaller one.
        let place = runs[..4].iter().position(|first| first.is_like(run)).unwrap();
        let noise = if place == 3 { 0.3 * (made.len() % 2) as f64 } else { 0.0 };
        let outcome = if place == 0 { Outcome::OutOfMemory } else { Outcome::Completed };
        limits.add(run, Duration::from_secs(1), &sample(&job, run, outcome, 1.0 + noise));
        made.push(place);
    }
    assert_eq!(made[..10], [0, 1, 2, 3, 1, 2, 3, 1, 2, 3], "each once, then those that have no interval yet in turn");
    let of_noisy = made.iter().filter(|place| **place == 3).count();
    let of_quiet = made.iter().filter(|place| **place == 1).count();
    assert!(of_noisy > of_quiet && of_quiet == 6, "{made:?}");
}

#[test]
fn runs_can_be_grouped_by_configuration() {
    let order: Vec<_> = by_configuration(grid(2).runs(&job()))
        .iter()
        .map(|run| (run.configuration.executors, run.sampling_rate, run.repetition))
        .collect();
    let one = [(1, 0.01, 0), (1, 0.1, 0), (1, 0.01, 1), (1, 0.1, 1)];
    assert_eq!(order[..4], one);
    assert_eq!(order[4..], one.map(|(_, rate, repetition)| (2, rate, repetition)));
}

#[test]
fn the_order_takes_the_image_size_into_account() {
    let at = |image_px, batch_size| Workload { image_px, batch_size, ..job().workload };
    let grid = Grid {
        workloads: vec![at(64, 8), at(16, 8), at(16, 4)],
        placements: vec![CoreSplit::even(1, 1).into()],
        ..grid(1)
    };
    let order: Vec<_> = grid
        .runs(&job())
        .iter()
        .map(|run| (run.sampling_rate, run.workload.image_px, run.workload.batch_size))
        .collect();
    let expected = [(0.01, 16, 8), (0.01, 16, 4), (0.1, 16, 8), (0.1, 16, 4), (0.01, 64, 8), (0.1, 64, 8)];
    assert_eq!(order, expected);
}

#[test]
fn finished_runs_are_not_repeated_and_failed_ones_are() {
    let mut job = job();
    let runs = grid(2).runs(&job);
    let ended = [Outcome::Completed, Outcome::Failed, Outcome::OutOfMemory, Outcome::TimedOut];
    // Outcomes of the first four runs: each of two configurations at both rates.
    let samples: Vec<_> = runs.iter().zip(ended).map(|(run, outcome)| sample(&job, run, outcome, 2.0)).collect();
    let rest = left(runs.clone(), &Local, &job, &samples);
    assert_eq!(rest.len(), 6, "two runs of the first configuration are finished");
    assert_eq!((&rest[0], &rest[1]), (&runs[1], &runs[3]));
    job.timeout = Some(Duration::from_secs(2));
    assert_eq!(left(runs.clone(), &Local, &job, &samples).len(), 5, "it would be stopped again");
    job.timeout = Some(Duration::from_secs(3));
    assert_eq!(left(runs.clone(), &Local, &job, &samples).len(), 6, "it would have more time now");

    let mut other = samples.clone();
    other.iter_mut().for_each(|sample| sample.workload.images = 2000);
    assert_eq!(left(runs.clone(), &Local, &job, &other).len(), 8, "another job");
    let mut elsewhere = samples;
    elsewhere.iter_mut().for_each(|sample| sample.host.cpu = Some("another machine".into()));
    assert_eq!(left(runs, &Local, &job, &elsewhere).len(), 8, "another machine");
}

#[test]
fn a_forecast_follows_the_throughput_of_the_runs_so_far() {
    let job = job();
    let runs = grid(1).runs(&job);
    let mut forecast = Forecast::of(&Local, &job, &[]);
    assert_eq!(forecast.wall(&runs), None, "no run is known");
    // 10 images in 2 s after 1 s of start-up; the third run has 100 images on the same slot.
    forecast.add(&runs[0], Duration::from_secs(3), &sample(&job, &runs[0], Outcome::Completed, 2.0));
    assert_eq!(forecast.wall(&runs[2..3]), Some(Duration::from_secs(21)));
    // The same result from a file.
    let forecast = Forecast::of(&Local, &job, &[sample(&job, &runs[0], Outcome::Completed, 2.0)]);
    assert_eq!(forecast.wall(&runs[2..3]), Some(Duration::from_secs(21)));
}

#[test]
fn a_forecast_uses_the_predictor_with_enough_samples() {
    let job = job();
    let runs = grid(1).runs(&job);
    // A constant half second per run, which the throughput alone cannot represent.
    let secs = |run: &Run| 0.5 + 40.0 * run.sampling_rate / f64::from(run.configuration.executors);
    let samples: Vec<_> = runs.iter().map(|run| sample(&job, run, Outcome::Completed, secs(run))).collect();
    let forecast = Forecast::of(&Local, &job, &samples);
    let small = forecast.completion_secs(&runs[0]).unwrap();
    assert!((small / secs(&runs[0]) - 1.0).abs() < 0.1, "{small}");
}

#[test]
fn a_budget_excludes_runs_that_do_not_fit_and_admits_unknown_ones() {
    let job = job();
    let runs = grid(1).runs(&job);
    let unknown = Forecast::of(&Local, &job, &[]);
    let known = Forecast::of(&Local, &job, &[sample(&job, &runs[0], Outcome::Completed, 2.0)]);
    let limits = |time, money| {
        let money = f64::is_finite(money).then(|| (money, PriceSheet::example()));
        Limits::new(None, Budget { time: Some(Duration::from_secs(time)), money }, &[])
    };
    assert_eq!(limits(10, f64::INFINITY).verdict(&runs[2], &unknown), Verdict::Make);
    assert_eq!(limits(0, f64::INFINITY).verdict(&runs[2], &unknown), Verdict::OverBudget);
    assert_eq!(limits(10, f64::INFINITY).verdict(&runs[2], &known), Verdict::OverBudget, "it takes 21 s");
    assert_eq!(limits(10, f64::INFINITY).verdict(&runs[0], &known), Verdict::Make, "it takes 3 s");

    let price = cost(&PriceSheet::example(), &runs[2], 20.0).unwrap();
    assert_eq!(limits(100, price * 1.01).verdict(&runs[2], &known), Verdict::Make);
    assert_eq!(limits(100, price * 0.99).verdict(&runs[2], &known), Verdict::OverBudget);
    let mut spent = limits(100, price * 1.01);
    spent.add(&runs[0], Duration::from_secs(3), &sample(&job, &runs[0], Outcome::Completed, 2.0));
    assert_eq!(spent.verdict(&runs[2], &known), Verdict::OverBudget, "a tenth of the budget is spent");
}

#[test]
fn a_combination_is_repeated_until_its_median_is_precise() {
    let job = job();
    let run = grid(1).runs(&job).remove(0);
    let forecast = Forecast::of(&Local, &job, &[]);
    let mut limits = Limits::new(Some(0.02), Budget::default(), &[]);
    for secs in [2.0, 2.01, 1.99, 2.02, 2.0] {
        limits.add(&run, Duration::from_secs(3), &sample(&job, &run, Outcome::Completed, secs));
        assert_eq!(limits.verdict(&run, &forecast), Verdict::Make, "five runs bound no median with 95 %");
    }
    limits.add(&run, Duration::from_secs(3), &sample(&job, &run, Outcome::Completed, 1.98));
    assert_eq!(limits.verdict(&run, &forecast), Verdict::Precise);
    let larger = Run { sampling_rate: 0.5, ..run.clone() };
    assert_eq!(limits.verdict(&larger, &forecast), Verdict::Make, "another combination");
    limits.add(&run, Duration::from_secs(3), &sample(&job, &run, Outcome::Completed, 3.0));
    limits.add(&run, Duration::from_secs(3), &sample(&job, &run, Outcome::Completed, 1.0));
    assert_eq!(limits.verdict(&run, &forecast), Verdict::Make, "the first and the last of eight are the bounds");
    limits.add(&run, Duration::from_secs(3), &sample(&job, &run, Outcome::Completed, 2.0));
    assert_eq!(limits.verdict(&run, &forecast), Verdict::Precise, "the second and the eighth of nine");
}

#[test]
fn an_uneven_split_is_a_configuration_of_its_own() {
    let placements = CoreSplit::all(&[3], &[8, 9]).into_iter().map(Into::into).collect();
    let runs = Grid { placements, sampling_rates: vec![0.1], ..grid(1) }.runs(&job());
    let of: Vec<_> = runs.iter().map(|run| run.configuration.split()).collect();
    assert_eq!(of, [CoreSplit::of_total(3, 8).unwrap(), CoreSplit::even(3, 3)]);
    let even = [sample(&job(), &runs[1], Outcome::Completed, 1.0)];
    assert_eq!(left(runs.clone(), &Local, &job(), &even), runs[..1], "nine cores are not eight");
}

#[test]
fn a_sweep_makes_every_run_in_order_and_reports_each_once() {
    let runs = grid(2).runs(&job());
    let (samples, numbers, skipped) = swept(&mut linear(false), &runs, Limits::none());
    assert_eq!(numbers, (0..8).collect::<Vec<_>>());
    assert_eq!(skipped, SkippedRuns::default());
    assert!(runs.iter().zip(&samples).all(|(run, sample)| run.is_of(sample)), "{samples:?}");
    let secs: Vec<f64> = samples.iter().filter_map(Sample::completed_secs).collect();
    assert_eq!(secs[..4], [0.4, 0.2, 4.0, 2.0]);
}

#[test]
fn a_sweep_goes_on_after_a_run_without_enough_memory_and_keeps_it() {
    let mut engine = Simulated {
        secs: |configuration: &Configuration, rate: f64| (configuration.executors == 1).then_some(40.0 * rate),
        is_cluster: false,
    };
    let (samples, ..) = swept(&mut engine, &grid(1).runs(&job()), Limits::none());
    let outcomes: Vec<Outcome> = samples.iter().map(|sample| sample.outcome).collect();
    use Outcome::{Completed, OutOfMemory};
    assert_eq!(outcomes, [Completed, OutOfMemory, Completed, OutOfMemory]);
}

#[test]
fn a_sweep_ends_with_the_error_of_the_first_sample_that_cannot_be_kept() {
    let (job, mut engine) = (job(), linear(false));
    let runs = grid(2).runs(&job);
    let plan = (Forecast::of(&engine, &job, &[]), Limits::none());
    let mut kept = 0;
    let result = sweep(&mut engine, &job, &runs, plan, &Interrupt::default(), &mut |_| {}, &mut |_, _, _| {
        kept += 1;
        anyhow::ensure!(kept < 3, "the disk is full");
        Ok(())
    });
    assert_eq!((result.unwrap_err().to_string().as_str(), kept), ("the disk is full", 3));
}

#[test]
fn with_a_precision_this_machine_chooses_the_next_run_and_a_cluster_keeps_the_order() {
    let runs = grid(20).runs(&job());
    let limits = || Limits::new(Some(0.02), Budget::default(), &[]);
    // Equal times: six runs of each of the four combinations make its median precise.
    for is_cluster in [false, true] {
        let (samples, _, skipped) = swept(&mut linear(is_cluster), &runs, limits());
        assert_eq!((samples.len(), skipped.precise), (24, 56), "is a cluster: {is_cluster}");
    }
    // The first combination never completes, so it never becomes precise.
    let failing =
        |configuration: &Configuration, rate: f64| (configuration.executors == 2 || rate > 0.05).then_some(40.0 * rate);
    let made = |is_cluster| {
        let (samples, ..) = swept(&mut Simulated { secs: failing, is_cluster }, &runs, limits());
        samples.iter().take(8).map(|sample| sample.outcome).filter(|outcome| *outcome == Outcome::OutOfMemory).count()
    };
    assert_eq!((made(false), made(true)), (1, 2), "this machine turns to the others first");
}
