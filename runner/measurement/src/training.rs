//! Training arguments of `run` and `collect`.

use std::path::PathBuf;

use foreglow_architectures::{Input, Shape};
use foreglow_cnn::Network;
use foreglow_console::grammar;
use foreglow_data::{Kind, class_numbers};
use foreglow_engine::{Job, TrainingJob};
use foreglow_exit::unusable;
use foreglow_protocol::{Evaluation, Optimizer, Schedule, Training};
use foreglow_shared::{Mode, NumberFormat, Workload};

use crate::workload::WorkloadArgs;

/// Usual learning rates, as defaults.
const SGD_RATE: f64 = 0.01;
const ADAM_RATE: f64 = 0.001;
const MOMENTUM: f64 = 0.9;
/// Default step schedule: a tenth after each third.
const STEP_FACTOR: f64 = 0.1;
const STEPS: u32 = 3;
/// Default number of shares of a mini-batch, which limits the threads that can work on it. A share
/// needs a few images for batch normalisation.
const SHARES: u32 = 8;
const SMALLEST_SHARE: u32 = 8;
/// Default mini-batch size for training: shares of fewer than eight images take half as long again
/// per image.
const BATCH_SIZE: u32 = 32;

/// Training arguments.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingArgs {
    /// Mode of the job [default: inference, and training for your own program]
    #[arg(long, value_enum, help_heading = "Job")]
    mode: Option<ModeArg>,

    /// Passes over the sample, or those of your own program [default: 1]
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    epochs: Option<u32>,

    /// Optimiser [default: sgd]
    #[arg(long, value_enum)]
    optimizer: Option<OptimizerArg>,

    /// Initial learning rate [default: 0.01 with sgd, 0.001 with adam]
    #[arg(long, value_name = "RATE", value_parser = grammar::number, allow_negative_numbers = true)]
    learning_rate: Option<f64>,

    /// Momentum of sgd [default: 0.9]
    #[arg(long, value_name = "SHARE", value_parser = grammar::number, allow_negative_numbers = true)]
    momentum: Option<f64>,

    /// Learning rate schedule [default: constant]
    #[arg(long, value_enum)]
    schedule: Option<ScheduleArg>,

    /// Epochs between two changes, with --schedule step [default: a third of all]
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    step_epochs: Option<u32>,

    /// Factor of each change, with --schedule step [default: 0.1]
    #[arg(long, value_name = "FACTOR", value_parser = grammar::number, allow_negative_numbers = true)]
    step_factor: Option<f64>,

    /// Mini-batches of an executor between two averages, K: with 1 the executors average gradients,
    /// otherwise parameters [default: 1]
    #[arg(long, value_name = "K", value_parser = grammar::count, allow_negative_numbers = true)]
    average_every: Option<u32>,

    /// Average the optimiser's state with the parameters instead of keeping it local to each
    /// executor
    #[arg(long)]
    average_optimizer_state: bool,

    /// Images of a mini-batch that a thread processes at once; batch normalisation is computed over
    /// these [default: an eighth of the mini-batch, but at least 8; on a GPU all of it]
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    share_size: Option<u32>,

    /// Share of the sample to leave out of training and to evaluate the CNN on after each epoch,
    /// outside the clock: 10%. Runs with other shares are not comparable
    #[arg(long, value_name = "SHARE", value_parser = grammar::share, allow_negative_numbers = true)]
    validation: Option<f64>,

    /// Held-out images or texts on which to evaluate the CNN after the clock has stopped, in the
    /// format of --data
    #[arg(long, value_name = "PATH")]
    test_data: Option<PathBuf>,

    /// Number of held-out items [default: all of --test-data; for generated data none]
    #[arg(long, value_name = "N", value_parser = grammar::large_count, allow_negative_numbers = true)]
    test_images: Option<u64>,
}

/// Mode of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ModeArg {
    /// Forward passes only
    #[default]
    Inference,
    /// Forward, backward and update
    Training,
}

/// Optimiser of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OptimizerArg {
    /// Stochastic gradient descent with momentum
    Sgd,
    /// Adam
    Adam,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ScheduleArg {
    /// Constant
    Constant,
    /// Step decay
    Step,
    /// Cosine annealing to 0
    Cosine,
}

impl TrainingArgs {
    /// Whether the job trains.
    pub fn is_training(&self) -> bool {
        self.mode == Some(ModeArg::Training)
    }

    /// Refuses options that only the local engine supports.
    ///
    /// # Errors
    /// An option is for runs on this machine.
    pub fn check_cluster(&self) -> anyhow::Result<()> {
        match self.validation {
            Some(_) => Err(unusable("--validation is for runs on this machine; on a cluster use --test-data")),
            None => Ok(()),
        }
    }

    /// Returns the job with these training settings, or unchanged for inference.
    ///
    /// # Errors
    /// An argument is invalid; the message says what is valid.
    pub fn job(&self, mut job: Job, workload: &WorkloadArgs) -> anyhow::Result<Job> {
        self.check_mode()?;
        if !self.is_training() {
            check_weights(&job)?;
            return Ok(job);
        }
        let format = job.workload.number_format();
        if format != NumberFormat::F32 {
            return Err(unusable(format!(
                "--dtype {format} is for inference: small gradients become 0 in 16-bit floats; train with --dtype f32"
            )));
        }
        let images = job.workload.images;
        if self.validation.is_some() && images < 2 {
            return Err(unusable("--validation needs at least 2 images, one of them to train on"));
        }
        let usual = BATCH_SIZE.min(u32::try_from(images).unwrap_or(BATCH_SIZE));
        if workload.batch_size.is_none() {
            job.workload.batch_size = usual;
        }
        let batch_size = job.workload.batch_size;
        if u64::from(batch_size) > images {
            let noun = job.workload.noun();
            return Err(unusable(format!(
                "--batch-size is {batch_size} and the job has {images} {noun}; give {images} or less"
            )));
        }
        let settings = self.settings(&job)?;
        let held_out = self.held_out(&job, workload)?;
        job.workload.mode = Mode::Training;
        job.workload.epochs = settings.epochs;
        // Only settings that affect the time of a step; the learning rate does not.
        if workload.classes.is_none() {
            job.workload.classes = folder_classes(&job)?;
        }
        let network = Network::of(&job.workload)?.with_weights(job.weights.as_deref());
        if let Some(shape) = shape(&network, &job.workload) {
            network.check_training(shape)?;
            network.check_weights(shape)?;
        }
        let optimizer = match settings.optimizer {
            Optimizer::Sgd { momentum: 0.0 } => "sgd",
            Optimizer::Sgd { .. } => "sgd_momentum",
            Optimizer::Adam => "adam",
        };
        job.workload.optimizer = Some(optimizer.to_owned());
        job.workload.average_every = Some(settings.average_every);
        job.workload.average_optimizer_state = Some(settings.average_optimizer_state);
        job.workload.share_size = Some(settings.share_size);
        job.workload.validation = settings.validation;
        let (checkpoint, save_weights) = (None, None);
        job.training = Some(TrainingJob { settings, held_out, checkpoint, save_weights, parameters });
        Ok(job)
    }

    /// Like [`Self::job`], for a job with several image sizes and batch sizes.
    ///
    /// # Errors
    /// As for [`Self::job`].
    pub fn job_and_workloads(
        &self,
        job: Job,
        workloads: Vec<Workload>,
        args: &WorkloadArgs,
    ) -> anyhow::Result<(Job, Vec<Workload>)> {
        let trained = |workload| anyhow::Ok(self.job(job.with(workload), args)?.workload);
        let workloads = workloads.into_iter().map(trained).collect::<anyhow::Result<_>>()?;
        Ok((self.job(job, args)?, workloads))
    }

    fn settings(&self, job: &Job) -> anyhow::Result<Training> {
        let epochs = self.epochs();
        let average_every = self.average_every.unwrap_or(1);
        let batch_size = job.workload.batch_size;
        let whole =
            if job.device.bounds_memory() { batch_size.div_ceil(SHARES).max(SMALLEST_SHARE) } else { batch_size };
        let share_size = self.share_size.unwrap_or(whole);
        if self.average_optimizer_state && average_every == 1 {
            return Err(unusable(
                "with --average-every 1 the gradients are averaged, so that all optimisers have the same state; \
                leave out --average-optimizer-state, or average less often",
            ));
        }
        let optimizer = match self.optimizer.unwrap_or(OptimizerArg::Sgd) {
            OptimizerArg::Sgd => Optimizer::Sgd { momentum: share("--momentum", self.momentum.unwrap_or(MOMENTUM))? },
            OptimizerArg::Adam if self.momentum.is_some() => {
                return Err(unusable("--momentum is for --optimizer sgd; leave it out"));
            }
            OptimizerArg::Adam => Optimizer::Adam,
        };
        let usual = if optimizer == Optimizer::Adam { ADAM_RATE } else { SGD_RATE };
        Ok(Training {
            optimizer,
            learning_rate: above_zero("--learning-rate", self.learning_rate.unwrap_or(usual))?,
            schedule: self.schedule(epochs)?,
            epochs,
            executors: 1,
            average_every,
            average_optimizer_state: self.average_optimizer_state,
            share_size: share_size.min(batch_size),
            validation: self.validation,
            listen: None,
        })
    }

    fn schedule(&self, epochs: u32) -> anyhow::Result<Schedule> {
        let schedule = self.schedule.unwrap_or(ScheduleArg::Constant);
        if schedule != ScheduleArg::Step {
            for (option, is_given) in
                [("--step-epochs", self.step_epochs.is_some()), ("--step-factor", self.step_factor.is_some())]
            {
                if is_given {
                    return Err(unusable(format!("{option} is for --schedule step; leave it out")));
                }
            }
        }
        Ok(match schedule {
            ScheduleArg::Constant => Schedule::Constant,
            ScheduleArg::Cosine => Schedule::Cosine,
            ScheduleArg::Step => {
                let epochs = self.step_epochs.unwrap_or(epochs.div_ceil(STEPS));
                let factor = above_zero("--step-factor", self.step_factor.unwrap_or(STEP_FACTOR))?;
                Schedule::Step { epochs, factor }
            }
        })
    }

    fn held_out(&self, job: &Job, workload: &WorkloadArgs) -> anyhow::Result<Option<Evaluation>> {
        if let Some(path) = &self.test_data {
            let source = workload.source(path)?;
            let there = source.count()?.unwrap_or(0);
            let images = self.test_images.unwrap_or(there);
            if images > there {
                let (path, noun) = (path.display(), source.noun());
                return Err(unusable(format!("{path} holds {there} {noun}; give --test-images {there} or less")));
            }
            class_numbers(&job.source, &source)?;
            return Ok(Some(Evaluation { source, first: 0, images }));
        }
        let Some(images) = self.test_images else { return Ok(None) };
        if job.source.drawing().is_none() {
            let noun = job.source.noun();
            return Err(unusable(format!("--test-images needs --test-data with held-out {noun}")));
        }
        Ok(Some(Evaluation { source: job.source.clone(), first: job.workload.images, images }))
    }

    /// Returns the passes over the data.
    pub fn epochs(&self) -> u32 {
        self.epochs.unwrap_or(1)
    }

    /// Returns the mode of the user's own program, which usually trains.
    pub fn program_mode(&self) -> Mode {
        if self.mode == Some(ModeArg::Inference) { Mode::Inference } else { Mode::Training }
    }

    /// Returns an option that is given and only for CNNs.
    pub fn of_cnn(&self) -> Option<&'static str> {
        self.given().into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }

    /// Rejects training options in inference mode.
    fn check_mode(&self) -> anyhow::Result<()> {
        let given = [("--epochs", self.epochs.is_some())].into_iter().chain(self.given());
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) if !self.is_training() => {
                Err(unusable(format!("{option} is for training; add --mode training or leave it out")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the options of the training of a CNN, and whether they are given.
    fn given(&self) -> [(&'static str, bool); 12] {
        [
            ("--optimizer", self.optimizer.is_some()),
            ("--learning-rate", self.learning_rate.is_some()),
            ("--momentum", self.momentum.is_some()),
            ("--schedule", self.schedule.is_some()),
            ("--step-epochs", self.step_epochs.is_some()),
            ("--step-factor", self.step_factor.is_some()),
            ("--average-every", self.average_every.is_some()),
            ("--average-optimizer-state", self.average_optimizer_state),
            ("--share-size", self.share_size.is_some()),
            ("--validation", self.validation.is_some()),
            ("--test-data", self.test_data.is_some()),
            ("--test-images", self.test_images.is_some()),
        ]
    }
}

/// Returns the number of classes of a folder of classes if a built-in CNN has another; `None` for
/// other data.
fn folder_classes(job: &Job) -> anyhow::Result<Option<u32>> {
    if job.workload.network.is_some() || !matches!(job.source.kind, Kind::Folder | Kind::Texts(_)) {
        return Ok(None);
    }
    let own = Network::of(&job.workload)?.with_classes(None)?;
    let own = shape(&own, &job.workload).map(|shape| own.classes(shape, 1)).transpose()?;
    let there = job.source.open()?.classes().filter(|classes| *classes > 1);
    Ok(there.filter(|classes| own != Some(*classes as usize)))
}

/// Checks the file with the weights before anything runs.
fn check_weights(job: &Job) -> anyhow::Result<()> {
    let network = Network::of(&job.workload)?.with_weights(job.weights.as_deref());
    match shape(&network, &job.workload) {
        Some(shape) => network.check_weights(shape),
        None => Ok(()),
    }
}

fn above_zero(option: &str, number: f64) -> anyhow::Result<f64> {
    if number > 0.0 && number.is_finite() {
        return Ok(number);
    }
    Err(unusable(format!("{option} is {number}; give a number above 0")))
}

fn share(option: &str, number: f64) -> anyhow::Result<f64> {
    if (0.0..1.0).contains(&number) {
        return Ok(number);
    }
    Err(unusable(format!("{option} is {number}; give a number from 0 to below 1")))
}

/// Counts the learned parameters of a workload's CNN; `None` for an unknown CNN.
fn parameters(workload: &Workload) -> Option<u64> {
    let network = Network::of(workload).ok()?;
    let shape = shape(&network, workload)?;
    Some(network.size(shape).ok()?.parameters as u64)
}

/// Returns the shape of a workload's inputs.
fn shape(network: &Network, workload: &Workload) -> Option<Shape> {
    match (network.input().ok()?, &workload.text) {
        (Input::Images { colour, .. }, _) => Some(colour.shape(workload.image_px)),
        (Input::Texts { .. }, Some(text)) => Some([1, text.words as usize, text.vector_dims as usize]),
        (Input::Texts { .. }, None) => None,
    }
}
