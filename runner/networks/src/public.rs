//! Jobs without samples, predicted from public measurements of the runs of others.

use foreglow_architectures::{Architecture, Input};
use foreglow_cnn::{Costs, Network};
use foreglow_console::answer::PublicBasis;
use foreglow_console::compare::MachineArgs;
use foreglow_console::grammar::Counts;
use foreglow_console::question::QuestionArgs;
use foreglow_exit::unusable;
use foreglow_model::{
    JointPredictor, Measurements, NetworkCosts, OwnSpeed, Precision, PublicAnswer, PublicModel, PublicQuestion,
    SoftwareKind, Variances,
};
use foreglow_shared::{Catalog, Job, JobGroup, MachineType, Mode, Workload};

/// Images of a step on one GPU, unless the user says otherwise.
const USUAL_BATCH: u32 = 128;
/// Year of the software of a question: that of the latest measurements.
const YEAR: u16 = 2025;

/// A job without samples.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Without samples")]
pub struct PublicArgs {
    /// Work of a network that was never run here: inference or training [default: inference]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<Mode>,

    /// Number format: fp32, tf32, amp (mixed precision), fp16 or int8 [default: amp]
    #[arg(long, value_name = "FORMAT", value_parser = precision)]
    pub dtype: Option<Precision>,

    /// A speed that you know of this job on a GPU, which anchors all others: 'RTX 3090=812/s'; with
    /// several GPUs '8xA100=9500/s'
    #[arg(long, value_name = "GPU=SPEED", value_parser = own_speed)]
    pub known: Vec<OwnSpeed>,

    /// GPUs to choose from: L4,A100,H100 [default: all of the catalog]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub gpus: Vec<String>,

    /// Your software: plain (ordinary code of a framework), example (a vendor's, with its data
    /// loader or compiler) or tuned (for a benchmark) [default: unknown]
    #[arg(long, value_name = "KIND", value_parser = software)]
    pub software: Option<SoftwareKind>,
}

impl PublicArgs {
    /// Returns the first option that only a job without samples has.
    pub fn given(&self) -> Option<&'static str> {
        let options = [
            ("--mode", self.mode.is_some()),
            ("--dtype", self.dtype.is_some()),
            ("--known", !self.known.is_empty()),
            ("--gpus", !self.gpus.is_empty()),
            ("--software", self.software.is_some()),
        ];
        options.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

/// A job with its predictor and what the answer has to say about it.
pub struct PublicJob {
    /// The job on every machine type.
    pub group: JobGroup,
    /// Its predictor.
    pub predictor: JointPredictor,
    /// Basis of the predictions.
    pub basis: PublicBasis,
    /// Compares machine types.
    pub order: Order,
}

/// Compares machine types.
pub struct Order {
    model: PublicModel,
    asked: PublicQuestion,
    table: Measurements,
    catalog: Catalog,
}

impl Order {
    /// Returns the probability that the first machine type is more than `factor` times as fast as
    /// the second one.
    pub fn is_faster(&self, [one, other]: [&str; 2], factor: f64) -> Option<f64> {
        let machines = [self.catalog.find(one).ok()?, self.catalog.find(other).ok()?];
        self.asked.is_faster(&self.model, &self.table.gpus, machines, factor)
    }
}

/// Whether the word is a network that public measurements can predict, and no file of samples.
pub fn is_network(word: &str) -> bool {
    word.ends_with(".onnx")
        || !std::path::Path::new(word).exists()
            && (Architecture::named(word).is_some() || Measurements::built_in().costs(word, 1).is_some())
}

/// Predicts a network on the machine types of the catalog.
///
/// # Errors
/// The network, a GPU or an option is unknown or unsuitable, or no machine type can run the job.
pub fn public_job(
    name: &str,
    image_px: Option<u32>,
    args: &PublicArgs,
    machines: &MachineArgs,
    question: &QuestionArgs,
) -> anyhow::Result<PublicJob> {
    let table = Measurements::built_in();
    let mode = args.mode.unwrap_or(Mode::Inference);
    let precision = args.dtype.unwrap_or(Precision::Mixed);
    if mode == Mode::Training && precision == Precision::Int8 {
        return Err(unusable("int8 is for inference; give another --dtype or leave --mode out"));
    }
    let network = costs(&table, name, image_px)?;
    let workload = workload(&network, mode, machines)?;
    let asked = PublicQuestion {
        bytes_per_gpu: step_bytes(name, &workload, precision),
        workload,
        precision,
        software: args.software,
        year: YEAR,
        known: args.known.clone(),
        network,
    };
    let catalog = machines.catalog.read()?;
    let chosen = chosen(&catalog.machines, &table, args, machines)?;
    let model = table
        .model_for(&asked.network.name, &Variances::built_in())
        .ok_or_else(|| unusable("the public measurements cannot be fitted"))?;
    let executors = question.executors.as_ref().map_or(&[][..], |Counts(counts)| counts.as_slice());
    let answer = asked.answer(&model, &table.gpus, &chosen, executors).map_err(|error| unusable(error.to_string()))?;
    let PublicAnswer { refused, notes, .. } = answer.clone();
    let predictor = JointPredictor::from_public(answer).ok_or_else(|| {
        let reasons = refused.iter().map(|(machine, reason)| format!("{machine}: {reason}"));
        unusable(format!("no machine type can run this job ({})", reasons.take(3).collect::<Vec<_>>().join("; ")))
    })?;
    let contexts = predictor.contexts().into_iter().cloned();
    let jobs = contexts.map(|context| Job::of_runs(context, Vec::new())).collect();
    let group = JobGroup { definition: predictor.definition().clone(), jobs, lenders: Vec::new() };
    let basis = PublicBasis {
        network: asked.network.name.clone(),
        measurements: table.rows.iter().filter(|row| row.is_base).count(),
        rows_of_network: table
            .rows
            .iter()
            .filter(|row| table.networks[row.conditions.network].name == asked.network.name)
            .count(),
        sources: table.sources.len(),
        number_format: precision.name(),
        software: args.software.map(SoftwareKind::name),
        known: asked.known.len(),
        left_out: refused,
        order: Vec::new(),
        notes,
    };
    Ok(PublicJob { group, predictor, basis, order: Order { model, asked, table, catalog } })
}

/// Returns the workload of the job.
fn workload(network: &NetworkCosts, mode: Mode, machines: &MachineArgs) -> anyhow::Result<Workload> {
    let images = machines.images.ok_or_else(|| unusable("a job without samples needs --images"))?;
    let batch_size = match machines.batch_size.as_ref().map(|Counts(sizes)| sizes.as_slice()) {
        None => USUAL_BATCH,
        Some(&[size]) => size,
        Some(_) => return Err(unusable("a job without samples has one --batch-size, that of one GPU")),
    };
    let workload = Workload::new(network.name.clone(), mode, network.image_px, images);
    Ok(Workload { epochs: machines.epochs.unwrap_or(1), batch_size, ..workload })
}

/// Returns about the memory of a step on one GPU, which a program needs at least; `None` without
/// the graph of the network.
fn step_bytes(name: &str, workload: &Workload, precision: Precision) -> Option<f64> {
    let network = Network::named(name).ok()?;
    let Input::Images { colour, .. } = network.input().ok()? else { return None };
    let costs = network.costs(colour.shape(workload.image_px)).ok()?;
    let bytes = costs.memory_bytes(workload.batch_size.into(), workload.mode == Mode::Training);
    Some(bytes as f64 * precision.bytes() / FLOAT)
}

/// Bytes of a number in the costs of a graph.
const FLOAT: f64 = 4.0;

/// Returns the machine types with GPUs that the user wants.
fn chosen<'a>(
    catalog: &'a [MachineType],
    table: &Measurements,
    args: &PublicArgs,
    machines: &MachineArgs,
) -> anyhow::Result<Vec<&'a MachineType>> {
    for name in &args.gpus {
        table.gpus.find(name, None).map_err(|error| unusable(error.to_string()))?;
    }
    let with_gpus: Vec<&MachineType> = catalog.iter().filter(|machine| machine.accelerators.is_some()).collect();
    if with_gpus.is_empty() {
        return Err(unusable("the catalog has no machine type with a GPU; give another --catalog, or samples"));
    }
    let is_wanted = |machine: &&MachineType| {
        let gpu = machine.accelerators.as_ref().and_then(|gpu| table.gpus.place(&gpu.name, gpu.memory_mib).ok());
        let is_asked = |gpu: usize| args.gpus.iter().any(|name| table.gpus.is_called(gpu, name));
        (machines.machines.is_empty() || machines.machines.contains(&machine.name))
            && (args.gpus.is_empty() || gpu.is_some_and(is_asked))
    };
    let chosen: Vec<&MachineType> = with_gpus.into_iter().filter(is_wanted).collect();
    if chosen.is_empty() {
        return Err(unusable("no machine type of the catalog has one of these GPUs; `foreglow machines` lists them"));
    }
    Ok(chosen)
}

/// Returns the costs of a network: those of the public table if it has the name, which its
/// measurements refer to, else those of its graph.
fn costs(table: &Measurements, name: &str, image_px: Option<u32>) -> anyhow::Result<NetworkCosts> {
    let is_file = name.ends_with(".onnx");
    if !is_file && let Some(costs) = table.costs(name, image_px.unwrap_or(USUAL_PX)) {
        return Ok(costs);
    }
    let network = Network::named(name)?;
    let Input::Images { colour, default_px, px } = network.input()? else {
        return Err(unusable(format!("{name} takes texts; public measurements are of networks that take images")));
    };
    let side = image_px.unwrap_or(default_px);
    if side == 0 || !px.contains(&side) {
        let (smallest, largest) = (px.start(), px.end());
        return Err(unusable(format!("{name} takes images of {smallest} to {largest} px; give --image-px")));
    }
    Ok(of_graph(network.name(), side, &network.costs(colour.shape(side))?))
}

/// Side of the images of most networks in the table, pixels.
const USUAL_PX: u32 = 224;

/// Returns the costs of a graph. Activations are those of layers that multiply, as in the table.
fn of_graph(name: &str, image_px: u32, costs: &Costs) -> NetworkCosts {
    let of_products = costs.layers.iter().filter(|layer| layer.multiply_accumulates > 0);
    let activations: u64 = of_products.clone().map(|layer| layer.activations).sum();
    let of_convolutions = of_products.filter(|layer| layer.convolution.is_some());
    let convolved: u64 = of_convolutions.map(|layer| layer.multiply_accumulates).sum();
    let (products, least) = (costs.multiply_accumulates(), 1.0);
    NetworkCosts {
        name: name.to_owned(),
        family: String::new(),
        is_convolutional: 2 * convolved >= products,
        image_px,
        parameters_m: (costs.parameters as f64).max(least) / 1e6,
        gmacs: (products as f64).max(least) / 1e9,
        activations_m: (activations as f64).max(least) / 1e6,
    }
}

fn precision(text: &str) -> Result<Precision, String> {
    match text {
        "bf16" => Ok(Precision::Mixed),
        "f32" => Ok(Precision::Fp32),
        "f16" => Ok(Precision::Fp16),
        _ => Precision::named(text).ok_or_else(|| "write fp32, tf32, amp, fp16, bf16 or int8".to_owned()),
    }
}

fn software(text: &str) -> Result<SoftwareKind, String> {
    SoftwareKind::named(text).ok_or_else(|| "write plain, example or tuned".to_owned())
}

/// Parses a known speed: `RTX 3090=812/s`, `8xA100=9500/s`.
fn own_speed(text: &str) -> Result<OwnSpeed, String> {
    let wrong = || "write a GPU and its images per second, such as 'RTX 3090=812/s' or '8xA100=9500/s'".to_owned();
    let (gpu, speed) = text.split_once('=').ok_or_else(wrong)?;
    let speed = speed.trim().trim_end_matches("images/s").trim_end_matches("/s").trim();
    let images_per_sec: f64 = speed.parse().map_err(|_| wrong())?;
    let counted = gpu.split_once(['x', '×']).and_then(|(count, gpu)| Some((count.trim().parse().ok()?, gpu)));
    let (gpus, gpu) = counted.unwrap_or((1, gpu));
    let is_valid = images_per_sec.is_finite() && images_per_sec > 0.0 && gpus > 0 && !gpu.trim().is_empty();
    is_valid.then(|| OwnSpeed { gpu: gpu.trim().to_owned(), gpus, images_per_sec }).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_speed_has_a_gpu_a_count_and_images_per_second() {
        let speed = |gpu: &str, gpus, images_per_sec| OwnSpeed { gpu: gpu.into(), gpus, images_per_sec };
        assert_eq!(own_speed("RTX 3090=812/s"), Ok(speed("RTX 3090", 1, 812.0)));
        assert_eq!(own_speed("8xA100 = 9500 images/s"), Ok(speed("A100", 8, 9500.0)));
        assert_eq!(own_speed("8 x A100=9500"), Ok(speed("A100", 8, 9500.0)));
        for wrong in ["812", "RTX 3090=", "RTX 3090=fast", "=812/s", "L4=-1/s", "0xL4=5/s", "L4=inf"] {
            assert!(own_speed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_costs_of_the_graph_are_near_those_of_the_table() {
        let table = Measurements::built_in();
        let network = Network::named("resnet50").unwrap();
        let own = of_graph("resnet50", 224, &network.costs([3, 224, 224]).unwrap());
        let public = table.costs("resnet50", 224).unwrap();
        let pairs = [
            (own.parameters_m, public.parameters_m),
            (own.gmacs, public.gmacs),
            (own.activations_m, public.activations_m),
        ];
        assert!(pairs.iter().all(|(own, public)| (own / public - 1.0).abs() < 0.05), "{pairs:?}");
        assert!(own.is_convolutional);
    }
}
