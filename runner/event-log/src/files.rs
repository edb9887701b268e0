//! Grouping and ordering of the files of an event log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::unreadable;

/// The files of one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFiles {
    /// Name for messages.
    pub name: String,
    /// Files in the order in which they were written.
    pub files: Vec<PathBuf>,
    /// Problems found.
    pub notes: Vec<String>,
}

/// Returns the logs at a path: a file or the folder of a rolling log is one log, any other folder
/// holds several. An unreadable folder inside it is an error among them.
///
/// # Errors
/// The path cannot be read.
pub fn logs_at(path: &Path) -> anyhow::Result<Vec<anyhow::Result<LogFiles>>> {
    if !std::fs::metadata(path).map_err(|error| unreadable(path, &error))?.is_dir() {
        return Ok(vec![Ok(LogFiles::of_file(path))]);
    }
    if let Some(log) = rolling(path)? {
        return Ok(vec![Ok(log)]);
    }
    let mut logs = Vec::new();
    for entry in entries(path)? {
        let is_hidden = file_name(&entry).starts_with(['.', '_']);
        if entry.is_dir() {
            logs.extend(rolling(&entry).transpose());
        } else if !is_hidden {
            logs.push(Ok(LogFiles::of_file(&entry)));
        }
    }
    Ok(logs)
}

impl LogFiles {
    /// Returns the log in a single file.
    fn of_file(path: &Path) -> Self {
        Self { name: path.display().to_string(), files: vec![path.to_owned()], notes: Vec::new() }
    }
}

/// Returns a rolling log, `eventlog_v2_ID/events_N_ID[.CODEC][.compact]`: N counts from 1, and a
/// compacted file replaces itself and all earlier files.
fn rolling(folder: &Path) -> anyhow::Result<Option<LogFiles>> {
    let mut files: BTreeMap<u64, (bool, PathBuf)> = BTreeMap::new();
    for entry in entries(folder)? {
        let name = file_name(&entry);
        let number = name.strip_prefix("events_").and_then(|rest| rest.split('_').next()?.parse().ok());
        if let Some(number) = number {
            let is_compact = name.ends_with(".compact");
            let file = files.entry(number).or_insert_with(|| (is_compact, entry.clone()));
            if is_compact {
                *file = (true, entry);
            }
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    let compact = files.iter().rev().find(|(_, (is_compact, _))| *is_compact).map(|(number, _)| *number);
    let first = compact.unwrap_or(1);
    files.retain(|number, _| *number >= first);
    let mut notes = Vec::new();
    if compact.is_some() {
        notes.push("Spark compacted it: jobs that had ended before are no longer in it".to_owned());
    }
    let last = files.keys().last().copied().unwrap_or(first);
    let missing: Vec<String> = (first..=last)
        .filter(|number| !files.contains_key(number))
        .take(10)
        .map(|number| format!("events_{number}"))
        .collect();
    if !missing.is_empty() {
        notes.push(format!("{} is missing, with the events in it", missing.join(", ")));
    }
    let files = files.into_values().map(|(_, file)| file).collect();
    Ok(Some(LogFiles { name: folder.display().to_string(), files, notes }))
}

/// Returns the entries of a folder, sorted by name.
fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let entries: Result<Vec<PathBuf>, std::io::Error> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries.with_context(|| format!("the folder {} cannot be read", folder.display()))?;
    entries.sort();
    Ok(entries)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(names: &[&str]) -> (Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
        let logs: Vec<LogFiles> = logs_at(folder.path()).unwrap().into_iter().map(Result::unwrap).collect();
        assert_eq!(logs.len(), 1);
        (logs[0].files.iter().map(|file| file_name(file)).collect(), logs[0].notes.clone())
    }

    #[test]
    fn the_files_of_a_rolling_log_are_in_numeric_order() {
        let (files, notes) = numbers(&["appstatus_a", "events_10_a.zstd", "events_2_a.zstd", "events_1_a.zstd"]);
        assert_eq!(files, ["events_1_a.zstd", "events_2_a.zstd", "events_10_a.zstd"]);
        assert!(notes[0].contains("events_3, events_4"), "{notes:?}");
    }

    #[test]
    fn a_compacted_file_replaces_the_earlier_files() {
        let names = ["events_1_a", "events_2_a", "events_2_a.compact", "events_3_a", "appstatus_a.inprogress"];
        let (files, notes) = numbers(&names);
        assert_eq!(files, ["events_2_a.compact", "events_3_a"]);
        assert_eq!(notes.len(), 1);
    }
}
