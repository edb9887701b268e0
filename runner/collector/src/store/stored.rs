//! Stored samples, verified against their checksums and columns.

use foreglow_shared::parse_line;

use super::Encoded;
use super::checksum::checksum;
use super::failure::Outcome;
use super::row::Row;

/// A row whose checksum was verified.
#[derive(Clone, Debug)]
pub(super) struct StoredLine {
    pub(super) seq: i64,
    /// The readable part of the id.
    pub(super) id: String,
    /// `None` if it differs from what was stored.
    pub(super) line: Option<String>,
}

/// Reads a row of `seq, id, checksum, line`.
pub(super) fn stored_line(mut row: Row) -> Outcome<StoredLine> {
    let seq = row.integer(0)?;
    let (id, line) = (row.bytes(1), row.bytes(3));
    let is_same = matches!(row.maybe_integer(2), Ok(Some(sum)) if sum == checksum(&id, &line));
    let line = if is_same { String::from_utf8(line).ok() } else { None };
    Ok(StoredLine { seq, id: readable(id), line })
}

/// Returns the readable part of an id.
pub(super) fn readable(id: Vec<u8>) -> String {
    String::from_utf8(id).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Columns of [`StoredSample`].
pub(super) const COLUMNS: &str = "seq, id, checksum, line, model, mode, engine, outcome, started_at_us, secs, run";

/// A row of [`COLUMNS`].
#[derive(Clone, Debug)]
pub(super) struct StoredSample {
    pub(super) seq: i64,
    pub(super) id: String,
    /// `None` if it differs from what was stored.
    pub(super) line: Option<String>,
    model: Vec<u8>,
    mode: Vec<u8>,
    engine: Vec<u8>,
    outcome: Vec<u8>,
    started_at_us: Option<i64>,
    /// `None` if the column has no number.
    secs: Option<Option<f64>>,
    pub(super) run: Option<i64>,
}

impl StoredSample {
    pub(super) fn read(mut row: Row) -> Outcome<Self> {
        let [model, mode, engine, outcome] = [4, 5, 6, 7].map(|column| row.bytes(column));
        let (started_at_us, secs) = (row.maybe_integer(8).ok().flatten(), row.maybe_real(9).ok());
        let run = row.maybe_integer(10).ok().flatten();
        let StoredLine { seq, id, line } = stored_line(row)?;
        Ok(Self { seq, id, line, model, mode, engine, outcome, started_at_us, secs, run })
    }

    /// Returns the row of a sample.
    pub(super) fn of(new: &Encoded, seq: i64, run: i64) -> Self {
        Self {
            seq,
            id: new.id.clone(),
            line: Some(new.line.clone()),
            model: new.run.model.clone().into_bytes(),
            mode: new.mode.into(),
            engine: new.run.engine.into(),
            outcome: new.run.outcome.into(),
            started_at_us: Some(new.started_at_us),
            secs: Some(new.secs),
            run: Some(run),
        }
    }

    /// Whether the columns used in queries match those of a sample.
    pub(super) fn has_columns_of(&self, right: &Encoded) -> bool {
        // A server stores no NUL.
        let models = [right.run.model.clone(), right.run.model.replace('\0', "\u{fffd}")];
        models.iter().any(|model| model.as_bytes() == self.model)
            && right.mode.as_bytes() == self.mode
            && right.run.engine.as_bytes() == self.engine
            && right.run.outcome.as_bytes() == self.outcome
            && self.started_at_us == Some(right.started_at_us)
            && self.secs == Some(right.secs)
    }

    /// Whether the sample is undamaged.
    pub(super) fn is_sound(&self) -> bool {
        let Some(line) = &self.line else { return false };
        // Samples outside the limits, from an earlier version, count as sound, because no answer
        // includes them.
        let encoded = parse_line(line).ok().and_then(|sample| Encoded::new(&sample).ok());
        encoded.is_none_or(|right| self.has_columns_of(&right))
    }
}
