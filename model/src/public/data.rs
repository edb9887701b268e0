//! The public measurements, with the fit for the last network.

use std::sync::Arc;

use foreglow_public::{
    BuiltInNetwork, Measurements, NetworkCosts, PublicError, PublicModel, StepMemory, Variances, short_name,
    similar_names,
};
use foreglow_shared::{Catalog, Job, JobGroup, MachineType, Workload, distinct};

use super::basis::Comparison;
use super::gpu_memory::GpuStep;
use super::own_runs::{OwnRuns, batch_size, gpus_of};
use super::{
    NetworkFromFile, NetworkSource, OwnPeak, PublicAnswer, PublicBasis, PublicQuestion, Refusal, UnmeasuredJob,
};
use crate::JointPredictor;

/// Year of the software of a question: that of the latest measurements.
const YEAR: u16 = 2025;
/// Side of the images of most networks in the table, pixels.
const USUAL_PX: u32 = 224;
/// Sides of the images that a network without a known graph takes.
const PX: std::ops::RangeInclusive<u32> = 32..=65_536;
/// Number of reasons in the message that no machine type can run a job.
const MOST_REASONS: usize = 3;

/// The public measurements, with the fit for the last network.
pub struct PublicData {
    table: Arc<Measurements>,
    /// The fit, and the network whose own rows it has.
    fitted: Option<(String, Arc<PublicModel>)>,
}

/// The own runs of a job, beside which other machine types are predicted.
pub struct MeasuredJob<'a> {
    /// The runs.
    pub group: JobGroup,
    /// The fit of the runs.
    pub predictor: JointPredictor,
    /// Machine types that the runs may name.
    pub catalog: &'a Catalog,
    /// Images of a step on one GPU; `None` for those of the fastest run.
    pub batch_size: Option<u32>,
}

/// A job with its predictor and what the answer has to say about it.
pub struct PublicJob {
    /// The job on every machine type; without samples, no job has runs.
    pub group: JobGroup,
    /// Its predictor.
    pub predictor: JointPredictor,
    /// Basis of the predictions from public measurements.
    pub basis: PublicBasis,
    /// Compares machine types.
    pub comparison: Comparison,
}

/// Why a job cannot be predicted from public measurements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnmeasuredError {
    /// The network is unknown.
    #[error("no network is called {name:?}; similar names: {}; an ONNX file has the costs of any other", similar.join(", "))]
    UnknownNetwork {
        /// The name.
        name: String,
        /// Similar names.
        similar: Vec<String>,
    },
    /// The network takes no images of this size.
    #[error("{name} takes images of {least} to {most} px; choose another image size")]
    ImageSize {
        /// Its name.
        name: String,
        /// Least side, pixels.
        least: u32,
        /// Largest side, pixels.
        most: u32,
    },
    /// The number format is only for inference.
    #[error("int8 is for inference; choose another number format or inference")]
    TrainingWithIntegers,
    /// The job does not count images.
    #[error(
        "public measurements are in images per second, and the samples count {0}; collect with --images, and with the \
         --batch-size of one GPU if the program counts steps"
    )]
    NoImages(String),
    /// A count is 0.
    #[error("images, epochs and the batch must be at least 1")]
    Zero,
    /// No machine type can run the job.
    #[error("no machine type can run this job ({0})")]
    NoMachine(String),
    /// A GPU or a number format is unusable.
    #[error(transparent)]
    Public(#[from] PublicError),
    /// The table is empty.
    #[error("the public measurements cannot be fitted")]
    NoFit,
}

impl PublicData {
    /// Takes tables.
    pub fn new(table: Measurements) -> Self {
        Self { table: Arc::new(table), fitted: None }
    }

    /// Returns the built-in tables.
    pub fn built_in() -> Self {
        Self::new(Measurements::built_in())
    }

    /// Returns the tables.
    pub fn table(&self) -> &Measurements {
        &self.table
    }

    /// Returns the names of all networks, ascending.
    pub fn networks(&self) -> Vec<String> {
        let names = self.table.networks.iter().chain(self.table.built_in.iter().map(|network| &network.costs));
        distinct(names.map(|network| network.name.clone()))
    }

    /// Returns the short names of all GPUs.
    pub fn gpus(&self) -> Vec<String> {
        self.table.gpus.all().iter().map(short_name).collect()
    }

    /// Returns the names of networks that are similar to a name.
    pub fn similar_networks(&self, name: &str) -> Vec<String> {
        similar_names(name, self.networks().into_iter())
    }

    /// Whether a network has this name.
    pub fn has_network(&self, name: &str) -> bool {
        self.table.network_name(name).is_some()
    }

    /// Whether a network is of a file or has a known name.
    pub fn knows(&self, network: &NetworkSource) -> bool {
        match network {
            NetworkSource::Named(name) => self.has_network(name),
            NetworkSource::File(_) => true,
        }
    }

    fn find(&self, name: &str) -> Option<&BuiltInNetwork> {
        self.table.built_in.iter().find(|network| network.costs.name == name)
    }

    /// Predicts a job on each of these machine types with all its GPUs, or with each of these
    /// numbers of GPUs on as few machines as hold them.
    ///
    /// # Errors
    /// The network, a GPU or the number format is unknown or unsuitable, or no machine type can run
    /// the job.
    pub fn predict(
        &mut self,
        job: &UnmeasuredJob,
        machines: &[&MachineType],
        executors: &[u32],
    ) -> Result<PublicJob, UnmeasuredError> {
        job.check()?;
        let (network, memory) = self.network(&job.network, job.image_px)?;
        let workload = job.workload(&network);
        let (answer, basis, comparison) = self.answer(job, (network, memory), workload, machines, executors)?;
        let predictor = JointPredictor::from_public(answer).ok_or_else(|| {
            let reasons = basis.left_out.iter().map(|(machine, reason)| format!("{machine}: {reason}"));
            UnmeasuredError::NoMachine(reasons.take(MOST_REASONS).collect::<Vec<_>>().join("; "))
        })?;
        let contexts = predictor.contexts().into_iter().cloned();
        let jobs = contexts.map(|context| Job::of_runs(context, Vec::new())).collect();
        let group = JobGroup { definition: predictor.definition().clone(), jobs, lenders: Vec::new() };
        Ok(PublicJob { group, predictor, basis, comparison })
    }

    /// Adds to the arms of own runs those of these machine types that have no run on their GPUs.
    /// The speeds that the runs show are numbers of the user's own. `job` tells the network, the
    /// number format and the software; `executors` are the user's numbers of executors.
    ///
    /// # Errors
    /// As [`PublicData::predict`].
    pub fn beside(
        &mut self,
        own: MeasuredJob<'_>,
        job: &UnmeasuredJob,
        machines: &[&MachineType],
        executors: &[u32],
    ) -> Result<PublicJob, UnmeasuredError> {
        let MeasuredJob { group, predictor, catalog, batch_size: asked_size } = own;
        let OwnRuns { speeds, context, notes } =
            OwnRuns::of(&predictor, &self.table.gpus, catalog, job.precision).ok_or(UnmeasuredError::NoFit)?;
        let Workload { batch_size: of_runs, average_every, .. } = context.workload;
        let workload = predictor.definition().workload(asked_size.unwrap_or(of_runs), average_every);
        let job = UnmeasuredJob {
            batch_size: asked_size.or(batch_size(&context.workload)).unwrap_or(job.batch_size),
            known: speeds.iter().chain(&job.known).cloned().collect(),
            ..job.clone()
        };
        let has_run = |machine: &&MachineType| {
            let mut contexts = predictor.contexts().into_iter().filter(|context| context.accelerator.is_some());
            contexts.any(|context| context.host.machine.as_deref() == Some(machine.name.as_str()))
        };
        let others: Vec<&MachineType> = machines.iter().copied().filter(|machine| !has_run(machine)).collect();
        let gpus: Vec<u32> = executors.iter().map(|executors| gpus_of(&context, *executors)).collect();
        job.check()?;
        let of_network = self.network(&job.network, job.image_px)?;
        let (answer, basis, comparison) = self.answer(&job, of_network, workload, &others, &gpus)?;
        let basis = PublicBasis {
            known: basis.known - speeds.len(),
            own_runs: Some(speeds),
            notes: notes.into_iter().chain(basis.notes).collect(),
            ..basis
        };
        let predictor = predictor.with_public(&group, answer);
        Ok(PublicJob { group, predictor, basis, comparison })
    }

    /// Returns the machine types whose GPUs cannot run the smallest batch of own runs, with the
    /// reasons. `peaks` are the memory that runs used. A machine type without a known GPU is not
    /// refused, and none is if the network of the runs is unknown.
    pub fn refused(&self, group: &JobGroup, peaks: Vec<OwnPeak>, machines: &[MachineType]) -> Vec<(String, Refusal)> {
        let definition = &group.definition;
        let name = definition.network.as_ref().unwrap_or(&definition.model);
        let of_runs = UnmeasuredJob::of_runs(definition, NetworkSource::Named(name.clone())).ok();
        let smallest = group.jobs.iter().filter_map(|job| batch_size(&job.context.workload)).min();
        let (Some(job), Some(batch_size)) = (of_runs, smallest) else { return Vec::new() };
        let Ok((_, memory)) = self.network(&job.network, job.image_px) else { return Vec::new() };
        let job = UnmeasuredJob { peaks, ..job };
        let memory = job.batch_memory(&memory);
        let step = GpuStep { precision: job.precision, batch_size, memory: &memory };
        let is_sure = |refusal: &Refusal| !matches!(refusal, Refusal::NoGpu | Refusal::Unknown(_));
        let refusal = |machine: &MachineType| step.place(&self.table.gpus, machine).err().filter(is_sure);
        machines.iter().filter_map(|machine| Some((machine.name.clone(), refusal(machine)?))).collect()
    }

    /// Answers a question about a network with its costs and memory.
    fn answer(
        &mut self,
        job: &UnmeasuredJob,
        (network, memory): (NetworkCosts, StepMemory),
        workload: Workload,
        machines: &[&MachineType],
        executors: &[u32],
    ) -> Result<(PublicAnswer, PublicBasis, Comparison), UnmeasuredError> {
        let asked = PublicQuestion {
            memory: job.batch_memory(&memory),
            workload,
            batch_size: job.batch_size,
            precision: job.precision,
            software: job.software,
            year: YEAR,
            known: job.known.clone(),
            network,
        };
        let model = self.fit(&asked.network.name).ok_or(UnmeasuredError::NoFit)?;
        let answer = asked.answer(&model, &self.table.gpus, machines, executors)?;
        let PublicAnswer { refused, may_not_fit, notes, .. } = &answer;
        let left_out = refused.iter().map(|(machine, reason)| (machine.clone(), reason.to_string())).collect();
        let (may_not_fit, notes) = (may_not_fit.clone(), notes.clone());
        let basis = PublicBasis { left_out, may_not_fit, notes, ..PublicBasis::new(&self.table, &asked) };
        let comparison = Comparison { model, table: Arc::clone(&self.table), asked };
        Ok((answer, basis, comparison))
    }

    /// Returns the fit of the rows that every fit has and those of a network.
    fn fit(&mut self, network: &str) -> Option<Arc<PublicModel>> {
        // All networks without rows of their own have the same fit.
        let own = if self.table.costs(network, USUAL_PX).is_some() { network } else { "" };
        if let Some((_, model)) = self.fitted.as_ref().filter(|(known, _)| known == own) {
            return Some(Arc::clone(model));
        }
        let model = Arc::new(self.table.model_for(own, &Variances::built_in())?);
        self.fitted = Some((own.to_owned(), Arc::clone(&model)));
        Some(model)
    }

    /// Returns the costs of a network, those of the public table if it has the name, which its
    /// measurements refer to, else those of its graph; and its memory.
    ///
    /// # Errors
    /// The network is unknown, or takes no images of this size.
    pub fn network(
        &self,
        network: &NetworkSource,
        image_px: Option<u32>,
    ) -> Result<(NetworkCosts, StepMemory), UnmeasuredError> {
        let name = match network {
            NetworkSource::File(NetworkFromFile { costs, memory }) => return Ok((costs.clone(), *memory)),
            NetworkSource::Named(name) => name,
        };
        let name = self.table.network_name(name).unwrap_or(name);
        let graph = self.find(name);
        let measured = self.table.costs(name, image_px.unwrap_or(USUAL_PX));
        let px = graph.map_or(PX, |graph| graph.px.clone());
        let is_known = graph.is_some() || measured.is_some();
        if is_known && image_px.is_some_and(|side| !px.contains(&side)) {
            return Err(UnmeasuredError::ImageSize { name: name.to_owned(), least: *px.start(), most: *px.end() });
        }
        if let Some(costs) = measured {
            let memory = graph.map_or_else(|| StepMemory::of_costs(&costs), |graph| graph.memory_at(costs.image_px));
            return Ok((costs, memory));
        }
        let Some(graph) = graph else {
            let similar = self.similar_networks(name);
            return Err(UnmeasuredError::UnknownNetwork { name: name.to_owned(), similar });
        };
        let side = image_px.unwrap_or(graph.costs.image_px);
        Ok((graph.costs_at(side), graph.memory_at(side)))
    }
}
