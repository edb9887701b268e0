//! Jobs without samples, and machine types that samples lack, predicted from public measurements of
//! the runs of others.

use foreglow_architectures::{Architecture, Input};
use foreglow_cnn::Network;
use foreglow_console::compare::MachineArgs;
use foreglow_console::grammar::Counts;
use foreglow_console::question::QuestionArgs;
use foreglow_exit::unusable;
use foreglow_model::{
    Gpus, JointPredictor, MeasuredJob, NetworkFromFile, NetworkSource, OwnPeak, OwnSpeed, Precision, PublicData,
    PublicJob, SoftwareKind, UnmeasuredJob,
};
use foreglow_shared::{CatalogError, Context, JobGroup, MachineType, Mode, Sample};

/// What public measurements are asked: a job without samples, or machine types that samples lack.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Public measurements")]
pub struct PublicArgs {
    /// Beside the machine types of the samples, compare those of the catalog without runs on their
    /// GPUs, from public measurements of the runs of others. Your runs on a GPU anchor them
    #[arg(long, conflicts_with = "total_cores")]
    public: bool,

    /// Network that your program runs, for --public: a name or an ONNX file [default: that of the
    /// samples]
    #[arg(long, value_name = "NAME|FILE", requires = "public")]
    network: Option<String>,

    /// Work of a network that was never run here: inference or training [default: inference]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<Mode>,

    /// Number format: fp32, tf32, amp (mixed precision), bf16, fp16 or int8 [default: amp; that of
    /// the samples if Foreglow ran the CNN]
    #[arg(long, value_name = "FORMAT", value_parser = precision)]
    pub dtype: Option<Precision>,

    /// A speed that you know of this job on a GPU, which anchors all others: 'RTX 3090=812/s'; with
    /// several GPUs '8xA100=9500/s'
    #[arg(long, value_name = "GPU=SPEED", value_parser = str::parse::<OwnSpeed>)]
    pub known: Vec<OwnSpeed>,

    /// Memory of a GPU that you measured for a batch of this job, in its number format, on any GPU:
    /// 64=9.5GiB. It replaces the expected memory; other batches and GPUs follow from it
    #[arg(long, value_name = "BATCH=SIZE", value_parser = str::parse::<OwnPeak>)]
    pub peak: Vec<OwnPeak>,

    /// GPUs to choose from, besides those of samples: L4,A100,H100 [default: all of the catalog]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub gpus: Vec<String>,

    /// Your software: plain (ordinary code of a framework), example (a vendor's, with its data
    /// loader or compiler) or tuned (for a benchmark) [default: unknown]
    #[arg(long, value_name = "KIND", value_parser = software)]
    pub software: Option<SoftwareKind>,
}

impl PublicArgs {
    /// The option that is only for a job without samples.
    pub const MODE: &str = "--mode";

    /// Whether machine types are to be predicted beside those of samples.
    pub fn is_beside(&self) -> bool {
        self.public
    }

    /// Returns the first option that is not for samples; without --public that is every option.
    pub fn given(&self) -> Option<&'static str> {
        let options = [
            (Self::MODE, self.mode.is_some()),
            ("--dtype", self.dtype.is_some() && !self.public),
            ("--known", !self.known.is_empty() && !self.public),
            ("--peak", !self.peak.is_empty() && !self.public),
            ("--gpus", !self.gpus.is_empty() && !self.public),
            ("--software", self.software.is_some() && !self.public),
        ];
        options.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

/// Whether the word is a network that public measurements can predict, and no file of samples.
pub fn is_network(word: &str) -> bool {
    word.ends_with(".onnx")
        || !std::path::Path::new(word).exists()
            && (Architecture::named(word).is_some() || PublicData::built_in().has_network(word))
}

/// Returns why a word that may be a network's name is neither one nor a file; `None` for a path and
/// for a known network.
pub fn unknown_word(word: &str) -> Option<anyhow::Error> {
    if word == "-" || word.contains(['.', '/', '\\']) || std::path::Path::new(word).exists() || is_network(word) {
        return None;
    }
    let similar = PublicData::built_in().similar_networks(word).join(", ");
    Some(unusable(format!("there is no file {word}, and no network of this name; similar networks are {similar}")))
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
    let images = machines.images.ok_or_else(|| unusable("a job without samples needs --images"))?;
    let usual = UnmeasuredJob::new(source(name, image_px)?, images);
    let job = UnmeasuredJob {
        image_px,
        mode: args.mode.unwrap_or(usual.mode),
        epochs: machines.epochs.unwrap_or(usual.epochs),
        batch_size: batch_size(machines)?.unwrap_or(usual.batch_size),
        precision: args.dtype.unwrap_or(usual.precision),
        software: args.software,
        known: args.known.clone(),
        peaks: args.peak.clone(),
        ..usual
    };
    let mut data = PublicData::built_in();
    let catalog = machines.catalog.read()?;
    let chosen = chosen(&catalog.machines, &data.table().gpus, args, machines)?;
    let executors = question.executors.as_ref().map_or(&[][..], |Counts(counts)| counts.as_slice());
    data.predict(&job, &chosen, executors).map_err(|error| unusable(error.to_string()))
}

/// Predicts the machine types of the catalog without runs on their GPUs, and keeps the own runs.
/// The memory of GPUs that the samples of these runs recorded replaces the expected one.
///
/// # Errors
/// The runs cannot be fitted or do not count images, or the network, a GPU or an option is unknown
/// or unsuitable.
pub fn beside(
    (group, samples): (JobGroup, &[Sample]),
    image_px: Option<u32>,
    args: &PublicArgs,
    machines: &MachineArgs,
    question: &QuestionArgs,
) -> anyhow::Result<PublicJob> {
    let mut data = PublicData::built_in();
    let definition = &group.definition;
    let name = args.network.as_ref().or(definition.network.as_ref()).unwrap_or(&definition.model);
    let of_runs = UnmeasuredJob::of_runs(definition, NetworkSource::Named(name.clone()));
    let of_runs = of_runs.map_err(|error| unusable(error.to_string()))?;
    let image_px = image_px.or(of_runs.image_px);
    let network = source(name, image_px)?;
    if !data.knows(&network) {
        return Err(unknown_program(name, &data));
    }
    let recorded = recorded(&group, samples);
    let job = UnmeasuredJob {
        network,
        image_px,
        precision: args.dtype.unwrap_or(of_runs.precision),
        software: args.software,
        known: args.known.clone(),
        peaks: args.peak.iter().copied().chain(recorded).collect(),
        ..of_runs
    };
    let catalog = machines.catalog.read()?;
    let chosen = chosen(&catalog.machines, &data.table().gpus, args, machines)?;
    let predictor = JointPredictor::fit(&group).map_err(|error| unusable(error.to_string()))?;
    let executors = question.executors.as_ref().map_or(&[][..], |Counts(counts)| counts.as_slice());
    let own = MeasuredJob { group, predictor, catalog: &catalog, batch_size: batch_size(machines)? };
    data.beside(own, &job, &chosen, executors).map_err(|error| unusable(error.to_string()))
}

/// Returns the memory of GPUs that the samples of a job recorded.
fn recorded(group: &JobGroup, samples: &[Sample]) -> Vec<OwnPeak> {
    let is_of_group = |sample: &&Sample| group.jobs.iter().any(|job| job.context == Context::of(sample));
    samples.iter().filter(is_of_group).filter_map(OwnPeak::of).collect()
}

/// Returns the machine types whose GPUs cannot run the smallest batch of own runs, and why.
pub fn unsuitable(machines: &[MachineType], group: &JobGroup, samples: &[Sample]) -> Vec<(String, String)> {
    if machines.iter().all(|machine| machine.accelerators.is_none()) {
        return Vec::new();
    }
    let refused = PublicData::built_in().refused(group, recorded(group, samples), machines);
    refused.into_iter().map(|(name, refusal)| (name, refusal.to_string())).collect()
}

/// Returns why no public measurement is of the network of samples, and how to name it.
fn unknown_program(name: &str, data: &PublicData) -> anyhow::Error {
    let similar = data.similar_networks(name).join(", ");
    unusable(format!(
        "public measurements have no network called {name}; name the one that your program runs with --network, such as \
         --network resnet50, or give its ONNX file (similar names: {similar})"
    ))
}

/// Returns the batch size that the user asks for.
fn batch_size(machines: &MachineArgs) -> anyhow::Result<Option<u32>> {
    match machines.batch_size.as_ref().map(|Counts(sizes)| sizes.as_slice()) {
        None => Ok(None),
        Some(&[size]) => Ok(Some(size)),
        Some(_) => Err(unusable("public measurements are asked with one --batch-size, that of one GPU")),
    }
}

/// Returns the machine types with GPUs that the user wants.
fn chosen<'a>(
    catalog: &'a [MachineType],
    gpus: &Gpus,
    args: &PublicArgs,
    machines: &MachineArgs,
) -> anyhow::Result<Vec<&'a MachineType>> {
    for name in &args.gpus {
        gpus.find(name, None).map_err(|error| unusable(error.to_string()))?;
    }
    let with_gpus: Vec<&MachineType> = catalog.iter().filter(|machine| machine.accelerators.is_some()).collect();
    if with_gpus.is_empty() {
        return Err(unusable("the catalog has no machine type with a GPU; give another --catalog, or samples"));
    }
    let is_wanted = |machine: &&MachineType| {
        let gpu = machine.accelerators.as_ref().and_then(|gpu| gpus.place(&gpu.name, gpu.memory_mib).ok());
        let is_asked = |gpu: usize| args.gpus.iter().any(|name| gpus.is_called(gpu, name));
        (machines.machines.is_empty() || machines.machines.contains(&machine.name))
            && (args.gpus.is_empty() || gpu.is_some_and(is_asked))
    };
    let chosen: Vec<&MachineType> = with_gpus.into_iter().filter(is_wanted).collect();
    if let Some(unknown) = machines.machines.iter().find(|name| !catalog.iter().any(|machine| machine.name == **name)) {
        return Err(unusable(CatalogError::Unknown { name: unknown.clone() }.to_string()));
    }
    let has_no_gpu =
        |name: &&String| !catalog.iter().any(|machine| machine.name == **name && machine.accelerators.is_some());
    if let Some(name) = machines.machines.iter().find(has_no_gpu).filter(|_| chosen.is_empty()) {
        return Err(unusable(format!(
            "{name} has no GPU, and public measurements are of GPUs; measure the job there with `foreglow collect`, or \
             choose another machine type"
        )));
    }
    if chosen.is_empty() {
        return Err(unusable("no machine type of the catalog has one of these GPUs; `foreglow machines` lists them"));
    }
    Ok(chosen)
}

/// Returns the network of this name, or the costs of that in an ONNX file.
pub(crate) fn source(name: &str, image_px: Option<u32>) -> anyhow::Result<NetworkSource> {
    if !name.ends_with(".onnx") {
        let is_of_texts = |it: &Architecture| !matches!(it.input, Input::Images { .. });
        if Architecture::named(name).is_some_and(is_of_texts) {
            return Err(takes_texts(name));
        }
        return Ok(NetworkSource::Named(name.to_owned()));
    }
    let network = Network::named(name)?;
    let Input::Images { colour, default_px, px } = network.input()? else { return Err(takes_texts(name)) };
    let side = image_px.unwrap_or(default_px);
    if side == 0 || !px.contains(&side) {
        let (smallest, largest) = (px.start(), px.end());
        return Err(unusable(format!("{name} takes images of {smallest} to {largest} px; give --image-px")));
    }
    Ok(NetworkSource::File(NetworkFromFile::of_graph(network.name(), side, &network.costs(colour.shape(side))?)))
}

fn takes_texts(name: &str) -> anyhow::Error {
    unusable(format!("{name} takes texts; public measurements are of networks that take images"))
}

/// Reads a number format.
///
/// # Errors
/// The format is unknown.
pub fn precision(text: &str) -> Result<Precision, String> {
    Precision::named(text).ok_or_else(|| "write fp32, tf32, amp, fp16, bf16 or int8".to_owned())
}

fn software(text: &str) -> Result<SoftwareKind, String> {
    SoftwareKind::named(text).ok_or_else(|| "write plain, example or tuned".to_owned())
}

#[cfg(test)]
mod tests {
    use foreglow_cnn::Costs;
    use foreglow_model::BuiltInNetwork;

    use super::*;

    /// The graphs of the built-in networks that take images, at the usual side.
    fn graphs() -> impl Iterator<Item = (NetworkFromFile, Costs, std::ops::RangeInclusive<u32>)> {
        foreglow_architectures::ALL.iter().filter_map(|architecture| {
            let Input::Images { colour, default_px, px } = architecture.input.clone() else { return None };
            let costs = Network::named(architecture.name).unwrap().costs(colour.shape(default_px)).unwrap();
            Some((NetworkFromFile::of_graph(architecture.name, default_px, &costs), costs, px))
        })
    }

    #[test]
    fn the_table_of_built_in_networks_has_the_costs_of_their_graphs() {
        let own: Vec<BuiltInNetwork> =
            graphs().map(|(NetworkFromFile { costs, memory }, _, px)| BuiltInNetwork { costs, memory, px }).collect();
        let lines: Vec<String> = graphs()
            .map(|(NetworkFromFile { costs, memory }, graph, px)| {
                let peaks = memory.peaks.inference.into_iter().chain(memory.peaks.training);
                let peaks: Vec<String> = peaks.map(|peak| format!("{},{}", peak.fixed, peak.per_image)).collect();
                let products = graph.layers.iter().filter(|layer| layer.multiply_accumulates > 0);
                format!(
                    "{},{},{},{},{},{},{},{},{}",
                    costs.name,
                    costs.image_px,
                    px.start(),
                    px.end(),
                    memory.parameters,
                    graph.multiply_accumulates(),
                    products.map(|layer| layer.activations).sum::<u64>(),
                    if costs.is_convolutional { "cnn" } else { "other" },
                    peaks.join(",")
                )
            })
            .collect();
        assert_eq!(own, BuiltInNetwork::all(), "model/public/data/built_in.csv should have\n{}", lines.join("\n"));
    }

    #[test]
    fn the_costs_of_the_graph_are_near_those_of_the_table() {
        let data = PublicData::built_in();
        let public = data.table().costs("resnet50", 224).unwrap();
        let own = BuiltInNetwork::all().into_iter().find(|network| network.costs.name == "resnet50").unwrap().costs;
        let pairs = [
            (own.parameters_m, public.parameters_m),
            (own.gmacs, public.gmacs),
            (own.activations_m, public.activations_m),
        ];
        assert!(pairs.iter().all(|(own, public)| (own / public - 1.0).abs() < 0.05), "{pairs:?}");
        assert!(own.is_convolutional);
    }
}
