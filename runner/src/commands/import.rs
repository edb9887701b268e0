//! `foreglow import`: timing samples from Spark's event logs and from other files of samples.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_shared::event_log::Labels;
use foreglow_shared::{Sample, Uuid, read_samples, write_csv, write_jsonl};

use crate::ask::read_bytes;
use crate::event_log::{LogFiles, begins_as_log, find, read};
use crate::exit::{UnusableInput, unusable};
use crate::output::{self, Format};
use crate::sample_table;
use crate::samples_file::SamplesFile;

/// Turn Spark's event logs, CSV or JSON Lines into timing samples.
///
/// A log says what ran where and for how long. Which CNN, how many images and what share of them it does not say: runs of
/// Foreglow's own carry that as properties `spark.foreglow.*`, and for others the flags below say it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Event logs, plain or compressed, folders of them, samples as CSV or JSON Lines, `-` for standard input, or the
    /// address of a history server, such as http://host:18080
    #[arg(value_name = "FILE|FOLDER|URL", required = true)]
    inputs: Vec<String>,

    /// Which application of a history server, by its ID; `all` for all of them
    #[arg(long, value_name = "ID")]
    application: Vec<String>,

    /// File that the samples are appended to, JSON Lines. Those that it holds already are not repeated
    #[arg(long, value_name = "FILE", default_value = "samples.jsonl")]
    output: PathBuf,

    /// How the samples are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    #[command(flatten)]
    labels: LabelArgs,
}

/// What an event log does not say.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "What a log does not say")]
struct LabelArgs {
    /// The CNN, such as resnet50
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// What it did with the images
    #[arg(long, value_name = "MODE", value_parser = ["inference", "training"])]
    mode: Option<String>,

    /// Side of the square that the CNN sees, pixels
    #[arg(long, value_name = "PX", value_parser = clap::value_parser!(u32).range(1..))]
    image_px: Option<u32>,

    /// Images of the whole job
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    images: Option<u64>,

    /// Passes over the images, for training
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    epochs: Option<u32>,

    /// Images that go through the CNN at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch_size: Option<u32>,

    /// Images of one task
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..))]
    partition_size: Option<u32>,

    /// Share of the images that the run processed, above 0 and at most 1
    #[arg(long, value_name = "SR")]
    sampling_rate: Option<f64>,

    /// Memory of each executor, MiB, where the log does not say it
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    memory: Option<u32>,

    /// Name of the images: times on others are not comparable
    #[arg(long, value_name = "NAME")]
    data_name: Option<String>,

    /// Accelerator that each executor held
    #[arg(long, value_name = "NAME")]
    accelerator: Option<String>,

    /// Processor of the machines: times on others are not comparable
    #[arg(long, value_name = "NAME")]
    cpu: Option<String>,

    /// Graphics adapter of the machines
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
}

impl LabelArgs {
    fn labels(&self) -> anyhow::Result<Labels> {
        self.sampling_rate.map_or(Ok(()), super::workload_args::check_rate)?;
        let number = |count: Option<u32>| count.map(|count| count.to_string());
        let given = [
            ("model", self.model.clone()),
            ("mode", self.mode.clone()),
            ("image_px", number(self.image_px)),
            ("images", self.images.map(|images| images.to_string())),
            ("epochs", number(self.epochs)),
            ("batch_size", number(self.batch_size)),
            ("partition_size", number(self.partition_size)),
            ("sampling_rate", self.sampling_rate.map(|rate| rate.to_string())),
            ("memory_per_executor_mib", number(self.memory)),
            ("data", self.data_name.clone()),
            ("accelerator", self.accelerator.clone()),
            ("cpu", self.cpu.clone()),
            ("adapter", self.adapter.clone()),
        ];
        let mut labels = Labels::default();
        given.into_iter().for_each(|(name, value)| labels.set(name, value.unwrap_or_default()));
        Ok(labels)
    }
}

/// Reads everything, keeps and prints the samples. What cannot be used is named, and stops nothing else.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let labels = args.labels.labels()?;
    let folder = tempfile::tempdir().context("a temporary folder could not be made")?;
    let (mut file, known) = SamplesFile::open(&args.output)?;
    let mut kept: BTreeSet<Uuid> = known.iter().map(|sample| sample.id).collect();
    let mut seen = BTreeSet::new();
    let mut samples: Vec<Sample> = Vec::new();
    let (mut new, mut unused) = (0, 0);
    for input in &args.inputs {
        for log in find(input, &args.application, folder.path())?.iter().filter(|log| !is_output(log, &args.output)) {
            let read = take_samples(log, &labels, &mut |sample| {
                if seen.insert(sample.id) {
                    if kept.insert(sample.id) {
                        file.append(&sample)?;
                        new += 1;
                    }
                    samples.push(sample);
                }
                Ok(())
            });
            match read {
                Err(error) if error.is::<UnusableInput>() => {
                    eprintln!("{error:#}");
                    unused += 1;
                }
                other => other?,
            }
        }
    }
    eprintln!("{} samples, {new} of them new in {}", samples.len(), args.output.display());
    output::print(&match args.format {
        Format::Table if samples.is_empty() => String::new(),
        Format::Table => sample_table::many(&samples),
        Format::Json => write_jsonl(&samples),
        Format::Csv => write_csv(&samples),
    })?;
    match unused {
        0 => Ok(()),
        1 => Err(unusable("one of the logs or files gave no sample, or not all; the reason stands above")),
        _ => {
            Err(unusable(format!("{unused} of the logs or files gave no sample, or not all; the reasons stand above")))
        }
    }
}

/// Whether it is the file to which the samples go, which may lie in a folder that is read.
fn is_output(log: &LogFiles, output: &Path) -> bool {
    let is_it = |output: &PathBuf| log.files.iter().all(|file| file.canonicalize().is_ok_and(|file| file == *output));
    output.canonicalize().is_ok_and(|output| is_it(&output))
}

/// Hands out the samples of one log, or of a file of samples.
fn take_samples(
    log: &LogFiles,
    labels: &Labels,
    take: &mut impl FnMut(Sample) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let name = &log.name;
    if let [file] = log.files.as_slice()
        && !begins_as_log(file)?
    {
        return samples_in(file, name)?.into_iter().try_for_each(take);
    }
    let read = read(log)?;
    read.notes.iter().for_each(|note| eprintln!("{name}: {note}"));
    let runs = read.application.runs().map_err(|error| unusable(format!("{name}: {error}")))?;
    for (number, run) in (1..).zip(&runs) {
        let which = if runs.len() == 1 { String::new() } else { format!(", run {number}") };
        let sample = run.sample(labels, env!("CARGO_PKG_VERSION"));
        let (sample, notes) = sample.map_err(|error| unusable(format!("{name}{which}: {error}")))?;
        notes.iter().for_each(|note| eprintln!("{name}{which}: {note}"));
        if let Some(reason) = &sample.reason {
            eprintln!("{name}{which}: {}: {reason}", sample.outcome.as_str());
        }
        take(sample)?;
    }
    Ok(())
}

fn samples_in(file: &Path, name: &str) -> anyhow::Result<Vec<Sample>> {
    read_samples(&read_bytes(file)?).map_err(|error| {
        unusable(format!("{name}: it is not a Spark event log, and as a file of samples it cannot be used: {error}"))
    })
}
