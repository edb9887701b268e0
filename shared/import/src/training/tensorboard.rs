//! Event files of TensorBoard.
//!
//! The file is a sequence of TFRecords: the length (8 bytes, little endian), a checksum of it
//! (4 bytes), the data, and their checksum (4 bytes). Each record is an `Event` in protobuf:
//! `wall_time` (field 1, double), `step` (field 2, varint), and a summary (field 5).

use foreglow_progress::Recorder;
use foreglow_shared::Curve;

use super::{Run, refused};
use crate::{Given, Import, ImportError, Importer, Input, Piece};

/// Bytes of the length of a record.
const LENGTH: usize = 8;
/// Bytes of a record besides its data.
const FRAME: usize = 16;
/// Largest record that is kept until it is complete; a larger one, such as an image or a graph, is
/// skipped.
const MOST_BYTES: usize = 16 << 20;

/// Event files of TensorBoard.
pub struct TensorBoard;

impl Importer for TensorBoard {
    fn is_of_training(&self) -> bool {
        true
    }

    fn sniff(&self, start: &str) -> bool {
        // The length of the first record has zeros. Other records are refused with their own
        // sentence.
        start.chars().take(LENGTH).filter(|letter| *letter == '\0').count() > LENGTH / 2
    }

    fn read(&self, input: &mut Input<'_>, given: &Given) -> Result<Import, ImportError> {
        let mut records = Records::default();
        let mut progress = Progress { started_at: None, recorder: Recorder::of_file() };
        for piece in input {
            match piece {
                Piece::Bytes(bytes) => records.push(&bytes, |event| progress.add(event)),
                // A file that is being written ends within a record.
                Piece::Gap(_) => break,
            }
        }
        let points = progress.recorder.points();
        if progress.started_at.is_none() && records.count > 0 {
            return Err(no_events());
        }
        if points.len() < 2 {
            return Err(refused("its events have no two steps with scalars; give the event file of the training"));
        }
        let curve = Curve { unit: "steps".to_owned(), of: None, per_epoch: None, points };
        Run::recorded(curve, &progress.recorder, progress.started_at).import(given)
    }
}

/// Refuses a file of another kind, such as a data set in TFRecord.
pub(crate) fn no_events() -> ImportError {
    refused(
        "it has no events of TensorBoard, but data of another kind, although its name or its records are those of an event \
         file; give the event file of the training",
    )
}

/// Splits bytes into records.
#[derive(Debug, Default)]
struct Records {
    pending: Vec<u8>,
    /// Bytes of a record that are skipped.
    skipped: usize,
    /// Complete records so far.
    count: usize,
}

impl Records {
    fn push(&mut self, mut bytes: &[u8], mut read: impl FnMut(&[u8])) {
        let skipped = self.skipped.min(bytes.len());
        self.skipped -= skipped;
        bytes = &bytes[skipped..];
        self.pending.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(length) = self.pending.get(start..start + LENGTH) {
            let length =
                usize::try_from(length.iter().rev().fold(0_u64, |value, byte| (value << 8) | u64::from(*byte)));
            let end =
                length.ok().and_then(|length| start.checked_add(length)?.checked_add(FRAME)).unwrap_or(usize::MAX);
            if end <= self.pending.len() {
                read(&self.pending[start + 12..end - 4]);
                self.count += 1;
                start = end;
            } else if end - start > MOST_BYTES {
                self.skipped = end - self.pending.len();
                start = self.pending.len();
            } else {
                break;
            }
        }
        self.pending.drain(..start);
    }
}

/// The steps over time.
#[derive(Debug)]
struct Progress {
    started_at: Option<f64>,
    recorder: Recorder,
}

impl Progress {
    fn add(&mut self, event: &[u8]) {
        let Some((wall_time, step, has_summary)) = event_of(event) else { return };
        let zero = *self.started_at.get_or_insert(wall_time);
        if has_summary && step >= 0.0 {
            self.recorder.push((wall_time - zero).max(0.0), step);
        }
    }
}

/// Decodes the wall time and the step of an event, and whether it has a summary.
fn event_of(mut bytes: &[u8]) -> Option<(f64, f64, bool)> {
    let (mut wall_time, mut step, mut has_summary) = (None, 0.0, false);
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        match (key >> 3, key & 7) {
            (1, 1) => wall_time = Some(f64::from_le_bytes(take(&mut bytes, 8)?.try_into().ok()?)),
            (2, 0) => step = varint(&mut bytes)?.cast_signed() as f64,
            (field, 2) => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                take(&mut bytes, length)?;
                has_summary |= field == 5;
            }
            (_, 0) => drop(varint(&mut bytes)?.to_le_bytes()),
            (_, 1) => drop(take(&mut bytes, 8)?.len()),
            (_, 5) => drop(take(&mut bytes, 4)?.len()),
            _ => return None,
        }
    }
    wall_time.filter(|secs: &f64| secs.is_finite()).map(|secs| (secs, step, has_summary))
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
