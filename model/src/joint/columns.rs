//! The runs of all arms as rows of one table.

use std::sync::Arc;

use foreglow_shared::{Context, CoreSplit, Engine, IncompleteOutcome, Job, JobGroup, distinct};

use super::arms::FittedArm;
use crate::capacity::meaning_of_executors;
use crate::{Column, Dataset, DatasetError, Feature, Features, Meaning};

/// Limit on the rows of other jobs: the time of a fit is cubic in the rows.
const MOST_LENT: usize = 300;

/// The columns that vary, besides the numbers that every table has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns {
    /// Whether several machine types were measured.
    machine: bool,
    /// Whether a machine type was measured with several engines or devices.
    engine: bool,
    device: bool,
    /// Whether there are runs of other jobs.
    cnn: bool,
    batch_size: bool,
    average_every: bool,
    partition_size: bool,
    memory: bool,
    /// The scaling law of the executors.
    executors: Meaning,
}

/// One run, or a question.
#[derive(Clone, Debug)]
struct FeatureRow {
    machine: String,
    engine: &'static str,
    device: String,
    cnn: String,
    split: CoreSplit,
    images: f64,
    batch_size: u32,
    /// 1 if the job does not train.
    average_every: u32,
    partition_size: u32,
    memory_mib: u32,
    secs: f64,
    is_bound: bool,
    disturbed: bool,
}

impl Columns {
    const MACHINE: &str = "machine type";
    pub(super) const IMAGES: &str = "images processed";

    /// Returns the meanings of the numbers that every table has.
    pub(super) fn meanings(&self) -> [(&'static str, Meaning); 3] {
        [
            (Self::IMAGES, Meaning::Work),
            (Feature::InverseExecutors.noun(), self.executors),
            (Feature::InverseCores.noun(), Meaning::Workers),
        ]
    }

    /// Whether the partition size is a column.
    pub(super) fn has_partition_size(&self) -> bool {
        self.partition_size
    }

    /// Whether the batch size is a column.
    pub(super) fn has_batch_size(&self) -> bool {
        self.batch_size
    }

    /// Builds the table of a group; `None` without a completed run.
    pub(super) fn of(group: &JobGroup) -> Option<(Self, Dataset)> {
        let own: Vec<FeatureRow> = group.jobs.iter().flat_map(rows).collect();
        let others = group.other_machines();
        let others = others.iter().map(|job| job.context.machine_name());
        let machines = distinct(own.iter().map(|row| row.machine.clone()).chain(others));
        let mut others: Vec<FeatureRow> = group.lenders.iter().flat_map(|job| rows(job)).collect();
        others.retain(|row| machines.binary_search(&row.machine).is_ok());
        let step = others.len().div_ceil(MOST_LENT).max(1);
        let rows: Vec<FeatureRow> = own.iter().cloned().chain(others.into_iter().step_by(step)).collect();
        let rows = fitting(group, rows);
        if rows.iter().all(|row| row.is_bound) {
            return None;
        }
        // A property that never varies within a machine type is part of the machine type and needs
        // no column.
        let varies = |value: &dyn Fn(&FeatureRow) -> String| {
            machines.iter().any(|machine| {
                let mut of = rows.iter().filter(|row| row.machine == *machine).map(value);
                of.next().is_some_and(|first| of.any(|other| other != first))
            })
        };
        let mut jobs = group.jobs.iter().chain(group.lenders.iter().map(Arc::as_ref));
        let are_replicas = jobs.all(|job| meaning_of_executors(&job.context) == Meaning::Replicas);
        let columns = Self {
            machine: machines.len() > 1,
            engine: varies(&|row| row.engine.to_owned()),
            device: varies(&|row| row.device.clone()),
            cnn: rows.iter().any(|row| row.cnn != rows[0].cnn),
            batch_size: rows.iter().any(|row| row.batch_size != rows[0].batch_size),
            average_every: rows.iter().any(|row| row.average_every != rows[0].average_every),
            partition_size: varies(&|row| row.partition_size.to_string()),
            memory: varies(&|row| row.memory_mib.to_string()),
            executors: if are_replicas { Meaning::Replicas } else { Meaning::Workers },
        };
        let features = columns.features(&rows).ok()?;
        let disturbed: Vec<bool> = rows.iter().map(|row| row.disturbed).collect();
        let secs = rows.iter().map(|row| row.secs).collect();
        let table = Dataset::new(features, secs, rows.iter().map(|row| row.is_bound).collect()).ok()?;
        Some((columns, table.with_disturbed(&disturbed).ok()?))
    }

    /// Builds the features of a question about the whole job on an arm.
    pub(super) fn question(&self, arm: &FittedArm, split: CoreSplit, images: f64) -> Result<Features, DatasetError> {
        let context = &arm.job.context;
        let row = FeatureRow {
            split,
            images,
            partition_size: arm.partition_size,
            memory_mib: arm.memory_per_executor_mib,
            ..FeatureRow::of(context)
        };
        self.features(&[row])
    }

    fn features(&self, rows: &[FeatureRow]) -> Result<Features, DatasetError> {
        let number =
            |name: &str, of: fn(&FeatureRow) -> f64| Column::numeric(name, rows.iter().map(of).collect(), None);
        let name = |name: &str, of: fn(&FeatureRow) -> &str| Column::category(name, rows.iter().map(of));
        let mut columns = vec![
            number(Feature::InverseExecutors.noun(), |row| f64::from(row.split.executors)),
            number(Feature::InverseCores.noun(), |row| row.split.mean_cores()),
            number(Self::IMAGES, |row| row.images),
        ];
        let others = [
            (self.batch_size, number("batch size", |row| f64::from(row.batch_size))),
            (self.average_every, number("averaging interval", |row| f64::from(row.average_every))),
            (self.partition_size, number("partition size", |row| f64::from(row.partition_size))),
            (self.memory, number("memory per executor", |row| f64::from(row.memory_mib))),
            (self.machine, name(Self::MACHINE, |row| &row.machine)),
            (self.engine, name("engine", |row| row.engine)),
            (self.device, name("device", |row| &row.device)),
            (self.cnn, name("CNN", |row| &row.cnn)),
        ];
        columns.extend(others.into_iter().filter(|(is_used, _)| *is_used).map(|(_, column)| column));
        Features::new(columns)
    }
}

impl FeatureRow {
    /// Returns the values that all rows of a context share.
    fn of(context: &Context) -> Self {
        let (machine, engine, accelerator, _) = context.hardware();
        Self {
            machine,
            engine,
            device: accelerator.unwrap_or_else(|| "CPU".to_owned()),
            cnn: format!("{} {} px", context.workload.model, context.workload.image_px),
            split: CoreSplit::even(1, 1),
            images: 0.0,
            batch_size: context.workload.batch_size,
            average_every: context.workload.average_every.unwrap_or(1),
            partition_size: 1,
            memory_mib: 1,
            secs: 0.0,
            is_bound: false,
            disturbed: false,
        }
    }
}

/// Completed runs and lower bounds of a context.
fn rows(job: &Job) -> Vec<FeatureRow> {
    let workload = &job.context.workload;
    let images = workload.images_processed();
    let common = FeatureRow::of(&job.context);
    let completed = job.observations.iter().map(|run| FeatureRow {
        split: run.split(),
        images: images * run.sampling_rate,
        partition_size: run.partition_size,
        memory_mib: run.memory_per_executor_mib,
        secs: run.completion_time_secs,
        disturbed: run.disturbed,
        ..common.clone()
    });
    let stopped = job.incomplete.iter().filter_map(|run| {
        let is_bound = run.outcome == IncompleteOutcome::TimedOut;
        let secs = run.at_least_secs.filter(|secs| is_bound && secs.is_finite() && *secs > 0.0)?;
        Some(FeatureRow {
            split: run.split(),
            images: images * run.sampling_rate,
            partition_size: run.partition_size,
            memory_mib: run.memory_per_executor_mib,
            secs,
            is_bound: true,
            ..common.clone()
        })
    });
    completed.chain(stopped).collect()
}

/// Drops oversubscribed runs, which would distort the fit below the limit, unless a machine type
/// has no other run.
fn fitting(group: &JobGroup, rows: Vec<FeatureRow>) -> Vec<FeatureRow> {
    let processors = |machine: &str| {
        let jobs = group.jobs.iter().chain(group.lenders.iter().map(Arc::as_ref));
        jobs.filter(|job| job.context.engine.is_on_one_machine() && job.context.machine_name() == machine)
            .find_map(|job| job.context.host.processors)
    };
    let fits = |row: &FeatureRow| {
        row.engine == Engine::Spark.as_str() || processors(&row.machine).is_none_or(|count| row.split.slots() <= count)
    };
    let kept = distinct(rows.iter().filter(|row| fits(row) && !row.is_bound).map(|row| row.machine.clone()));
    rows.into_iter().filter(|row| fits(row) || kept.binary_search(&row.machine).is_err()).collect()
}
