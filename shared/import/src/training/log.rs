//! Logs of training programs: their output, in every form of `foreglow_progress`.

use foreglow_progress::Reader;

use super::{Run, changed_batch_size, refused};
use crate::{Given, Import, ImportError, Importer, Input, Piece};

/// Advances of a bar from which the start of a file shows a log.
const LEAST_POINTS: usize = 3;

/// The output of a training program, `:::MLLOG` included.
pub struct Log;

impl Importer for Log {
    fn is_of_training(&self) -> bool {
        true
    }

    fn sniff(&self, start: &str) -> bool {
        let is_declared = start.contains(":::MLLOG") || start.contains("{\"foreglow\":");
        let is_data =
            start.starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(first_line(start)).is_ok();
        // The settings of a program may be one line with commas, but not two.
        let has_cells = |line: Option<&str>| line.is_some_and(|line| line.matches([',', ';', '\t']).count() > 8);
        let mut lines = start.split(['\n', '\r']).filter(|line| !line.is_empty());
        let is_table = has_cells(lines.next()) && lines.next().is_none_or(|line| has_cells(Some(line)));
        if !is_declared && (is_data || is_table) {
            return false;
        }
        let mut reader = Reader::new();
        for (at, line) in (0_u32..).zip(start.split_inclusive(['\n', '\r'])) {
            reader.push(line.as_bytes(), at.into());
        }
        reader.finish();
        is_declared || reader.curve().is_some_and(|curve| curve.points.len() >= LEAST_POINTS)
    }

    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let mut reader = Reader::of_file();
        let mut gaps = Vec::new();
        for piece in input {
            match piece {
                Piece::Bytes(bytes) => reader.push_recorded(&bytes),
                Piece::Gap(reason) => gaps.push(reason),
            }
        }
        reader.finish_recorded();
        let curve = reader.curve().filter(|curve| curve.points.len() >= 2).ok_or_else(|| {
            refused(
                "its lines with progress have no times; write the log with timestamps, such as through `ts '%F %T'`, or start \
                 the program with `foreglow run`",
            )
        })?;
        let recorder = reader.recorder().cloned().unwrap_or_default();
        let mut run = Run::recorded(curve, &recorder, reader.started_at_secs());
        run.notes.extend(reader.changed_batch_size().map(changed_batch_size));
        let mut import = run.import(given)?;
        import.notes.extend(gaps);
        Ok(import)
    }
}

fn first_line(start: &str) -> &str {
    start.lines().next().unwrap_or_default()
}
