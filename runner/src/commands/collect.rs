//! `foreglow collect`: measures a grid of configurations.

use std::path::PathBuf;
use std::time::Duration;

use foreglow_model::Repetitions;
use foreglow_shared::{Outcome, PriceSheet, Sample, Workload, write_csv, write_jsonl};

use super::dry_run::list;
use super::engine_args::EngineArgs;
use super::run::DEFAULT_MEMORY_MIB;
use super::training_args::TrainingArgs;
use super::workload_args::{
    WorkloadArgs, at_least_one, check_rate, check_sizes, default_partition_size, distinct, prepare, warn,
};
use crate::engine::{self, Engine, Job};
use crate::exit::unusable;
use crate::interrupt::{Interrupt, Interrupted};
use crate::machine::{Warning, warnings_of};
use crate::output::{self, Format};
use crate::progress::Progress;
use crate::question::{duration_secs, money, read_prices, share};
use crate::sample_table;
use crate::samples_file::SamplesFile;
use crate::sweep::{self, Budget, Forecast, Grid, Limits, Tally};
use crate::upload::send_or_keep;

/// Default of `--repeat` with `--precision`.
const MOST_REPEATS: u32 = 20;

/// Measure a CNN job on a grid of configurations and save the timing samples
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    workload: WorkloadArgs,

    #[command(flatten)]
    training: TrainingArgs,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    engine: EngineArgs,

    #[command(flatten)]
    budget: BudgetArgs,

    /// File to append each sample to as soon as its run ends, JSON Lines. Runs already in the file
    /// are not repeated
    #[arg(long, value_name = "FILE", default_value = "samples.jsonl")]
    output: PathBuf,

    /// Collector to send each sample to as well, such as http://127.0.0.1:8787
    #[arg(long, value_name = "URL")]
    upload: Option<String>,

    /// List the runs with their expected time and cost, and exit
    #[arg(long)]
    dry_run: bool,

    /// Output format of the samples, or of the runs with --dry-run
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Dimensions of the grid.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Configurations")]
struct GridArgs {
    /// Executor processes, E [default: 1,2, but at most one for each GPU]
    #[arg(long, value_name = "E,…", value_delimiter = ',')]
    executors: Vec<u32>,

    /// Threads per executor, C
    #[arg(long, value_name = "C,…", value_delimiter = ',', default_value = "1,2")]
    cores: Vec<u32>,

    /// Memory limits of an executor, MiB [default: 2048]
    #[arg(long, value_name = "MIB,…", value_delimiter = ',')]
    memory: Vec<u32>,

    /// Images per task, P [default: 8, or a mini-batch for training]
    #[arg(long, value_name = "P,…", value_delimiter = ',')]
    partition_size: Vec<u32>,

    /// Sampling rates, above 0 and at most 1
    #[arg(long, value_name = "SR,…", value_delimiter = ',', default_value = "0.01,0.1")]
    sampling_rate: Vec<f64>,

    /// Runs of each combination; with --precision the maximum [default: 1, with --precision 20]
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,

    /// Repeat each combination until the 95 % confidence half-width is below this share of the
    /// median, such as 2%; this takes at least 6 runs
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true)]
    precision: Option<f64>,
}

/// Budget of the sweep.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Budget")]
struct BudgetArgs {
    /// Skip runs that would not end within this time from the start: 90s, 10m, 1h30m
    #[arg(long, value_name = "TIME", value_parser = duration_secs, allow_negative_numbers = true)]
    budget_time: Option<f64>,

    /// Skip runs that would exceed this budget, in the currency of the prices: 0.5
    #[arg(long, value_name = "MONEY", value_parser = money, allow_negative_numbers = true)]
    budget_money: Option<f64>,

    /// Price sheet, JSON [default: a published list price for the hardware]
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

impl BudgetArgs {
    fn prices(&self, job: &Job) -> anyhow::Result<PriceSheet> {
        self.prices.as_deref().map_or_else(|| Ok(PriceSheet::usual_for(job.device.accelerator())), read_prices)
    }

    fn budget(&self, prices: PriceSheet, job: &Job) -> anyhow::Result<Budget> {
        if self.budget_money.is_some() {
            prices.check_for(job.device.accelerator()).map_err(|error| unusable(format!("--budget-money: {error}")))?;
        }
        Ok(Budget {
            time: self.budget_time.and_then(|secs| Duration::try_from_secs_f64(secs).ok()),
            money: self.budget_money.map(|money| (money, prices)),
        })
    }
}

impl GridArgs {
    fn grid(&self, job: &Job, workloads: Vec<Workload>) -> anyhow::Result<Grid> {
        let grid = Grid {
            workloads,
            executors: if self.executors.is_empty() { default_executors(job) } else { distinct(&self.executors) },
            cores: distinct(&self.cores),
            memory_mib: if self.memory.is_empty() { vec![DEFAULT_MEMORY_MIB] } else { distinct(&self.memory) },
            partition_sizes: if self.partition_size.is_empty() {
                vec![default_partition_size(job)]
            } else {
                distinct(&self.partition_size)
            },
            sampling_rates: distinct(&self.sampling_rate),
            repeat: self.repeat.unwrap_or(if self.precision.is_some() { MOST_REPEATS } else { 1 }),
        };
        at_least_one("--repeat", grid.repeat)?;
        for (option, counts) in [
            ("--executors", &grid.executors),
            ("--cores", &grid.cores),
            ("--memory", &grid.memory_mib),
            ("--partition-size", &grid.partition_sizes),
        ] {
            for count in counts {
                at_least_one(option, *count)?;
            }
        }
        for rate in &grid.sampling_rates {
            check_rate(*rate)?;
        }
        for workload in &grid.workloads {
            check_sizes(&job.with(workload.clone()), &grid.executors, &grid.partition_sizes)?;
        }
        Ok(grid)
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let (job, workloads) = args.engine.job_and_workloads(&args.workload)?;
    let (job, workloads) = args.training.job_and_workloads(job, workloads, &args.workload)?;
    let grid = args.grid.grid(&job, workloads)?;
    let mut engine = args.engine.engine()?;
    let prices = args.budget.prices(&job)?;
    let budget = args.budget.budget(prices.clone(), &job)?;
    let all = args.engine.order(grid.runs(&job));
    let (mut file, known) = open(args)?;
    let runs = sweep::left(all.clone(), &engine, &job, &known);
    let forecast = Forecast::of(&engine, &job, &known);
    if args.dry_run {
        return output::print(&list(&runs, &forecast, &prices, args.format));
    }

    let progress = Progress::new();
    let most = |counts: &[u32]| counts.iter().copied().max().unwrap_or(1);
    let slots = most(&grid.executors).saturating_mul(most(&grid.cores));
    warn(&job, engine.processors(), slots, !args.grid.memory.is_empty(), &progress);
    if runs.len() < all.len() {
        let (done, of, file) = (all.len() - runs.len(), all.len(), args.output.display());
        progress.line(&format!("{done} of {of} runs are already in {file}"));
    }
    if let Engine::Spark(spark) = &engine {
        spark.check(&job, runs.iter().map(|run| &run.configuration))?;
    }
    prepare(&job, &progress)?;

    let mut samples: Vec<Sample> = Vec::new();
    let limits = Limits::new(args.grid.precision, budget, &sweep::of_these_machines(&engine, &job, &known));
    let mut keep = |number: usize, sample: Sample| {
        if let Some(file) = &mut file {
            file.append(&sample)?;
        }
        progress.finished(number + 1, runs.len(), &runs[number], &sample);
        if let Some(broken) = engine::broken_images(&sample).filter(|_| sample.outcome == Outcome::Completed) {
            progress.line(&format!("warning: {broken}"));
        }
        warnings_of(&sample).into_iter().for_each(|warning| progress.warn(warning));
        if let Some(url) = &args.upload {
            upload(url, &sample, &progress);
        }
        samples.push(sample);
        Ok(())
    };
    let interrupt = Interrupt::on_ctrl_c();
    let plan = (forecast, limits);
    let result = sweep::sweep(&mut engine, &job, &runs, plan, &interrupt, &mut |step| progress.step(&step), &mut keep);
    let mut of_grid = sweep::of_these_machines(&engine, &job, &known);
    of_grid.retain(|sample| all.iter().any(|run| run.is_of(sample)));
    let combinations = sweep::combinations(of_grid.into_iter().chain(&samples));
    let noisy = |(_, times): &(_, Vec<f64>)| Warning::of_repetitions(times.len(), &Repetitions::of(times)?);
    combinations.iter().filter_map(noisy).for_each(|warning| progress.warn(warning));
    drop(progress);
    drop(engine);
    let shown = args.output.display();
    let tally = match result {
        Err(error) if error.is::<Interrupted>() => {
            let (kept, of) = (samples.len(), runs.len());
            anyhow::bail!(
                "interrupted: {kept} of {of} runs are saved in {shown}; the same command continues with the rest"
            )
        }
        other => other?,
    };
    say(tally);
    output::print(&match args.format {
        Format::Table => {
            let repeated = sample_table::repeated(&combinations);
            sample_table::many(&samples) + &repeated.map_or_else(String::new, |repeated| format!("\n{repeated}"))
        }
        Format::Json => write_jsonl(&samples),
        Format::Csv => write_csv(&samples),
    })?;
    let failed = samples.iter().filter(|sample| sample.outcome == Outcome::Failed).count();
    anyhow::ensure!(failed == 0, "{failed} of {} runs failed; their reasons are in {shown}", samples.len());
    Ok(())
}

/// Numbers of executors if the user names none: as many as there are GPUs for.
fn default_executors(job: &Job) -> Vec<u32> {
    let most = job.device.most_executors().unwrap_or(u32::MAX);
    [1, 2].into_iter().filter(|executors| *executors <= most).collect()
}

/// Reports the runs that were not made.
fn say(Tally { precise, over_budget }: Tally) {
    if precise > 0 {
        eprintln!("{precise} runs were skipped: the medians of their combinations are precise enough");
    }
    if over_budget > 0 {
        eprintln!("{over_budget} runs exceed the remaining budget; the same command makes them with a new budget");
    }
}

/// Opens the sample file and reads its samples. A dry run creates no file.
fn open(args: &Args) -> anyhow::Result<(Option<SamplesFile>, Vec<Sample>)> {
    if args.dry_run && !args.output.exists() {
        return Ok((None, Vec::new()));
    }
    let (file, known) = SamplesFile::open(&args.output)?;
    Ok((Some(file), known))
}

/// Sends a sample to the collector. A failure does not stop the sweep, because the sample is in the
/// file.
fn upload(url: &str, sample: &Sample, progress: &Progress) {
    if let Err(error) = send_or_keep(url, std::slice::from_ref(sample)) {
        progress.line(&format!("warning: {error:#}"));
    }
}
