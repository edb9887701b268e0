//! Finds the logs for an argument: a path, standard input, a history server's zip file, or its
//! address.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::Path;

use anyhow::Context as _;
use foreglow_exit::{unreadable, unusable};

use super::files::{LogFiles, logs_at};
use super::history_server::{HistoryServer, unzip};

/// Returns the logs for the argument `text`. Downloaded and unpacked files are put into `folder`;
/// `applications` selects applications of a history server.
///
/// # Errors
/// No log was found, or it cannot be read.
pub fn find(text: &str, applications: &[String], folder: &Path) -> anyhow::Result<Vec<LogFiles>> {
    let mut logs = Vec::new();
    if let Some(server) = HistoryServer::at(text) {
        for application in server.applications(applications)? {
            let own = inside(folder)?;
            server.fetch(&application, &own)?;
            logs.extend(
                logs_at(&own)?.into_iter().map(|log| LogFiles { name: format!("{application} of {text}"), ..log }),
            );
        }
    } else if text == "-" {
        logs.push(copied("standard input", &mut io::stdin().lock(), folder)?);
    } else if is_pipe(Path::new(text)) {
        let mut pipe = File::open(text).map_err(|error| unreadable(Path::new(text), &error))?;
        logs.push(copied(text, &mut pipe, folder)?);
    } else if is_zip(Path::new(text))? {
        let own = inside(folder)?;
        let archive = File::open(text).map_err(|error| unreadable(Path::new(text), &error))?;
        unzip(archive, &own).map_err(|error| unusable(format!("the zip file {text} cannot be unpacked: {error:#}")))?;
        let name =
            |log: &LogFiles| log.files.first().and_then(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
        logs.extend(logs_at(&own)?.into_iter().map(|log| {
            let inner = name(&log).unwrap_or_default();
            LogFiles { name: format!("{inner} of {text}"), ..log }
        }));
    } else {
        logs = logs_at(Path::new(text))?;
    }
    if logs.is_empty() { Err(unusable(format!("there is no event log in {text}"))) } else { Ok(logs) }
}

/// Copies a stream, which can be read only once, into a file.
fn copied(name: &str, stream: &mut dyn Read, folder: &Path) -> anyhow::Result<LogFiles> {
    let file = inside(folder)?.join("log");
    let mut copy = File::create(&file).context("a temporary file could not be created")?;
    io::copy(stream, &mut copy).with_context(|| format!("{name} cannot be saved"))?;
    Ok(LogFiles { name: name.to_owned(), files: vec![file], notes: Vec::new() })
}

/// Returns whether a path is that of a pipe, such as `/dev/stdin`.
fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir())
}

/// Creates a new folder inside `folder`.
fn inside(folder: &Path) -> anyhow::Result<std::path::PathBuf> {
    let made = tempfile::tempdir_in(folder).context("a temporary folder could not be created")?;
    Ok(made.keep())
}

fn is_zip(path: &Path) -> anyhow::Result<bool> {
    let mut file = File::open(path).map_err(|error| unreadable(path, &error))?;
    if !file.metadata().map_err(|error| unreadable(path, &error))?.is_file() {
        return Ok(false);
    }
    let mut magic = [0; 4];
    let is_long_enough = file.read_exact(&mut magic).is_ok();
    file.rewind().map_err(|error| unreadable(path, &error))?;
    Ok(is_long_enough && magic == *b"PK\x03\x04")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_named_pipe_is_read_once_from_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let text = "{\"Event\":\"SparkListenerLogStart\"}\n".repeat(10_000);
        let (path, written) = (pipe.clone(), text.clone());
        let writer = std::thread::spawn(move || std::fs::write(path, written));
        let logs = find(pipe.to_str().unwrap(), &[], folder.path()).unwrap();
        writer.join().unwrap().unwrap();
        let [log] = logs.as_slice() else { panic!("{logs:?}") };
        assert_eq!(std::fs::read_to_string(&log.files[0]).unwrap(), text);
        assert_eq!(log.name, pipe.display().to_string());
    }
}
