//! Output of a program: read as it comes, in constant memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use foreglow_progress::Reader;
use foreglow_shared::Curve;

/// Lines to keep for the message of a failure.
const KEPT_LINES: usize = 40;
/// Letters of a line to keep.
const KEPT_LETTERS: usize = 500;
const CHUNK: usize = 64 << 10;
/// Bytes of a read below which the next one waits for the [`pause`]: of a program that writes each
/// line alone, the waking for each costs more than the reading.
const FEW: usize = CHUNK / 16;

/// The output of a program: its two streams, and the file in which it may tell its progress.
#[derive(Clone)]
pub struct Output {
    started: Instant,
    /// Last lines of each stream.
    last_lines: [Arc<Mutex<VecDeque<String>>>; 2],
    /// A reader of the progress of each source: a line that begins on one does not end on another.
    readers: [Arc<Mutex<Reader>>; 3],
}

impl Output {
    /// Reads the progress in this form, with times since `started`.
    pub fn new(reader: &Reader, started: Instant) -> Self {
        let readers = [(); 3].map(|()| Arc::new(Mutex::new(reader.clone())));
        Self { started, last_lines: Default::default(), readers }
    }

    /// Returns the moment from which the times count.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Reads a stream, 0 or 1, to its end, in a thread of its own.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn read(&self, stream: usize, mut from: impl Read + Send + 'static) -> std::io::Result<JoinHandle<()>> {
        let output = self.clone();
        std::thread::Builder::new().spawn(move || {
            let mut chunk = vec![0; CHUNK];
            let mut line = Vec::new();
            let mut paused = Duration::ZERO;
            loop {
                let asked = output.started.elapsed();
                match from.read(&mut chunk) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                    Ok(length) => {
                        let bytes = &chunk[..length];
                        let elapsed = output.started.elapsed();
                        let at = arrival(asked, elapsed, paused);
                        locked(&output.readers[stream]).push(bytes, at.as_secs_f64());
                        output.keep_lines(stream, bytes, &mut line);
                        paused = if length < FEW { pause(elapsed) } else { Duration::ZERO };
                        std::thread::sleep(paused);
                    }
                }
            }
            output.keep(stream, &mut line);
        })
    }

    /// Reads what was added to the file in which the program may tell its progress.
    pub fn read_file(&self, file: &mut File) {
        // Small, because it is filled with zeros 20 times a second.
        let mut chunk = [0; 4 << 10];
        while let Ok(length @ 1..) = file.read(&mut chunk) {
            locked(&self.readers[2]).push(&chunk[..length], self.started.elapsed().as_secs_f64());
        }
    }

    /// Reads the last lines, whose end is missing.
    pub fn finish(&self) {
        self.readers.iter().for_each(|reader| locked(reader).finish());
    }

    /// Returns the progress so far: that of the file, or else of the stream that tells more.
    pub fn curve(&self) -> Option<Curve> {
        let of = |reader: &Arc<Mutex<Reader>>| locked(reader).curve();
        let weight = |curve: &Curve| (curve.of.is_some(), curve.points.len());
        of(&self.readers[2]).or_else(|| self.readers[..2].iter().filter_map(of).max_by_key(weight))
    }

    /// Returns the work done so far, if the program tells it, without the whole curve.
    pub fn done(&self) -> Option<f64> {
        self.readers.iter().filter_map(|reader| locked(reader).done()).reduce(f64::max)
    }

    /// Returns the last lines, which are not blank: those of the output, then those of the errors,
    /// which say more about a failure.
    pub fn last_lines(&self) -> Vec<String> {
        self.last_lines.iter().flat_map(|lines| locked(lines).iter().cloned().collect::<Vec<_>>()).collect()
    }

    fn keep_lines(&self, stream: usize, mut bytes: &[u8], line: &mut Vec<u8>) {
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            extend(line, &bytes[..end]);
            self.keep(stream, line);
            bytes = &bytes[end + 1..];
        }
        extend(line, bytes);
    }

    fn keep(&self, stream: usize, line: &mut Vec<u8>) {
        if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
            let mut lines = locked(&self.last_lines[stream]);
            if lines.len() == KEPT_LINES {
                lines.pop_front();
            }
            lines.push_back(String::from_utf8_lossy(line).trim_end().to_owned());
        }
        line.clear();
    }
}

/// Returns how long the reader sleeps before its next read: 0.2 % of the time so far, so that the
/// times of steps have the same relative error in short and long programs.
fn pause(elapsed: Duration) -> Duration {
    (elapsed / 500).clamp(Duration::from_millis(5), Duration::from_millis(50))
}

/// Returns when lines arrived that were asked for after a pause and read at `elapsed`: if the read
/// did not wait, in the middle of the pause, as expected.
fn arrival(asked: Duration, elapsed: Duration, paused: Duration) -> Duration {
    let has_waited = elapsed.saturating_sub(asked) >= paused / 10;
    if has_waited { elapsed } else { elapsed.saturating_sub(paused / 2) }
}

fn extend(line: &mut Vec<u8>, bytes: &[u8]) {
    let room = KEPT_LETTERS.saturating_sub(line.len());
    line.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: Vec<u8>) -> Output {
        let output = Output::new(&Reader::new(), Instant::now());
        output.read(1, std::io::Cursor::new(text)).unwrap().join().unwrap();
        output.finish();
        output
    }

    #[test]
    fn the_last_lines_are_kept_without_blank_ones() {
        let lines: String = (0..100).map(|number| format!("line {number}\n\n  \r")).collect();
        let kept = read(format!("{lines}end").into_bytes()).last_lines();
        assert_eq!((kept.len(), kept.first().unwrap().as_str()), (KEPT_LINES, "line 61"));
        assert_eq!(kept.last().unwrap(), "end");
    }

    #[test]
    fn a_line_without_end_and_bytes_that_are_no_text_take_constant_memory() {
        let kept = read(vec![0xff; 10 << 20]).last_lines();
        assert_eq!(kept[0].chars().count(), KEPT_LETTERS);
    }

    #[test]
    fn the_pause_is_a_small_share_of_the_time_and_lines_that_came_in_it_have_the_time_of_its_middle() {
        let ms = Duration::from_millis;
        assert_eq!([0, 10_000, 600_000].map(|elapsed| pause(ms(elapsed))), [ms(5), ms(20), ms(50)]);
        assert_eq!(arrival(ms(1_000), ms(1_000), ms(20)), ms(990));
        assert_eq!(arrival(ms(1_000), ms(1_300), ms(20)), ms(1_300), "a line that the reader waited for");
        assert_eq!(arrival(ms(3), ms(3), Duration::ZERO), ms(3), "the first read, and one after much output");
    }

    #[test]
    fn progress_is_read_from_either_stream_and_first_of_all_from_the_file() {
        let output = read(b"step 1/50\nstep 2/50".to_vec());
        assert_eq!((output.done(), output.curve().and_then(|curve| curve.of)), (Some(2.0), Some(50.0)));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress");
        std::fs::write(&path, "{\"foreglow\":{\"done\":128,\"of\":5000}}\n").unwrap();
        output.read_file(&mut File::open(&path).unwrap());
        assert_eq!(output.curve().and_then(|curve| curve.of), Some(5000.0));
    }
}
