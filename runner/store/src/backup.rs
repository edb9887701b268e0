//! Online backup and restore of a store.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::unusable;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::audit::record;
use super::database::Database;
use super::failure::sqlite::sentence;
use super::schema::sqlite::{self as schema, is_store};
use super::sqlite::{BUSY_TIMEOUT, create_private};
use super::{Location, Store};

/// Files that SQLite keeps next to a store. SQLite reads a log or journal with such a name even if
/// another store wrote it.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

impl Store {
    /// Copies a consistent snapshot of the store into a new file, checks the copy, and returns its
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
        let copied = copy_to(&file.connection, &partial, |error| sentence(&file.path, &error));
        let checked = copied.and_then(|()| check(&partial, &partial));
        if checked.is_err() {
            // Removes the remains of a failed copy.
            let _ = remove(&partial);
        }
        let samples = checked.with_context(|| format!("the copy {} was not made", to.display()))?;
        std::fs::rename(&partial, to)
            .and_then(|()| sync_folder(to))
            .with_context(|| format!("the copy {} cannot be completed", to.display()))?;
        Ok(samples)
    }
}

/// Copies all pages in one step. In WAL mode this blocks no other connection, and concurrent writes
/// do not restart it. `failed` explains failures of the store that is read.
fn copy_to(from: &Connection, to: &Path, failed: impl Fn(rusqlite::Error) -> anyhow::Error) -> anyhow::Result<()> {
    remove(to).with_context(|| format!("{} cannot be replaced", to.display()))?;
    let copy = || -> rusqlite::Result<StepResult> {
        // SQLite says why the copy cannot be written.
        let _ = create_private(to);
        let mut copy = Connection::open(to)?;
        let result = Backup::new(from, &mut copy)?.step(-1)?;
        // Without WAL the copy is a single file. Opening a store turns WAL on again.
        copy.pragma_update(None, "journal_mode", "delete")?;
        Ok(result)
    };
    match copy().map_err(|error| unwritten(to, &error).unwrap_or_else(|| failed(error)))? {
        StepResult::Done => {}
        _ => anyhow::bail!("another program held the store for too long; try again"),
    }
    std::fs::File::open(to).and_then(|file| file.sync_all()).context("the copy cannot be written to the disk")
}

/// Returns the message for a failure to write a copy; `None` for a failure of the store that is
/// read, which needs no space and is open already.
fn unwritten(copy: &Path, error: &rusqlite::Error) -> Option<anyhow::Error> {
    let copy = copy.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            Some(anyhow::anyhow!("the disk that holds {copy} is full; free some space there and try again"))
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            Some(unusable(format!("{copy} cannot be written; check that its folder exists and is writable")))
        }
        _ => None,
    }
}

/// Replaces a store by a copy. Returns the number of samples of the copy, and the new path of the
/// replaced store or its remains.
///
/// # Errors
/// The copy is damaged, or a program has the store open.
pub fn restore(copy: &Path, to: &Location, who: &str) -> anyhow::Result<(u64, Option<PathBuf>)> {
    let to = to.need_file("restore it with PostgreSQL's own tools, such as `psql --file` or `pg_restore`")?;
    if !copy.is_file() {
        return Err(unusable(format!("there is no file {}; check its name", copy.display())));
    }
    let partial = with_suffix(to, ".partial");
    let restored = fetch(copy, &partial).and_then(|()| {
        let samples = check(&partial, copy)?;
        let mut store = Store::open_existing(Some(&Location::File(partial.clone())))?;
        let what = format!("restored the store from {}", copy.display());
        store.write(|transaction| record(transaction, who, &what))?;
        drop(store);
        into_one_file(&partial).map_err(|error| sentence(&partial, &error))?;
        let kept = set_aside(to)?;
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

/// Copies a backup to the place of the store, including the samples that are only in its
/// write-ahead log, as after a killed collector.
fn fetch(from: &Path, to: &Path) -> anyhow::Result<()> {
    let failed = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => no_copy(from),
        Some(ErrorCode::DatabaseCorrupt) => unusable(format!("{} is damaged: {error}", from.display())),
        _ => sentence(from, &error),
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(from, flags).map_err(failed)?;
    source.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    if !is_store(&source).map_err(failed)? {
        return Err(no_copy(from));
    }
    schema::check(&source, from)?;
    copy_to(&source, to, failed)
        .with_context(|| format!("the copy {} cannot be brought to the place of the store", from.display()))
}

fn no_copy(file: &Path) -> anyhow::Error {
    unusable(format!("{} is not a copy of a store; name a file that `foreglow store backup` wrote", file.display()))
}

/// Moves the log of a store into its file. Needs the only connection.
fn into_one_file(store: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(store)?;
    connection.busy_timeout(std::time::Duration::from_secs(1))?;
    connection.pragma_update(None, "journal_mode", "delete")
}

/// Renames a store that no program has open, with SQLite's companion files, because SQLite would
/// apply a leftover log to the next store of that name. Returns the new name of the store, or of
/// the first companion file if the store is missing; `None` without any file.
fn set_aside(store: &Path) -> anyhow::Result<Option<PathBuf>> {
    let is_open = |error: &rusqlite::Error| {
        matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    };
    // A damaged store is set aside unchanged.
    if store.exists() && into_one_file(store).is_err_and(|error| is_open(&error)) {
        return Err(unusable(format!(
            "a program has the store {} open; stop the collector, and restore again",
            store.display()
        )));
    }
    let is_free = |path: &PathBuf| files_of(path).iter().all(|file| !file.exists());
    let kept = (1..)
        .map(|number| with_suffix(store, &format!(".replaced-{number}")))
        .find(is_free)
        .context("no name is free for the earlier store")?;
    let mut first = None;
    for (from, to) in files_of(store).into_iter().zip(files_of(&kept)) {
        if from.exists() {
            std::fs::rename(&from, &to).with_context(|| format!("{} cannot be set aside", from.display()))?;
            first.get_or_insert(to);
        }
    }
    Ok(first)
}

/// Checks a copy and returns its number of samples; errors name the file that the user gave.
fn check(copy: &Path, name: &Path) -> anyhow::Result<u64> {
    let findings = Store::open_existing(Some(&Location::File(copy.to_owned())))?.check()?;
    if let Some(first) = findings.lines().next() {
        return Err(unusable(format!("{} is damaged: {first}", name.display())));
    }
    Ok(findings.samples)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns the file of a store and its companion files.
fn files_of(store: &Path) -> Vec<PathBuf> {
    std::iter::once("").chain(COMPANIONS).map(|suffix| with_suffix(store, suffix)).collect()
}

/// Removes a store with its logs, if it exists.
fn remove(path: &Path) -> std::io::Result<()> {
    for file in files_of(path) {
        match std::fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Syncs a folder, so that a rename survives a power failure.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => std::fs::File::open(folder)?.sync_all(),
        None => std::fs::File::open(".")?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_copy_that_cannot_be_written_is_named_instead_of_the_store() {
        let said = |code: i32| {
            let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            unwritten(Path::new("/copies/a.sqlite"), &failure).map(|error| error.to_string())
        };
        let full = "the disk that holds /copies/a.sqlite is full; free some space there and try again";
        assert_eq!(said(ffi::SQLITE_FULL).as_deref(), Some(full));
        let closed = "/copies/a.sqlite cannot be written; check that its folder exists and is writable";
        for code in [ffi::SQLITE_CANTOPEN, ffi::SQLITE_READONLY] {
            assert_eq!(said(code).as_deref(), Some(closed));
        }
        assert_eq!(said(ffi::SQLITE_CORRUPT), None);
    }
}
