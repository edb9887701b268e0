//! `foreglow collect`: a grid of configurations, a timing sample each.

use std::path::PathBuf;

use foreglow_shared::{Outcome, Sample, format_rate, write_csv, write_jsonl};

use super::engine_args::EngineArgs;
use super::run::DEFAULT_MEMORY_MIB;
use super::training_args::TrainingArgs;
use super::workload_args::{
    WorkloadArgs, at_least_one, check_rate, check_sizes, default_partition_size, prepare, warnings,
};
use crate::engine::{self, Engine, Job};
use crate::images::images_in_sample;
use crate::interrupt::{Interrupt, Interrupted};
use crate::output::{self, Format};
use crate::progress::Progress;
use crate::sample_table;
use crate::samples_file::SamplesFile;
use crate::sweep::{self, Grid, Run};
use crate::table::{Align, csv, table};
use crate::upload::send_or_keep;

/// Measure a CNN job on every combination of the given configurations and keep the timing samples
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

    /// File that each sample is appended to as soon as its run ends, JSON Lines. Runs that it holds already are not
    /// repeated
    #[arg(long, value_name = "FILE", default_value = "samples.jsonl")]
    output: PathBuf,

    /// Collector that each sample is sent to as well, such as http://127.0.0.1:8787
    #[arg(long, value_name = "URL")]
    upload: Option<String>,

    /// List the runs and end
    #[arg(long)]
    dry_run: bool,

    /// How the samples, or with --dry-run the runs, are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The grid.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Configurations")]
struct GridArgs {
    /// Executor processes, E
    #[arg(long, value_name = "E,…", value_delimiter = ',', default_value = "1,2")]
    executors: Vec<u32>,

    /// Threads of an executor, C
    #[arg(long, value_name = "C,…", value_delimiter = ',', default_value = "1,2")]
    cores: Vec<u32>,

    /// Upper bounds on an executor's memory, MiB [default: 2048]
    #[arg(long, value_name = "MIB,…", value_delimiter = ',')]
    memory: Vec<u32>,

    /// Images of one task, P [default: 8, or a mini-batch to train]
    #[arg(long, value_name = "P,…", value_delimiter = ',')]
    partition_size: Vec<u32>,

    /// Shares of the images, above 0 and at most 1
    #[arg(long, value_name = "SR,…", value_delimiter = ',', default_value = "0.01,0.1")]
    sampling_rate: Vec<f64>,

    /// Runs of each combination
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeat: u32,
}

impl GridArgs {
    fn grid(&self, job: &Job) -> anyhow::Result<Grid> {
        let grid = Grid {
            executors: distinct(&self.executors),
            cores: distinct(&self.cores),
            memory_mib: if self.memory.is_empty() { vec![DEFAULT_MEMORY_MIB] } else { distinct(&self.memory) },
            partition_sizes: if self.partition_size.is_empty() {
                vec![default_partition_size(job)]
            } else {
                distinct(&self.partition_size)
            },
            sampling_rates: distinct(&self.sampling_rate),
            repeat: self.repeat,
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
        check_sizes(job, &grid.executors, &grid.partition_sizes)?;
        Ok(grid)
    }
}

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let job = args.training.job(args.engine.job(&args.workload)?, &args.workload)?;
    let grid = args.grid.grid(&job)?;
    let mut engine = args.engine.engine()?;
    let all = args.engine.order(grid.runs(&job));
    let (mut file, known) = open(args)?;
    let runs = sweep::left(all.clone(), &engine, &job, &known);
    if args.dry_run {
        return output::print(&list(&runs, args.format, job.workload.images));
    }

    let progress = Progress::new();
    let most = |counts: &[u32]| counts.iter().copied().max().unwrap_or(1);
    let slots = most(&grid.executors).saturating_mul(most(&grid.cores));
    for warning in warnings(&job, engine.processors(), slots, !args.grid.memory.is_empty()) {
        progress.line(&warning);
    }
    if runs.len() < all.len() {
        let (done, of, file) = (all.len() - runs.len(), all.len(), args.output.display());
        progress.line(&format!("{done} of {of} runs are in {file} already"));
    }
    if let Engine::Spark(spark) = &engine {
        spark.check(&job, runs.iter().map(|run| &run.configuration))?;
    }
    prepare(&job, &progress)?;

    let mut samples: Vec<Sample> = Vec::new();
    let interrupt = Interrupt::on_ctrl_c();
    let result = sweep::sweep(&mut engine, &job, &runs, &interrupt, &mut |step| progress.step(&step), &mut |sample| {
        if let Some(file) = &mut file {
            file.append(&sample)?;
        }
        progress.finished(samples.len() + 1, runs.len(), &runs[samples.len()], &sample);
        if let Some(broken) = engine::broken_images(&sample).filter(|_| sample.outcome == Outcome::Completed) {
            progress.line(&format!("warning: {broken}"));
        }
        if let Some(url) = &args.upload {
            upload(url, &sample, &progress);
        }
        samples.push(sample);
        Ok(())
    });
    drop(progress);
    drop(engine);
    let shown = args.output.display();
    match result {
        Err(error) if error.is::<Interrupted>() => {
            let (kept, of) = (samples.len(), runs.len());
            anyhow::bail!(
                "interrupted: {kept} of {of} runs are kept in {shown}; the same command goes on with the rest"
            )
        }
        other => other?,
    }
    output::print(&match args.format {
        Format::Table => sample_table::many(&samples),
        Format::Json => write_jsonl(&samples),
        Format::Csv => write_csv(&samples),
    })?;
    let failed = samples.iter().filter(|sample| sample.outcome == Outcome::Failed).count();
    anyhow::ensure!(failed == 0, "{failed} of {} runs failed; their reasons are in {shown}", samples.len());
    Ok(())
}

/// The sample file and what it holds. A dry run makes no file.
fn open(args: &Args) -> anyhow::Result<(Option<SamplesFile>, Vec<Sample>)> {
    if args.dry_run && !args.output.exists() {
        return Ok((None, Vec::new()));
    }
    let (file, known) = SamplesFile::open(&args.output)?;
    Ok((Some(file), known))
}

/// Sends a sample to the collector. One that is down stops no sweep: the sample is in the file.
fn upload(url: &str, sample: &Sample, progress: &Progress) {
    if let Err(error) = send_or_keep(url, std::slice::from_ref(sample)) {
        progress.line(&format!("warning: {error:#}"));
    }
}

fn distinct<T: Copy + PartialEq>(values: &[T]) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(value) {
            distinct.push(*value);
        }
    }
    distinct
}

/// The runs that a sweep would do.
fn list(runs: &[Run], format: Format, images: u64) -> String {
    let names = ["executors", "cores", "memory MiB", "partition size", "sampling rate", "images", "repetition"];
    let plain = |run: &Run| {
        let configuration = &run.configuration;
        [
            f64::from(configuration.executors),
            f64::from(configuration.cores_per_executor),
            f64::from(configuration.memory_per_executor_mib),
            f64::from(configuration.partition_size),
            run.sampling_rate,
            images_in_sample(images, run.sampling_rate) as f64,
            f64::from(run.repetition),
        ]
    };
    match format {
        Format::Table => {
            let rows = runs.iter().map(|run| {
                let mut row: Vec<String> = plain(run).iter().map(f64::to_string).collect();
                row[4] = format_rate(run.sampling_rate);
                row[6] = (run.repetition + 1).to_string();
                row
            });
            table(&names.map(|name| (name, Align::Right)), rows)
        }
        Format::Csv => csv(
            &names.map(|name| match name {
                "memory MiB" => "memory_per_executor_mib",
                "cores" => "cores_per_executor",
                "partition size" => "partition_size",
                "sampling rate" => "sampling_rate",
                name => name,
            }),
            runs.iter().map(|run| plain(run).iter().map(f64::to_string).collect()),
        ),
        Format::Json => runs
            .iter()
            .map(|run| {
                let line = serde_json::json!({
                    "configuration": run.configuration,
                    "sampling_rate": run.sampling_rate,
                    "images": images_in_sample(images, run.sampling_rate),
                    "repetition": run.repetition,
                });
                format!("{line}\n")
            })
            .collect(),
    }
}
