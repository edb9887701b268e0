//! Benchmarks of hyperfine, as JSON or CSV.

use foreglow_shared::{LabelError, Labels, Sample, Table, parse_line};
use serde_json::Value;

use crate::identity::run_id;
use crate::{Given, Import, ImportError, Importer, Input};

/// The file of `hyperfine --export-json`, and that of `--export-csv`, which has only means.
pub struct Hyperfine;

/// Columns of hyperfine's CSV before those of the parameters.
const CSV_HEADER: &str = "command,mean,stddev,median,user,system,min,max";
/// Beginning of the name of a column with a parameter in a CSV file.
const PARAMETER: &str = "parameter_";
/// Values that every run needs and no benchmark tells.
const NEEDED: [&str; 2] = ["sampling_rate", "memory_per_executor_mib"];

/// A command with its parameters and times.
#[derive(Clone, Debug, PartialEq)]
struct Benchmark {
    command: String,
    /// Names and values of `--parameter-scan` and `--parameter-list`.
    parameters: Vec<(String, String)>,
    /// Seconds and exit code of each run.
    runs: Vec<(f64, i64)>,
}

/// What a parameter sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Executors,
    Cores,
    Gpus,
    BatchSize,
    Rate,
    /// Work of a run, of which `--images` is the whole.
    Work,
}

impl Role {
    fn of(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().replace('-', "_").as_str() {
            "executors" | "workers" | "processes" | "ranks" | "e" => Self::Executors,
            "cores" | "threads" | "cpus" | "c" => Self::Cores,
            "gpus" | "accelerators" => Self::Gpus,
            "batch_size" | "batch" => Self::BatchSize,
            "rate" | "sampling_rate" | "share" => Self::Rate,
            "images" | "steps" | "samples" | "rows" | "n" => Self::Work,
            _ => return None,
        })
    }
}

impl Importer for Hyperfine {
    fn sniff(&self, start: &str) -> bool {
        let is_json = start.starts_with('{')
            && ["\"results\"", "\"command\"", "\"mean\""].iter().all(|name| start.contains(name));
        is_json || start.starts_with(CSV_HEADER)
    }

    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let bytes = input.bytes()?;
        let is_csv = bytes.starts_with(CSV_HEADER.as_bytes());
        let benchmarks = if is_csv { from_csv(&bytes)? } else { from_json(&bytes)? };
        let mut import = Import::default();
        if is_csv {
            import.notes.push(
                "a CSV file of hyperfine has only means, each of which counts as one run; --export-json has all runs"
                    .to_owned(),
            );
        }
        let rates = given.labels_of_runs(benchmarks.len(), || format!("{} benchmarks", benchmarks.len()))?;
        for (benchmark, labels) in benchmarks.iter().zip(&rates) {
            benchmark.import(labels, given, &mut import)?;
        }
        if import.samples.is_empty() && import.problems.is_empty() {
            return Err(refused("it has no runs; repeat the benchmark with --export-json"));
        }
        Ok(import)
    }
}

fn from_json(bytes: &[u8]) -> Result<Vec<Benchmark>, ImportError> {
    let file: Value = serde_json::from_slice(bytes)
        .map_err(|error| refused(format!("it is no complete file of hyperfine ({error}); export it again")))?;
    let results = file["results"].as_array().map_or(&[][..], Vec::as_slice);
    let benchmark = |result: &Value| {
        let codes = result["exit_codes"].as_array();
        let code = |place: usize| codes.and_then(|codes| codes.get(place)).and_then(Value::as_i64).unwrap_or(0);
        let times = result["times"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_f64);
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let parameters = result["parameters"].as_object();
        Benchmark {
            command: text(&result["command"]),
            parameters: parameters.into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect(),
            runs: times.enumerate().map(|(place, secs)| (secs, code(place))).collect(),
        }
    };
    Ok(results.iter().map(benchmark).collect())
}

fn from_csv(bytes: &[u8]) -> Result<Vec<Benchmark>, ImportError> {
    let table = Table::read(bytes).map_err(|error| refused(error.to_string()))?;
    let header: Vec<String> = table.header().iter().map(|name| name.trim().to_owned()).collect();
    let benchmarks = table.rows().map(|row| {
        let parameter = |(name, value): (&String, &str)| {
            let name = name.strip_prefix(PARAMETER)?;
            Some((name.to_owned(), value.trim().to_owned()))
        };
        let mean = row.get(1).and_then(|mean| mean.trim().parse().ok());
        Benchmark {
            command: row[0].to_owned(),
            parameters: header.iter().zip(row.iter()).filter_map(parameter).collect(),
            runs: mean.map(|mean| (mean, 0)).into_iter().collect(),
        }
    });
    Ok(benchmarks.collect())
}

impl Benchmark {
    /// Adds the runs to an import.
    fn import(&self, labels: &Labels, given: &Given, import: &mut Import) -> Result<(), ImportError> {
        let labels = self.labels(labels)?;
        let missing = labels.missing(&NEEDED);
        if !missing.is_empty() {
            return Err(LabelError::Missing(missing).into());
        }
        for (place, (secs, code)) in self.runs.iter().enumerate() {
            if *code != 0 {
                import.problems.push(format!("a run of `{}` ended with {code} and is left out", self.command));
                continue;
            }
            import.samples.push(self.sample(&labels, given, place, *secs)?);
        }
        Ok(())
    }

    /// Returns the value of the parameter of a role.
    fn value(&self, role: Role) -> Result<Option<f64>, ImportError> {
        let Some((name, text)) = self.parameters.iter().find(|(name, _)| Role::of(name) == Some(role)) else {
            return Ok(None);
        };
        let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        value.map(Some).ok_or_else(|| refused(format!("the parameter {name} is {text:?}; it must be a number above 0")))
    }

    /// Returns the labels of the runs: what the user says, and the rest from the command and its
    /// parameters.
    fn labels(&self, given: &Labels) -> Result<Labels, ImportError> {
        if let Some((name, _)) = self.parameters.iter().find(|(name, _)| Role::of(name).is_none()) {
            return Err(refused(format!(
                "no configuration has the parameter {name}; name it executors, cores, gpus, batch_size, rate \
                 or images, or import the benchmarks of each {name} separately"
            )));
        }
        let mut own = Labels::default();
        if let Some(batch_size) = self.value(Role::BatchSize)? {
            own.set("batch_size", batch_size.to_string());
        }
        let rate = match (self.value(Role::Rate)?, self.value(Role::Work)?) {
            (Some(rate), _) => Some(rate),
            (None, Some(work)) => {
                let whole = given.get("images").and_then(|images| images.parse::<f64>().ok());
                let whole = whole
                    .ok_or_else(|| refused("a parameter counts the work; give that of the whole job with --images"))?;
                Some(work / whole)
            }
            (None, None) => None,
        };
        if let Some(rate) = rate {
            own.set("sampling_rate", rate.to_string());
        }
        let mut labels = own.with_flags(given)?;
        let program = self.command.split_whitespace().next().unwrap_or("command");
        let name = program.rsplit('/').next().unwrap_or(program);
        let usual = [("model", name), ("mode", "training"), ("image_px", "1"), ("images", "100"), ("batch_size", "1")];
        for (label, value) in usual {
            if labels.get(label).is_none() {
                labels.set(label, value);
            }
        }
        Ok(labels)
    }

    fn sample(&self, labels: &Labels, given: &Given, place: usize, secs: f64) -> Result<Sample, ImportError> {
        let started_at = given.written_at.unwrap_or(foreglow_shared::Timestamp::UNIX_EPOCH);
        let count = |role: Role| Ok::<u32, ImportError>(self.value(role)?.map_or(1, |count| count as u32));
        let mut sample = given.labelled(labels);
        // A copy of the file, which is written later, has the same runs.
        let identity = format!("{} {:?} {place} {secs}", self.command, self.parameters);
        sample["id"] = run_id(&identity, foreglow_shared::Timestamp::UNIX_EPOCH).to_string().into();
        sample["sampling_rate"] = labels.get("sampling_rate").and_then(|rate| rate.parse::<f64>().ok()).into();
        sample["outcome"] = "completed".into();
        sample["completion_time_secs"] = secs.into();
        sample["started_at"] = started_at.to_string().into();
        if given.labels.get("images").is_none() {
            sample["workload"]["unit"] = foreglow_shared::UNKNOWN_SIZE.into();
        }
        let gpus = self.value(Role::Gpus)?.map(|gpus| gpus as u32);
        let executors = count(Role::Executors)?;
        let configuration = &mut sample["configuration"];
        configuration["executors"] = executors.into();
        configuration["cores_per_executor"] = count(Role::Cores)?.into();
        if let Some(gpus) = gpus {
            // As with the user's own program, each GPU is an executor unless executors are counted.
            let is_divided = self.value(Role::Executors)?.is_some() && gpus.is_multiple_of(executors);
            match is_divided {
                true => configuration["accelerators_per_executor"] = (gpus / executors).into(),
                false => configuration["executors"] = gpus.into(),
            }
        }
        if configuration["partition_size"].is_null() {
            configuration["partition_size"] = 1.into();
        }
        parse_line(&sample.to_string()).map_err(|error| refused(error.to_string()))
    }
}

fn refused(sentence: impl Into<String>) -> ImportError {
    ImportError::Records(sentence.into())
}
