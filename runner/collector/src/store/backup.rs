//! Copies of a store, made while it is in use, and their return.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::unusable;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode};

use super::audit::record;
use super::database::Database;
use super::failure::sqlite::sentence;
use super::sqlite::{self, BUSY_TIMEOUT};
use super::{Location, Store};

impl Store {
    /// Copies the store, as it is at one moment, into a new file, and checks the copy; returns its
    /// number of samples. Other programs may write in the meantime.
    ///
    /// # Errors
    /// The file exists, the disk is full, or the store is damaged.
    pub fn back_up(&self, to: &Path) -> anyhow::Result<u64> {
        let Database::File(file) = &self.database else {
            let instead = format!("copy it with `pg_dump --file={}`", to.display());
            return Err(self.location.need_file(&instead).err().unwrap_or_else(|| unusable(instead)));
        };
        if to.exists() {
            return Err(unusable(format!("{} exists; name a new file for the copy", to.display())));
        }
        let partial = with_suffix(to, ".partial");
        let copied = copy_to(file, &partial);
        let checked = copied.and_then(|()| check(&partial));
        if checked.is_err() {
            // What is left of a failed copy is of no use.
            let _ = remove(&partial);
        }
        let samples = checked.with_context(|| format!("the copy {} was not made", to.display()))?;
        std::fs::rename(&partial, to)
            .and_then(|()| sync_folder(to))
            .with_context(|| format!("the copy {} cannot be completed", to.display()))?;
        Ok(samples)
    }
}

/// Copies all pages in one step: in WAL mode nobody waits for it, and nothing that is written in
/// the meantime makes it begin again.
fn copy_to(file: &sqlite::File, to: &Path) -> anyhow::Result<()> {
    remove(to).with_context(|| format!("{} cannot be replaced", to.display()))?;
    let copy = || -> rusqlite::Result<StepResult> {
        let mut copy = Connection::open(to)?;
        let result = Backup::new(&file.connection, &mut copy)?.step(-1)?;
        // A copy is one file; a store that is opened gets its log again.
        copy.pragma_update(None, "journal_mode", "delete")?;
        Ok(result)
    };
    match copy().map_err(|error| sentence(&file.path, &error))? {
        StepResult::Done => {}
        _ => anyhow::bail!("another program held the store for too long; try again"),
    }
    std::fs::File::open(to).and_then(|file| file.sync_all()).context("the copy cannot be written to the disk")
}

/// Puts a copy in the place of a store, and returns its number of samples and where the store that
/// was there is kept.
///
/// # Errors
/// The copy is damaged, or a program has the store open.
pub fn restore(copy: &Path, to: &Location, who: &str) -> anyhow::Result<(u64, Option<PathBuf>)> {
    let to = to.need_file("restore it with PostgreSQL's own tools, such as `psql --file` or `pg_restore`")?;
    if !copy.is_file() {
        return Err(unusable(format!("there is no file {}; check its name", copy.display())));
    }
    let partial = with_suffix(to, ".partial");
    remove(&partial)
        .and_then(|()| std::fs::copy(copy, &partial))
        .with_context(|| format!("the copy {} cannot be brought to the place of the store", copy.display()))?;
    let restored = check(&partial).and_then(|samples| {
        let mut store = Store::open_existing(Some(&Location::File(partial.clone())))?;
        let what = format!("restored the store from {}", copy.display());
        store.write(|transaction| record(transaction, who, &what))?;
        drop(store);
        let kept = to.exists().then(|| set_aside(to)).transpose()?;
        std::fs::rename(&partial, to)
            .and_then(|()| sync_folder(to))
            .with_context(|| format!("the store {} cannot be put in its place", to.display()))?;
        Ok((samples, kept))
    });
    if restored.is_err() {
        let _ = remove(&partial);
    }
    restored
}

/// Renames a store that no program has open.
fn set_aside(store: &Path) -> anyhow::Result<PathBuf> {
    let close = || -> rusqlite::Result<()> {
        let connection = Connection::open(store)?;
        connection.busy_timeout(std::time::Duration::from_secs(1))?;
        // Needs the only connection, and moves the log into the file.
        connection.pragma_update(None, "journal_mode", "delete")?;
        connection.busy_timeout(BUSY_TIMEOUT)
    };
    let is_open = |error: &rusqlite::Error| {
        matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    };
    // A damaged store is set aside as it is.
    if close().is_err_and(|error| is_open(&error)) {
        return Err(unusable(format!(
            "a program has the store {} open; stop the collector, and restore again",
            store.display()
        )));
    }
    let kept = (1..)
        .map(|number| with_suffix(store, &format!(".replaced-{number}")))
        .find(|path| !path.exists())
        .context("no name is free for the earlier store")?;
    std::fs::rename(store, &kept).with_context(|| format!("the store {} cannot be set aside", store.display()))?;
    for log in ["-wal", "-shm"] {
        let path = with_suffix(store, log);
        if path.exists() {
            std::fs::rename(&path, with_suffix(&kept, log))
                .with_context(|| format!("{} cannot be set aside", path.display()))?;
        }
    }
    Ok(kept)
}

/// Checks a copy and returns its number of samples.
fn check(copy: &Path) -> anyhow::Result<u64> {
    let findings = Store::open_existing(Some(&Location::File(copy.to_owned())))?.check()?;
    if !findings.is_sound() {
        return Err(unusable(format!(
            "{} is damaged: {}",
            copy.display(),
            findings
                .structure
                .first()
                .cloned()
                .unwrap_or_else(|| { format!("{} samples differ from what was stored", findings.damaged.len()) })
        )));
    }
    Ok(findings.samples)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Removes a store with its logs, if it exists.
fn remove(path: &Path) -> std::io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        match std::fs::remove_file(with_suffix(path, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Makes a new name survive a power failure.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => std::fs::File::open(folder)?.sync_all(),
        None => std::fs::File::open(".")?.sync_all(),
    }
}
