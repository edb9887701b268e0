//! What a user says about each run of a folder: the file `labels.csv` in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foreglow_exit::{unreadable, unusable};
use foreglow_import::Given;
use foreglow_shared::{LABELS, Table};

use crate::grammar;

/// Name of the file.
const FILE: &str = "labels.csv";
/// Column with the name of the run: of its folder below the one with the file, or of its file.
const RUN: &str = "run";
/// Column of [`Given::machine`].
const MACHINE: &str = "machine";

/// The rows of `labels.csv` in some folders.
#[derive(Clone, Debug, Default)]
pub struct RunLabels(Vec<(PathBuf, BTreeMap<String, Given>)>);

impl RunLabels {
    /// Reads the files in those of these paths that are folders and have one.
    ///
    /// # Errors
    /// A file cannot be read, or has an unknown column or an invalid value.
    pub fn in_folders<'a>(paths: impl IntoIterator<Item = &'a Path>) -> anyhow::Result<Self> {
        let mut folders = Vec::new();
        for folder in paths {
            let file = folder.join(FILE);
            if file.is_file() {
                let text = std::fs::read(&file).map_err(|error| unreadable(&file, &error))?;
                let rows = rows(&text).map_err(|error| unusable(format!("{}: {error}", file.display())))?;
                folders.push((folder.to_owned(), rows));
            }
        }
        Ok(Self(folders))
    }

    /// Whether a path is one of the files.
    pub fn contains(&self, file: &Path) -> bool {
        self.0.iter().any(|(folder, _)| folder.join(FILE) == file)
    }

    /// Adds what the rows say about a run, in whose folder or file `path` is, to what the options
    /// say about all runs.
    pub fn add_to(&self, given: Given, path: &Path) -> Given {
        let row = |(folder, rows): &(PathBuf, BTreeMap<String, Given>)| {
            let inside = path.strip_prefix(folder).ok()?;
            inside.ancestors().find_map(|run| rows.get(run.to_str()?).cloned())
        };
        let Some(row) = self.0.iter().find_map(row) else { return given };
        Given { labels: given.labels.or(&row.labels), machine: given.machine.or(row.machine), ..given }
    }
}

/// Reads the rows by the names of the runs.
fn rows(text: &[u8]) -> Result<BTreeMap<String, Given>, String> {
    let table = Table::read(text).map_err(|error| error.to_string())?;
    let header: Vec<String> = table.header().iter().map(|name| name.trim().to_lowercase().replace('-', "_")).collect();
    let place = header.iter().position(|name| name == RUN);
    let place =
        place.ok_or_else(|| format!("it has no column {RUN:?} with the name of the folder or file of each run"))?;
    let mut rows = BTreeMap::new();
    for row in table.rows() {
        let mut given = Given::default();
        for (column, value) in header.iter().zip(row.iter()) {
            let value = value.trim();
            match column.as_str() {
                RUN => {}
                MACHINE => given.machine = Some(value.to_owned()).filter(|name| !name.is_empty()),
                column => {
                    let name = label(column)?;
                    let value = if name == MEMORY && !value.is_empty() {
                        grammar::mib(value).map_err(|error| format!("memory is {value:?}; {error}"))?.to_string()
                    } else {
                        value.to_owned()
                    };
                    given.labels.set(name, value);
                }
            }
        }
        rows.insert(row[place].trim().trim_end_matches('/').to_owned(), given);
    }
    Ok(rows)
}

/// Label of `--memory`.
const MEMORY: &str = "memory_per_executor_mib";

/// Returns the label of a column, which has the name of the label or of its option.
fn label(column: &str) -> Result<&'static str, String> {
    let with_option = || LABELS.iter().filter_map(|label| Some((label.name, label.flag?)));
    let option = |flag: &str| flag.trim_start_matches('-').replace('-', "_");
    let found = with_option().find(|(name, flag)| *name == column || option(flag) == column);
    found.map(|(name, _)| name).ok_or_else(|| {
        let known: Vec<String> = with_option().map(|(_, flag)| option(flag)).collect();
        format!("no label has the name {column:?}; the columns are {RUN}, {MACHINE}, {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_of_the_folder_or_the_file_of_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        std::fs::write(&file, "run,steps,Batch-Size,memory,machine\na,100,8,2g,g5.xlarge\nb/c.log,200,,,\n").unwrap();
        let labels = RunLabels::in_folders([folder.path()]).unwrap();
        assert!(labels.contains(&file) && !labels.contains(folder.path()));
        let mut given = Given::default();
        given.labels.set("batch_size", "16");
        let a = labels.add_to(given.clone(), &folder.path().join("a/events.out.tfevents.1"));
        let of = |given: &Given, name: &str| given.labels.get(name).map(str::to_owned);
        assert_eq!((of(&a, "steps"), a.machine.as_deref()), (Some("100".into()), Some("g5.xlarge")));
        assert_eq!((of(&a, MEMORY), of(&a, "batch_size")), (Some("2048".into()), Some("16".into())));
        let b = labels.add_to(given.clone(), &folder.path().join("b/c.log"));
        assert_eq!((of(&b, "steps"), b.machine.as_deref()), (Some("200".into()), None));
        assert_eq!(labels.add_to(given.clone(), &folder.path().join("d")), given);
    }

    #[test]
    fn unusable_files_are_refused_with_what_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |text: &str| {
            std::fs::write(folder.path().join(FILE), text).unwrap();
            RunLabels::in_folders([folder.path()]).unwrap_err().to_string()
        };
        assert!(refused("name,steps\na,1\n").contains("no column \"run\""));
        assert!(
            refused("run,step\na,1\n").contains("no label has the name \"step\"; the columns are run, machine, model")
        );
        assert!(refused("run,memory\na,2x\n").contains("memory is \"2x\"; write a size"));
    }
}
