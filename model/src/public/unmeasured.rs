//! A job without samples, as a user describes it.

use foreglow_onnx::Costs;
use foreglow_public::{GraphSums, NetworkCosts, Precision, SoftwareKind, StepMemory};
use foreglow_shared::{JobDefinition, Mode, NO_IMAGE_PX, UNKNOWN_SIZE, Workload, shell_word};

use super::{OwnPeak, OwnSpeed, UnmeasuredError};
use crate::{BatchMemory, MemoryRun};

/// A job that was never run: the fields of the page, and options of the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct UnmeasuredJob {
    /// The network.
    pub network: NetworkSource,
    /// Side of the images, pixels; `None` for the usual one of the network.
    pub image_px: Option<u32>,
    /// Inference or training.
    pub mode: Mode,
    /// Images of the job.
    pub images: u64,
    /// Passes over the images.
    pub epochs: u32,
    /// Images of a step on one GPU.
    pub batch_size: u32,
    /// Number format.
    pub precision: Precision,
    /// Kind of the user's software; `None` if unknown.
    pub software: Option<SoftwareKind>,
    /// Speeds that the user knows.
    pub known: Vec<OwnSpeed>,
    /// Peaks of the memory of a GPU that the user measured.
    pub peaks: Vec<OwnPeak>,
}

/// Where a network comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum NetworkSource {
    /// A built-in network, or one of the public measurements.
    Named(String),
    /// A network of an ONNX file.
    File(NetworkFromFile),
}

/// A network by the costs of the graph in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkFromFile {
    /// Costs; the name is that of the file.
    pub costs: NetworkCosts,
    /// Memory.
    pub memory: StepMemory,
}

impl NetworkFromFile {
    /// Creates the network of a graph with these costs.
    pub fn of_graph(name: &str, image_px: u32, costs: &Costs) -> Self {
        let mut sums = GraphSums { parameters: costs.parameters, ..GraphSums::default() };
        for layer in &costs.layers {
            sums.add(layer.multiply_accumulates, layer.activations, layer.convolution.is_some());
        }
        Self { costs: NetworkCosts::of_graph(name, image_px, sums), memory: StepMemory::of_graph(costs) }
    }
}

impl NetworkSource {
    /// Returns the name, of a file that of the file.
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::File(file) => &file.costs.name,
        }
    }
}

/// Images of a step on one GPU, unless the user says otherwise.
const USUAL_BATCH: u32 = 128;

impl UnmeasuredJob {
    /// Returns a job of one epoch of inference with the usual batch size and mixed precision.
    pub fn new(network: NetworkSource, images: u64) -> Self {
        Self {
            network,
            image_px: None,
            mode: Mode::Inference,
            images,
            epochs: 1,
            batch_size: USUAL_BATCH,
            precision: Precision::Mixed,
            software: None,
            known: Vec::new(),
            peaks: Vec::new(),
        }
    }

    /// Returns the job of own runs, with the number format of the CNNs that Foreglow runs. The
    /// number format of the user's own program is unknown, and mixed precision the usual one.
    ///
    /// # Errors
    /// The job does not count images.
    pub fn of_runs(definition: &JobDefinition, network: NetworkSource) -> Result<Self, UnmeasuredError> {
        const IMAGES: &str = "images";
        if definition.text.is_some() || definition.noun() != IMAGES {
            let counted = if definition.noun() == UNKNOWN_SIZE { "no images" } else { definition.noun() };
            return Err(UnmeasuredError::NoImages(counted.to_owned()));
        }
        let usual = Self::new(network, definition.images);
        let of_cnn = Precision::named(definition.number_format().as_str());
        Ok(Self {
            image_px: Some(definition.image_px).filter(|px| *px != NO_IMAGE_PX),
            mode: definition.mode,
            epochs: definition.epochs,
            precision: of_cnn.filter(|_| definition.command.is_none()).unwrap_or(usual.precision),
            ..usual
        })
    }

    /// Checks what needs no tables.
    pub(super) fn check(&self) -> Result<(), UnmeasuredError> {
        if [self.images, self.epochs.into(), self.batch_size.into()].contains(&0) {
            return Err(UnmeasuredError::Zero);
        }
        if self.mode == Mode::Training && self.precision == Precision::Int8 {
            return Err(UnmeasuredError::TrainingWithIntegers);
        }
        Ok(())
    }

    /// Returns the memory of a GPU that a batch of a network needs, with the peaks of the user.
    pub(super) fn batch_memory(&self, step: &StepMemory) -> BatchMemory {
        let runs: Vec<MemoryRun> = self.peaks.iter().map(|peak| peak.run()).collect();
        BatchMemory::on_gpu(step, self.mode, self.precision).measured(&runs)
    }

    /// Returns the workload with a network.
    pub(super) fn workload(&self, network: &NetworkCosts) -> Workload {
        let workload = Workload::new(network.name.clone(), self.mode, network.image_px, self.images);
        Workload { epochs: self.epochs, batch_size: self.batch_size, ..workload }
    }

    /// Returns the command that gives the same answer, up to the limits.
    pub fn plan_command(&self) -> String {
        let mut words = vec!["foreglow plan".to_owned(), shell_word(self.network.name())];
        let usual = Self::new(self.network.clone(), self.images);
        let mut option = |name: &str, value: String| words.push(format!("{name} {}", shell_word(&value)));
        option("--mode", self.mode.to_string());
        option("--images", self.images.to_string());
        if self.epochs != usual.epochs {
            option("--epochs", self.epochs.to_string());
        }
        if let Some(px) = self.image_px {
            option("--image-px", px.to_string());
        }
        if self.batch_size != usual.batch_size {
            option("--batch-size", self.batch_size.to_string());
        }
        option("--dtype", self.precision.name().to_owned());
        if let Some(kind) = self.software {
            option("--software", kind.name().to_owned());
        }
        self.known.iter().for_each(|known| option("--known", known.to_string()));
        self.peaks.iter().for_each(|peak| option("--peak", peak.to_string()));
        words.join(" ")
    }

    /// Returns the command that measures the job on a machine type with this number of GPUs, with a
    /// program of the user's own.
    pub fn measuring_command(&self, machine: &str, gpus: u32) -> String {
        let (epochs, program) = match self.mode {
            Mode::Training => {
                (format!(" --epochs {}", self.epochs), "torchrun --nproc_per_node={gpus} train.py --max-steps {steps}")
            }
            Mode::Inference => (String::new(), "torchrun --nproc_per_node={gpus} predict.py --images {images}"),
        };
        format!(
            "foreglow collect --machine {} --gpus {gpus} --sampling-rate 0.1%,1% --images {}{epochs} --batch-size {} -- \
             {program}",
            shell_word(machine),
            self.images,
            self.batch_size,
        )
    }
}

/// The question of a page without samples: ResNet-50 on ImageNet.
impl Default for UnmeasuredJob {
    fn default() -> Self {
        let network = NetworkSource::Named("resnet50".to_owned());
        Self { mode: Mode::Training, epochs: 90, ..Self::new(network, 1_281_167) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_contain_the_whole_job() {
        let known = vec!["RTX 3090=812/s".parse().unwrap()];
        let software = Some(SoftwareKind::Plain);
        let peaks = vec!["64=9.5GiB".parse().unwrap()];
        let usual = UnmeasuredJob::default();
        let job = UnmeasuredJob { known, peaks, software, image_px: Some(160), batch_size: 64, ..usual };
        assert_eq!(
            job.plan_command(),
            "foreglow plan resnet50 --mode training --images 1281167 --epochs 90 --image-px 160 --batch-size 64 --dtype amp \
             --software plain --known 'RTX 3090=812/s' --peak '64=9728MiB'"
        );
        assert_eq!(
            job.measuring_command("g6.xlarge", 1),
            "foreglow collect --machine g6.xlarge --gpus 1 --sampling-rate 0.1%,1% --images 1281167 --epochs 90 --batch-size \
             64 -- torchrun --nproc_per_node={gpus} train.py --max-steps {steps}"
        );
    }
}
