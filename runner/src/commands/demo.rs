//! `foreglow demo`: the main job, without arguments.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use foreglow_collector::{Access, Collector};
use foreglow_console::answer::{Check, DemoAnswer, PlanAnswer, ScenarioTableAnswer, fit};
use foreglow_console::grammar::{self, duration_secs};
use foreglow_console::output::{self, Format};
use foreglow_console::progress::{Progress, note, result};
use foreglow_console::question::Bill;
use foreglow_engine::sweep::{self, Forecast, Limits, Run};
use foreglow_engine::{self as engine, Local};
use foreglow_exit::{Interrupt, Interrupted};
use foreglow_machine::warnings_of;
use foreglow_measurement::DEFAULT_MEMORY_MIB;
use foreglow_measurement::upload::{Upload, UploadArgs};
use foreglow_measurement::workload::{WorkloadArgs, check_sizes, prepare, warn};
use foreglow_model::{Grid, Prediction, Predictor, Scenario, Setting};
use foreglow_shared::{
    Context, CoreSplit, Job, LeftOut, Observation, Outcome, Question, Sample, View, group_by_context,
};
use foreglow_store::{Filter, Location, Store};

use super::serve;

/// Configurations of the demo, as executors and cores per executor.
#[derive(Clone, Copy)]
struct Plan {
    /// Configurations measured on small samples.
    grid: &'static [(u32, u32)],
    /// Runs of each of them at each sampling rate.
    repeat: u32,
    /// Configuration that is first predicted and then measured, to check the prediction.
    left_out: (u32, u32),
    /// Configurations that are also measured on the whole job with `--scenarios`.
    whole: &'static [(u32, u32)],
}

/// The plan for a machine with few processors.
const PLAN: Plan =
    Plan { grid: &[(1, 1), (1, 2), (2, 1)], repeat: 3, left_out: (2, 2), whole: &[(1, 1), (1, 2), (2, 1)] };
/// The plan for a machine with one GPU, and therefore one executor.
const PLAN_OF_ONE_EXECUTOR: Plan =
    Plan { grid: &[(1, 1), (1, 2), (1, 4)], repeat: 3, left_out: (1, 3), whole: &[(1, 1), (1, 2), (1, 4)] };
/// The plan for 8 cores or more, including slow ones. The whole job runs only on fast
/// configurations.
const PLAN_OF_EIGHT_CORES: Plan = Plan {
    grid: &[(1, 1), (1, 2), (2, 1), (2, 2), (4, 1)],
    repeat: 2,
    left_out: (4, 2),
    whole: &[(2, 2), (4, 1), (2, 1)],
};
/// Cores of [`PLAN_OF_EIGHT_CORES`].
const EIGHT_CORES: u32 = 8;
/// Share of the processors that slow cores use together; the rest is for other programs, so that
/// they do not disturb the runs.
const USED_SHARE: f64 = 0.8;
const SMALL_RATES: [f64; 2] = [0.01, 0.1];
/// Repetitions on GPUs, where every run compiles and tunes its kernels first.
const REPEAT_ON_GPU: u32 = 1;
/// Default deadline, as a position between the fastest configuration's time (0) and one core's time
/// (1).
const DEADLINE_PLACE: f64 = 0.5;

/// Measure a real CNN here on small samples, predict the whole job, check the prediction, and open
/// the planner
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,

    /// Images per task, P
    #[arg(long, value_name = "P", default_value_t = 8, help_heading = "Job", value_parser = grammar::count, allow_negative_numbers = true)]
    partition_size: u32,

    /// Deadline: 90s, 5m, 1h30m [default: half-way between the fastest configuration and one core]
    #[arg(long, value_name = "TIME", help_heading = "Question", value_parser = duration_secs, allow_negative_numbers = true)]
    deadline: Option<f64>,

    #[command(flatten)]
    bill: Bill,

    /// Also measure the whole job on three configurations, and show the error of the published
    /// scenarios on all samples
    #[arg(long, help_heading = "Question")]
    scenarios: bool,

    /// Exit after the answer instead of serving the planner
    #[arg(long, help_heading = "Planner")]
    once: bool,

    /// Address of the planner [default: 127.0.0.1:8787, or a free port if that is in use]
    #[arg(long, value_name = "ADDRESS", help_heading = "Planner", value_parser = serve::address)]
    listen: Option<SocketAddr>,

    /// Store for the samples [default: the user's store]
    #[arg(long, value_name = "FILE|URL", help_heading = "Output")]
    store: Option<Location>,

    #[command(flatten)]
    upload: UploadArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t, help_heading = "Output")]
    format: Format,
}

/// Measures, predicts, checks, answers and serves.
pub fn run(args: &Args) -> anyhow::Result<()> {
    // Binds the address first, so that a port in use is reported before the measurement.
    let collector = if args.once { None } else { Some(listen(args.listen)?) };
    let mut job = args.workload.job()?;
    if args.workload.core_share.is_none() {
        job.core_share = slow_cores(&job);
    }
    let plan = match job.host().processors {
        _ if job.device.most_executors() == Some(1) => PLAN_OF_ONE_EXECUTOR,
        Some(EIGHT_CORES..) if job.device.accelerator().is_none() => PLAN_OF_EIGHT_CORES,
        _ => PLAN,
    };
    let repeat = if job.device.accelerator().is_some() { REPEAT_ON_GPU } else { plan.repeat };
    let plan = Plan { repeat, ..plan };
    check_sizes(&job, &[plan.left_out.0], &[args.partition_size])?;
    let store = Store::open(args.store.as_ref())?;
    let mut bench = Bench {
        job: &job,
        plan,
        partition_size: args.partition_size,
        store,
        upload: args.upload.start()?,
        progress: Progress::default(),
        interrupt: Interrupt::on_signals(),
    };

    bench.prepare()?;
    bench.measure("Small samples", &bench.small())?;
    let (executors, cores_per_executor) = plan.left_out;
    let whole = Setting::even(executors, cores_per_executor, 1.0);
    let predicted = fit(&without(bench.known()?, plan.left_out))?.predict(whole);
    let checked = bench.measure("The whole job, to check the prediction", &bench.whole(args.scenarios))?;

    // The answer uses the same samples as the planner.
    let known = bench.known()?;
    let predictor = fit(&known)?;
    let mut question = args.bill.about(&known)?;
    question.deadline_secs = args.deadline.or_else(|| usual_deadline_secs(plan, &predictor, question.probability));
    let decision = PlanAnswer::of_context(&known, predictor.clone(), &question)?;
    question.what_if = decision.what_if().unwrap_or(question.what_if);
    let planner = collector.as_ref().map_or_else(|| serve::DEFAULT_PLANNER.to_owned(), Collector::url);
    let samples = bench.samples(&known.context)?;
    // The full grid of `evaluate` would take longer than the rest of the demo.
    let table = || ScenarioTableAnswer::new(&known, &Scenario::ALL, Grid::Linear, &|_, _, _| {});
    let scenarios = args.scenarios.then(table).transpose()?;
    let link = link(known, question, &planner);
    let answer = DemoAnswer::new(
        samples,
        scenarios,
        decision,
        Check::new(&predicted, &checked, &predictor.predict(whole)),
        link,
    );
    let store = bench.finish();
    output::print(&answer.render(args.format))?;

    match collector {
        None => Ok(()),
        Some(collector) => {
            note(&format!(
                "\nThe planner is at {} (Ctrl-C ends it); samples are kept in {}",
                collector.url(),
                store.location()
            ));
            collector.run(store)
        }
    }
}

/// The job to measure, and the store for its samples.
struct Bench<'a> {
    job: &'a engine::Job,
    plan: Plan,
    partition_size: u32,
    store: Store,
    upload: Upload,
    progress: Progress,
    interrupt: Interrupt,
}

impl Bench<'_> {
    fn prepare(&self) -> anyhow::Result<()> {
        let (name, workload) = (self.job.device.name(), &self.job.workload);
        self.progress.line(&format!("{} on {name}, {} {}", workload.model, workload.images, workload.noun()));
        let host = self.job.host();
        if let Some((cores, speed)) = host.processors.zip(host.describe_slow_cores()) {
            self.progress.line(&format!(
                "CPU quotas divide the processors of this machine into {cores} {speed}, so that 8 cores scale like \
                 those of a larger machine; --core-share 100% measures whole processors"
            ));
        }
        warn(self.job, self.job.host().processors, 1, false, &self.progress);
        prepare(self.job, &self.progress)
    }

    /// Returns the runs to learn from, in ascending order of work.
    fn small(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for sampling_rate in SMALL_RATES {
            for repetition in 0..self.plan.repeat {
                runs.extend(self.plan.grid.iter().map(|size| self.run(*size, sampling_rate, repetition)));
            }
        }
        runs
    }

    /// Returns the runs of the whole job: the held-out configuration first, then the others for the
    /// published scenarios.
    fn whole(&self, for_scenarios: bool) -> Vec<Run> {
        let mut configurations = vec![self.plan.left_out];
        configurations.extend(self.plan.whole.iter().filter(|_| for_scenarios));
        configurations.into_iter().map(|configuration| self.run(configuration, 1.0, 0)).collect()
    }

    fn run(&self, (executors, cores): (u32, u32), sampling_rate: f64, repetition: u32) -> Run {
        let configuration =
            self.job.configuration(CoreSplit::even(executors, cores), DEFAULT_MEMORY_MIB, self.partition_size);
        Run { workload: self.job.workload.clone(), configuration, sampling_rate, repetition }
    }

    /// Makes the runs, saves each sample at once, and returns the first.
    fn measure(&mut self, what: &str, runs: &[Run]) -> anyhow::Result<Sample> {
        self.progress.line(&format!("\n{what}: {} runs", runs.len()));
        let mut first = None;
        let Self { job, store, upload, progress, interrupt, .. } = self;
        let plan = (Forecast::of(&Local, job, &[]), Limits::none());
        let mut keep = |number: usize, run: &Run, sample: Sample| {
            store.insert(std::slice::from_ref(&sample))?;
            upload.send(&sample, progress);
            progress.finished(number + 1, runs.len(), run, &sample);
            warnings_of(&sample).into_iter().for_each(|warning| progress.warn(warning));
            anyhow::ensure!(sample.outcome == Outcome::Completed, "a run did not complete: {}", result(&sample));
            first.get_or_insert(sample);
            Ok(())
        };
        match sweep::sweep(&mut Local, job, runs, plan, interrupt, &mut |step| progress.step(&step), &mut keep) {
            Err(error) if error.is::<Interrupted>() => {
                return Err(Interrupted::with(format!(
                    "interrupted: finished runs are saved in {}; `foreglow demo` starts again",
                    store.location()
                )));
            }
            other => drop(other?),
        }
        first.context("there was nothing to measure")
    }

    /// Returns all runs of this job in the store, including earlier ones, as the planner shows
    /// them.
    fn known(&self) -> anyhow::Result<Job> {
        let host = self.job.host().without_addresses();
        let mut jobs = group_by_context(&self.store.samples(&Filter::default())?).into_iter();
        let is_this_job = |job: &Job| {
            job.context.workload == self.job.workload
                && job.context.host == host
                && job.context.accelerator.as_deref() == self.job.device.accelerator()
                && job.context.shares_accelerators == self.job.device.is_shared()
        };
        jobs.find(is_this_job).context("the measured samples are missing in the store")
    }

    fn samples(&self, context: &Context) -> anyhow::Result<Vec<Sample>> {
        let mut samples = self.store.samples(&Filter::default())?;
        samples.retain(|sample| Context::of(sample) == *context);
        Ok(samples)
    }

    fn finish(self) -> Store {
        drop(self.progress);
        self.upload.finish();
        self.store
    }
}

/// Returns the share of a processor per core that gives a small machine eight cores; `None` for
/// whole processors, that is on a larger machine, on a GPU, or if the system does not permit
/// quotas.
fn slow_cores(job: &engine::Job) -> Option<f64> {
    let processors = job.host().processors.filter(|count| *count < EIGHT_CORES)?;
    let share = (USED_SHARE * f64::from(processors) / f64::from(EIGHT_CORES) * 100.0).floor() / 100.0;
    (job.device.accelerator().is_none() && engine::allows_cpu_quotas()).then_some(share)
}

fn listen(wanted: Option<SocketAddr>) -> anyhow::Result<Collector> {
    let bind = |address| Collector::bind(address, Access::default());
    match wanted {
        Some(address) => bind(address),
        None => bind(SocketAddr::from((Ipv4Addr::LOCALHOST, serve::DEFAULT_PORT)))
            .or_else(|_taken| bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))),
    }
}

/// Returns the job without the runs of a configuration, including those of earlier demos.
fn without(job: Job, (executors, cores): (u32, u32)) -> Job {
    let other = |run: &Observation| (run.executors, run.cores_per_executor) != (executors, cores);
    Job { observations: job.observations.into_iter().filter(other).collect(), ..job }
}

fn link(job: Job, question: Question, planner: &str) -> String {
    View { job, question, pins: Vec::new(), left_out: LeftOut::default(), compared: Vec::new() }.to_link(planner)
}

/// Returns a deadline that the fastest configuration meets with this probability and slower ones
/// miss, if the difference is large enough. Rounded up to whole seconds from 10 s on.
fn usual_deadline_secs(plan: Plan, predictor: &Predictor, probability: f64) -> Option<f64> {
    let predict =
        |(executors, cores_per_executor)| predictor.predict(Setting::even(executors, cores_per_executor, 1.0));
    let slowest = predict(plan.grid[0]).completion_time_secs?;
    let kept = |prediction: Prediction| {
        let ratio = prediction.spread.map_or(1.0, |spread| spread.quantile(probability));
        Some(prediction.completion_time_secs? * if ratio.is_finite() { ratio } else { 1.0 })
    };
    let fastest =
        plan.grid.iter().chain([&plan.left_out]).copied().map(predict).filter_map(kept).min_by(f64::total_cmp)?;
    let secs = fastest.max(fastest + (slowest - fastest) * DEADLINE_PLACE);
    Some(if secs >= 10.0 { secs.ceil() } else { (secs * 100.0).ceil() / 100.0 })
}
