//! Event logs of Spark.

use foreglow_shared::{Engine, Outcome};
use foreglow_spark_log::{Application, EventLogError, EventLogReader};

use crate::{Given, Import, ImportError, Importer, Input, Piece};

/// Event logs of Spark, in any number of parts.
pub struct SparkLog;

impl Importer for SparkLog {
    fn sniff(&self, start: &str) -> bool {
        is_event_log(start)
    }

    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        if let Some(engine) = given.engine.filter(|engine| *engine != Engine::Spark) {
            return Err(ImportError::Engine(engine.as_str()));
        }
        let application = application(input)?;
        let name = given.name.clone().or_else(|| application.id.clone()).unwrap_or_else(|| "log".to_owned());
        let mut import = Import::default();
        let runs = application.runs()?;
        let given = given.labels_of_runs(runs.len(), || match runs.len() {
            1 => "1 run".to_owned(),
            count => format!("{count} runs"),
        })?;
        for ((number, run), given) in (1..).zip(&runs).zip(&given) {
            let which = if runs.len() == 1 { String::new() } else { format!("run {number}: ") };
            let log = if runs.len() == 1 { name.clone() } else { format!("{name}, run {number}") };
            import.logged.extend(run.logged().map(|run| (log, run)));
            match run.sample(given, env!("CARGO_PKG_VERSION")) {
                Ok((sample, notes)) => {
                    let reason = sample.reason.iter().map(|reason| format!("{}: {reason}", sample.outcome.as_str()));
                    import.notes.extend(notes.into_iter().chain(reason).map(|note| format!("{which}{note}")));
                    let is_told = run.labels().get("sampling_rate").is_none() && given.get("sampling_rate").is_some();
                    if is_told && sample.outcome != Outcome::Failed {
                        import.rated.insert(sample.id, run.work());
                    }
                    import.samples.push(sample);
                }
                Err(error) if runs.len() == 1 => return Err(error.into()),
                Err(error) => import.problems.push(format!("{which}{error}")),
            }
        }
        // The reason of a failed run may already say it.
        let reasons: Vec<&str> = import.samples.iter().filter_map(|sample| sample.reason.as_deref()).collect();
        let of_log = notes(&application).into_iter().filter(|note| !reasons.iter().any(|reason| reason.contains(note)));
        import.notes.splice(0..0, of_log);
        Ok(import)
    }
}

/// Returns whether the beginning of a file is that of an event log.
pub fn is_event_log(start: &str) -> bool {
    // The first line is cut if the start of the log is missing.
    start.lines().any(is_event)
}

fn is_event(line: &str) -> bool {
    let mut letters = line.chars().filter(|letter| !letter.is_whitespace());
    "{\"Event\":".chars().all(|letter| letters.next() == Some(letter))
}

/// Reads an event log as far as it can be read.
///
/// # Errors
/// The input holds no event.
pub fn application(input: &mut Input<'_>) -> Result<Application, EventLogError> {
    let mut reader = EventLogReader::new();
    for piece in input {
        match piece {
            Piece::Bytes(bytes) => reader.push(&bytes),
            Piece::Gap(reason) => reader.gap(reason),
        }
    }
    reader.finish()
}

/// Returns remarks about what an event log lacks.
pub fn notes(application: &Application) -> Vec<String> {
    let damage = &application.damage;
    let mut notes = damage.gaps.clone();
    if let Some(first) = damage.first {
        notes.push(format!(
            "lines that are not events: {}, the first is line {first}; the others are used",
            damage.lines
        ));
    }
    if damage.cut_short {
        notes.push("its last line is cut short: the application is still running, or was killed".to_owned());
    }
    if damage.backward_tasks > 0 {
        notes.push(format!(
            "{} tasks end before they start, because the driver's clock was set back; their times are unknown",
            damage.backward_tasks
        ));
    }
    if application.ended_ms.is_none() && !damage.cut_short && damage.gaps.is_empty() {
        notes.push("the end of the application is not in the log: it is still running, or was killed".to_owned());
    }
    notes
}
