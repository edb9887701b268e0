//! Import of a file: one of the formats of `foreglow import`, a file of `--monitor`, or a table of
//! another tool whose columns the user maps.

use std::collections::{BTreeMap, BTreeSet};

use foreglow_import::{Compression, Given, Import, ImportError, Input, run_name};
use foreglow_shared::{Job, Label, Labels, Mapping, MonitoredRun, ReadError, Sample, Table, is_monitor, read_monitor};
use serde::{Deserialize, Serialize};

use crate::data::job::{jobs_of, most_runs_first};
use crate::worker::log_use::log_use;
use crate::worker::wire::json;

/// Number of rows that illustrate the columns to the user.
const FIRST_ROWS: usize = 3;

/// The contents of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Imported {
    /// The jobs of the files.
    Jobs {
        /// The jobs, sorted by descending number of runs.
        #[serde(with = "json")]
        jobs: Vec<Job>,
        /// Remarks for the user; sentences with their full stops.
        notes: Vec<String>,
        /// What the runs of event logs used, as HTML; empty without any.
        log_use: String,
    },
    /// Resource use of runs.
    Monitored(Vec<MonitoredRun>),
    /// A table of another tool.
    Columns(Columns),
    /// A log or a training run that does not tell all of its job.
    Lacking(Lacking),
}

/// A file, and what the user adds to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Added {
    /// Name of the file.
    pub file: String,
    /// The columns of a table.
    pub mapping: Option<Mapping>,
    /// Labels of a run, by name; `None` until the user was asked.
    pub labels: Option<Vec<(String, String)>>,
}

impl Added {
    fn given(&self) -> Given {
        let mut labels = Labels::default();
        self.labels.iter().flatten().for_each(|(name, value)| labels.set(name, value));
        Given { name: run_name(&self.file, false), labels, ..Given::default() }
    }
}

/// What a log or a training run lacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lacking {
    /// Name of the file.
    pub file: String,
    /// Labels that the user may tell, by name, with their values.
    pub labels: Vec<(String, String)>,
    /// Names of those without which it cannot be used.
    pub needed: Vec<String>,
}

impl Lacking {
    fn new(needed: &[Label], assumed: &[Label], added: &Added) -> Self {
        let told =
            |name: &str| added.labels.iter().flatten().find(|(told, _)| told == name).map(|(_, value)| value.clone());
        let usual = |name: &str| if name == "model" { run_name(&added.file, false) } else { None };
        let value = |name: &str| told(name).or_else(|| usual(name)).unwrap_or_default();
        let mut labels: Vec<(String, String)> =
            needed.iter().chain(assumed).map(|label| (label.name.to_owned(), value(label.name))).collect();
        let others = added.labels.iter().flatten().filter(|(name, _)| labels.iter().all(|(asked, _)| asked != name));
        let others: Vec<(String, String)> = others.cloned().collect();
        labels.extend(others);
        Self { file: added.file.clone(), labels, needed: needed.iter().map(|label| label.name.to_owned()).collect() }
    }
}

/// The columns of a table, with a guessed mapping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    /// Column names.
    pub headers: Vec<String>,
    /// The first rows.
    pub rows: Vec<Vec<String>>,
    /// The mapping that the names suggest.
    pub mapping: Mapping,
}

/// Imports files, each with its name, as runs that belong together. A file that cannot be used is a
/// note, unless it is the only one.
///
/// # Errors
/// No file can be used; the problem of the first and what to do; one sentence without its full
/// stop.
pub fn import_files(
    files: impl ExactSizeIterator<Item = (String, Result<Vec<u8>, String>)>,
    added: &Added,
) -> Result<Imported, String> {
    Ok(match read_files(files, added)? {
        Content::Samples(Import { samples, notes, logged, .. }) => {
            Imported::Jobs { jobs: jobs_of(&samples), notes, log_use: log_use(&logged) }
        }
        Content::Other(other) => other,
    })
}

/// Returns the samples of files that [`import_files`] imports; empty if they hold something else.
pub fn samples_of(
    files: impl ExactSizeIterator<Item = (String, Result<Vec<u8>, String>)>,
    added: &Added,
) -> Vec<Sample> {
    match read_files(files, added) {
        Ok(Content::Samples(Import { samples, .. })) => samples,
        _ => Vec::new(),
    }
}

fn read_files(
    files: impl ExactSizeIterator<Item = (String, Result<Vec<u8>, String>)>,
    added: &Added,
) -> Result<Content, String> {
    let is_single = files.len() == 1;
    let (mut all, mut notes, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rated, mut logged) = (BTreeMap::new(), Vec::new());
    for (file, bytes) in files {
        let added = Added { file, ..added.clone() };
        match bytes.and_then(|bytes| read(&bytes, &added, is_single)) {
            Ok(Content::Samples(import)) => {
                logged.extend(import.logged);
                let remarks = import.notes.into_iter().chain(import.problems);
                notes.extend(remarks.map(|note| format!("{}: {note}.", added.file)));
                all.extend(import.samples);
                rated.extend(import.rated);
            }
            // What a log lacks is asked once, for all files.
            Ok(asked @ Content::Other(Imported::Lacking(_))) => return Ok(asked),
            Ok(other @ Content::Other(_)) if is_single => return Ok(other),
            Ok(Content::Other(_)) => failures.push(format!("{}: it holds no samples; open it alone", added.file)),
            Err(reason) if is_single => return Err(reason),
            Err(reason) => failures.push(format!("{}: {reason}", added.file)),
        }
    }
    added.given().check_rate(&rated).map_err(|error| with_advice(&error.to_string()))?;
    let mut seen = BTreeSet::new();
    all.retain(|sample| seen.insert(sample.id));
    match failures.first() {
        Some(reason) if all.is_empty() => Err(reason.clone()),
        None if all.is_empty() => Err(ReadError::Empty.to_string()),
        _ => {
            notes.extend(failures.iter().map(|reason| format!("{reason}.")));
            Ok(Content::Samples(Import { samples: all, notes, logged, ..Import::default() }))
        }
    }
}

/// What files hold.
enum Content {
    Samples(Import),
    Other(Imported),
}

fn read(bytes: &[u8], added: &Added, is_single: bool) -> Result<Content, String> {
    if let Some(mapping) = &added.mapping {
        let table = Table::read(bytes).map_err(|error| error.to_string())?;
        let jobs = most_runs_first(mapping.jobs(&table).map_err(|error| error.to_string())?);
        return Ok(Content::Other(Imported::Jobs { jobs, notes: Vec::new(), log_use: String::new() }));
    }
    if is_monitor(bytes) {
        return read_monitor(bytes)
            .map(|runs| Content::Other(Imported::Monitored(runs)))
            .map_err(|error| error.to_string());
    }
    if Compression::of(bytes).is_some() {
        return Err("it is compressed, and only `foreglow import` reads compressed files".into());
    }
    let given = |added: &Added| foreglow_import::import(Input::from_bytes(bytes), &added.given());
    let mut found = given(&Added { labels: added.labels.clone().filter(|_| is_single), ..added.clone() });
    // The labels are for those of several files that lack them; others may contradict them.
    let lacks = |import: &Import| !import.assumed.is_empty();
    if !is_single && added.labels.is_some() && found.as_ref().map_or_else(|error| !error.missing().is_empty(), lacks) {
        found = given(added);
    }
    match found {
        Ok(import) if added.labels.is_none() && lacks(&import) => {
            Ok(Content::Other(Imported::Lacking(Lacking::new(&[], &import.assumed, added))))
        }
        Ok(mut import) => match import.problems.pop() {
            Some(problem) if import.samples.is_empty() => Err(with_advice(&problem)),
            last => {
                import.problems.extend(last);
                Ok(Content::Samples(import))
            }
        },
        Err(ImportError::Samples(ReadError::Header(column))) => match Table::read(bytes) {
            // A text with a single column is not a table.
            Ok(table) if table.header().len() > 1 => Ok(Content::Other(Imported::Columns(Columns {
                headers: table.header().to_vec(),
                rows: table.rows().take(FIRST_ROWS).map(|row| row.iter().map(str::to_owned).collect()).collect(),
                mapping: Mapping::guess(table.header()),
            }))),
            _ => Err(ReadError::Header(column).to_string()),
        },
        Err(error @ ImportError::Samples(_)) => Err(error.to_string()),
        Err(error) if !error.missing().is_empty() => {
            Ok(Content::Other(Imported::Lacking(Lacking::new(error.missing(), error.assumed(), added))))
        }
        Err(error) => Err(with_advice(&error.to_string())),
    }
}

fn with_advice(error: &str) -> String {
    format!("{error}; `foreglow import` takes these as flags and writes samples that open here")
}

#[cfg(test)]
mod tests {
    use foreglow_shared::{Field, FieldSource, read_samples, write_csv};

    use super::*;

    /// Imports a single file.
    fn import(bytes: &[u8], added: &Added) -> Result<Imported, String> {
        import_files(std::iter::once((added.file.clone(), Ok(bytes.to_vec()))), added)
    }

    /// The page's example, measured by `make sweep`.
    pub const EXAMPLE: &str = include_str!("../../../assets/example.jsonl");
    const JOBS: [&str; 4] =
        ["mobilenet_v2 inference", "mobilenet_v2 training", "resnet18 inference", "resnet18 training"];

    #[test]
    fn every_job_of_the_built_in_example_has_three_runs_of_each_setting() {
        let Ok(Imported::Jobs { jobs, .. }) = import(EXAMPLE.as_bytes(), &Added::default()) else { unreachable!() };
        for job in &jobs {
            let pairs = [(1, 1), (1, 2), (2, 1), (2, 2)];
            for ((executors, cores), rate) in
                pairs.into_iter().flat_map(|pair| [0.01, 0.1, 1.0].map(|rate| (pair, rate)))
            {
                let is_it = |run: &&foreglow_shared::Observation| {
                    (run.executors, run.cores_per_executor, run.sampling_rate) == (executors, cores, rate)
                };
                let runs = job.observations.iter().filter(is_it).count();
                assert!(runs >= 3, "{}: {runs} runs on {executors} × {cores}, {rate}", job.context.title());
            }
        }
        let names: Vec<String> = jobs.iter().map(crate::data::job::name).collect();
        assert_eq!(names, JOBS);
    }

    #[test]
    fn csv_samples_are_imported_and_a_table_of_another_tool_asks_for_its_columns() {
        let samples = read_samples(EXAMPLE.as_bytes()).unwrap();
        let ours = import(write_csv(&samples).as_bytes(), &Added::default()).unwrap();
        assert_eq!(ours, Imported::Jobs { jobs: jobs_of(&samples), notes: Vec::new(), log_use: String::new() });

        let theirs = b"nodes,cores,fraction,runtime\n1,1,0.1,12.5\n2,1,0.1,7.25\n";
        let Ok(Imported::Columns(columns)) = import(theirs, &Added::default()) else { unreachable!() };
        assert_eq!(columns.headers, ["nodes", "cores", "fraction", "runtime"]);
        assert_eq!(columns.rows.len(), 2);
        let error = import(theirs, &mapped(&columns.mapping)).unwrap_err();
        assert!(error.contains("images of the whole job is unknown"), "{error}");
        let mut mapping = columns.mapping;
        mapping.places.insert(Field::Images, FieldSource::Fixed("1000".into()));
        let Ok(Imported::Jobs { jobs, .. }) = import(theirs, &mapped(&mapping)) else { unreachable!() };
        assert_eq!(jobs[0].observations[1].completion_time_secs, 7.25);
    }

    #[test]
    fn an_event_log_of_a_measured_run_gives_its_sample() {
        let log = include_bytes!("../../../../shared/spark-log/tests/event-logs/3.5-measured");
        let Ok(Imported::Jobs { jobs, .. }) = import(log, &Added::default()) else {
            unreachable!("{:?}", import(log, &Added::default()))
        };
        assert!(jobs.iter().any(|job| !job.observations.is_empty()));
        let error = import(
            include_bytes!("../../../../shared/spark-log/tests/event-logs/3.5-measured.zstd"),
            &Added::default(),
        )
        .unwrap_err();
        assert!(error.contains("foreglow import"), "{error}");
        let partly = String::from_utf8_lossy(log).replace("spark.foreglow.mode", "spark.other.mode");
        let error = import(partly.as_bytes(), &Added::default()).unwrap_err();
        assert!(error.contains("foreglow import"), "{error}");
        let unlabelled = String::from_utf8_lossy(log).replace("spark.foreglow.", "spark.other.");
        let Ok(Imported::Jobs { jobs, .. }) = import(unlabelled.as_bytes(), &Added::default()) else { unreachable!() };
        assert_eq!(jobs[0].context.workload.unit.as_deref(), Some("tasks"));
    }

    #[test]
    fn several_files_are_one_import_and_those_that_cannot_be_used_are_noted() {
        let lines: Vec<&str> = EXAMPLE.lines().collect();
        let text = |lines: &[&str]| Ok(format!("{}\n", lines.join("\n")).into_bytes());
        let cut = Ok(format!("{}\n{}", lines[100..].join("\n"), &lines[0][..40]).into_bytes());
        let files = [
            ("a.jsonl".to_owned(), text(&lines[..120])),
            ("b.jsonl".to_owned(), cut),
            ("c.jpg".to_owned(), Ok(b"\xff\xd8\xff\xe0\x00".to_vec())),
            ("d.csv".to_owned(), Ok(b"nodes,cores,fraction,runtime\n1,1,0.1,12.5\n".to_vec())),
        ];
        let Ok(Imported::Jobs { jobs, notes, .. }) = import_files(files.clone().into_iter(), &Added::default()) else {
            unreachable!()
        };
        let Ok(Imported::Jobs { jobs: all, .. }) = import(EXAMPLE.as_bytes(), &Added::default()) else {
            unreachable!()
        };
        assert_eq!(jobs, all, "runs of both files count once");
        let line = lines.len() - 100 + 1;
        assert_eq!(notes[0], format!("b.jsonl: line {line} was cut short, as by a crash, and is left out."));
        assert!(notes[1].starts_with("c.jpg: ") && notes[1].contains("a JPEG image"), "{notes:?}");
        assert_eq!(notes[2], "d.csv: it holds no samples; open it alone.");
        let error = import_files(files[2..].iter().cloned(), &Added::default()).unwrap_err();
        assert!(error.starts_with("c.jpg: "), "{error}");
    }

    #[test]
    fn what_several_logs_lack_is_asked_once_for_all() {
        let log = "[2026-11-28 10:00:00,000] step 1/9\n[2026-11-28 10:00:05,000] step 2/9\n[2026-11-28 10:00:10,000] step 3/9\n";
        let other = log.replace("00:05", "00:04");
        let files = || {
            let texts = [("a.log", log), ("b.log", other.as_str()), ("c.jsonl", EXAMPLE)];
            texts.map(|(name, text)| (name.to_owned(), Ok(text.as_bytes().to_vec()))).to_vec()
        };
        let Ok(Imported::Lacking(lacking)) = import_files(files().into_iter(), &Added::default()) else {
            unreachable!()
        };
        assert_eq!(lacking.file, "a.log");
        let labels = Some(vec![("model".to_owned(), "mnist".to_owned())]);
        let Ok(Imported::Jobs { jobs, notes, .. }) =
            import_files(files().into_iter(), &Added { labels, ..Added::default() })
        else {
            unreachable!()
        };
        assert!(jobs.iter().any(|job| job.context.workload.model == "mnist"), "{notes:?}");
        assert!(jobs.len() > 4, "the samples stay, although the label contradicts them");
    }

    fn mapped(mapping: &Mapping) -> Added {
        Added { mapping: Some(mapping.clone()), ..Added::default() }
    }

    #[test]
    fn what_a_run_lacks_is_asked_once() {
        let file = include_bytes!("../../../../shared/import/tests/training/tensorboardx.tfevents");
        let mut added = Added { file: "bert.tfevents".to_owned(), ..Added::default() };
        let Ok(Imported::Lacking(lacking)) = import(file, &added) else { unreachable!() };
        let names: Vec<&str> = lacking.labels.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["steps", "model", "accelerator", "gpus"]);
        assert_eq!(lacking.needed, ["steps"]);
        let told = |values: [&str; 4]| {
            Some(names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect())
        };
        added.labels = told(["120", "bert", "", "2"]);
        let Ok(Imported::Lacking(asked)) = import(file, &added) else { unreachable!() };
        assert_eq!((asked.needed, asked.labels.len()), (vec!["accelerator".to_owned()], 4));
        added.labels = told(["120", "bert", "NVIDIA A10G", "2"]);
        let Ok(Imported::Jobs { jobs, .. }) = import(file, &added) else { unreachable!() };
        assert_eq!((jobs[0].context.workload.model.as_str(), jobs[0].observations[0].executors), ("bert", 2));
        // A log that tells its work is still asked for the GPU.
        let log = "[2026-11-28 10:00:00,000] step 1/9\n[2026-11-28 10:00:05,000] step 2/9\n[2026-11-28 10:00:10,000] step 3/9\n";
        let mut added = Added { file: "mnist.log".to_owned(), ..Added::default() };
        let Ok(Imported::Lacking(lacking)) = import(log.as_bytes(), &added) else { unreachable!() };
        assert_eq!((lacking.labels[0].1.as_str(), lacking.needed.len()), ("mnist", 0));
        added.labels = Some(Vec::new());
        assert!(matches!(import(log.as_bytes(), &added), Ok(Imported::Jobs { .. })));
    }

    #[test]
    fn a_file_of_the_monitor_gives_its_runs() {
        let line = r#"{"secs":1,"images_per_sec":2,"processors":1,"sample":"019aa6d1-0000-7000-8000-000000000001","executors":2,"cores_per_executor":4,"sampling_rate":0.1}"#;
        let Ok(Imported::Monitored(runs)) = import(format!("{line}\n").as_bytes(), &Added::default()) else {
            unreachable!()
        };
        assert_eq!((runs.len(), runs[0].executors, runs[0].moments.len()), (1, 2, 1));
        let error = import(line.as_bytes(), &Added::default()).unwrap_err();
        assert!(error.contains("no moments"), "an unfinished line: {error}");
    }

    #[test]
    fn an_unusable_file_is_rejected_in_one_sentence() {
        for (bytes, expected) in [
            (&b"\xff\xd8\xff\xe0\x00"[..], "a JPEG image"),
            (b"", "no samples"),
            (b"hello\nworld\n", "column"),
            (b"{}", "line 1"),
        ] {
            let error = import(bytes, &Added::default()).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
