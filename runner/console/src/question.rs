//! The user's question: deadline, budget, candidate configurations, memory and prices.

use std::path::{Path, PathBuf};

use foreglow_exit::unusable;
use foreglow_shared::{Job, Observation, PriceSheet, Question, format_duration};

use crate::answer::Startup;
use crate::ask::{name, read_text};
use crate::grammar::{Counts, accuracy, cores, duration_secs, executors, mib, money, probability};
use crate::progress::note;

/// Question to the predictor.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Question")]
pub struct QuestionArgs {
    /// Deadline of the job: 90s, 5m, 1h30m
    #[arg(long, value_name = "TIME", value_parser = duration_secs, allow_negative_numbers = true)]
    pub deadline: Option<f64>,

    /// Include the start-up in the deadline: subtracts the longest one of the samples
    #[arg(long, requires = "deadline")]
    pub with_startup: bool,

    /// Most that the job may cost, in the currency of the prices: 5, 0.25
    #[arg(long, value_name = "MONEY", value_parser = money, allow_negative_numbers = true)]
    pub budget: Option<f64>,

    /// Least accuracy of the trained CNN: 97% or 0.97. Only configurations qualify whose accuracy
    /// was measured on all images: the lower end of its 95 % interval over the seeds, or the value
    /// of a single run
    #[arg(long, value_name = "SHARE", value_parser = accuracy, allow_negative_numbers = true)]
    pub min_accuracy: Option<f64>,

    /// Probability with which the job must meet the deadline and the budget: 0.9 or 90%
    /// [default: 90%]
    #[arg(long, value_name = "P", value_parser = probability, allow_negative_numbers = true)]
    pub probability: Option<f64>,

    /// Candidate numbers of executors: 1-8 or 1,2,4 [default: 1 to the largest measured]
    #[arg(long, short = 'E', value_name = "LIST", value_parser = executors, allow_negative_numbers = true)]
    pub executors: Option<Counts>,

    /// Candidate numbers of cores per executor: 1-8 or 1,2,4 [default: 1 to the largest measured]
    #[arg(long, short = 'C', value_name = "LIST", value_parser = cores, allow_negative_numbers = true)]
    pub cores: Option<Counts>,

    /// What the configurations are charged for.
    #[command(flatten)]
    pub bill: Bill,
}

/// What a configuration is charged for.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Question")]
pub struct Bill {
    /// Memory per executor, for the price: 2048 (MiB), 512m, 2g [default: the largest measured; in
    /// a comparison what measured peaks need]
    #[arg(long, value_name = "SIZE", value_parser = mib, allow_negative_numbers = true)]
    pub memory: Option<u32>,

    /// Price sheet, JSON [default: a published list price for the job's hardware, named in the
    /// answer]
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
}

impl QuestionArgs {
    /// Returns the question about a job.
    ///
    /// # Errors
    /// The price sheet cannot be read.
    pub fn about(&self, job: &Job) -> anyhow::Result<Question> {
        let mut question = Question::about_job(job);
        self.change(&mut question, &job.observations)?;
        Ok(question)
    }

    /// Applies the given options to a question about these runs.
    ///
    /// # Errors
    /// The price sheet cannot be read, or the start-up is longer than the deadline.
    pub fn change(&self, question: &mut Question, runs: &[Observation]) -> anyhow::Result<()> {
        self.bill.change(question)?;
        question.deadline_secs = self.deadline_secs(runs)?.or(question.deadline_secs);
        question.budget = self.budget.or(question.budget);
        question.min_accuracy = self.min_accuracy.or(question.min_accuracy);
        question.probability = self.probability.unwrap_or(question.probability);
        if let Some(Counts(executors)) = &self.executors {
            question.executors.clone_from(executors);
        }
        if let Some(Counts(cores)) = &self.cores {
            question.cores_per_executor.clone_from(cores);
        }
        Ok(())
    }

    /// Returns the deadline for the completion time without start-up.
    ///
    /// # Errors
    /// The start-up is longer than the deadline, or unknown.
    pub fn deadline_secs(&self, observations: &[Observation]) -> anyhow::Result<Option<f64>> {
        let Some(deadline) = self.deadline.filter(|_| self.with_startup) else { return Ok(self.deadline) };
        let Some(startup) = Startup::of(observations).map(|startup| startup.longest_secs()) else {
            return Err(unusable("the samples do not say how long a start-up takes; leave --with-startup out"));
        };
        if startup >= deadline {
            return Err(unusable(format!(
                "a start-up took up to {}, which leaves nothing of the deadline of {}; allow more time",
                format_duration(startup),
                format_duration(deadline)
            )));
        }
        note(&format!(
            "The deadline of {} leaves {} after a start-up of {}, the longest of the samples.",
            format_duration(deadline),
            format_duration(deadline - startup),
            format_duration(startup)
        ));
        Ok(Some(deadline - startup))
    }
}

impl Bill {
    /// Returns the default question with this memory and these prices.
    ///
    /// # Errors
    /// The price sheet cannot be read.
    pub fn about(&self, job: &Job) -> anyhow::Result<Question> {
        let mut question = Question::about_job(job);
        self.change(&mut question)?;
        Ok(question)
    }

    fn change(&self, question: &mut Question) -> anyhow::Result<()> {
        question.memory_per_executor_mib = self.memory.unwrap_or(question.memory_per_executor_mib);
        if let Some(file) = &self.prices {
            question.prices = read_prices(file)?;
        }
        Ok(())
    }
}

/// Reads and checks a price sheet.
///
/// # Errors
/// The file cannot be read, or is not a valid price sheet.
pub fn read_prices(file: &Path) -> anyhow::Result<PriceSheet> {
    let text = read_text(file, "a price sheet in JSON")?;
    PriceSheet::from_json(&text).map_err(|error| unusable(format!("{}: {error}", name(file))))
}
