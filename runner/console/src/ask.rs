//! Selection of samples: from files, standard input or the store, and of a single job.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::{read_whole, unreadable, unusable};
use foreglow_model::extrapolated;
use foreglow_shared::{
    Context, Job, JobDefinition, JobGroup, Sample, Table, Uuid, decode, format_count, group_by_definition, list_jobs,
    measured_jobs, read_unless_cut,
};
use foreglow_store::{Filter, Location, Store};

use crate::grammar::place;
use crate::imported::difference;
use crate::progress::note;
use crate::training_runs;

/// Source of the samples, and the job to select.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Source {
    /// Sample files, JSON Lines or CSV, or files or folders of training runs; `-` for standard input
    /// [default: the store]
    #[arg(value_name = "FILE", conflicts_with = "store")]
    pub files: Vec<PathBuf>,

    /// Store to read from [default: the user's store]
    #[arg(long, value_name = "FILE|URL", help_heading = "Samples")]
    pub store: Option<Location>,

    /// CNN of the job, a name or an ONNX file
    #[arg(long, value_name = "NAME|FILE", help_heading = "Samples")]
    pub model: Option<String>,

    /// Number of the job, from the list printed if the samples contain several jobs
    #[arg(long, value_name = "N", help_heading = "Samples", value_parser = place, allow_negative_numbers = true)]
    pub context: Option<usize>,
}

impl Source {
    /// Reads all samples. Runs of a part of the job that tell their progress count as runs of the
    /// whole job.
    ///
    /// # Errors
    /// A file cannot be read, or does not hold samples.
    pub fn samples(&self) -> anyhow::Result<Vec<Sample>> {
        Ok(extrapolated(&self.measured_samples()?))
    }

    /// Reads all samples as they were measured.
    ///
    /// # Errors
    /// A file cannot be read, or does not hold samples.
    pub fn measured_samples(&self) -> anyhow::Result<Vec<Sample>> {
        if self.files.is_empty() { read_store(self.store.as_ref()) } else { read_files(&self.files) }
    }

    /// Selects one job on everything that it ran on: machine types, batch sizes, averaging
    /// intervals and partition sizes, some of which may only have runs of other CNNs, among the
    /// contexts that `is_wanted`. With `--context` it is the job of this context alone.
    ///
    /// # Errors
    /// As [`Source::pick`].
    pub fn group(&self, samples: &[Sample], is_wanted: &dyn Fn(&Context) -> bool) -> anyhow::Result<JobGroup> {
        let pick = || self.pick_among(samples, is_wanted).map(alone);
        if self.context.is_some() {
            return pick();
        }
        // Contexts without a completed run stay, because they may show configurations that run out
        // of memory.
        let is_measured = |group: &JobGroup| group.jobs.iter().any(|job| !job.observations.is_empty());
        let mut groups = group_by_definition(samples);
        groups.retain(|group| {
            is_measured(group)
                && self.is_of_model(&group.definition.model)
                && group.jobs.iter().any(|job| is_wanted(&job.context))
        });
        match (groups.pop(), groups.is_empty()) {
            (Some(group), true) => {
                note_sizes(&group.jobs.iter().collect::<Vec<_>>());
                Ok(group)
            }
            _ => pick(),
        }
    }

    /// Whether the user's choice matches this name of a CNN in the samples; true without a choice.
    /// Samples have the name of a file without its folder.
    pub fn is_of_model(&self, name: &str) -> bool {
        self.model.as_deref().is_none_or(|model| {
            let file = Path::new(model).file_name().filter(|_| model.ends_with(".onnx"));
            model == name || file.is_some_and(|file| file == name)
        })
    }

    /// Selects the job, which needs at least one completed run.
    ///
    /// # Errors
    /// No run completed, or several jobs match.
    pub fn pick(&self, samples: &[Sample]) -> anyhow::Result<Job> {
        self.pick_among(samples, &|_| true)
    }

    /// Selects the job among those that `is_wanted`. The numbers of `--context` count all jobs.
    ///
    /// # Errors
    /// As [`Source::pick`].
    pub fn pick_among(&self, samples: &[Sample], is_wanted: &dyn Fn(&Context) -> bool) -> anyhow::Result<Job> {
        let jobs = measured_jobs(samples);
        if jobs.is_empty() {
            let runs = format_count(samples.len(), "sample");
            return Err(unusable(format!(
                "no run completed ({runs}), so there are no times to fit; see their `reason`, and collect \
                again"
            )));
        }
        let wanted = |(number, job): &&(usize, Job)| {
            self.context.is_none_or(|wanted| wanted == *number)
                && self.is_of_model(&job.context.workload.model)
                && is_wanted(&job.context)
        };
        let matching: Vec<(usize, Job)> = jobs.iter().filter(wanted).cloned().collect();
        match matching.as_slice() {
            [(_, job)] => Ok(job.clone()),
            [] => Err(unusable(format!("no job in the samples matches your choice; there are:\n{}", list_jobs(&jobs)))),
            [(_, first), others @ ..] => {
                let jobs: Vec<&Job> = matching.iter().map(|(_, job)| job).collect();
                if let Some(job) = Job::of_all_sizes(&jobs) {
                    note_sizes(&jobs);
                    return Ok(job);
                }
                let all = |is: &dyn Fn(&Context) -> bool| others.iter().all(|(_, job)| is(&job.context));
                let definition = JobDefinition::of(&first.context);
                let several = if all(&|context| JobDefinition::of(context).is_same_job(&definition)) {
                    "the samples hold one job on several machine types, or with several batch sizes or averaging \
                     intervals, which `plan` compares; choose one with --context N"
                } else if all(&|context| context.workload.model == definition.model) {
                    "the samples contain several jobs of one CNN; choose one with --context N"
                } else {
                    "the samples contain several jobs; choose one with --context N, or by its CNN with --model NAME"
                };
                Err(unusable(format!("{several}:\n{}", list_jobs(&matching))))
            }
        }
    }
}

/// Returns the job of one context, without its runs elsewhere.
pub fn alone(job: Job) -> JobGroup {
    JobGroup { definition: JobDefinition::of(&job.context), jobs: vec![job], lenders: Vec::new() }
}

/// Says if jobs of several sizes are one job.
fn note_sizes(jobs: &[&Job]) {
    let measured = jobs.iter().filter(|job| !job.observations.is_empty());
    let size = |job: &&&Job| (job.context.workload.images, job.context.workload.epochs);
    let sizes: BTreeSet<(u64, u32)> = measured.map(|job| size(&job)).collect();
    let (Some(job), true) = (jobs.first(), sizes.len() > 1) else { return };
    let is_repeated = sizes.iter().any(|(_, epochs)| *epochs > 1);
    let describe = |(images, epochs): &(u64, u32)| match epochs {
        1 if !is_repeated => images.to_string(),
        1 => format!("{images} × 1 epoch"),
        _ => format!("{images} × {epochs} epochs"),
    };
    let listed = sizes.iter().map(describe).collect::<Vec<_>>().join(", ");
    let noun = job.context.workload.noun();
    note(&format!(
        "note: runs of several numbers of {noun} ({listed}) count as runs of one job; --context separates them"
    ));
}

/// Reads the samples of files, without duplicates. Of two samples with one id and other values the
/// first is kept, with a warning.
///
/// # Errors
/// A file cannot be read, or a line is not a valid sample; the message names the first.
pub fn read_files(files: &[PathBuf]) -> anyhow::Result<Vec<Sample>> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut seen: BTreeMap<Uuid, usize> = BTreeMap::new();
    for file in files {
        for sample in samples_of(file)? {
            match seen.entry(sample.id) {
                Entry::Vacant(place) => {
                    place.insert(samples.len());
                    samples.push(sample);
                }
                Entry::Occupied(place) => {
                    if let Some(difference) = difference(&samples[*place.get()], &sample) {
                        note(&format!(
                            "warning: {}: the sample {} occurs again with other values ({difference}), and only the \
                             first is used; remove one of the two",
                            name(file),
                            sample.id
                        ));
                    }
                }
            }
        }
    }
    Ok(samples)
}

/// Reads the samples of a file, or of a file or folder of training runs.
fn samples_of(file: &Path) -> anyhow::Result<Vec<Sample>> {
    if let Some(samples) = training_runs::samples(file)? {
        return Ok(samples);
    }
    let (samples, cut) =
        read_unless_cut(&read_bytes(file)?).map_err(|error| unusable(format!("{}: {error}", name(file))))?;
    if let Some(line) = cut {
        note(&format!("note: line {line} of {} was cut short, as by a crash, and is left out", name(file)));
    }
    Ok(samples)
}

fn read_store(location: Option<&Location>) -> anyhow::Result<Vec<Sample>> {
    let store = Store::open_existing(location)?;
    let samples = store.samples(&Filter::default())?;
    if samples.is_empty() {
        return Err(unusable(format!(
            "the store {} holds no samples; measure some with `foreglow demo` or `foreglow collect`",
            store.location()
        )));
    }
    Ok(samples)
}

/// Reads a file named by the user; `-` is standard input.
///
/// # Errors
/// The file is missing, a folder, or not readable.
pub fn read_bytes(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).context("standard input cannot be read")?;
        return Ok(bytes);
    }
    read_whole(file).map_err(|error| unreadable(file, &error))
}

/// Reads a text named by the user; `-` is standard input. `expected` is what the user should give.
///
/// # Errors
/// The file cannot be read, or is not text; the message names its kind.
pub fn read_text(file: &Path, expected: &str) -> anyhow::Result<String> {
    decode(&read_bytes(file)?).map_err(|error| unusable(format!("{}: {error}; give {expected}", name(file))))
}

/// Reads a table named by the user; `-` is standard input.
///
/// # Errors
/// The file cannot be read, or is not a table; the message names it.
pub fn read_table(file: &Path) -> anyhow::Result<Table> {
    Table::read(&read_bytes(file)?).map_err(|error| unusable(format!("{}: {error}", name(file))))
}

/// Returns the name of a file for messages.
pub fn name(file: &Path) -> String {
    if file == Path::new("-") { "standard input".into() } else { file.display().to_string() }
}
