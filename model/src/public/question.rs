//! A question about a job that was never run, with the costs of its network.

use std::collections::BTreeMap;

use foreglow_public::{
    Case, Conditions, Gpus, KnownSpeed, NetworkCosts, Precision, PublicError, PublicModel, SoftwareKind,
};
use foreglow_shared::{Accelerator, Context, Engine, Host, MachineType, Workload, format_integer};

use super::OwnSpeed;
use super::gpu_memory::GpuStep;
use crate::{BatchMemory, Prediction, Spread};

/// Degrees of freedom of the log error of a time: the tails of held-out errors are heavier than
/// those of a normal distribution.
const DEGREES_OF_FREEDOM: f64 = 8.0;
/// The standard deviation of a t distribution with these degrees of freedom, relative to its scale.
const DEVIATION: f64 = 1.154_700_538_379_251_5;
/// Distance of an own number from its expectation, in standard deviations and as a factor, from
/// which it contradicts the public measurements.
const CONTRADICTION: (f64, f64) = (2.0, 5.0);

/// A question about a job that was never run.
#[derive(Clone, Debug)]
pub struct PublicQuestion {
    /// The job.
    pub workload: Workload,
    /// Images of a step on one GPU.
    pub batch_size: u32,
    /// Costs of its network for one image.
    pub network: NetworkCosts,
    /// Number format.
    pub precision: Precision,
    /// Kind of the user's software; `None` if unknown.
    pub software: Option<SoftwareKind>,
    /// Year of the software.
    pub year: u16,
    /// Memory that its batches need on one GPU.
    pub memory: BatchMemory,
    /// Speeds that the user knows.
    pub known: Vec<OwnSpeed>,
}

/// Machine types with the times of a job on all their GPUs.
#[derive(Clone, Debug, Default)]
pub struct PublicAnswer {
    /// The arms.
    pub(crate) arms: Vec<PublicArm>,
    /// Machine types that cannot run the job, with the reasons.
    pub refused: Vec<(String, Refusal)>,
    /// Machine types whose GPUs the batch may not fit, with the reasons.
    pub may_not_fit: Vec<(String, String)>,
    /// What the user has to know about the own numbers.
    pub notes: Vec<String>,
}

/// Why a machine type cannot run a job.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It has no GPU.
    #[error("it has no GPU")]
    NoGpu,
    /// No data sheet has its GPU.
    #[error(transparent)]
    Unknown(#[from] PublicError),
    /// Its GPU cannot compute in the number format.
    #[error("its GPU has no units for {0}")]
    NoFormat(&'static str),
    /// Its GPUs cannot hold a step.
    #[error(
        "a batch of {batch_size} needs about {needed_gib:.0} GiB on a GPU, and its GPUs have {gib:.0} GiB; {}",
        smaller(*at_most)
    )]
    Memory {
        /// Images of a step on one GPU.
        batch_size: u32,
        /// Memory that a step needs, GiB.
        needed_gib: f64,
        /// Memory of a GPU, GiB.
        gib: f64,
        /// The largest batch that can fit.
        at_most: u64,
    },
}

/// Returns what to do about a batch above the largest one that can fit.
fn smaller(at_most: u64) -> String {
    match at_most {
        0 => "not even one image fits, choose other GPUs".to_owned(),
        most => format!("no batch above {} fits, choose a smaller batch", format_integer(most)),
    }
}

/// A machine type with the times of the whole job by number of GPUs.
#[derive(Clone, Debug)]
pub(crate) struct PublicArm {
    pub(crate) context: Context,
    pub(crate) times: PublicTimes,
}

/// Times of the whole job by number of executors, one for each GPU.
#[derive(Clone, Debug)]
pub(crate) struct PublicTimes(BTreeMap<u32, Prediction>);

impl PublicTimes {
    /// Returns the prediction of a share of the job.
    pub(crate) fn of_share(&self, executors: u32, share: f64) -> Option<Prediction> {
        let mut prediction = self.0.get(&executors)?.clone();
        prediction.scale(share);
        Some(prediction)
    }

    /// Returns the numbers of executors, ascending.
    pub(crate) fn executors(&self) -> Vec<u32> {
        self.0.keys().copied().collect()
    }
}

impl PublicQuestion {
    /// Predicts the job on each of these machine types with all its GPUs, or with each of these
    /// numbers of GPUs on as few machines as hold them.
    ///
    /// # Errors
    /// The GPU of an own number is unknown, or cannot compute in the number format.
    pub fn answer(
        &self,
        model: &PublicModel,
        gpus: &Gpus,
        machines: &[&MachineType],
        executors: &[u32],
    ) -> Result<PublicAnswer, PublicError> {
        let known = self.known(model, gpus)?;
        let mut answer = PublicAnswer { notes: self.contradictions(model, &known), ..PublicAnswer::default() };
        for machine in machines {
            match self.arm(model, gpus, machine, (&known, executors)) {
                Ok((arm, doubt)) => {
                    answer.arms.push(arm);
                    answer.may_not_fit.extend(doubt.map(|doubt| (machine.name.clone(), doubt)));
                }
                Err(reason) => answer.refused.push((machine.name.clone(), reason)),
            }
        }
        Ok(answer)
    }

    /// Returns the probability that a machine type with all its GPUs is more than `factor` times as
    /// fast as another one; `None` if one of them cannot run the job.
    pub fn is_faster(&self, model: &PublicModel, gpus: &Gpus, machines: [&MachineType; 2], factor: f64) -> Option<f64> {
        let known = self.known(model, gpus).ok()?;
        let cases = machines.map(|machine| {
            let accelerators = machine.accelerators.as_ref()?;
            let gpu = gpus.place(&accelerators.name, accelerators.memory_mib).ok()?;
            Some(self.case(model, gpus, gpu, (accelerators.count, 1)))
        });
        let [Some(one), Some(other)] = cases else { return None };
        let ratio = model.ratio([&one, &other], &known, self.software)?;
        let spread = Spread::student_t(ratio.log_deviation / DEVIATION, DEGREES_OF_FREEDOM).ok()?;
        Some(spread.probability_below(ratio.images_per_sec() / factor))
    }

    /// Returns the own numbers as cases.
    fn known<'a>(&'a self, model: &PublicModel, gpus: &'a Gpus) -> Result<Vec<KnownSpeed<'a>>, PublicError> {
        let known = self.known.iter().map(|own| {
            let gpu = gpus.place(&own.gpu, own.memory_mib)?;
            if !gpus.all()[gpu].has(self.precision) {
                return Err(PublicError::NoFormat { gpu: own.gpu.clone(), format: self.precision.name() });
            }
            let mut case = self.case(model, gpus, gpu, (own.gpus, own.machines));
            case.conditions.batch = own.batch_size.or(case.conditions.batch);
            let variance = own.log_deviation * own.log_deviation;
            Ok(KnownSpeed { case, images_per_sec: own.images_per_sec, variance })
        });
        known.collect()
    }

    fn case<'a>(&'a self, model: &PublicModel, gpus: &'a Gpus, gpu: usize, (count, nodes): (u32, u32)) -> Case<'a> {
        let conditions = Conditions {
            network: usize::MAX,
            gpu,
            mode: self.workload.mode,
            format: self.precision.measured(),
            gpus: count,
            nodes,
            batch: Some(self.batch_size),
        };
        let date = format!("{:04}", self.year);
        let kind = self.software.unwrap_or(SoftwareKind::Plain);
        model.own_case(&self.network, &gpus.all()[gpu], conditions, kind, foreglow_public::years(&date))
    }

    /// Returns a sentence for each own number that the public measurements contradict.
    fn contradictions(&self, model: &PublicModel, known: &[KnownSpeed<'_>]) -> Vec<String> {
        let cases: Vec<Case<'_>> = known.iter().map(|own| own.case).collect();
        let expected = model.speeds(&cases, &[], self.software);
        let (deviations, factor) = CONTRADICTION;
        let sentences = self.known.iter().zip(expected).filter_map(|(own, expected)| {
            let expected = expected?;
            let error = libm::log(own.images_per_sec) - expected.log_mean;
            let deviation = libm::hypot(expected.log_deviation, own.log_deviation);
            let (is_far, is_large) = (error.abs() > deviations * deviation, error.abs() >= libm::log(factor));
            (is_far || is_large).then(|| {
                format!(
                    "{:.0} images/s on {} is {:.1} times {} than public measurements suggest ({:.0} images/s); check \
                     the unit, the mode (here {}), the number format and the image size",
                    own.images_per_sec,
                    own.gpu,
                    libm::exp(error.abs()),
                    if error > 0.0 { "faster" } else { "slower" },
                    expected.images_per_sec(),
                    self.workload.mode.as_str()
                )
            })
        });
        sentences.collect()
    }

    /// Returns the arm of a machine type, and why the batch may not fit its GPUs.
    fn arm(
        &self,
        model: &PublicModel,
        gpus: &Gpus,
        machine: &MachineType,
        (known, executors): (&[KnownSpeed<'_>], &[u32]),
    ) -> Result<(PublicArm, Option<String>), Refusal> {
        let accelerators = machine.accelerators.as_ref().ok_or(Refusal::NoGpu)?;
        let step = GpuStep { precision: self.precision, batch_size: self.batch_size, memory: &self.memory };
        let (gpu, doubt) = step.place(gpus, machine)?;
        let counts = if executors.is_empty() { std::slice::from_ref(&accelerators.count) } else { executors };
        let cases: Vec<Case<'_>> = counts
            .iter()
            .map(|count| self.case(model, gpus, gpu, (*count, count.div_ceil(accelerators.count.max(1)))))
            .collect();
        let images = self.workload.images_processed();
        let speeds = model.speeds(&cases, known, self.software);
        let mut times = BTreeMap::new();
        for (count, speed) in counts.iter().zip(speeds).filter_map(|(count, speed)| Some((*count, speed?))) {
            let spread = Spread::student_t(speed.log_deviation / DEVIATION, DEGREES_OF_FREEDOM).ok();
            let prediction = Prediction::of_log(libm::log(images) - speed.log_mean, spread);
            times.extend(prediction.map(|prediction| (count, prediction)));
        }
        let times = PublicTimes(times);
        let gpu = Accelerator {
            name: accelerators.name.clone(),
            memory_mib: accelerators.memory_mib.map(u64::from),
            ..Accelerator::default()
        };
        let host = Host {
            machine: Some(machine.name.clone()),
            processors: Some(machine.processors),
            accelerators: vec![gpu; accelerators.count as usize],
            ..Host::default()
        };
        let context = Context {
            workload: self.workload.clone(),
            engine: Engine::Local,
            host,
            accelerator: Some(accelerators.name.clone()),
            shares_accelerators: false,
            accelerators_per_executor: None,
            machines: None,
        };
        Ok((PublicArm { context, times }, doubt))
    }
}
