//! `foreglow models`: lists the CNNs with their sizes, the layers of one, or the batch that fits
//! the memory of an executor or of GPUs.

use std::path::PathBuf;

use foreglow_architectures::{ALL, Architecture, Input, USUAL_VECTOR_DIMS};
use foreglow_cnn::Network;
use foreglow_console::ask::read_files;
use foreglow_console::grammar;
use foreglow_console::output::{self, Format};
use foreglow_console::table::{aligned, narrowing_table};
use foreglow_exit::{note, unusable};
use foreglow_measurement::training::{ModeArg, OptimizerArg};
use foreglow_model::{BatchMemory, OwnPeak, Precision, Work};
use foreglow_networks::batch_memory::{Question, network_bytes};
use foreglow_networks::{gpu_batches, largest_batch, layers, public};
use foreglow_shared::{Mode, format_integer};
use serde::Serialize;

/// List the CNNs and text classifiers with their inputs, parameters and multiply-accumulates; or
/// the layers of one network, or its largest batch that fits a memory bound or GPUs
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Network whose layers are listed, or with --memory or --gpu its largest batch: a CNN or an
    /// ONNX file; with --gpu also another network of the public measurements
    #[arg(value_name = "NAME|FILE")]
    network: Option<String>,

    /// List the layers of one network, a CNN or an ONNX file, with what each costs per image
    #[arg(long, value_name = "NAME|FILE", num_args = 0..=1, conflicts_with = "bound")]
    layers: Option<Option<String>>,

    /// Side of the square input of the network, pixels [default: that of the network]
    #[arg(long, value_name = "PX", value_parser = grammar::count, allow_negative_numbers = true)]
    image_px: Option<u32>,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// What the memory of an executor or of a GPU is for.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The batch that fits")]
struct MemoryArgs {
    /// Find the largest batch of the network that fits this memory of an executor: 512m, 2g, 24GiB
    #[arg(long, value_name = "SIZE", group = "bound", requires = "network", value_parser = grammar::mib, allow_negative_numbers = true)]
    memory: Option<u32>,

    /// Find the largest batch of the network that fits each of these GPUs: L4,A100
    #[arg(long, value_name = "LIST", group = "bound", requires = "network", value_delimiter = ',')]
    gpu: Vec<String>,

    /// Mode of the job
    #[arg(long, value_enum, default_value_t, requires = "bound")]
    mode: ModeArg,

    /// Number format on a GPU: fp32, tf32, amp (mixed precision), bf16, fp16 or int8 [default: the
    /// usual ones]
    #[arg(long, value_name = "FORMAT", requires = "gpu", value_parser = public::precision)]
    dtype: Option<Precision>,

    /// Memory of a GPU that you measured for a batch, in the number format of --dtype: 64=9.5GiB.
    /// It replaces the expected memory, and other batches and GPUs follow from it
    #[arg(long, value_name = "BATCH=SIZE", requires = "dtype", value_parser = str::parse::<OwnPeak>)]
    peak: Vec<OwnPeak>,

    /// Threads per executor, C
    #[arg(long, short = 'C', value_name = "C", default_value_t = 1, requires = "memory", value_parser = grammar::one_cores, allow_negative_numbers = true)]
    cores: u32,

    /// Optimiser, for training [default: sgd]
    #[arg(long, value_enum, requires = "memory")]
    optimizer: Option<OptimizerArg>,

    /// Images of a mini-batch that a thread processes at once, for training [default: an eighth of
    /// the mini-batch, but at least 8]
    #[arg(long, value_name = "N", requires = "memory", value_parser = grammar::count, allow_negative_numbers = true)]
    share_size: Option<u32>,

    /// Files with samples: runs of the network replace what is expected by what was measured
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "memory")]
    samples: Vec<PathBuf>,
}

impl MemoryArgs {
    fn work(&self) -> anyhow::Result<Work> {
        let threads = u64::from(self.cores);
        if self.mode == ModeArg::Training {
            let moments = if self.optimizer == Some(OptimizerArg::Adam) { 2 } else { 1 };
            return Ok(Work::Training { threads, share: self.share_size.map(u64::from), moments });
        }
        let given = [("--optimizer", self.optimizer.is_some()), ("--share-size", self.share_size.is_some())];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(unusable(format!("{option} is for training; add --mode training or leave it out")))
            }
            None => Ok(Work::Inference { threads }),
        }
    }

    /// Answers for a network on GPUs.
    fn on_gpus(&self, network: &str, image_px: Option<u32>, format: Format) -> anyhow::Result<String> {
        let mode = if self.mode == ModeArg::Training { Mode::Training } else { Mode::Inference };
        let (gpus, precision, peaks) = (&self.gpu[..], self.dtype, &self.peak[..]);
        let asked = gpu_batches::Question { network, image_px, mode, gpus, precision, peaks };
        Ok(gpu_batches::Answer::new(&asked)?.render(format))
    }

    /// Answers for a network in this much memory.
    fn answer(
        &self,
        network: &Network,
        image_px: Option<u32>,
        bound_mib: u32,
        format: Format,
    ) -> anyhow::Result<String> {
        let (name, work) = (network.name(), self.work()?);
        if !matches!(network.input()?, Input::Images { .. }) {
            return Err(unusable(format!("--memory is for CNNs that take images, and {name} takes texts")));
        }
        let shape = shape(network, image_px)?;
        if matches!(work, Work::Training { .. }) {
            network.check_training(shape)?;
        }
        let image_px = u32::try_from(shape[1]).unwrap_or(u32::MAX);
        let samples = if self.samples.is_empty() { Vec::new() } else { read_files(&self.samples)? };
        let runs = Question { model: name, image_px, work }.runs(&samples);
        let memory = BatchMemory::of(&network_bytes(&network.costs(shape)?, shape), work).measured(&runs);
        largest_batch::Answer { name, shape, work, memory, runs, bound_mib }.render(format)
    }
}

/// An entry of the list. The fields for texts are `null` for a CNN of images, and vice versa.
#[derive(Default, Serialize)]
struct Model {
    name: &'static str,
    source: &'static str,
    channels: Option<usize>,
    image_px: Option<u32>,
    smallest_image_px: Option<u32>,
    largest_image_px: Option<u32>,
    classes: usize,
    parameters: usize,
    /// Multiply-accumulates for one image of `image_px`, or one text of `words`.
    multiply_accumulates: u64,
    words: Option<u32>,
    fewest_words: Option<u32>,
    most_words: Option<u32>,
    /// Dimensions of the word vectors, which determine the parameters and the multiply-accumulates.
    vector_dims: Option<usize>,
}

impl Model {
    fn of(architecture: &Architecture) -> Self {
        let model = Self {
            name: architecture.name,
            source: architecture.source,
            classes: architecture.classes,
            parameters: architecture.parameters,
            multiply_accumulates: architecture.multiply_accumulates,
            ..Self::default()
        };
        match &architecture.input {
            Input::Images { colour, default_px, px } => Self {
                channels: Some(colour.channels()),
                image_px: Some(*default_px),
                smallest_image_px: Some(*px.start()),
                largest_image_px: Some(*px.end()),
                ..model
            },
            Input::Texts { default_words, words } => Self {
                words: Some(*default_words),
                fewest_words: Some(*words.start()),
                most_words: Some(*words.end()),
                vector_dims: Some(USUAL_VECTOR_DIMS),
                ..model
            },
        }
    }
}

impl Args {
    /// Returns the network of the arguments, named before or after `--layers`.
    fn network(&self) -> anyhow::Result<Option<&str>> {
        let example = "name one CNN or ONNX file, such as `foreglow models resnet18`";
        match (self.network.as_deref(), self.layers.as_ref().map(Option::as_deref)) {
            (Some(first), Some(Some(second))) => {
                Err(unusable(format!("the layers of two networks are asked for, {first} and {second}; {example}")))
            }
            (None, Some(None)) => Err(unusable(format!("--layers is for a network; {example}"))),
            (None, None) if self.image_px.is_some() => Err(unusable(format!("--image-px is for a network; {example}"))),
            (network, layers) => Ok(network.or(layers.flatten())),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some((name, bound_mib)) = args.network.as_ref().zip(args.memory.memory) {
        return output::print(&args.memory.answer(&Network::named(name)?, args.image_px, bound_mib, args.format)?);
    }
    if let Some(name) = args.network.as_ref().filter(|_| !args.memory.gpu.is_empty()) {
        return output::print(&args.memory.on_gpus(name, args.image_px, args.format)?);
    }
    if let Some(name) = args.network()? {
        let network = Network::named(name)?;
        network.remarks().iter().for_each(|remark| note(&format!("note: {remark}")));
        let shape = shape(&network, args.image_px)?;
        let layers = layers::Layers { name: network.name(), shape, costs: network.costs(shape)? };
        return output::print(&layers.render(args.format)?);
    }
    let models: Vec<Model> = ALL.iter().map(|architecture| Model::of(architecture)).collect();
    let columns = "name,source,channels,image_px,smallest_image_px,largest_image_px,classes,parameters,\
        multiply_accumulates,words,fewest_words,most_words,vector_dims";
    output::print(&args.format.list("models", &models, columns, || show(&models)))
}

/// Returns the shape of the inputs for the layers and the largest batch.
fn shape(network: &Network, image_px: Option<u32>) -> anyhow::Result<[usize; 3]> {
    let (name, input) = (network.name(), network.input()?);
    let Input::Images { colour, default_px, px } = &input else {
        return match image_px {
            None => Ok(input.usual()),
            Some(_) => Err(unusable(format!("--image-px is for images, and {name} takes texts; leave it out"))),
        };
    };
    let side = image_px.unwrap_or(*default_px);
    if side == 0 {
        return Err(unusable(format!("{name} leaves the size of its images open; give --image-px")));
    }
    if !px.contains(&side) {
        let (smallest, largest) = (px.start(), px.end());
        return Err(unusable(format!("{name} takes images of {smallest} to {largest} px, and --image-px is {side}")));
    }
    Ok(colour.shape(side))
}

fn show(models: &[Model]) -> String {
    let columns =
        aligned(["<name", "<input", "sizes", "classes", "parameters", "multiply-accumulates per input", "<source"]);
    let rows = ALL.iter().zip(models).map(|(architecture, model)| {
        let (input, range, unit) = match &architecture.input {
            Input::Images { colour, default_px, px } => {
                (format!("{default_px}×{default_px}×{}", colour.channels()), px, "px")
            }
            Input::Texts { default_words, words } => (format!("{default_words} words"), words, "words"),
        };
        let (smallest, largest) = (range.start(), range.end());
        let sizes = if smallest == largest { smallest.to_string() } else { format!("{smallest}–{largest}") };
        vec![
            model.name.to_owned(),
            input,
            format!("{sizes} {unit}"),
            model.classes.to_string(),
            format_integer(model.parameters as u64),
            format_integer(model.multiply_accumulates),
            model.source.to_owned(),
        ]
    });
    narrowing_table(&columns, &["source", "sizes", "classes"], &rows.collect::<Vec<_>>())
}
