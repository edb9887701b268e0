//! Reads one log from its files.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use foreglow_exit::{unreadable, unusable};
use foreglow_spark_log::{Application, EventLogReader};

use super::codec::uncompressed;
use super::files::LogFiles;

/// Bytes per read.
const PIECE: usize = 256 << 10;

/// Content of a log.
#[derive(Clone, Debug)]
pub struct Log {
    /// Name for messages.
    pub name: String,
    /// The application of the log.
    pub application: Application,
    /// Problems that the user should know about.
    pub notes: Vec<String>,
}

/// Reads a log piece by piece. A damaged or truncated log is read as far as possible, with a note.
///
/// # Errors
/// A file cannot be read, or the files hold no event.
pub fn read(log: &LogFiles) -> anyhow::Result<Log> {
    let mut reader = EventLogReader::new();
    let mut notes = log.notes.clone();
    let mut piece = vec![0; PIECE];
    let mut is_damaged = false;
    for file in &log.files {
        if is_damaged {
            // Ends a line that is cut short, so that this file begins a new one.
            reader.push(b"\n");
        }
        let mut bytes = uncompressed(open(file)?).map_err(|error| unreadable(file, &error))?;
        loop {
            match bytes.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => reader.push(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    notes.push(format!(
                        "{} is damaged or still being written; only the readable part is used ({error})",
                        file.display()
                    ));
                    is_damaged = true;
                    break;
                }
            }
        }
    }
    let application = reader.finish().map_err(|error| unusable(format!("{}: {error}", log.name)))?;
    notes.extend(damage(&application));
    if application.ended_ms.is_none() && !application.damage.cut_short && !is_damaged {
        notes.push(
            "the end of the application is not in it: the application is still running, or was killed".to_owned(),
        );
    }
    Ok(Log { name: log.name.clone(), application, notes })
}

/// Returns whether a file starts like an event log, compressed or not.
///
/// # Errors
/// The file cannot be read.
pub fn begins_as_log(file: &Path) -> anyhow::Result<bool> {
    let mut start = Vec::new();
    let read = uncompressed(open(file)?).and_then(|bytes| bytes.take(256).read_to_end(&mut start));
    // A compressed file truncated in its first block is a log of an application that has just
    // started.
    let is_compressed = read.is_err();
    let text: String = String::from_utf8_lossy(&start).chars().filter(|c| !c.is_whitespace()).collect();
    Ok(is_compressed || text.starts_with("{\"Event\":"))
}

fn open(file: &Path) -> anyhow::Result<impl BufRead + use<>> {
    let opened = File::open(file).map_err(|error| unreadable(file, &error))?;
    Ok(BufReader::with_capacity(PIECE, opened))
}

fn damage(application: &Application) -> Vec<String> {
    let damage = &application.damage;
    let mut notes = Vec::new();
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
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "{\"Event\":\"SparkListenerApplicationStart\",\"App ID\":\"app-1\",\"Timestamp\":1}\n";
    const END: &str = "{\"Event\":\"SparkListenerApplicationEnd\",\"Timestamp\":2}\n";

    fn log_of(files: &[&[u8]]) -> Log {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: usize| folder.path().join(number.to_string());
        files.iter().enumerate().for_each(|(number, bytes)| std::fs::write(path(number), bytes).unwrap());
        read(&LogFiles { name: "log".into(), files: (0..files.len()).map(path).collect(), notes: Vec::new() }).unwrap()
    }

    #[test]
    fn a_damaged_file_of_a_rolling_log_costs_no_event_of_the_next_one() {
        // A chunk of LZF that is not compressed, and half of the header of another.
        let cut = "{\"Event\":\"SparkListenerTask";
        let damaged = [b"ZV\0\0", [u8::try_from(cut.len()).unwrap()].as_slice(), cut.as_bytes(), b"ZV\0"].concat();
        let log = log_of(&[&damaged, START.as_bytes(), END.as_bytes()]);
        assert_eq!((log.application.started_ms, log.application.ended_ms), (Some(1), Some(2)));
        assert!(log.notes[0].contains("only the readable part is used"), "{:?}", log.notes);
        assert!(log.notes[1].contains("lines that are not events: 1"), "{:?}", log.notes);
        // The end of a log that is still being written is named only as that.
        let written = log_of(&[START.as_bytes(), &damaged]);
        assert!(written.notes[1].starts_with("its last line is cut short") && written.notes.len() == 2, "{written:?}");
    }

    #[test]
    fn a_log_without_the_end_of_its_application_has_a_note() {
        assert_eq!(log_of(&[START.as_bytes(), END.as_bytes()]).notes, [] as [&str; 0]);
        let sentence = "the end of the application is not in it: the application is still running, or was killed";
        assert_eq!(log_of(&[START.as_bytes()]).notes, [sentence]);
        let cut = &log_of(&[START.as_bytes(), &END.as_bytes()[..30]]).notes[0];
        assert!(cut.starts_with("its last line is cut short"), "{cut}");
    }
}
