//! Grouping and ordering of the files of an event log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::unreadable;

/// Ends of names that are no part of the id of an application.
const ENDS: [&str; 7] = [".compact", ".inprogress", ".zstd", ".lz4", ".snappy", ".lzf", ".gz"];

/// The files of one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFiles {
    /// Name for messages.
    pub name: String,
    /// Files in the order in which they were written.
    pub files: Vec<PathBuf>,
    /// Why events are missing in the files, from their names.
    pub gaps: Vec<String>,
}

/// Returns the logs at a path: a file is one log, and a folder holds several. An unreadable folder
/// inside it is an error among them.
///
/// # Errors
/// The path cannot be read.
pub fn logs_at(path: &Path) -> anyhow::Result<Vec<anyhow::Result<LogFiles>>> {
    if !std::fs::metadata(path).map_err(|error| unreadable(path, &error))?.is_dir() {
        return Ok(vec![Ok(LogFiles::from_file(path))]);
    }
    if let Some(logs) = parts_in(path)? {
        return Ok(logs.into_iter().map(Ok).collect());
    }
    let mut logs = Vec::new();
    let entries = entries(path)?;
    for entry in &entries {
        let name = file_name(entry);
        // Spark removes the ending when the application ends.
        let is_older = name.strip_suffix(".inprogress").is_some_and(|whole| entries.contains(&path.join(whole)));
        if entry.is_dir() {
            match parts_in(entry) {
                Ok(parts) => logs.extend(parts.into_iter().flatten().map(Ok)),
                Err(error) => logs.push(Err(error)),
            }
        } else if !name.starts_with(['.', '_']) && !is_older {
            logs.push(Ok(LogFiles::from_file(entry)));
        }
    }
    Ok(logs)
}

/// Returns the rolling logs of parts that are named one by one.
pub fn joined<'a>(parts: impl Iterator<Item = &'a Path>) -> Vec<LogFiles> {
    let mut of_applications: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in parts {
        if let Some(part) = part(file) {
            of_applications.entry(part.id).or_default().push(file.to_owned());
        }
    }
    let name = |files: &[PathBuf]| files.first().map(|file| file.display().to_string()).unwrap_or_default();
    of_applications.into_values().map(|files| LogFiles::from_parts(name(&files), files)).collect()
}

/// Whether a path has the name of a part of a rolling log, and is a file.
pub fn is_part(path: &Path) -> bool {
    part(path).is_some() && path.is_file()
}

/// Whether a path has the name of the empty file beside the parts of a rolling log, which says
/// whether the application runs.
pub fn is_status(path: &Path) -> bool {
    file_name(path).starts_with("appstatus_")
}

/// A part of a rolling log, from its name `events_N_ID[.CODEC][.compact]`.
#[derive(Debug)]
struct LogPart {
    number: u64,
    id: String,
    is_compact: bool,
}

fn part(file: &Path) -> Option<LogPart> {
    let name = file_name(file);
    let (number, mut id) = name.strip_prefix("events_")?.split_once('_')?;
    while let Some(shorter) = ENDS.iter().find_map(|end| id.strip_suffix(end)) {
        id = shorter;
    }
    Some(LogPart { number: number.parse().ok()?, id: id.to_owned(), is_compact: name.ends_with(".compact") })
}

impl LogFiles {
    /// Returns the log in a single file.
    fn from_file(path: &Path) -> Self {
        Self { name: path.display().to_string(), files: vec![path.to_owned()], gaps: Vec::new() }
    }

    /// Returns the files of a training run in a folder.
    pub(super) fn from_run(folder: &Path, files: Vec<PathBuf>) -> Self {
        Self { name: folder.display().to_string(), files, gaps: Vec::new() }
    }

    /// Returns the rolling log of these parts: their numbers count from 1, and a compacted part
    /// replaces itself and all earlier ones.
    fn from_parts(name: String, parts: Vec<PathBuf>) -> Self {
        let mut files: BTreeMap<u64, (bool, PathBuf)> = BTreeMap::new();
        for file in parts {
            let Some(LogPart { number, is_compact, .. }) = part(&file) else { continue };
            if is_compact || !files.contains_key(&number) {
                files.insert(number, (is_compact, file));
            }
        }
        let compact = files.iter().rev().find(|(_, (is_compact, _))| *is_compact).map(|(number, _)| *number);
        let first = compact.unwrap_or(1);
        files.retain(|number, _| *number >= first);
        let mut gaps = Vec::new();
        if compact.is_some() {
            gaps.push("Spark compacted the log: jobs that had ended before are no longer in it".to_owned());
        }
        let last = files.keys().last().copied().unwrap_or(first);
        let missing: Vec<String> = (first..=last)
            .filter(|number| !files.contains_key(number))
            .take(10)
            .map(|number| format!("events_{number}"))
            .collect();
        if !missing.is_empty() {
            gaps.push(format!("{} is missing, with the events in it", missing.join(", ")));
        }
        Self { name, files: files.into_values().map(|(_, file)| file).collect(), gaps }
    }
}

/// Returns the logs in a folder of parts of rolling logs, one for each application; or, for Spark
/// before 1.3, the log in its own folder. `None` if it is another folder.
fn parts_in(folder: &Path) -> anyhow::Result<Option<Vec<LogFiles>>> {
    let name = folder.display().to_string();
    let entries = entries(folder)?;
    if let Some(file) = entries.iter().find(|entry| file_name(entry).starts_with("EVENT_LOG_")) {
        return Ok(Some(vec![LogFiles { name, files: vec![file.clone()], gaps: Vec::new() }]));
    }
    let mut of_applications: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for entry in entries {
        if let Some(part) = part(&entry) {
            of_applications.entry(part.id).or_default().push(entry);
        }
    }
    let is_only = of_applications.len() == 1;
    let named = |id: &str| if is_only { name.clone() } else { format!("{name}, {id}") };
    let logs: Vec<LogFiles> =
        of_applications.into_iter().map(|(id, files)| LogFiles::from_parts(named(&id), files)).collect();
    Ok((!logs.is_empty()).then_some(logs))
}

/// Returns the entries of a folder, sorted by name.
pub(super) fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let entries: Result<Vec<PathBuf>, std::io::Error> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries.with_context(|| format!("the folder {} cannot be read", folder.display()))?;
    entries.sort_unstable();
    Ok(entries)
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the file names of the logs in a folder with these files, and why events are missing.
    fn logs_of(names: &[&str]) -> Vec<(Vec<String>, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        names.iter().for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
        let logs = logs_at(folder.path()).unwrap().into_iter().map(Result::unwrap);
        logs.map(|log| (log.files.iter().map(|file| file_name(file)).collect(), log.gaps)).collect()
    }

    #[test]
    fn the_files_of_a_rolling_log_are_in_numeric_order() {
        let logs = logs_of(&["appstatus_a", "events_10_a.zstd", "events_2_a.zstd", "events_1_a.zstd"]);
        let [(files, gaps)] = logs.as_slice() else { panic!("{logs:?}") };
        assert_eq!(*files, ["events_1_a.zstd", "events_2_a.zstd", "events_10_a.zstd"]);
        assert!(gaps[0].contains("events_3, events_4"), "{gaps:?}");
    }

    #[test]
    fn a_compacted_file_replaces_the_earlier_files() {
        let logs = logs_of(&["events_1_a", "events_2_a", "events_2_a.compact", "events_3_a", "appstatus_a.inprogress"]);
        let [(files, gaps)] = logs.as_slice() else { panic!("{logs:?}") };
        assert_eq!(*files, ["events_2_a.compact", "events_3_a"]);
        assert!(gaps[0].starts_with("Spark compacted the log") && gaps.len() == 1, "{gaps:?}");
    }

    #[test]
    fn the_parts_of_two_applications_in_one_folder_are_two_logs() {
        let logs = logs_of(&["events_1_app-1", "events_1_app-2.zstd", "events_2_app-1", "events_2_app-2.zstd.compact"]);
        let files: Vec<&[String]> = logs.iter().map(|(files, _)| files.as_slice()).collect();
        assert_eq!(files, [["events_1_app-1", "events_2_app-1"].as_slice(), &["events_2_app-2.zstd.compact"]]);
    }

    #[test]
    fn parts_that_are_named_one_by_one_are_one_log() {
        let parts = ["b/events_2_a.lz4", "b/events_1_a.lz4", "c/events_2_d"].map(Path::new);
        let logs = joined(parts.into_iter());
        let files: Vec<Vec<String>> =
            logs.iter().map(|log| log.files.iter().map(|file| file_name(file)).collect()).collect();
        assert_eq!(files, [vec!["events_1_a.lz4", "events_2_a.lz4"], vec!["events_2_d"]]);
        assert_eq!(logs[0].gaps, [] as [&str; 0]);
        assert_eq!(logs[1].gaps, ["events_1 is missing, with the events in it"]);
    }

    #[test]
    fn a_copy_of_the_log_from_while_the_application_ran_is_left_out() {
        let logs = logs_of(&["app-1", "app-1.inprogress", "app-2.inprogress"]);
        let files: Vec<&str> = logs.iter().flat_map(|(files, _)| files).map(String::as_str).collect();
        assert_eq!(files, ["app-1", "app-2.inprogress"]);
    }

    #[test]
    fn a_folder_of_spark_1_is_one_log() {
        let logs = logs_of(&["APPLICATION_COMPLETE", "EVENT_LOG_1", "SPARK_VERSION_1.0.0"]);
        assert_eq!(logs, [(vec!["EVENT_LOG_1".to_owned()], Vec::new())]);
    }
}
