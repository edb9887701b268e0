//! Location of a store: a file, or a PostgreSQL database.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use foreglow_exit::unusable;

const FILE_NAME: &str = "samples.sqlite";
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Location of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// SQLite file.
    File(PathBuf),
    /// URL of a PostgreSQL database, possibly with a password.
    Database(String),
}

impl Location {
    /// Returns the default place of the store: `FOREGLOW_STORE`, or a file in the folder
    /// `FOREGLOW_DATA` or in the user's data folder.
    ///
    /// # Errors
    /// The machine has no folder for data.
    pub fn of_user() -> anyhow::Result<Self> {
        match set("FOREGLOW_STORE") {
            Some(store) => Ok(store.into()),
            None => Ok(Self::File(data_folder()?.join(FILE_NAME))),
        }
    }

    /// Returns the path, if the store is a file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Database(_) => None,
        }
    }

    /// Returns the path of a store that has to be a file.
    ///
    /// # Errors
    /// It is a database; `instead` says what to do.
    pub fn need_file(&self, instead: &str) -> anyhow::Result<&Path> {
        self.file().ok_or_else(|| unusable(format!("the store {self} is a PostgreSQL database; {instead}")))
    }
}

/// Returns the folder of the user's data: `FOREGLOW_DATA`, or that of the system.
///
/// # Errors
/// The machine has no folder for data.
pub fn data_folder() -> anyhow::Result<PathBuf> {
    if let Some(folder) = set("FOREGLOW_DATA") {
        return Ok(folder.into());
    }
    let folders = directories::ProjectDirs::from("", "", "foreglow")
        .context("no folder for data is known on this machine; set FOREGLOW_DATA to one or give --store FILE")?;
    Ok(folders.data_dir().to_owned())
}

/// Returns a variable of the environment, unless it is empty.
fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

impl From<OsString> for Location {
    fn from(text: OsString) -> Self {
        match text.into_string() {
            Ok(text) if SCHEMES.iter().any(|scheme| text.starts_with(scheme)) => Self::Database(text),
            Ok(text) => Self::File(text.into()),
            Err(text) => Self::File(text.into()),
        }
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        path.into_os_string().into()
    }
}

/// Omits the password of a database and the options of its URL.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match self {
            Self::File(path) => return path.display().fmt(f),
            Self::Database(url) => url.split('?').next().unwrap_or_default(),
        };
        let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
        // A password may contain `/` or `@`, although it should be percent-encoded.
        match rest.rsplit_once('@') {
            Some((user, host)) => write!(f, "{scheme}://{}@{host}", user.split(':').next().unwrap_or_default()),
            None => write!(f, "{scheme}://{rest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_named_without_its_password() {
        for (url, shown) in [
            ("postgres://anna:secret@db.example.org:5433/team", "postgres://anna@db.example.org:5433/team"),
            ("postgresql://anna@host/team?password=secret", "postgresql://anna@host/team"),
            ("postgres://a:p@ss/w@host/team", "postgres://a@host/team"),
            ("postgres:///team?host=/tmp", "postgres:///team"),
        ] {
            let location = Location::from(OsString::from(url));
            assert_eq!((location.to_string().as_str(), location.file()), (shown, None));
            let refused = location.need_file("use a file").unwrap_err().to_string();
            assert!(refused.ends_with("is a PostgreSQL database; use a file"), "{refused}");
        }
        assert_eq!(Location::from(PathBuf::from("postgres.sqlite")).file(), Some(Path::new("postgres.sqlite")));
    }
}
