//! The job that `run`, `collect` and `demo` measure, as arguments.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use foreglow_shared::{DataSet, TextInput, Workload};

use crate::cnn::{Architecture, Input, USUAL_VECTOR_DIMS};
use crate::device::{self, Chosen, Wish};
use crate::engine::Job;
use crate::exit::unusable;
use crate::grammar::{self, Counts};
use crate::images::Format;
use crate::input::{Drawing, Kind, Source, identity};
use crate::machine::Warning;
use crate::progress::Progress;
use crate::texts::{self, Words};

/// Images that go through the CNN at once where the person names no number.
const DEFAULT_BATCH_SIZE: u32 = 8;
/// Images of a job where neither the person nor a folder says how many.
const DEFAULT_IMAGES: u64 = 3200;
const LARGEST_JOB: u64 = 1 << 32;
/// The most frequent words that count where the person names no number: BigDL's.
const DEFAULT_VOCABULARY: u32 = 5000;

/// The job.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Job")]
pub struct WorkloadArgs {
    /// The CNN; `foreglow models` lists them
    #[arg(long, value_name = "NAME", default_value = "resnet18")]
    pub model: String,

    /// Images, or texts, of the whole job [default: all of --data, or 3200]
    #[arg(long, value_name = "N", value_parser = grammar::large_count, allow_negative_numbers = true)]
    pub images: Option<u64>,

    /// The images: a folder of JPEG or PNG files with its sub-folders, or TFRecord, CIFAR-10, IDX or BSON files; for a
    /// classifier of texts a folder of text files [default: what Foreglow draws]
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,

    /// Format of the images
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub data_format: Format,

    /// Vectors of the words, where --data has texts: a GloVe file, such as glove.6B.200d.txt
    #[arg(long, value_name = "FILE", requires = "data")]
    pub vectors: Option<PathBuf>,

    /// The texts' most frequent words, of which those after the tenth count [default: 5000]
    #[arg(long, value_name = "N", requires = "data", value_parser = grammar::count, allow_negative_numbers = true)]
    pub vocabulary: Option<u32>,

    /// Broken images or texts that a run skips before it fails [default: 1 in 100]
    #[arg(long, value_name = "N", value_parser = grammar::whole_number, allow_negative_numbers = true)]
    pub max_broken: Option<u64>,

    /// What Foreglow draws where there is no --data [default: photographs, or texts for a classifier of texts]
    #[arg(long, value_enum, conflicts_with = "data")]
    pub draw: Option<Drawing>,

    /// Where drawn data are kept [default: the user's cache directory; FOREGLOW_CACHE]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Side of the square that the CNN sees, pixels; `foreglow collect` takes several [default: the CNN's]
    #[arg(long, value_name = "PX,…", value_parser = grammar::counts, allow_negative_numbers = true)]
    pub image_px: Option<Counts>,

    /// Words of each text that a classifier of texts sees; `foreglow collect` takes several [default: the classifier's]
    #[arg(long, value_name = "N,…", value_parser = grammar::counts, allow_negative_numbers = true)]
    pub words: Option<Counts>,

    /// Images or texts that go through the CNN at once; `foreglow collect` takes several [default: 8, or 32 to train]
    #[arg(long, value_name = "N,…", value_parser = grammar::counts, allow_negative_numbers = true)]
    pub batch_size: Option<Counts>,

    /// auto, cpu, gpu, or the number or name of one that `foreglow devices` lists
    #[arg(long, value_name = "DEVICE", default_value_t = Wish::Auto)]
    pub device: Wish,

    /// Decides which images are in a sample, and the weights of the CNN
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = grammar::whole_number, allow_negative_numbers = true)]
    pub seed: u64,

    /// Longest completion time of a run: 90s, 5m, 1h30m; a longer run is stopped and its time is a lower bound
    #[arg(long, value_name = "TIME", value_parser = grammar::duration_secs, allow_negative_numbers = true)]
    pub timeout: Option<f64>,
}

impl WorkloadArgs {
    /// Checks the arguments and finds the device and the images; draws none yet.
    ///
    /// # Errors
    /// An argument is unusable: the sentence names it and says what it may be.
    pub fn job(&self) -> anyhow::Result<Job> {
        for (option, sizes) in
            [("--image-px", &self.image_px), ("--words", &self.words), ("--batch-size", &self.batch_size)]
        {
            let sizes = listed(sizes);
            if sizes.len() > 1 {
                let sizes = sizes.len();
                return Err(unusable(format!(
                    "{option} names {sizes} sizes; this command measures one, `foreglow collect` several"
                )));
            }
        }
        let (job, _) = self.job_and_workloads()?;
        Ok(job)
    }

    /// The same with every combination of the image sizes and batch sizes; the job has the first of them.
    ///
    /// # Errors
    /// As [`Self::job`].
    pub fn job_and_workloads(&self) -> anyhow::Result<(Job, Vec<Workload>)> {
        self.job_on(|| device::choose(&self.device).context("the device could not be chosen"))
    }

    /// The same for executors on a cluster, which has the images where this machine has them.
    ///
    /// # Errors
    /// As [`Self::job`].
    pub fn job_and_workloads_on_cluster(&self) -> anyhow::Result<(Job, Vec<Workload>)> {
        self.job_on(|| device::on_cluster(&self.device))
    }

    /// The CNN.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn architecture(&self) -> anyhow::Result<&'static Architecture> {
        Architecture::named(&self.model).ok_or_else(|| {
            unusable(format!("there is no CNN {}; choose one of: {}", self.model, Architecture::names()))
        })
    }

    fn job_on(&self, choose: impl FnOnce() -> anyhow::Result<Chosen>) -> anyhow::Result<(Job, Vec<Workload>)> {
        let architecture = self.architecture()?;
        let timeout = match self.timeout {
            None => None,
            Some(secs) => Some(
                Duration::try_from_secs_f64(secs)
                    .ok()
                    .filter(|time| !time.is_zero())
                    .ok_or_else(|| unusable(format!("--timeout is {secs} s; write a time such as 90s, 5m or 1h30m")))?,
            ),
        };
        self.check_input(architecture)?;
        let sizes = self.sizes(architecture)?;
        let (source, set, images) = self.data(architecture)?;
        let text = self.text(&source)?;
        let workload = |(size, batch_size)| {
            let mut workload = Job::workload(architecture, size, images, batch_size);
            text.iter().for_each(|text| workload.set_text(&TextInput { words: size, ..text.clone() }));
            // Times on one data set say nothing about another.
            set.iter().for_each(|set| workload.set_data_set(set));
            if source.drawing() == Some(Drawing::Digits) {
                workload.set_drawn_digits();
            }
            workload
        };
        let workloads: Vec<Workload> = sizes.into_iter().map(workload).collect();
        let first = workloads.first().cloned().context("there is no input size or no batch size")?;
        let device = choose()?;
        let (seed, broken_limit) = (self.seed, self.max_broken);
        Ok((Job { workload: first, source, device, seed, timeout, broken_limit, training: None }, workloads))
    }

    /// Refuses options for images where the CNN takes texts, and the other way round.
    fn check_input(&self, architecture: &Architecture) -> anyhow::Result<()> {
        let (takes, other, given) = match architecture.input {
            Input::Images { .. } => (
                "images",
                "texts",
                [
                    ("--words", self.words.is_some()),
                    ("--vectors", self.vectors.is_some()),
                    ("--vocabulary", self.vocabulary.is_some()),
                    ("--draw texts", self.draw == Some(Drawing::Texts)),
                ],
            ),
            Input::Texts { .. } => (
                "texts",
                "images",
                [
                    ("--image-px", self.image_px.is_some()),
                    ("--data-format", self.data_format != Format::Auto),
                    ("--draw photographs", self.draw == Some(Drawing::Photographs)),
                    ("--draw digits", self.draw == Some(Drawing::Digits)),
                ],
            ),
        };
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                let name = architecture.name;
                Err(unusable(format!("{option} is for {other}, and {name} takes {takes}; leave it out")))
            }
            None => Ok(()),
        }
    }

    /// Every size of an input, pixels or words, with every batch size, each pair once.
    fn sizes(&self, architecture: &Architecture) -> anyhow::Result<Vec<(u32, u32)>> {
        let name = architecture.name;
        let (option, given, usual, range, noun, unit) = match &architecture.input {
            Input::Images { default_px, px, .. } => ("--image-px", &self.image_px, *default_px, px, "images", "px"),
            Input::Texts { default_words, words } => ("--words", &self.words, *default_words, words, "texts", "words"),
        };
        let sizes = if given.is_none() { vec![usual] } else { listed(given).to_vec() };
        if let Some(size) = sizes.iter().find(|size| !range.contains(size)) {
            let (smallest, largest) = (range.start(), range.end());
            let choose = match smallest == largest {
                true => format!("leave {option} out: it takes {smallest} {unit}"),
                false => format!("choose {option} from {smallest} to {largest}"),
            };
            return Err(unusable(format!("{name} cannot take {noun} of {size} {unit}; {choose}")));
        }
        let batch_sizes =
            if self.batch_size.is_none() { vec![DEFAULT_BATCH_SIZE] } else { listed(&self.batch_size).to_vec() };
        Ok(sizes.iter().flat_map(|px| batch_sizes.iter().map(move |size| (*px, *size))).collect())
    }

    /// Where the data are, which they are if they are the user's, and how many of them the job has.
    fn data(&self, architecture: &Architecture) -> anyhow::Result<(Source, Option<DataSet>, u64)> {
        let usual = match architecture.input {
            Input::Images { .. } => Drawing::Photographs,
            Input::Texts { .. } => Drawing::Texts,
        };
        let source = match &self.data {
            Some(path) => self.source(path)?,
            None => Source::drawn(self.draw.unwrap_or(usual), self.cache_dir.as_deref())?,
        };
        let set = identity(&source)?;
        let images = self.images.or(set.as_ref().map(|set| set.items)).unwrap_or(DEFAULT_IMAGES);
        if images == 0 || images > LARGEST_JOB {
            return Err(unusable(format!("--images is {images}; give a number from 1 to {LARGEST_JOB}")));
        }
        Ok((source, set, images))
    }

    /// The person's images or texts at that place.
    ///
    /// # Errors
    /// There is nothing that the CNN could take, or the vectors of the words are missing.
    pub fn source(&self, path: &Path) -> anyhow::Result<Source> {
        let architecture = self.architecture()?;
        if let Input::Images { .. } = architecture.input {
            return self.data_format.source(path);
        }
        if !path.exists() {
            let shown = path.display();
            return Err(unusable(format!("{shown} does not exist; name a folder of texts that does with --data")));
        }
        let Some(vectors) = self.vectors.clone() else {
            let name = architecture.name;
            return Err(unusable(format!(
                "{name} needs a vector for each word of the texts; name a GloVe file, such as glove.6B.200d.txt, with --vectors"
            )));
        };
        let vocabulary = self.vocabulary.unwrap_or(DEFAULT_VOCABULARY);
        Ok(Kind::Texts(Words { vectors, vocabulary }).at(path))
    }

    /// What a workload says of its texts, the number of their words left open; `None` of images.
    fn text(&self, source: &Source) -> anyhow::Result<Option<TextInput>> {
        let drawn = TextInput { words: 0, vector_dims: USUAL_VECTOR_DIMS as u32, vocabulary: None, vectors: None };
        Ok(match &source.kind {
            Kind::DrawnTexts => Some(drawn),
            Kind::Texts(Words { vectors, vocabulary }) => Some(TextInput {
                vector_dims: u32::try_from(texts::dims(vectors)?).unwrap_or(u32::MAX),
                vocabulary: Some(*vocabulary),
                vectors: Some(absolute(vectors)),
                ..drawn
            }),
            _ => None,
        })
    }
}

fn absolute(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

/// Images of one task where the person names no number.
const DEFAULT_PARTITION_SIZE: u32 = 8;

/// The partition size where the person names none: no more than there are images, and for training a mini-batch.
pub fn default_partition_size(job: &Job) -> u32 {
    let size = if job.training.is_some() { job.workload.batch_size } else { DEFAULT_PARTITION_SIZE };
    u32::try_from(job.workload.images).unwrap_or(u32::MAX).clamp(1, size)
}

/// Refuses configurations that have more executors or larger partitions than images, and for training partitions that
/// would cut a mini-batch.
///
/// # Errors
/// One does: the sentence names it and says what it may be.
pub fn check_sizes(job: &Job, executors: &[u32], partition_sizes: &[u32]) -> anyhow::Result<()> {
    let Workload { images, batch_size, .. } = job.workload;
    let noun = job.workload.noun();
    let most = |counts: &[u32]| counts.iter().copied().max().unwrap_or(1);
    for (option, count, what) in [
        ("--executors", most(executors), "executors".to_owned()),
        ("--partition-size", most(partition_sizes), format!("{noun} a partition")),
    ] {
        if u64::from(count) > images {
            return Err(unusable(format!(
                "{count} {what} are more than the job's {images} {noun}; give {option} {images} or less"
            )));
        }
    }
    let cuts = |size: &&u32| job.training.is_some() && !size.is_multiple_of(batch_size);
    if let Some(size) = partition_sizes.iter().find(cuts) {
        return Err(unusable(format!(
            "a partition of {size} {noun} would cut a mini-batch; give --partition-size {batch_size} or a multiple of it"
        )));
    }
    Ok(())
}

/// Puts the images or texts in place, with a bar while they are drawn.
///
/// # Errors
/// They cannot be.
pub fn prepare(job: &Job, progress: &Progress) -> anyhow::Result<()> {
    let noun = job.workload.noun();
    progress.counts(noun);
    let what = if noun == "texts" { "drawing texts" } else { "drawing images" };
    job.prepare(&mut |there, all| progress.images(what, there, all))
}

/// The sizes that the user listed.
fn listed(counts: &Option<Counts>) -> &[u32] {
    counts.as_ref().map_or(&[], |Counts(sizes)| sizes)
}

/// Warns of what a configuration cannot mean on machines that have so many processors.
pub fn warn(job: &Job, processors: Option<u32>, slots: u32, is_memory_asked: bool, progress: &Progress) {
    if let Some(processors) = processors.filter(|processors| slots > *processors) {
        progress.warn(Warning::MoreSlotsThanProcessors { slots, processors });
    }
    if is_memory_asked && !job.bounds_memory() {
        progress.line(&format!("warning: --memory is noted but not enforced on {}", job.device.name()));
    }
}
