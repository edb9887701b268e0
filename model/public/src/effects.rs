//! The effects on a speed: the columns of the linear model.

use foreglow_shared::Mode;
use libm::log;

use crate::{Conditions, Gpu, NetworkCosts, Precision, SoftwareKind};

/// A group of coefficients with one variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// Levels that every fit determines: intercept, mode, number formats, kinds of software.
    Level,
    /// Slopes on costs and data sheets, about the roofline.
    Slope,
    Family,
    /// Of a family, on the launch-bound share (the number of its kernels) and on the memory-bound
    /// share.
    FamilyLaunches,
    FamilyMemory,
    Gpu,
    /// Of a GPU, on the memory-bound share.
    GpuMemory,
    /// Generation of the GPU × number format.
    Generation,
    Source,
    /// Software of a source × mode.
    Stack,
    /// Source × number format.
    SourceFormat,
    /// Of a source, on the speed of the GPU.
    SourceGpuSlope,
    /// Of a source, on the launch-bound and on the memory-bound share.
    SourceLaunches,
    SourceMemory,
    /// Of a source, on ln(GPUs of a machine) and ln(machines).
    SourceGpus,
    SourceNodes,
}

impl Effect {
    pub(crate) const COUNT: usize = Self::SourceNodes as usize + 1;
}

/// A coefficient: an effect and its level.
pub(crate) type Key = (Effect, u32);

/// The level of something that the tables do not have.
pub(crate) const NEW: u32 = u32::MAX;

/// A speed to fit or to predict: its conditions and software. Indices that the fitted rows do not
/// have are new, and drawn from the distribution of their effect.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The network.
    pub network: &'a NetworkCosts,
    /// The GPU.
    pub gpu: &'a Gpu,
    /// The other conditions; its indices identify the network and the GPU.
    pub conditions: Conditions,
    /// Kind of the software.
    pub kind: SoftwareKind,
    /// Source; `None` for the user's own software.
    pub source: Option<usize>,
    /// Software of the source; `None` for the user's own.
    pub stack: Option<usize>,
    /// Years of the software since 2020, divided by 5.
    pub years: f64,
    /// Index of the network's name; `None` if new.
    pub name: Option<usize>,
    /// Index of the network's family; `None` if new.
    pub family: Option<usize>,
    /// Index of the GPU's generation; `None` if new.
    pub generation: Option<usize>,
}

/// A case as columns.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) columns: Vec<(Key, f64)>,
    /// ln(images/s) of the roofline on all GPUs.
    pub(crate) roofline: f64,
    /// Kind of the noise.
    pub(crate) noise: Noise,
    /// Software × network, whose effect is not a column.
    pub(crate) pair: (u32, u32),
}

/// Kinds of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noise {
    /// Large steps, limited by arithmetic or memory.
    Large,
    /// Steps of which launches take a part.
    Medium,
    /// Small steps, limited by the launches of kernels.
    Small,
    /// Several GPUs.
    Several,
}

impl Noise {
    pub(crate) const COUNT: usize = 4;
}

/// Share of the peak rate and of the memory bandwidth that networks reach.
const ARITHMETIC: f64 = 0.5;
const BANDWIDTH: f64 = 0.6;
/// Reads and writes of each activation, forward.
const PASSES: f64 = 4.0;
/// Work of a training step relative to the forward pass.
const TRAINING: f64 = 3.0;
/// Time to launch the kernels of a forward pass, seconds.
const LAUNCH_SECS: f64 = 4e-3;
/// Batch of questions and rows that do not name it.
const USUAL_BATCH: f64 = 128.0;
/// Launch-bound shares from which a row has the noise of medium and of small steps.
const MEDIUM: f64 = 0.05;
const SMALL: f64 = 0.3;

impl Case<'_> {
    /// Returns the columns; `None` if the GPU cannot compute in the number format.
    pub(crate) fn row(&self) -> Option<Row> {
        let Conditions { mode, format, gpus, nodes, .. } = self.conditions;
        let is_training = mode == Mode::Training;
        let Roofline { secs, memory, launch } = self.roofline()?;
        let memory = memory - 0.5;
        // About a V100 and a ResNet-50, so that the levels are those of usual runs.
        let rate = log(self.gpu.rate(format)? / 60.0);
        let bandwidth = log(self.gpu.memory_gb_per_sec / 900.0);
        let (speed, balance) = (f64::midpoint(rate, bandwidth), rate - bandwidth);
        let size = log(self.network.gmacs / 4.1);
        let intensity = log(self.network.gmacs * 1e3 / self.network.activations_m / 370.0).clamp(-1.5, 1.5);
        let per_machine = log(f64::from(gpus) / f64::from(nodes.max(1)));
        let machines = log(f64::from(nodes.max(1)));
        let flag = |is: bool| f64::from(u8::from(is));
        let (training, other) = (flag(is_training), flag(!self.network.is_convolutional));
        let is = |kind| flag(self.kind == kind);
        let (example, tuned) = (is(SoftwareKind::Example), is(SoftwareKind::Tuned));
        let format_is = |own| flag(format == own);
        let levels = [
            1.0,
            training,
            other,
            format_is(Precision::Fp32),
            format_is(Precision::Fp16),
            format_is(Precision::Tf32),
            format_is(Precision::Int8),
            launch,
            memory,
        ];
        let slopes = [
            speed,
            balance,
            size,
            intensity,
            log(self.network.parameters_m / 25.0),
            log(f64::from(self.network.image_px) / 224.0),
            memory * speed,
            memory * balance,
            memory * training,
            memory * other,
            launch * training,
            launch * speed,
            launch * other,
            training * speed,
            training * size,
            training * other,
            other * size,
            other * balance,
            example,
            tuned,
            example * speed,
            tuned * speed,
            self.years,
            tuned * memory,
            per_machine,
            machines,
        ];
        let numbered = |effect: Effect, values: &[f64]| -> Vec<(Key, f64)> {
            (0..).zip(values).map(|(level, value)| ((effect, level), *value)).collect()
        };
        let level = |index: Option<usize>| index.and_then(|index| u32::try_from(index).ok()).unwrap_or(NEW);
        let (source, stack, family) = (level(self.source), level(self.stack), level(self.family));
        let (network, gpu) = (level(self.name), self.conditions.gpu as u32);
        let of = |level: u32, within: u32| if level == NEW { NEW - 1 - within } else { level * 8 + within };
        let mut columns = numbered(Effect::Level, &levels);
        columns.extend(numbered(Effect::Slope, &slopes));
        columns.extend([
            ((Effect::Family, family), 1.0),
            ((Effect::FamilyLaunches, family), launch),
            ((Effect::FamilyMemory, family), memory),
            ((Effect::Gpu, gpu), 1.0),
            ((Effect::GpuMemory, gpu), memory),
            ((Effect::Generation, of(level(self.generation), format as u32)), 1.0),
            ((Effect::Source, source), 1.0),
            ((Effect::Stack, of(stack, u32::from(is_training))), 1.0),
            ((Effect::SourceFormat, of(source, format as u32)), 1.0),
            ((Effect::SourceGpuSlope, source), speed),
            ((Effect::SourceLaunches, source), launch),
            ((Effect::SourceMemory, source), memory),
            ((Effect::SourceGpus, source), per_machine),
            ((Effect::SourceNodes, source), machines),
        ]);
        columns.retain(|(_, value)| *value != 0.0);
        let noise = match () {
            () if gpus > 1 => Noise::Several,
            () if launch > SMALL => Noise::Small,
            () if launch > MEDIUM => Noise::Medium,
            () => Noise::Large,
        };
        Some(Row { columns, roofline: log(f64::from(gpus) / secs), noise, pair: (stack, network) })
    }

    /// Returns the time of an image on one GPU by arithmetic, memory traffic and launches.
    fn roofline(&self) -> Option<Roofline> {
        let Conditions { mode, format, batch, .. } = self.conditions;
        let NetworkCosts { gmacs, activations_m, parameters_m, .. } = self.network;
        let passes = if mode == Mode::Training { TRAINING } else { 1.0 };
        let batch = batch.map_or(USUAL_BATCH, f64::from);
        let arithmetic = 2.0 * gmacs * 1e9 / (self.gpu.rate(format)? * 1e12 * ARITHMETIC);
        let bytes = format.bytes() * 1e6 * (PASSES * activations_m + parameters_m / batch);
        let memory = bytes / (self.gpu.memory_gb_per_sec * 1e9 * BANDWIDTH);
        let launch = LAUNCH_SECS / batch;
        let sum = arithmetic + memory + launch;
        Some(Roofline { secs: passes * sum, memory: memory / (arithmetic + memory), launch: launch / sum })
    }
}

/// The time of an image on one GPU.
struct Roofline {
    secs: f64,
    /// Share of the memory traffic in the time without launches.
    memory: f64,
    /// Share of the launches.
    launch: f64,
}
