//! Reads tables of other tools: any CSV whose columns the user can assign to fields.

mod field;
mod mapping;

use std::collections::BTreeMap;

pub use self::field::Field;
pub use self::mapping::{Extent, FieldSource, Mapping, TimeUnit};
use crate::encoding::decode;
use crate::limits::{MOST_CORES, MOST_EXECUTORS, MOST_MEMORY_MIB, RUN_SECS, SAMPLING_RATES};
use crate::separated::{delimiter, fault, line_of, with_point};
use crate::{Context, Host, IncompleteOutcome, IncompleteRun, Job, Mode, Observation, Workload, number};

/// A CSV table written by another tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignTable {
    text: String,
    delimiter: u8,
    headers: Vec<String>,
}

/// Why a table cannot be read as runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file is not text.
    #[error("it is not text (byte {0}); give a table as CSV")]
    NotText(usize),
    /// The table has no header or no row.
    #[error("the table has no rows; give a header and one run per row")]
    Empty,
    /// A row is not valid CSV.
    #[error("line {line}: this is not a row of the table ({reason})")]
    Row {
        /// Line number, from 1.
        line: u64,
        /// The error.
        reason: String,
    },
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

impl ForeignTable {
    /// Reads the header of a table.
    ///
    /// # Errors
    /// The file is not text, or has no header followed by a row.
    pub fn read(bytes: &[u8]) -> Result<Self, TableError> {
        let text = decode(bytes).map_err(TableError::NotText)?;
        let mut table = Self { delimiter: delimiter(&text), text, headers: Vec::new() };
        let mut reader = table.reader();
        let headers = reader.headers().map_err(|error| table.broken(&error))?;
        let headers: Vec<String> = headers.iter().map(str::to_owned).collect();
        let has_rows = reader.records().next().is_some();
        if !has_rows || headers.iter().all(String::is_empty) {
            return Err(TableError::Empty);
        }
        table.headers = headers;
        Ok(table)
    }

    /// Returns the names of the columns.
    pub fn headers(&self) -> &[String] {
        &self.headers
    }

    /// Returns at most `most` rows, as a preview of the columns.
    pub fn first_rows(&self, most: usize) -> Vec<Vec<String>> {
        let rows = self.reader().into_records().take(most).map_while(Result::ok);
        rows.map(|row| row.iter().map(str::to_owned).collect()).collect()
    }

    /// Reads every row as a run and groups the runs into jobs.
    ///
    /// # Errors
    /// A field without a source, or the line of the first cell with an invalid value.
    pub fn jobs(&self, mapping: &Mapping) -> Result<Vec<Job>, TableError> {
        if let Some(field) = mapping.missing().first() {
            return Err(TableError::Missing(field.label()));
        }
        let mut jobs: BTreeMap<String, Job> = BTreeMap::new();
        for row in self.reader().into_records() {
            let row = row.map_err(|error| self.broken(&error))?;
            let line = line_of(&self.text, row.position());
            TableRow { cells: &row, line, mapping, delimiter: self.delimiter }.add_to(&mut jobs)?;
        }
        let mut jobs: Vec<Job> = jobs.into_values().collect();
        jobs.iter_mut().for_each(Job::sort_runs);
        Ok(jobs)
    }

    fn reader(&self) -> csv::Reader<&[u8]> {
        csv::ReaderBuilder::new().delimiter(self.delimiter).trim(csv::Trim::All).from_reader(self.text.as_bytes())
    }

    fn broken(&self, error: &csv::Error) -> TableError {
        TableError::Row { line: line_of(&self.text, error.position()), reason: fault(error) }
    }
}

/// One row of the table with its mapping.
struct TableRow<'a> {
    cells: &'a csv::StringRecord,
    line: u64,
    mapping: &'a Mapping,
    delimiter: u8,
}

impl TableRow<'_> {
    fn add_to(&self, jobs: &mut BTreeMap<String, Job>) -> Result<(), TableError> {
        let context = self.context()?;
        let images = self.count(Field::Images)?;
        let extent = self.positive(Field::Extent)?;
        let sampling_rate = match self.mapping.extent {
            Extent::Share => extent,
            Extent::Percent => extent / 100.0,
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
        let incomplete = |outcome, at_least_secs| IncompleteRun {
            executors,
            cores_per_executor,
            total_cores: None,
            memory_per_executor_mib,
            partition_size,
            sampling_rate,
            outcome,
            at_least_secs,
        };
        match self.text(Field::Outcome).to_ascii_lowercase().as_str() {
            "completed" => job.observations.push(Observation {
                executors,
                cores_per_executor,
                total_cores: None,
                memory_per_executor_mib,
                partition_size,
                sampling_rate,
                completion_time_secs: self.secs()?,
                startup_secs: None,
                disturbed: false,
            }),
            "out_of_memory" => job.incomplete.push(incomplete(IncompleteOutcome::OutOfMemory, None)),
            "timed_out" => job.incomplete.push(incomplete(IncompleteOutcome::TimedOut, Some(self.secs()?))),
            "failed" => {}
            _ => return Err(self.cell(Field::Outcome, "completed, out_of_memory, timed_out or failed")),
        }
        Ok(())
    }

    fn context(&self) -> Result<Context, TableError> {
        let mode = match self.text(Field::Mode).to_ascii_lowercase().as_str() {
            "inference" => Mode::Inference,
            "training" => Mode::Training,
            _ => return Err(self.cell(Field::Mode, "inference or training")),
        };
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

    fn positive(&self, field: Field) -> Result<f64, TableError> {
        let text = self.text(field);
        let number = with_point(text, self.delimiter).as_deref().map_or_else(|| number(text), number);
        number.filter(|number| *number > 0.0).ok_or_else(|| self.cell(field, "a number above 0"))
    }

    fn secs(&self) -> Result<f64, TableError> {
        let secs = self.positive(Field::CompletionTime)? * self.mapping.time_unit.secs();
        if RUN_SECS.contains(&secs) {
            Ok(secs)
        } else {
            Err(self.cell(Field::CompletionTime, "a time from 1e-9 to 1e9 seconds"))
        }
    }

    /// Reads a count; also accepts `4.0`, which other tools write.
    fn count(&self, field: Field) -> Result<u64, TableError> {
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

    fn whole(&self, field: Field) -> Result<u32, TableError> {
        u32::try_from(self.count(field)?).map_err(|_| self.cell(field, "a whole number below 4,294,967,296"))
    }

    fn cell(&self, field: Field, must: &'static str) -> TableError {
        TableError::Cell { line: self.line, field: field.label(), text: self.text(field).to_owned(), must }
    }
}
