//! Reads one log from its files.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use foreglow_exit::{unreadable, unusable};
use foreglow_import::{Input, Part, application, notes};
use foreglow_spark_log::Application;

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

/// Reads an event log piece by piece. A damaged or truncated log is read as far as possible, with a
/// note.
///
/// # Errors
/// The first file cannot be read, or the files hold no event.
pub fn read(log: &LogFiles) -> anyhow::Result<Log> {
    let application = application(&mut log.input()?).map_err(|error| unusable(format!("{}: {error}", log.name)))?;
    Ok(Log { name: log.name.clone(), notes: notes(&application), application })
}

impl LogFiles {
    /// Opens the files, decompressed. Files after the first are opened when they are needed.
    ///
    /// # Errors
    /// The first file cannot be read.
    pub fn input(&self) -> anyhow::Result<Input<'_>> {
        let gaps = self.gaps.iter().cloned().map(Part::Gap);
        let Some((first, others)) = self.files.split_first() else { return Ok(Input::new(gaps)) };
        let first = open(first).map_err(|error| unreadable(first, &error))?;
        let others = others
            .iter()
            .map(|file| open(file).unwrap_or_else(|error| Part::Gap(unreadable(file, &error).to_string())));
        Ok(Input::new(gaps.chain([first]).chain(others)))
    }
}

fn open(file: &Path) -> std::io::Result<Part<'static>> {
    let opened = BufReader::with_capacity(PIECE, File::open(file)?);
    // Without the folder, because the name may become part of a sample.
    let name = file.file_name().unwrap_or_default().display().to_string();
    Ok(Part::Content { name, bytes: uncompressed(opened)? })
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
        read(&LogFiles { name: "log".into(), files: (0..files.len()).map(path).collect(), gaps: Vec::new() }).unwrap()
    }

    #[test]
    fn a_damaged_file_of_a_rolling_log_costs_no_event_of_the_next_one() {
        // A chunk of LZF that is not compressed, and half of the header of another.
        let cut = "{\"Event\":\"SparkListenerTask";
        let damaged = [b"ZV\0\0", [u8::try_from(cut.len()).unwrap()].as_slice(), cut.as_bytes(), b"ZV\0"].concat();
        let log = log_of(&[&damaged, START.as_bytes(), END.as_bytes()]);
        assert_eq!((log.application.started_ms, log.application.ended_ms), (Some(1), Some(2)));
        assert!(log.notes[0].contains("only the readable part is used") && log.notes.len() == 1, "{:?}", log.notes);
        assert_eq!(log.application.damage.losses(), 1);
        let written = log_of(&[START.as_bytes(), &damaged]);
        assert!(written.notes[0].contains("still being written") && written.notes.len() == 1, "{written:?}");
    }

    #[test]
    fn a_log_without_the_end_of_its_application_has_a_note() {
        assert_eq!(log_of(&[START.as_bytes(), END.as_bytes()]).notes, [] as [&str; 0]);
        let sentence = "the end of the application is not in the log: it is still running, or was killed";
        assert_eq!(log_of(&[START.as_bytes()]).notes, [sentence]);
        let cut = &log_of(&[START.as_bytes(), &END.as_bytes()[..30]]).notes[0];
        assert!(cut.starts_with("its last line is cut short"), "{cut}");
    }

    #[test]
    fn a_byte_order_mark_does_not_change_what_is_read() {
        let plain = log_of(&[START.as_bytes(), END.as_bytes()]).application;
        let marked = format!("\u{feff}{START}");
        let utf16: Vec<u8> = format!("\u{feff}{END}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(log_of(&[marked.as_bytes(), &utf16]).application, plain);
    }
}
