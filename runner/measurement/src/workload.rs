//! Arguments for the job of `run`, `collect` and `demo`.

mod checks;
mod input;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use foreglow_architectures::{Architecture, Input};
use foreglow_cnn::Network;
use foreglow_console::grammar::{self, Channels, Classes, Counts};
use foreglow_data::images::{ChannelOrder, PixelRange};
use foreglow_data::{Drawing, Format};
use foreglow_engine::{self as engine, Job};
use foreglow_exit::{note, unusable};
use foreglow_machine::control_group::Quota;
use foreglow_machine::device::{self, Chosen, DeviceChoice};
use foreglow_shared::{Fit, Interpolation, NetworkFile, NumberFormat, TextInput, Workload};

use self::checks::check_core_share;
pub use self::checks::{check_sizes, default_partition_size, prepare, warn};

/// Default CNN.
const DEFAULT_MODEL: &str = "resnet18";

/// The job.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Job")]
pub struct WorkloadArgs {
    /// Name of the CNN, as `foreglow models` lists them, or an ONNX file: net.onnx
    #[arg(long, value_name = "NAME|FILE", default_value = DEFAULT_MODEL)]
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
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceChoice::Auto, help_heading = "Measurement")]
    pub device: DeviceChoice,

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
    /// Returns the job of a network with the default of every other argument.
    ///
    /// # Errors
    /// The name is not a valid argument.
    pub fn of_model(model: &str) -> anyhow::Result<Self> {
        #[derive(clap::Parser)]
        struct Defaults {
            #[command(flatten)]
            workload: WorkloadArgs,
        }
        Ok(<Defaults as clap::Parser>::try_parse_from(["foreglow", "--model", model])?.workload)
    }

    /// Checks the arguments and finds the device and the images, without generating any.
    ///
    /// # Errors
    /// An argument is invalid; the message says what is valid.
    pub fn job(&self) -> anyhow::Result<Job> {
        self.check_single()?;
        let (job, _) = self.job_and_workloads()?;
        Ok(job)
    }

    /// Checks that there is one image size and one batch size.
    ///
    /// # Errors
    /// There are several.
    pub fn check_single(&self) -> anyhow::Result<()> {
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
        Ok(())
    }

    /// Like [`Self::job`], with every combination of image size and batch size; the job has the
    /// first of them.
    ///
    /// # Errors
    /// As for [`Self::job`].
    pub fn job_and_workloads(&self) -> anyhow::Result<(Job, Vec<Workload>)> {
        let (job, workloads) = self.job_on(|| {
            let chosen = device::choose(&self.device).context("the device could not be chosen")?;
            chosen.shared(self.share_gpu)
        })?;
        let machine_type = job.machine_type.clone().or_else(foreglow_machine::machine_type);
        // A share that is already that of the container's quota needs no quota of its own.
        let of_container = Quota::of_this_process().and_then(|quota| quota.core_share()).unwrap_or(1.0);
        let core_share = self.core_share.filter(|share| *share < 1.0 && (share - of_container).abs() > 1e-3);
        let job = Job { machine_type, core_share, ..job };
        check_core_share(&job)?;
        Ok((job, workloads))
    }

    /// Like [`Self::job_and_workloads`], for executors on a cluster, which must have the images at
    /// the same path as this machine.
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

    /// Returns the recorded number of classes of the job: `None` for the CNN's own.
    fn own_or_other(&self) -> Option<u32> {
        let Some(Classes::Count(classes)) = self.classes else { return None };
        let own = Architecture::named(&self.model).map(|it| it.classes);
        Some(classes).filter(|classes| own != Some(*classes as usize))
    }

    fn job_on(&self, choose: impl FnOnce() -> anyhow::Result<Chosen>) -> anyhow::Result<(Job, Vec<Workload>)> {
        let network = self.network()?;
        network.remarks().iter().for_each(|remark| note(&format!("note: {remark}")));
        let input = network.input()?;
        let timeout = self.limit()?;
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
            workload.set_network_file(file.clone());
            text.iter().cloned().for_each(|text| workload.set_text(TextInput { words: size, ..text }));
            // Times on different data sets are not comparable.
            set.iter().cloned().for_each(|set| workload.set_data_set(set));
            if source.drawing() == Some(Drawing::Digits) {
                workload.set_drawn_digits();
            }
            workload.set_number_format(self.dtype);
            workload.set_resizing(resizing);
            workload.classes = classes;
            workload
        };
        let workloads: Vec<Workload> = sizes.into_iter().map(workload).collect();
        let first = workloads.first().cloned().context("there is no input size or no batch size")?;
        let device = choose()?;
        device.check_number_format(self.dtype)?;
        let (seed, broken_limit) = (self.seed, self.max_broken);
        let monitor = self.monitor.clone();
        self.check_monitor()?;
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
            program: None,
        };
        Ok((job, workloads))
    }

    /// Returns the limit on the completion time of a run.
    ///
    /// # Errors
    /// It is 0 or too long.
    pub(crate) fn limit(&self) -> anyhow::Result<Option<Duration>> {
        let limit = |secs: f64| {
            let time = Duration::try_from_secs_f64(secs).ok().filter(|time| !time.is_zero());
            time.ok_or_else(|| unusable(format!("--timeout is {secs} s; write a time such as 90s, 5m or 1h30m")))
        };
        self.timeout.map(limit).transpose()
    }

    /// Checks that the file of the monitor can be written.
    ///
    /// # Errors
    /// It cannot.
    pub(crate) fn check_monitor(&self) -> anyhow::Result<()> {
        let opened = self.monitor.as_deref().map(engine::open_monitor).transpose();
        opened.map(drop).map_err(|error| unusable(format!("{error:#}")))
    }

    /// Returns an option that is given and only for CNNs that Foreglow runs.
    pub(crate) fn of_cnn(&self) -> Option<&'static str> {
        let given = [
            ("--model", self.model != DEFAULT_MODEL),
            ("--classes", self.classes.is_some()),
            ("--weights", self.weights.is_some()),
            ("--data-format", self.data_format != Format::Auto),
            ("--vectors", self.vectors.is_some()),
            ("--vocabulary", self.vocabulary.is_some()),
            ("--max-broken", self.max_broken.is_some()),
            ("--draw", self.draw.is_some()),
            ("--cache-dir", self.cache_dir.is_some()),
            ("--mean", self.mean.is_some()),
            ("--std", self.std.is_some()),
            ("--pixel-range", self.pixel_range.is_some()),
            ("--channel-order", self.channel_order.is_some()),
            ("--resize", self.resize.is_some()),
            ("--resize-px", self.resize_px.is_some()),
            ("--interpolation", self.interpolation.is_some()),
            ("--words", self.words.is_some()),
            ("--dtype", self.dtype != NumberFormat::default()),
            ("--share-gpu", self.share_gpu),
            ("--core-share", self.core_share.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }
}

/// Returns the listed sizes.
pub(crate) fn listed(counts: &Option<Counts>) -> &[u32] {
    counts.as_ref().map_or(&[], |Counts(sizes)| sizes)
}
