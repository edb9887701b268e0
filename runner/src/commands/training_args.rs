//! How a job trains, as arguments of `run` and `collect`.

use std::path::PathBuf;

use foreglow_shared::{Mode, Workload};

use super::workload_args::WorkloadArgs;
use crate::engine::{Job, SHARE_SIZE, TrainingJob};
use crate::executor::protocol::Evaluation;
use crate::executor::training::{Optimizer, Schedule, Training};
use crate::exit::unusable;
use crate::grammar;

/// Learning rates where the person names none: usual ones.
const SGD_RATE: f64 = 0.01;
const ADAM_RATE: f64 = 0.001;
const MOMENTUM: f64 = 0.9;
/// A step schedule where the person names none: a tenth after each third.
const STEP_FACTOR: f64 = 0.1;
const STEPS: u32 = 3;
/// Shares of a mini-batch where the person names no size: as many threads can work on it. They have no less than a few
/// images, without which batch normalisation means nothing.
const SHARES: u32 = 8;
const SMALLEST_SHARE: u32 = 8;
/// Images of a mini-batch where the person names no number; shares of fewer than eight images cost half as much time again.
const BATCH_SIZE: u32 = 32;

/// How the job trains.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingArgs {
    /// What the CNN does with the images
    #[arg(long, value_enum, default_value_t, help_heading = "Job")]
    mode: ModeArg,

    /// Passes over the sample [default: 1]
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    epochs: Option<u32>,

    /// What changes the weights [default: sgd]
    #[arg(long, value_enum)]
    optimizer: Option<OptimizerArg>,

    /// Learning rate at the start [default: 0.01 with sgd, 0.001 with adam]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    learning_rate: Option<f64>,

    /// Share of the last change that goes on, with sgd [default: 0.9]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    momentum: Option<f64>,

    /// How the learning rate goes on [default: constant]
    #[arg(long, value_enum)]
    schedule: Option<ScheduleArg>,

    /// Epochs between two changes, with --schedule step [default: a third of all]
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    step_epochs: Option<u32>,

    /// What the learning rate is multiplied by, with --schedule step [default: 0.1]
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    step_factor: Option<f64>,

    /// Mini-batches of an executor between two averages, K: with 1 the executors average their gradients, with more their
    /// parameters [default: 1]
    #[arg(long, value_name = "K", value_parser = grammar::count, allow_negative_numbers = true)]
    average_every: Option<u32>,

    /// Average the optimiser's state along with the parameters; else each executor keeps its own
    #[arg(long)]
    average_optimizer_state: bool,

    /// Images of a mini-batch that a thread learns at once, and all that batch normalisation sees [default: an eighth of
    /// the mini-batch, but no less than 8; on a GPU all of it]
    #[arg(long, value_name = "N", value_parser = grammar::count, allow_negative_numbers = true)]
    share_size: Option<u32>,

    /// Images or texts that are not learned, to judge the CNN by once the clock has stopped, in the format of --data
    #[arg(long, value_name = "PATH")]
    test_data: Option<PathBuf>,

    /// How many of them [default: all of --test-data; without it, those drawn beyond the job's, and none by default]
    #[arg(long, value_name = "N", value_parser = grammar::large_count, allow_negative_numbers = true)]
    test_images: Option<u64>,
}

/// What the CNN does with the images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum ModeArg {
    #[default]
    Inference,
    Training,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OptimizerArg {
    /// Stochastic gradient descent with momentum
    Sgd,
    /// Adam
    Adam,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ScheduleArg {
    /// It stays
    Constant,
    /// It falls every few epochs
    Step,
    /// Half a cosine down to 0
    Cosine,
}

impl TrainingArgs {
    /// This job of inference, or its training where it trains.
    ///
    /// # Errors
    /// An argument is unusable: the sentence names it and says what it may be.
    pub fn job(&self, mut job: Job, workload: &WorkloadArgs) -> anyhow::Result<Job> {
        self.check_mode()?;
        if self.mode == ModeArg::Inference {
            return Ok(job);
        }
        let images = job.workload.images;
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
        // What decides how long a step takes. The learning rate does not.
        let optimizer = match settings.optimizer {
            Optimizer::Sgd { momentum: 0.0 } => "sgd",
            Optimizer::Sgd { .. } => "sgd_momentum",
            Optimizer::Adam => "adam",
        };
        let extra = &mut job.workload.extra;
        extra.insert("optimizer".into(), optimizer.into());
        extra.insert("average_every".into(), settings.average_every.into());
        extra.insert("average_optimizer_state".into(), settings.average_optimizer_state.into());
        extra.insert(SHARE_SIZE.into(), settings.share_size.into());
        job.training = Some(TrainingJob { settings, held_out });
        Ok(job)
    }

    /// The same for a job with several image sizes and batch sizes.
    ///
    /// # Errors
    /// As [`Self::job`].
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
        let epochs = self.epochs.unwrap_or(1);
        let average_every = self.average_every.unwrap_or(1);
        let batch_size = job.workload.batch_size;
        let whole =
            if job.device.bounds_memory() { batch_size.div_ceil(SHARES).max(SMALLEST_SHARE) } else { batch_size };
        let share_size = self.share_size.unwrap_or(whole);
        if self.average_optimizer_state && average_every == 1 {
            return Err(unusable(
                "with --average-every 1 the gradients are averaged and the optimisers are all alike; leave out --average-optimizer-state, or average less often",
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
            return Ok(Some(Evaluation { source, first: 0, images }));
        }
        let Some(images) = self.test_images else { return Ok(None) };
        if job.source.drawing().is_none() {
            let noun = job.source.noun();
            return Err(unusable(format!("--test-images needs --test-data: {noun} that are not learned")));
        }
        Ok(Some(Evaluation { source: job.source.clone(), first: job.workload.images, images }))
    }

    /// Refuses what is for training only where nothing trains.
    fn check_mode(&self) -> anyhow::Result<()> {
        let given = [
            ("--epochs", self.epochs.is_some()),
            ("--optimizer", self.optimizer.is_some()),
            ("--learning-rate", self.learning_rate.is_some()),
            ("--momentum", self.momentum.is_some()),
            ("--schedule", self.schedule.is_some()),
            ("--step-epochs", self.step_epochs.is_some()),
            ("--step-factor", self.step_factor.is_some()),
            ("--average-every", self.average_every.is_some()),
            ("--average-optimizer-state", self.average_optimizer_state),
            ("--share-size", self.share_size.is_some()),
            ("--test-data", self.test_data.is_some()),
            ("--test-images", self.test_images.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) if self.mode == ModeArg::Inference => {
                Err(unusable(format!("{option} is for training; add --mode training or leave it out")))
            }
            _ => Ok(()),
        }
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
    Err(unusable(format!("{option} is {number}; give a share from 0 up to, but less than, 1")))
}
