//! Trials: runs to fit, and other runs to predict.

mod cnn;

use foreglow_model::{Column, Dataset, Features, Outcome, Repeats, Rival, Roles, Settings, Term, Values};
use foreglow_shared::{Job, Observation};

use crate::chance::Chance;
use crate::contestant::{Constants, answer_job, answer_table};
use crate::slowed::{Slowed, slow};

pub use self::cnn::CnnTrial;

/// One split.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "few trials exist at a time, and each holds far more on the heap")]
pub enum Trial {
    /// Rows of any table, for the predictor of tables.
    Table(TableTrial),
    /// Runs of a job, for the predictor of jobs.
    Job(JobTrial),
    /// Runs of CNNs with their costs, for the predictor of CNNs that were never run.
    Cnn(CnnTrial),
}

/// One split of a table.
#[derive(Clone)]
pub struct TableTrial {
    /// Fitted runs; each repeat is a row.
    pub fit: Dataset,
    /// Tested runs.
    pub test: Dataset,
    /// Reference time of repeated settings.
    pub repeats: Repeats,
    /// Meanings of the columns.
    pub roles: Roles,
}

/// One split of the runs of a job.
#[derive(Clone)]
pub struct JobTrial {
    /// The fitted runs.
    pub job: Job,
    /// The tested runs.
    pub test: Vec<Observation>,
    /// Whether a setting is tested by the median of its runs or by each.
    pub repeats: Repeats,
}

impl Trial {
    /// Returns the same split with slow runs among the fitted ones.
    pub fn slowed(&self, slowed: Slowed, number: u64) -> Self {
        let mut chance = Chance::new(&[slowed.seed(), number]);
        match self {
            Self::Table(trial) => Self::Table(trial.slowed(slowed, &mut chance)),
            Self::Cnn(trial) => Self::Cnn(trial.slowed(slowed, &mut chance)),
            Self::Job(trial) => {
                let mut trial = trial.clone();
                let runs = &mut trial.job.observations;
                let (size, group) = (runs.iter().map(|run| run.sampling_rate).collect::<Vec<_>>(), cells(runs));
                let mut secs: Vec<f64> = runs.iter().map(|run| run.completion_time_secs).collect();
                slow(slowed, &mut secs, &group, &size, &mut chance);
                runs.iter_mut().zip(secs).for_each(|(run, secs)| run.completion_time_secs = secs);
                Self::Job(trial)
            }
        }
    }

    /// Returns whether a setting has several fitted runs.
    pub fn has_repeats(&self) -> bool {
        match self {
            Self::Table(trial) => Settings::of(&trial.fit).len() < trial.fit.secs().len(),
            Self::Cnn(_) => false,
            Self::Job(trial) => {
                let cells = cells(&trial.job.observations);
                (1..cells.len()).any(|row| cells[..row].contains(&cells[row]))
            }
        }
    }

    /// Returns whether two settings have the most data, and others less.
    pub fn has_largest(&self) -> bool {
        let size = match self {
            Self::Table(trial) => trial.size(),
            Self::Cnn(_) => return false,
            Self::Job(trial) => trial.job.observations.iter().map(|run| run.sampling_rate).collect(),
        };
        let largest = size.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let count = size.iter().filter(|size| **size == largest).count();
        count > 1 && count < size.len()
    }

    /// Returns the number of tested runs.
    pub fn tested(&self) -> usize {
        match self {
            Self::Table(trial) => trial.trial().tested(),
            Self::Cnn(trial) => trial.test.len(),
            Self::Job(trial) => trial.tested().len(),
        }
    }

    /// Returns the answers of the default predictor.
    ///
    /// # Errors
    /// The predictor cannot be fitted.
    pub fn foreglow(&self, constants: &Constants) -> Result<Vec<Outcome>, String> {
        match self {
            Self::Table(trial) => {
                trial.trial().outcomes(|fit, asked| answer_table(fit, asked, &trial.roles, constants))
            }
            Self::Job(trial) => answer_job(&trial.job, &trial.tested(), constants),
            Self::Cnn(trial) => trial.foreglow(),
        }
    }

    /// Returns the answers of a rival.
    ///
    /// # Errors
    /// The rival does not support these runs.
    pub fn rival(&self, rival: &dyn Rival) -> Result<Vec<Outcome>, String> {
        let table = match self {
            Self::Table(trial) => return trial.rival(rival),
            Self::Cnn(trial) => return trial.rival(rival),
            Self::Job(trial) => trial.table(),
        };
        table.map_err(|error| error.to_string())?.rival(rival)
    }
}

impl TableTrial {
    fn trial(&self) -> foreglow_model::Trial {
        foreglow_model::Trial::new(&self.fit, &self.test, self.repeats)
    }

    /// Returns the answers of a rival.
    ///
    /// # Errors
    /// The rival does not support these runs.
    pub fn rival(&self, rival: &dyn Rival) -> Result<Vec<Outcome>, String> {
        self.trial().rival(rival, &self.roles).map_err(|error| error.to_string())
    }

    /// Returns the data size of each fitted row; 0 if the table has none.
    fn size(&self) -> Vec<f64> {
        let rows = self.fit.secs().len();
        let mut size = vec![1.0; rows];
        for name in self.roles.data_size.iter().flat_map(Term::columns) {
            let column = self.fit.features().columns().iter().find(|column| column.name == name);
            let Some(Values::Numeric { values, .. }) = column.map(|column| &column.values) else {
                return vec![0.0; rows];
            };
            size.iter_mut().zip(values).for_each(|(size, value)| *size *= value);
        }
        size
    }

    fn slowed(&self, slowed: Slowed, chance: &mut Chance) -> Self {
        let completed: Vec<usize> = (0..self.fit.secs().len()).filter(|row| !self.fit.censored()[*row]).collect();
        let (size, group) = (self.size(), groups(self.fit.features()));
        let pick = |values: &[f64]| completed.iter().map(|row| values[*row]).collect::<Vec<f64>>();
        let (mut some, size) = (pick(self.fit.secs()), pick(&size));
        let group: Vec<usize> = completed.iter().map(|row| group[*row]).collect();
        slow(slowed, &mut some, &group, &size, chance);
        let mut secs = self.fit.secs().to_vec();
        completed.iter().zip(some).for_each(|(row, value)| secs[*row] = value);
        let fit = Dataset::new(self.fit.features().clone(), secs, self.fit.censored().to_vec());
        Self { fit: fit.unwrap_or_else(|_| self.fit.clone()), ..self.clone() }
    }
}

impl JobTrial {
    /// Returns the test values: each run, or one for each setting.
    fn tested(&self) -> Vec<Observation> {
        if self.repeats == Repeats::Each {
            return self.test.clone();
        }
        let place = |run: &Observation| (run.executors, run.cores_per_executor, run.sampling_rate.to_bits());
        let mut test = self.test.clone();
        test.sort_by(|a, b| place(a).cmp(&place(b)).then(a.completion_time_secs.total_cmp(&b.completion_time_secs)));
        let middle = |repeats: &[Observation]| {
            let at = |place: usize| repeats[place].completion_time_secs;
            Observation {
                completion_time_secs: (at((repeats.len() - 1) / 2) + at(repeats.len() / 2)) / 2.0,
                ..repeats[0]
            }
        };
        test.chunk_by(|a, b| place(a) == place(b)).map(middle).collect()
    }

    /// Converts the trial to a table with the meanings of its columns, for the rivals.
    fn table(&self) -> anyhow::Result<TableTrial> {
        let dataset = |runs: &[Observation]| {
            let column = |name: &str, value: fn(&Observation) -> f64| {
                Column::numeric(name, runs.iter().map(value).collect(), None)
            };
            let features = Features::new(vec![
                column("executors", |run| f64::from(run.executors)),
                column("cores_per_executor", |run| f64::from(run.cores_per_executor)),
                column("sampling_rate", |run| run.sampling_rate),
            ])?;
            let secs = runs.iter().map(|run| run.completion_time_secs).collect();
            Dataset::new(features, secs, vec![false; runs.len()])
        };
        let rate = Term::new("sampling_rate");
        let roles = Roles {
            machines: Some("executors*cores_per_executor".parse()?),
            data_size: Some(rate.clone()),
            iterations: Some(rate),
            ..Roles::default()
        };
        let (fit, test) = (dataset(&self.job.observations)?, dataset(&self.test)?);
        Ok(TableTrial { fit, test, repeats: self.repeats, roles })
    }
}

/// Numbers the runs; runs with equal executors, cores and sampling rate share a number.
fn cells(runs: &[Observation]) -> Vec<usize> {
    let key = |run: &Observation| (run.executors, run.cores_per_executor, run.sampling_rate.to_bits());
    runs.iter().map(|run| runs.iter().position(|other| key(other) == key(run)).unwrap_or_default()).collect()
}

/// Numbers the rows; rows with equal features share a number.
fn groups(features: &Features) -> Vec<usize> {
    let key = |row: usize| -> Vec<u64> {
        let value = |column: &Column| match &column.values {
            Values::Numeric { values, .. } => (values[row] + 0.0).to_bits(),
            Values::Category { codes, .. } => u64::from(codes[row]),
        };
        features.columns().iter().map(value).collect()
    };
    let mut places = std::collections::BTreeMap::new();
    (0..features.rows()).map(|row| *places.entry(key(row)).or_insert(row)).collect()
}
