//! Arguments for the job of `run`, `collect` and `demo`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use foreglow_architectures::{Architecture, Colour, Input, USUAL_VECTOR_DIMS};
use foreglow_cnn::Network;
use foreglow_console::grammar::{self, Channels, Classes, Counts};
use foreglow_console::progress::Progress;
use foreglow_data::images::{ChannelOrder, Normalisation, PixelRange};
use foreglow_data::texts::{self, Words};
use foreglow_data::{Drawing, Format, Kind, Source, identity};
use foreglow_engine::{self as engine, Job};
use foreglow_exit::unusable;
use foreglow_machine::Warning;
use foreglow_machine::device::{self, Chosen, Wish};
use foreglow_shared::{DataSet, Fit, Interpolation, NetworkFile, NumberFormat, Resizing, TextInput, Workload};

/// Default mini-batch size for inference.
const DEFAULT_BATCH_SIZE: u32 = 8;
/// Default number of images with generated data.
const DEFAULT_IMAGES: u64 = 3200;
const LARGEST_JOB: u64 = 1 << 32;
/// Default frequency rank of the last word in the vocabulary, that of BigDL.
const DEFAULT_VOCABULARY: u32 = 5000;

/// The job.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Job")]
pub struct WorkloadArgs {
    /// Name of the CNN, as `foreglow models` lists them, or an ONNX file: net.onnx
    #[arg(long, value_name = "NAME|FILE", default_value = "resnet18")]
    pub model: String,

    /// Number of classes of a built-in CNN, or own for that of its publication. Runs with other
    /// numbers are not comparable [default: for training on a folder its number of sub-folders,
    /// otherwise own]
    #[arg(long, value_name = "N|own", value_parser = grammar::classes, allow_negative_numbers = true)]
    pub classes: Option<Classes>,

    /// Weights, safetensors with PyTorch's names, such as torchvision's, or with those of the ONNX
    /// file; on a cluster at the same path [default: drawn from --seed, or those of the ONNX file]
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,

    /// Images or texts of the whole job [default: all of --data, or 3200]
    #[arg(long, value_name = "N", value_parser = grammar::large_count, allow_negative_numbers = true)]
    pub images: Option<u64>,

    /// Images: a folder of JPEG or PNG files with sub-folders, or TFRecord, CIFAR-10, IDX or BSON
    /// files. For a text classifier, a folder of text files [default: generated data]
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,

    /// Format of the images
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub data_format: Format,

    /// Word vectors for texts in --data: a GloVe file, such as glove.6B.200d.txt
    #[arg(long, value_name = "FILE", requires = "data")]
    pub vectors: Option<PathBuf>,

    /// Frequency rank of the last word in the vocabulary, which omits the ten most frequent words
    /// [default: 5000]
    #[arg(long, value_name = "N", requires = "data", value_parser = grammar::count, allow_negative_numbers = true)]
    pub vocabulary: Option<u32>,

    /// Broken images or texts that a run skips before it fails [default: 1 in 100]
    #[arg(long, value_name = "N", value_parser = grammar::whole_number, allow_negative_numbers = true, help_heading = "Measurement")]
    pub max_broken: Option<u64>,

    /// Kind of data to generate without --data [default: photographs, or texts for a text
    /// classifier]
    #[arg(long, value_enum, conflicts_with = "data")]
    pub draw: Option<Drawing>,

    /// Cache directory for generated data [default: the user's cache directory, or FOREGLOW_CACHE]
    #[arg(long, value_name = "DIR", help_heading = "Measurement")]
    pub cache_dir: Option<PathBuf>,

    /// Side of the CNN's square input, pixels; `foreglow collect` takes several [default: that of
    /// the CNN]
    #[arg(long, value_name = "PX,…", value_parser = grammar::counts, allow_negative_numbers = true)]
    pub image_px: Option<Counts>,

    /// Mean of the pixels of each channel, subtracted before they are divided by --std: 0.5, or
    /// 0.485,0.456,0.406, in the order in which the CNN takes the channels. The time does not
    /// depend on it [default: that of ImageNet, in grey of MNIST]
    #[arg(long, value_name = "M,…", requires = "std", value_parser = grammar::channels, allow_hyphen_values = true, help_heading = "Preprocessing")]
    pub mean: Option<Channels>,

    /// Standard deviation of the pixels of each channel [default: as for --mean]
    #[arg(long, value_name = "S,…", requires = "mean", value_parser = grammar::deviations, allow_negative_numbers = true, help_heading = "Preprocessing")]
    pub std: Option<Channels>,

    /// Largest value of a pixel before --mean and --std, which must be given for 255 [default: 1]
    #[arg(long, value_enum, value_name = "MAX", help_heading = "Preprocessing")]
    pub pixel_range: Option<PixelRange>,

    /// Order of the channels in which the CNN takes them [default: rgb]
    #[arg(long, value_enum, value_name = "ORDER", help_heading = "Preprocessing")]
    pub channel_order: Option<ChannelOrder>,

    /// What happens to an image that is not square: crop cuts out its centre, stretch scales both
    /// axes apart. Runs that differ in it are not comparable [default: crop]
    #[arg(long, value_name = "crop|stretch", help_heading = "Preprocessing")]
    pub resize: Option<Fit>,

    /// Side to which the shorter side of an image, or with --resize stretch both, is resized before
    /// the CNN's input is cut out of its centre: 256 for inputs of 224. Runs that differ in it are
    /// not comparable [default: the side of the CNN's input]
    #[arg(long, value_name = "PX", value_parser = grammar::count, allow_negative_numbers = true, help_heading = "Preprocessing")]
    pub resize_px: Option<u32>,

    /// Interpolation when an image is resized: nearest, bilinear, bicubic or lanczos. Runs that
    /// differ in it are not comparable [default: bilinear]
    #[arg(long, value_name = "NAME", help_heading = "Preprocessing")]
    pub interpolation: Option<Interpolation>,

    /// Words per text; `foreglow collect` takes several [default: that of the classifier]
    #[arg(long, value_name = "N,…", value_parser = grammar::counts, allow_negative_numbers = true)]
    pub words: Option<Counts>,

    /// Images or texts per mini-batch; `foreglow collect` takes several [default: 8, or 32 for
    /// training]
    #[arg(long, value_name = "N,…", value_parser = grammar::counts, allow_negative_numbers = true)]
    pub batch_size: Option<Counts>,

    /// Device: auto, cpu, gpu, or the number or name of an entry of `foreglow devices`
    #[arg(long, value_name = "DEVICE", default_value_t = Wish::Auto, help_heading = "Measurement")]
    pub device: Wish,

    /// Number format in which the CNN computes: f32, f16 or bf16, as the device allows;
    /// `foreglow devices` lists its formats. Runs in different formats are not comparable
    #[arg(long, value_name = "FORMAT", default_value_t)]
    pub dtype: NumberFormat,

    /// Let several executors share a GPU; without it each executor holds one. Runs with and without
    /// it are not comparable
    #[arg(long, help_heading = "Measurement")]
    pub share_gpu: bool,

    /// Slow each core down to this share of a processor by a CPU quota, 1% to 100%: two processors
    /// become 40 cores of 5%. Start-up is not slowed. Runs with other shares are not comparable
    #[arg(long, value_name = "SHARE", value_parser = grammar::core_share, allow_negative_numbers = true, help_heading = "Measurement")]
    pub core_share: Option<f64>,

    /// Seed of the sample of images and of the CNN's weights
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = grammar::whole_number, allow_negative_numbers = true, help_heading = "Measurement")]
    pub seed: u64,

    /// Append to this file once a second what a run uses (GPU, processors, memory, images per
    /// second), JSON Lines
    #[arg(long, value_name = "FILE", help_heading = "Measurement")]
    pub monitor: Option<PathBuf>,

    /// Machine type of the machines that run the executors, as in `foreglow machines`: c5.xlarge
    /// [default: what the cloud says of this machine; unknown on a cluster]
    #[arg(long, value_name = "NAME", value_parser = grammar::machine_type)]
    pub machine: Option<String>,

    /// Limit on the completion time of a run: 90s, 5m, 1h30m; a longer run is stopped and gives a
    /// lower bound
    #[arg(long, value_name = "TIME", value_parser = grammar::duration_secs, allow_negative_numbers = true, help_heading = "Measurement")]
    pub timeout: Option<f64>,
}

impl WorkloadArgs {
    /// Checks the arguments and finds the device and the images, without generating any.
    ///
    /// # Errors
    /// An argument is invalid; the message says what is valid.
    pub fn job(&self) -> anyhow::Result<Job> {
        for (option, sizes) in
            [("--image-px", &self.image_px), ("--words", &self.words), ("--batch-size", &self.batch_size)]
        {
            let sizes = listed(sizes);
            if sizes.len() > 1 {
                let sizes = sizes.len();
                return Err(unusable(format!(
                    "{option} has {sizes} sizes; this command takes one, `foreglow collect` several"
                )));
            }
        }
        let (job, _) = self.job_and_workloads()?;
        Ok(job)
    }

    /// Does the same with every combination of image size and batch size; the job has the first of
    /// them.
    ///
    /// # Errors
    /// As for [`Self::job`].
    pub fn job_and_workloads(&self) -> anyhow::Result<(Job, Vec<Workload>)> {
        let (job, workloads) = self.job_on(|| {
            let chosen = device::choose(&self.device).context("the device could not be chosen")?;
            chosen.shared(self.share_gpu)
        })?;
        let machine_type = job.machine_type.clone().or_else(foreglow_machine::machine_type);
        let job = Job { machine_type, core_share: self.core_share.filter(|share| *share < 1.0), ..job };
        check_core_share(&job)?;
        Ok((job, workloads))
    }

    /// Does the same for executors on a cluster, which must have the images at the same path as
    /// this machine.
    ///
    /// # Errors
    /// As for [`Self::job`].
    pub fn job_and_workloads_on_cluster(&self) -> anyhow::Result<(Job, Vec<Workload>)> {
        if self.monitor.is_some() {
            return Err(unusable("--monitor is for runs on this machine, and not for those on a cluster"));
        }
        if self.core_share.is_some() {
            return Err(unusable("--core-share slows the cores of this machine; leave it out for a cluster"));
        }
        self.job_on(|| device::on_cluster(&self.device)?.shared(self.share_gpu))
    }

    /// Returns the network.
    ///
    /// # Errors
    /// The name is unknown, or the file is missing or cannot be used.
    pub fn network(&self) -> anyhow::Result<Network> {
        let classes = match self.classes {
            Some(Classes::Count(classes)) => Some(classes),
            Some(Classes::Own) | None => None,
        };
        Ok(Network::named(&self.model)?.with_classes(classes)?.with_weights(self.weights.as_deref()))
    }

    /// Returns the classes of the job as its workload records them: `None` for the CNN's own.
    fn own_or_other(&self) -> Option<u32> {
        let Some(Classes::Count(classes)) = self.classes else { return None };
        let own = Architecture::named(&self.model).map(|it| it.classes);
        Some(classes).filter(|classes| own != Some(*classes as usize))
    }

    fn job_on(&self, choose: impl FnOnce() -> anyhow::Result<Chosen>) -> anyhow::Result<(Job, Vec<Workload>)> {
        let network = self.network()?;
        let input = network.input()?;
        let timeout = match self.timeout {
            None => None,
            Some(secs) => Some(
                Duration::try_from_secs_f64(secs)
                    .ok()
                    .filter(|time| !time.is_zero())
                    .ok_or_else(|| unusable(format!("--timeout is {secs} s; write a time such as 90s, 5m or 1h30m")))?,
            ),
        };
        self.check_input(network.name(), &input)?;
        let sizes = self.sizes(network.name(), &input)?;
        if let Input::Images { colour, .. } = &input {
            for (px, batch_size) in &sizes {
                network.classes(colour.shape(*px), *batch_size as usize)?;
            }
        }
        let file = network.file().map(|file| -> anyhow::Result<NetworkFile> {
            Ok(NetworkFile { path: file.path.to_string_lossy().into_owned(), fingerprint: file.fingerprint()? })
        });
        let file = file.transpose()?;
        let (source, set, images) = self.data(&input)?;
        let text = self.text(&source)?;
        let normalisation = self.normalisation(network.name(), &input)?;
        let resizing = self.resizing(&sizes)?;
        let classes = self.own_or_other();
        let workload = |(size, batch_size)| {
            let mut workload = Job::workload(network.name(), size, images, batch_size);
            file.iter().for_each(|file| workload.set_network_file(file));
            text.iter().for_each(|text| workload.set_text(&TextInput { words: size, ..text.clone() }));
            // Times on different data sets are not comparable.
            set.iter().for_each(|set| workload.set_data_set(set));
            if source.drawing() == Some(Drawing::Digits) {
                workload.set_drawn_digits();
            }
            workload.set_number_format(self.dtype);
            workload.set_resizing(resizing);
            workload.set_classes(classes);
            workload
        };
        let workloads: Vec<Workload> = sizes.into_iter().map(workload).collect();
        let first = workloads.first().cloned().context("there is no input size or no batch size")?;
        let device = choose()?;
        device.check_number_format(self.dtype)?;
        let (seed, broken_limit) = (self.seed, self.max_broken);
        let monitor = self.monitor.clone();
        if let Some(path) = &monitor {
            engine::open_monitor(path).map_err(|error| unusable(format!("{error:#}")))?;
        }
        let machine_type = self.machine.clone();
        let job = Job {
            workload: first,
            source,
            device,
            seed,
            timeout,
            broken_limit,
            monitor,
            machine_type,
            core_share: None,
            weights: self.weights.as_deref().map(std::path::absolute).transpose()?,
            normalisation,
            training: None,
        };
        Ok((job, workloads))
    }

    /// Returns the normalisation of the images; `None` for the default one.
    fn normalisation(&self, name: &str, input: &Input) -> anyhow::Result<Option<Normalisation>> {
        let Input::Images { colour, .. } = input else { return Ok(None) };
        let (order, range) = (self.channel_order.unwrap_or_default(), self.pixel_range.unwrap_or_default());
        if order == ChannelOrder::Bgr && *colour == Colour::Grey {
            return Err(unusable(format!("--channel-order bgr is for colour images, and {name} takes grey ones")));
        }
        let channels = colour.channels();
        let of = |option, given: &Option<Channels>| match given.as_ref().map(|Channels(numbers)| numbers.as_slice()) {
            None => Ok(None),
            Some([one]) => Ok(Some(vec![*one; channels])),
            Some(numbers) if numbers.len() == channels => Ok(Some(numbers.to_vec())),
            Some(numbers) => {
                let given = numbers.len();
                Err(unusable(format!("{option} has {given} numbers, and {name} takes grey images; give one number")))
            }
        };
        let usual = Normalisation::usual(*colour, ChannelOrder::default());
        let normalisation = match (of("--mean", &self.mean)?, of("--std", &self.std)?) {
            (Some(mean), Some(std)) => Normalisation { mean, std, pixel_range: range, channel_order: order },
            _ if range == PixelRange::Bytes => {
                return Err(unusable(
                    "--pixel-range 255 needs --mean and --std in these units; --mean 0 --std 1 passes the bytes on",
                ));
            }
            _ => Normalisation::usual(*colour, order),
        };
        Ok(Some(normalisation).filter(|normalisation| *normalisation != usual))
    }

    /// Returns the resizing of images to each of the sizes.
    fn resizing(&self, sizes: &[(u32, u32)]) -> anyhow::Result<Resizing> {
        let largest = sizes.iter().map(|(px, _)| *px).max().unwrap_or(0);
        match self.resize_px {
            Some(px) if px < largest => Err(unusable(format!(
                "--resize-px is {px}, and no image of {largest} px can be cut out of it; give {largest} or more"
            ))),
            resize_px => Ok(Resizing {
                fit: self.resize.unwrap_or_default(),
                resize_px,
                interpolation: self.interpolation.unwrap_or_default(),
            }),
        }
    }

    /// Rejects image options for a CNN that takes texts, and vice versa.
    fn check_input(&self, name: &str, input: &Input) -> anyhow::Result<()> {
        let (takes, other, given) = match input {
            Input::Images { .. } => (
                "images",
                "texts",
                vec![
                    ("--words", self.words.is_some()),
                    ("--vectors", self.vectors.is_some()),
                    ("--vocabulary", self.vocabulary.is_some()),
                    ("--draw texts", self.draw == Some(Drawing::Texts)),
                ],
            ),
            Input::Texts { .. } => (
                "texts",
                "images",
                vec![
                    ("--image-px", self.image_px.is_some()),
                    ("--mean", self.mean.is_some()),
                    ("--pixel-range", self.pixel_range.is_some()),
                    ("--channel-order", self.channel_order.is_some()),
                    ("--resize", self.resize.is_some()),
                    ("--resize-px", self.resize_px.is_some()),
                    ("--interpolation", self.interpolation.is_some()),
                    ("--data-format", self.data_format != Format::Auto),
                    ("--draw photographs", self.draw == Some(Drawing::Photographs)),
                    ("--draw digits", self.draw == Some(Drawing::Digits)),
                ],
            ),
        };
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(unusable(format!("{option} is for {other}, and {name} takes {takes}; leave it out")))
            }
            None => Ok(()),
        }
    }

    /// Returns the distinct combinations of input size, pixels or words, and batch size.
    fn sizes(&self, name: &str, input: &Input) -> anyhow::Result<Vec<(u32, u32)>> {
        let (option, given, usual, range, noun, unit) = match input {
            Input::Images { default_px, px, .. } => ("--image-px", &self.image_px, *default_px, px, "images", "px"),
            Input::Texts { default_words, words } => ("--words", &self.words, *default_words, words, "texts", "words"),
        };
        if given.is_none() && usual == 0 {
            return Err(unusable(format!("{name} leaves the size of its images open; give {option}")));
        }
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

    /// Returns the source of the data, its identity if it is the user's, and the number of items of
    /// the job.
    fn data(&self, input: &Input) -> anyhow::Result<(Source, Option<DataSet>, u64)> {
        let usual = match input {
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

    /// Returns the user's data set at a path.
    ///
    /// # Errors
    /// There is no data set that the CNN takes, or the word vectors are missing.
    pub fn source(&self, path: &Path) -> anyhow::Result<Source> {
        let network = self.network()?;
        if let Input::Images { .. } = network.input()? {
            return self.data_format.source(path);
        }
        if !path.exists() {
            let shown = path.display();
            return Err(unusable(format!("{shown} does not exist; give an existing folder of texts with --data")));
        }
        let Some(vectors) = self.vectors.clone() else {
            let name = network.name();
            return Err(unusable(format!(
                "{name} needs word vectors; give a GloVe file, such as glove.6B.200d.txt, with --vectors"
            )));
        };
        let vocabulary = self.vocabulary.unwrap_or(DEFAULT_VOCABULARY);
        Ok(Kind::Texts(Words { vectors, vocabulary }).at(path))
    }

    /// Returns the text part of a workload with the number of words left open; `None` for images.
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

/// Default number of images per task.
const DEFAULT_PARTITION_SIZE: u32 = 8;

/// Returns the default partition size: at most the number of images, and for training a mini-batch.
pub fn default_partition_size(job: &Job) -> u32 {
    let size = if job.training.is_some() { job.workload.batch_size } else { DEFAULT_PARTITION_SIZE };
    u32::try_from(job.workload.images).unwrap_or(u32::MAX).clamp(1, size)
}

/// Checks that a configuration has at most as many executors and images per task as images, at most
/// as many executors as GPUs, and for training no partition that would split a mini-batch.
///
/// # Errors
/// A size is invalid; the message says what is valid.
pub fn check_sizes(job: &Job, executors: &[u32], partition_sizes: &[u32]) -> anyhow::Result<()> {
    let Workload { images, batch_size, .. } = job.workload;
    let noun = job.workload.noun();
    let most = |counts: &[u32]| counts.iter().copied().max().unwrap_or(1);
    job.device.check_executors(most(executors))?;
    for (option, count, what) in [
        ("--executors", most(executors), "executors".to_owned()),
        ("--partition-size", most(partition_sizes), format!("{noun} per partition")),
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
            "a partition of {size} {noun} would split a mini-batch; give --partition-size {batch_size} or a multiple \
            of it"
        )));
    }
    Ok(())
}

/// Ensures that the images or texts exist, with a progress bar while they are generated.
///
/// # Errors
/// They cannot be generated or are missing.
pub fn prepare(job: &Job, progress: &Progress) -> anyhow::Result<()> {
    let noun = job.workload.noun();
    progress.counts(noun);
    let what = if noun == "texts" { "drawing texts" } else { "drawing images" };
    job.prepare(&mut |there, all| progress.images(what, there, all))
}

/// Returns the listed sizes.
fn listed(counts: &Option<Counts>) -> &[u32] {
    counts.as_ref().map_or(&[], |Counts(sizes)| sizes)
}

/// Refuses slow cores where they have no effect or the system does not permit them.
fn check_core_share(job: &Job) -> anyhow::Result<()> {
    if job.core_share.is_none() {
        return Ok(());
    }
    if job.device.accelerator().is_some() {
        return Err(unusable("--core-share slows processors, and this job runs on a GPU; add --device cpu"));
    }
    if !engine::allows_cpu_quotas() {
        return Err(unusable(
            "--core-share needs CPU quotas, which this user cannot set here; run as root, or in a container whose \
             control groups are writable",
        ));
    }
    Ok(())
}

/// Warns about settings that have no effect on a machine with `processors` processors.
pub fn warn(job: &Job, processors: Option<u32>, slots: u32, is_memory_asked: bool, progress: &Progress) {
    if let Some(processors) = processors.filter(|processors| slots > *processors) {
        progress.warn(Warning::MoreSlotsThanProcessors { slots, processors });
    }
    if is_memory_asked && !job.bounds_memory() {
        progress.line(&format!("warning: --memory is recorded but not enforced on {}", job.device.name()));
    }
}
