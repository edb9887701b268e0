//! The predictor for Python.
//!
//! `extension.rs` gives it to the package `foreglow` as `foreglow._native`; its class
//! `foreglow.Predictor` is the interface for users.

use foreglow_model::{
    Column, Dataset, DatasetError, Features, FitError, Meaning, Prediction, Predictor, Setting, TablePredictor, Values,
    extrapolated,
};
use foreglow_shared::{Job, MOST_CORES, MOST_EXECUTORS, ReadError, Sample, list_jobs, measured_jobs, read_samples};

/// A predictor that was fitted to timing samples or to another table of runs.
#[derive(Debug)]
pub enum FittedPredictor {
    /// Of the samples of one job.
    Job(Box<Predictor>),
    /// Of a table.
    Table(Box<TablePredictor>),
}

/// Why nothing was fitted or predicted. `Display` gives one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictorError {
    /// The samples cannot be read.
    #[error(transparent)]
    Samples(#[from] ReadError),
    /// Not one job is meant.
    #[error("{why}; the samples contain:\n{jobs}")]
    NotOneJob {
        /// What to do.
        why: &'static str,
        /// The jobs, one a line.
        jobs: String,
    },
    /// The runs cannot be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The columns are not a table.
    #[error(transparent)]
    Table(#[from] DatasetError),
    /// A question about samples is not one about a configuration.
    #[error("row {row} of {column} is {value}; give {expected}")]
    Question {
        /// The column.
        column: &'static str,
        /// The row, counted from 1.
        row: usize,
        /// The value.
        value: f64,
        /// What is valid.
        expected: String,
    },
}

impl FittedPredictor {
    /// Fits the samples of one job in the content of a file, JSON Lines or CSV. Runs of a part
    /// of the job that tell their progress count as runs of the whole job. `model` and
    /// `context`, a number of [`list_jobs`], choose among several jobs.
    ///
    /// # Errors
    /// The content holds no samples, several jobs, or too few runs.
    pub fn from_samples(content: &[u8], model: Option<&str>, context: Option<usize>) -> Result<Self, PredictorError> {
        let job = one_job(&extrapolated(&read_samples(content)?), model, context)?;
        Ok(Self::Job(Box::new(Predictor::fit_job(&job)?)))
    }

    /// Fits a table of runs with their times in seconds. Where `censored` is true, the time is a
    /// lower bound. `known` has the meanings of numeric columns by name.
    ///
    /// # Errors
    /// The columns differ in length, hold a number that is not finite or a time that is not above
    /// 0, or all times are lower bounds.
    pub fn from_table(
        columns: Vec<Column>,
        secs: Vec<f64>,
        censored: Vec<bool>,
        known: &[(&str, Meaning)],
    ) -> Result<Self, PredictorError> {
        let dataset = Dataset::new(Features::new(columns)?, secs, censored)?;
        Ok(Self::Table(Box::new(TablePredictor::fit(&dataset, known)?)))
    }

    /// Returns what the runs themselves say against the predictions, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Self::Job(predictor) => predictor.warnings().iter().map(ToString::to_string).collect(),
            Self::Table(_) => Vec::new(),
        }
    }

    /// Predicts the time of each row of questions. Those about samples have the columns `executors`
    /// and `cores_per_executor`, and may have a `sampling_rate`, which is else 1; those about a
    /// table have its columns.
    ///
    /// # Errors
    /// A column is missing or of another kind, or a number is not valid.
    pub fn predict(&self, columns: Vec<Column>) -> Result<Vec<Prediction>, PredictorError> {
        let questions = Features::new(columns)?;
        match self {
            Self::Job(predictor) => {
                let settings = settings(&questions)?;
                predictor.prepare(&settings);
                Ok(settings.into_iter().map(|setting| predictor.predict(setting)).collect())
            }
            Self::Table(predictor) => Ok(predictor.predict(&questions)?),
        }
    }
}

/// Selects the job as the commands do.
fn one_job(samples: &[Sample], model: Option<&str>, context: Option<usize>) -> Result<Job, PredictorError> {
    let all = measured_jobs(samples);
    let is_asked = |(number, job): &&(usize, Job)| {
        context.is_none_or(|asked| asked == *number) && model.is_none_or(|asked| asked == job.context.workload.model)
    };
    let asked: Vec<&Job> = all.iter().filter(is_asked).map(|(_, job)| job).collect();
    let one = match asked.as_slice() {
        [job] => Some((*job).clone()),
        several => Job::of_all_sizes(several),
    };
    one.ok_or_else(|| PredictorError::NotOneJob {
        why: match (all.is_empty(), asked.is_empty()) {
            (true, _) => "no run completed, so there are no times to fit",
            (_, true) => "no job has this model or context; choose one of those below",
            _ => "there are several jobs; choose one with context=N or model=NAME",
        },
        jobs: list_jobs(&all),
    })
}

/// Converts rows of questions to settings.
fn settings(questions: &Features) -> Result<Vec<Setting>, PredictorError> {
    let column = |name: &str| questions.columns().iter().find(|column| column.name == name);
    let numbers = |name: &'static str| match column(name).map(|column| &column.values) {
        Some(Values::Numeric { values, .. }) => Ok(values),
        Some(Values::Category { .. }) => Err(DatasetError::Kind { name: name.into(), numeric: true }),
        None => Err(DatasetError::NoColumn { name: name.into() }),
    };
    let executors = counts("executors", numbers("executors")?, MOST_EXECUTORS)?;
    let cores = counts("cores_per_executor", numbers("cores_per_executor")?, MOST_CORES)?;
    let rates = match column("sampling_rate") {
        Some(_) => numbers("sampling_rate")?.clone(),
        None => vec![1.0; questions.rows()],
    };
    let of_row = |(row, ((executors, cores), rate)): (usize, ((u32, u32), f64))| {
        if rate > 0.0 && rate <= 1.0 {
            return Ok(Setting::even(executors, cores, rate));
        }
        let expected = "a share of the job above 0 and at most 1".to_owned();
        Err(PredictorError::Question { column: "sampling_rate", row: row + 1, value: rate, expected })
    };
    executors.into_iter().zip(cores).zip(rates).enumerate().map(of_row).collect()
}

/// Converts numbers to counts of at least 1 and at most `most`.
fn counts(column: &'static str, values: &[f64], most: u32) -> Result<Vec<u32>, PredictorError> {
    let of_row = |(row, value): (usize, &f64)| {
        let is_count = value.fract() == 0.0 && (1.0..=f64::from(most)).contains(value);
        let expected = || format!("a whole number from 1 to {most}");
        is_count.then_some(*value as u32).ok_or_else(|| PredictorError::Question {
            column,
            row: row + 1,
            value: *value,
            expected: expected(),
        })
    };
    values.iter().enumerate().map(of_row).collect()
}
