//! Tables of metrics with the time of each row: Ultralytics, and the history of Weights & Biases.

use foreglow_progress::Recorder;
use foreglow_shared::{Curve, Table};

use super::{Run, changed_batch_size, refused, without_nan};
use crate::{Given, Import, ImportError, Importer, Input};

/// `results.csv` of Ultralytics, an exported history of Weights & Biases as CSV or JSON Lines, its
/// summary, which has only the time of the whole run, and Lightning's `metrics.csv`, which lacks
/// times and is refused.
pub struct History;

/// The columns of a table of metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Columns {
    /// Ultralytics: epochs, and seconds since the start.
    Ultralytics,
    /// Weights & Biases: steps, with seconds since the start or since 1970.
    WeightsAndBiases,
    /// Lightning: epochs and steps.
    Lightning,
}

impl Columns {
    fn of(header: &str) -> Option<Self> {
        let is_json = header.starts_with('{');
        let has = |name: &str| match is_json {
            true => header.contains(&format!("\"{name}\"")),
            false => header.split([',', ';', '\t']).any(|cell| cell.trim().trim_matches('"') == name),
        };
        if has("_step") && (has("_runtime") || has("_timestamp")) {
            Some(Self::WeightsAndBiases)
        } else if is_json || has("schema") {
            None
        } else if has("epoch") && header.contains("train/") && !has("step") {
            Some(Self::Ultralytics)
        } else {
            (has("epoch") && has("step")).then_some(Self::Lightning)
        }
    }
}

impl Importer for History {
    fn is_of_training(&self) -> bool {
        true
    }

    fn sniff(&self, start: &str) -> bool {
        start.lines().next().and_then(Columns::of).is_some()
    }

    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let mut bytes = input.bytes()?;
        let is_json = bytes.trim_ascii_start().starts_with(b"{");
        if is_json {
            bytes = without_nan(&bytes);
        }
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).into_owned();
        let columns = start.lines().next().and_then(Columns::of);
        let table = Table::read(&bytes).map_err(|error| refused(error.to_string()))?;
        let column = |name: &str| table.header().iter().position(|cell| cell.trim() == name);
        let (done, secs, unit, is_absolute) = match columns {
            Some(Columns::Ultralytics) => (column("epoch"), column("time"), "epochs", false),
            Some(Columns::WeightsAndBiases) => {
                let runtime = column("_runtime");
                (column("_step"), runtime.or_else(|| column("_timestamp")), "steps", runtime.is_none())
            }
            Some(Columns::Lightning) | None => (column("step"), None, "steps", false),
        };
        let (Some(done), Some(secs)) = (done, secs) else {
            return Err(refused(
                "it has no times of its rows; log with Lightning's TensorBoardLogger, or Ultralytics 8.1 or newer, or import \
                 the output of the run",
            ));
        };
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        let rows: Vec<(f64, f64)> =
            table.rows().filter_map(|row| Some((number(&row[secs])?, number(&row[done])?))).collect();
        let zero = if is_absolute { rows.first().map_or(0.0, |row| row.0) } else { 0.0 };
        let mut recorder = Recorder::of_file();
        // A summary is one row.
        let is_summary = is_json && rows.len() == 1 && !is_absolute;
        if is_summary {
            recorder.push(0.0, 0.0);
        }
        rows.iter().for_each(|(secs, done)| recorder.push((secs - zero).max(0.0), *done));
        let points = recorder.points();
        if points.len() < 2 {
            return Err(refused("it has fewer than two rows with a time; import it after the second"));
        }
        let curve = Curve { unit: unit.to_owned(), of: None, per_epoch: None, points };
        let mut run = Run::recorded(curve, &recorder, is_absolute.then_some(zero));
        if is_summary {
            run.notes.push(
                "a summary has only the time of the whole run, with its start-up; the exported history tells more"
                    .to_owned(),
            );
        }
        let is_batch_size = |name: &String| name.ends_with("batch_size") || name.ends_with("batch-size");
        if let Some(column) = table.header().iter().position(is_batch_size) {
            let mut sizes = table.rows().filter_map(|row| number(&row[column]));
            let first = sizes.next();
            let last = first.and_then(|first| sizes.filter(|size| *size != first).last());
            run.notes.extend(first.zip(last).map(changed_batch_size));
        }
        if columns == Some(Columns::Ultralytics) {
            run.labels.set("mode", "training");
        }
        run.import(given)
    }
}
