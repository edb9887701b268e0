//! The catalog of machine types: the built-in table, or the user's files.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::{Temporary, unreadable, unusable};
use foreglow_shared::{Catalog, CatalogError, OWN};
use foreglow_store::data_folder;

use crate::ask::{name, read_text};

/// SkyPilot's name of its catalog files.
const SKYPILOT_FILE: &str = "vms.csv";
/// Depth of the folders below `--catalog` that are searched: `catalogs/v8/aws`.
const MOST_FOLDERS: usize = 4;

/// Source of the machine types and their prices.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct CatalogArgs {
    /// Machine types with prices: a CSV of own hardware, a vms.csv of SkyPilot, or a folder of
    /// these, such as ~/.sky/catalogs [default: that of `foreglow machines update`, or else a
    /// built-in table of AWS, GCP and Lambda]
    #[arg(long, value_name = "FILE|FOLDER")]
    catalog: Option<PathBuf>,

    /// Region of the prices in a vms.csv [default: the region with the most machine types]
    #[arg(long, value_name = "NAME", requires = "catalog")]
    region: Option<String>,
}

impl CatalogArgs {
    /// Creates the arguments for this file or folder.
    pub fn new(path: PathBuf, region: Option<String>) -> Self {
        Self { catalog: Some(path), region }
    }

    /// Returns whether the user named a catalog.
    pub fn is_given(&self) -> bool {
        self.catalog.is_some()
    }

    /// Reads the catalog.
    ///
    /// # Errors
    /// A file cannot be read, or is not a catalog; the message names it.
    pub fn read(&self) -> anyhow::Result<Catalog> {
        let Some(path) = &self.catalog else {
            let Some(updated) = updated() else { return Ok(Catalog::built_in()) };
            let text = read_text(&updated, "a CSV of machine types")?;
            return Catalog::read(&text, OWN, None).map_err(|error| {
                unusable(format!("{}: {error}; write it again with `foreglow machines update`", name(&updated)))
            });
        };
        let files = if path.is_dir() { files_in(path)? } else { vec![path.clone()] };
        let mut merged: Option<Catalog> = None;
        let mut without_region = None;
        for file in &files {
            let text = read_text(file, "a CSV of machine types")?;
            let catalog = match Catalog::read(&text, &provider(file), self.region.as_deref()) {
                // One region belongs to one provider, so the files of the others lack it.
                Err(error @ CatalogError::Region { .. }) if files.len() > 1 => {
                    without_region = Some(error);
                    continue;
                }
                other => other,
            };
            let all = catalog.and_then(|catalog| match merged.take() {
                Some(known) => known.merge(catalog),
                None => Ok(catalog),
            });
            merged = Some(all.map_err(|error| unusable(format!("{}: {error}", name(file))))?);
        }
        merged.ok_or_else(|| match without_region {
            Some(error) => unusable(format!("{}: {error}", path.display())),
            None => unusable(format!("there is no catalog in {}; give a CSV or a folder of them", path.display())),
        })
    }
}

/// Name of the file with the user's machine types, in the data folder.
const UPDATED: &str = "machines.csv";

/// Returns the file with the user's machine types, which replaces the built-in table; `None` if it
/// is missing.
pub fn updated() -> Option<PathBuf> {
    data_folder().ok().map(|folder| folder.join(UPDATED)).filter(|file| file.exists())
}

/// Replaces the built-in table by this one, a CSV of machine types, and returns its file.
///
/// # Errors
/// The data folder cannot be written.
pub fn update(csv: &str) -> anyhow::Result<PathBuf> {
    let folder = data_folder()?;
    let file = folder.join(UPDATED);
    let failed = || format!("{} cannot be written", file.display());
    std::fs::create_dir_all(&folder).with_context(failed)?;
    let beside = Temporary::at(folder.join(format!("{UPDATED}.new-{}", std::process::id())));
    std::fs::write(beside.path(), csv).with_context(failed)?;
    std::fs::rename(beside.path(), &file).with_context(failed)?;
    beside.keep();
    Ok(file)
}

/// Returns the provider of a `vms.csv`, which is the name of its folder.
fn provider(file: &Path) -> String {
    let folder = file.canonicalize().ok().and_then(|file| file.parent()?.file_name()?.to_str().map(str::to_owned));
    folder.filter(|_| file.file_name().is_some_and(|name| name == SKYPILOT_FILE)).unwrap_or_else(|| OWN.to_owned())
}

/// Returns the catalogs of a folder: its CSV files, and the `vms.csv` of each provider below it. Of
/// several versions of a provider's file, the last by name.
fn files_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut found = Vec::new();
    collect(folder, 0, &mut found)?;
    for (depth, path) in found {
        if path.file_name().is_some_and(|name| name == SKYPILOT_FILE) {
            let own = provider(&path);
            files.retain(|known| provider(known) != own || known.file_name() != path.file_name());
            files.push(path);
        } else if depth == 0 {
            files.push(path);
        }
    }
    Ok(files)
}

/// Collects the CSV files of a folder and of those below it, sorted by name.
fn collect(folder: &Path, depth: usize, found: &mut Vec<(usize, PathBuf)>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort_unstable();
    for path in paths {
        if path.is_dir() && depth + 1 < MOST_FOLDERS {
            collect(&path, depth + 1, found)?;
        } else if path.extension().is_some_and(|extension| extension == "csv") {
            found.push((depth, path));
        }
    }
    Ok(())
}
