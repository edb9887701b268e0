//! Reads tables of other tools: any table whose columns the user can assign to fields.

mod field;
mod mapping;

use std::collections::BTreeMap;

pub use self::field::Field;
pub use self::mapping::{Extent, FieldSource, Mapping, TimeUnit};
use crate::limits::{MOST_CORES, MOST_EXECUTORS, MOST_MEMORY_MIB, RUN_SECS, SAMPLING_RATES, is_work};
use crate::{
    Configuration, Context, CoreSplit, Host, IncompleteOutcome, IncompleteRun, Job, Observation, Table, TableError,
    TableRow, Workload, number, share_of_percent, unambiguous_number,
};

/// Why the rows of a table are not runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// The table has no rows, or a number with two meanings.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A field has neither a column nor a constant.
    #[error("{0} is unknown; choose its column, or give one value for all rows")]
    Missing(&'static str),
    /// A cell has an invalid value.
    #[error("line {line}: {field} is {text:?}; it must be {must}. Choose another column, or correct the file")]
    Cell {
        /// Line number, from 1.
        line: u64,
        /// Name of the field.
        field: &'static str,
        /// Content of the cell.
        text: String,
        /// The values it may have.
        must: &'static str,
    },
}

impl Mapping {
    /// Reads every row of a table as a run and groups the runs into jobs.
    ///
    /// # Errors
    /// A field without a source, or the line of the first cell with an invalid value.
    pub fn jobs(&self, table: &Table) -> Result<Vec<Job>, MappingError> {
        if let Some(field) = self.missing().first() {
            return Err(MappingError::Missing(field.label()));
        }
        if table.rows().len() == 0 {
            return Err(TableError::Empty.into());
        }
        for (field, source) in &self.places {
            if let FieldSource::Column(column) = source
                && !matches!(field, Field::Model | Field::Mode | Field::Outcome)
            {
                table.check_numbers(*column)?;
            }
        }
        let mut jobs: BTreeMap<String, Job> = BTreeMap::new();
        for cells in table.rows() {
            MappedRow { cells, mapping: self }.add_to(&mut jobs)?;
        }
        let mut jobs: Vec<Job> = jobs.into_values().collect();
        jobs.iter_mut().for_each(Job::sort_runs);
        Ok(jobs)
    }
}

/// One row of the table with its mapping.
struct MappedRow<'a> {
    cells: TableRow<'a>,
    mapping: &'a Mapping,
}

impl MappedRow<'_> {
    fn add_to(&self, jobs: &mut BTreeMap<String, Job>) -> Result<(), MappingError> {
        let context = self.context()?;
        let images = self.count(Field::Images)?;
        let extent = self.positive(Field::Extent)?;
        let sampling_rate = match self.mapping.extent {
            Extent::Share => extent,
            Extent::Percent => share_of_percent(extent),
            // Exact: a count of images is far below 2^53.
            Extent::Images => extent / images as f64,
        };
        if !SAMPLING_RATES.contains(&sampling_rate) {
            let must = match self.mapping.extent {
                _ if sampling_rate < 1.0 => "at least 1e-12 of the images",
                Extent::Share => "at most 1, a share of the images",
                Extent::Percent => "at most 100, percent of the images",
                Extent::Images => "at most the images of the whole job",
            };
            return Err(self.cell(Field::Extent, must));
        }
        if !is_work(images, sampling_rate) {
            return Err(self.cell(Field::Extent, "at least one of the images"));
        }
        let executors = self.whole(Field::Executors)?;
        let cores_per_executor = self.whole(Field::CoresPerExecutor)?;
        if executors > MOST_EXECUTORS {
            return Err(self.cell(Field::Executors, "at most 10000"));
        }
        if cores_per_executor > MOST_CORES {
            return Err(self.cell(Field::CoresPerExecutor, "at most 1000"));
        }
        let memory_per_executor_mib = self.whole(Field::MemoryPerExecutorMib)?;
        if memory_per_executor_mib > MOST_MEMORY_MIB {
            return Err(self.cell(Field::MemoryPerExecutorMib, "at most 16777216 MiB"));
        }
        let partition_size = self.whole(Field::PartitionSize)?;
        let job = jobs.entry(context.key()).or_insert_with(|| Job::of_runs(context, Vec::new()));
        let split = CoreSplit::even(executors, cores_per_executor);
        let configuration = Configuration::new(split, memory_per_executor_mib, partition_size);
        let mut add_incomplete = |outcome, at_least_secs| {
            job.incomplete.push(IncompleteRun::new(&configuration, sampling_rate, outcome, at_least_secs));
        };
        match self.text(Field::Outcome).to_ascii_lowercase().as_str() {
            "completed" => job.observations.push(Observation::new(&configuration, sampling_rate, self.secs()?)),
            "out_of_memory" => add_incomplete(IncompleteOutcome::OutOfMemory, None),
            "timed_out" => add_incomplete(IncompleteOutcome::TimedOut, Some(self.secs()?)),
            "failed" => {}
            _ => return Err(self.cell(Field::Outcome, "completed, out_of_memory, timed_out or failed")),
        }
        Ok(())
    }

    fn context(&self) -> Result<Context, MappingError> {
        let mode = self.text(Field::Mode).parse().map_err(|_| self.cell(Field::Mode, "inference or training"))?;
        let model = self.text(Field::Model).to_owned();
        if model.is_empty() {
            return Err(self.cell(Field::Model, "the name of a CNN"));
        }
        let mut workload = Workload::new(model, mode, self.whole(Field::ImagePx)?, self.count(Field::Images)?);
        (workload.epochs, workload.batch_size) = (self.whole(Field::Epochs)?, self.whole(Field::BatchSize)?);
        Ok(Context {
            workload,
            engine: self.mapping.engine,
            host: Host::default(),
            accelerator: None,
            shares_accelerators: false,
            accelerators_per_executor: None,
            machines: None,
        })
    }

    fn text(&self, field: Field) -> &str {
        match self.mapping.places.get(&field) {
            Some(FieldSource::Column(column)) => self.cells.get(*column).unwrap_or_default(),
            Some(FieldSource::Fixed(text)) => text.trim(),
            None => "",
        }
    }

    fn positive(&self, field: Field) -> Result<f64, MappingError> {
        let number = number(self.text(field)).or_else(|| unambiguous_number(self.text(field)));
        number.filter(|number| *number > 0.0).ok_or_else(|| self.cell(field, "a number above 0"))
    }

    fn secs(&self) -> Result<f64, MappingError> {
        let secs = self.positive(Field::CompletionTime)? * self.mapping.time_unit.secs();
        if RUN_SECS.contains(&secs) {
            Ok(secs)
        } else {
            Err(self.cell(Field::CompletionTime, "a time from 1e-9 to 1e9 seconds"))
        }
    }

    /// Reads a count; also accepts `4.0`, which other tools write.
    fn count(&self, field: Field) -> Result<u64, MappingError> {
        /// The largest count accepted, below 2^53, up to which every integer is exact in `f64`.
        const MOST: f64 = 9e15;
        let number = self.positive(field)?;
        if number.fract() == 0.0 && number <= MOST {
            // The cast is exact: a whole number in the range of u64.
            Ok(number as u64)
        } else {
            Err(self.cell(field, "a whole number, 1 or more"))
        }
    }

    fn whole(&self, field: Field) -> Result<u32, MappingError> {
        u32::try_from(self.count(field)?).map_err(|_| self.cell(field, "a whole number below 4,294,967,296"))
    }

    fn cell(&self, field: Field, must: &'static str) -> MappingError {
        MappingError::Cell { line: self.cells.line(), field: field.label(), text: self.text(field).to_owned(), must }
    }
}
