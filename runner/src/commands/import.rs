//! `foreglow import`: timing samples from Spark event logs, finished jobs of clusters, and other
//! sample files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use foreglow_console::answer::predicted_before;
use foreglow_console::grammar;
use foreglow_console::imported::Imported;
use foreglow_console::kept_plans::KeptPlans;
use foreglow_console::output::{self, Format};
use foreglow_console::place::DestinationArgs;
use foreglow_console::progress::note;
use foreglow_console::run_labels::RunLabels;
use foreglow_console::sample_table;
use foreglow_console::training_runs::given_of;
use foreglow_event_log::{LogFiles, find};
use foreglow_exit::{Temporary, UnusableInput, complain, unusable};
use foreglow_import::{Given, Import, ImportError, import};
use foreglow_shared::{Context, Engine, Labels};

/// Convert Spark event logs, finished jobs, training runs, CSV or JSON Lines to timing samples.
///
/// A log records what ran where and for how long, but not the CNN, the number of images and the
/// sampling rate. Foreglow's own runs record these as properties `spark.foreglow.*`; for other runs
/// of a CNN, give them with the options below. Without any of them a log is a run of its
/// application, whose work is what it reads. An option that contradicts a log or a sample is
/// refused.
/// Finished jobs are the output of `sacct --parsable2` or `kubectl get job -o json`; each task or
/// pod is an executor. A training run is its log, its event file of TensorBoard or its folder; the
/// file `labels.csv` in a folder of several runs describes each, in a row.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Event logs, plain or compressed, or folders of them; finished jobs; files or folders of
    /// training runs; samples as CSV or JSON Lines; `-` for standard input; or the URL of a history
    /// server, such as http://host:18080
    #[arg(value_name = "FILE|FOLDER|URL", required = true)]
    inputs: Vec<OsString>,

    /// Application of a history server, by its ID; `all` for all applications
    #[arg(long, value_name = "ID")]
    application: Vec<String>,

    #[command(flatten)]
    place: DestinationArgs,

    /// Output format of the samples
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    #[command(flatten)]
    labels: LabelArgs,
}

/// Values that an event log does not contain.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Values missing in a log")]
struct LabelArgs {
    /// Name of the CNN, such as resnet50, or of the application
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Mode of the job
    #[arg(long, value_name = "MODE", value_parser = ["inference", "training"])]
    mode: Option<String>,

    /// Side of the CNN's square input, pixels
    #[arg(long, value_name = "PX", value_parser = grammar::count, allow_negative_numbers = true)]
    image_px: Option<u32>,

    /// Images of the whole job
    #[arg(long, value_name = "N", value_parser = grammar::large_count, allow_negative_numbers = true)]
    images: Option<u64>,

    /// Steps of the whole job of a training run, in the place of images
    #[arg(long, value_name = "N", conflicts_with = "images", value_parser = grammar::count, allow_negative_numbers = true)]
    steps: Option<u32>,

    /// Passes over the images, for training
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    epochs: Option<u32>,

    /// Images per mini-batch
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    batch_size: Option<u32>,

    /// Images per task
    #[arg(long, value_name = "P", value_parser = grammar::count, allow_negative_numbers = true)]
    partition_size: Option<u32>,

    /// Share of the images that the run processed, above 0 and at most 1; of a file with several
    /// runs the share of each, in their order: 0.1,0.1,1
    #[arg(long, value_name = "SR", value_parser = grammar::rate, value_delimiter = ',', allow_negative_numbers = true)]
    sampling_rate: Vec<f64>,

    /// Memory per executor if it is not in the log: 2048 (MiB), 512m, 2g
    #[arg(long, value_name = "SIZE", value_parser = grammar::mib, allow_negative_numbers = true)]
    memory: Option<u32>,

    /// Name of the data set: times on different data sets are not comparable
    #[arg(long, value_name = "NAME")]
    data_name: Option<String>,

    /// Name of each executor's accelerator, such as "NVIDIA A10G", if the log says only gpu
    #[arg(long, value_name = "NAME")]
    accelerator: Option<String>,

    /// GPUs of a training run
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    gpus: Option<u32>,

    /// CPU model of the machines: times on different models are not comparable
    #[arg(long, value_name = "NAME")]
    cpu: Option<String>,

    /// Engine of finished jobs [default: local]
    #[arg(long, value_name = "ENGINE", value_parser = ["local", "spark"])]
    engine: Option<String>,

    /// Graphics adapter of the machines
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// Machine type of the machines, such as g5.xlarge
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,

    /// Step of Slurm's jobs that did the work: its number, or batch for the script [default: the
    /// step of srun that took at least half of the job's time, if the others took a tenth at most]
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
}

impl LabelArgs {
    fn given(&self) -> Given {
        let number = |count: Option<u32>| count.map(|count| count.to_string());
        let given = [
            ("model", self.model.clone()),
            ("mode", self.mode.clone()),
            ("image_px", number(self.image_px)),
            ("images", self.images.map(|images| images.to_string())),
            ("steps", number(self.steps)),
            ("epochs", number(self.epochs)),
            ("batch_size", number(self.batch_size)),
            ("partition_size", number(self.partition_size)),
            ("memory_per_executor_mib", number(self.memory)),
            ("data", self.data_name.clone()),
            ("accelerator", self.accelerator.clone()),
            ("gpus", number(self.gpus)),
            ("cpu", self.cpu.clone()),
            ("adapter", self.adapter.clone()),
        ];
        let mut labels = Labels::default();
        given.into_iter().for_each(|(name, value)| labels.set(name, value.unwrap_or_default()));
        Given {
            labels,
            sampling_rates: self.sampling_rate.clone(),
            engine: self.engine.as_deref().map(|name| if name == "spark" { Engine::Spark } else { Engine::Local }),
            step: self.step.clone(),
            machine: self.machine.clone(),
            ..Given::default()
        }
    }
}

/// Reads all inputs, saves and prints the samples. An input that cannot be used is reported and
/// does not stop the others, if there are any.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let given = args.labels.given();
    let folder = Temporary::folder()?;
    let (place, known) = args.place.open()?;
    let output = place.location();
    let mut imported = Imported::new(place, known, KeptPlans::of_user());
    let mut problems = Problems::default();
    let (mut read, mut rated) = (Vec::new(), BTreeMap::new());
    let labels = RunLabels::in_folders(args.inputs.iter().map(Path::new))?;
    let mut found = find(&args.inputs, &args.application, folder.path());
    if found.len() == 1
        && let Some(Err(error)) = found.pop_if(|log| log.is_err())
    {
        return Err(error);
    }
    for log in found {
        let log = match log {
            Ok(log) if output.file().is_some_and(|output| is_output(&log, output)) => continue,
            Ok(log) if log.files.iter().all(|file| labels.contains(file)) => continue,
            Ok(log) => log,
            Err(error) => {
                problems.note(&error);
                continue;
            }
        };
        match read_samples(&log, &given_of(&log, given.clone(), &labels)?, &mut problems) {
            Err(error) if error.is::<UnusableInput>() => problems.note(&error),
            other => {
                let mut of_log = other?;
                if of_log.rated.is_empty() {
                    of_log.samples.drain(..).try_for_each(|sample| imported.take(sample))?;
                }
                // Whether one rate is right for all shows when all files are read.
                read.append(&mut of_log.samples);
                rated.append(&mut of_log.rated);
            }
        }
    }
    given.check_rate(&rated).map_err(|error| unusable(error.to_string()))?;
    read.into_iter().try_for_each(|sample| imported.take(sample))?;
    note(&imported.summary());
    predicted_before(imported.new_samples(), imported.kept()).iter().for_each(|sentence| note(sentence));
    if let Some(sample) = imported.samples().last() {
        note(&format!("Next: {}", args.place.next_command(&Context::of(sample), imported.kept())));
    }
    let samples = imported.samples();
    let table = || match samples {
        [] => String::new(),
        [run] if run.progress.is_some() => sample_table::one(run),
        runs => sample_table::many(runs),
    };
    output::print(&args.format.samples(samples, table))?;
    match imported.contradiction(&args.place) {
        Some(sentence) => Err(unusable(sentence)),
        None => problems.result(),
    }
}

/// Inputs without usable samples, which do not stop the others.
#[derive(Debug, Default)]
struct Problems {
    count: usize,
    /// Whether one of them is a failure, such as of a history server, and no fault of the input.
    is_failure: bool,
}

impl Problems {
    /// Reports a problem.
    fn note(&mut self, error: &anyhow::Error) {
        complain(&format!("{error:#}"));
        self.count += 1;
        self.is_failure |= !error.is::<UnusableInput>();
    }

    /// Returns the result of the command.
    fn result(&self) -> anyhow::Result<()> {
        let sentence = match self.count {
            0 => return Ok(()),
            1 => "one of the logs or files could not be imported completely; see the reason above".to_owned(),
            count => {
                format!("{count} of the logs or files could not be imported completely; see the reasons above")
            }
        };
        Err(if self.is_failure { anyhow::anyhow!(sentence) } else { unusable(sentence) })
    }
}

/// Returns whether a log is the output file, which may be in an input folder.
fn is_output(log: &LogFiles, output: &Path) -> bool {
    let is_it = |output: &PathBuf| log.files.iter().all(|file| file.canonicalize().is_ok_and(|file| file == *output));
    output.canonicalize().is_ok_and(|output| is_it(&output))
}

/// Reads the samples of a log or file.
fn read_samples(log: &LogFiles, given: &Given, problems: &mut Problems) -> anyhow::Result<Import> {
    let name = &log.name;
    let found = import(log.input()?, given).map_err(|error| match error {
        ImportError::Samples(error) => {
            unusable(format!("{name}: it is neither a Spark event log nor a usable sample file: {error}"))
        }
        error => unusable(format!("{name}: {error}")),
    })?;
    found.notes.iter().for_each(|of_log| note(&format!("{name}: {of_log}")));
    if !found.problems.is_empty() {
        problems.note(&unusable(format!("{name}: {}", found.problems.join("; "))));
    }
    Ok(found)
}
