//! Finds the logs for an argument: a path, standard input, a history server's zip file, or its
//! address.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::Path;

use anyhow::Context as _;
use foreglow_exit::{unreadable, unusable};

use super::files::{LogFiles, is_part, is_status, joined, logs_at};
use super::history_server::{HistoryServer, unzip};
use super::training_runs::training_runs;

/// Returns the logs for several arguments. Downloaded and unpacked files are put into `folder`;
/// `applications` selects applications of a history server. A log that cannot be found, downloaded
/// or unpacked is an error in its place, so that the others can still be used; each argument has a
/// log or an error, except that the parts of one application are one log.
pub fn find(arguments: &[impl AsRef<OsStr>], applications: &[String], folder: &Path) -> Vec<anyhow::Result<LogFiles>> {
    let (parts, others): (Vec<&OsStr>, Vec<&OsStr>) =
        arguments.iter().map(AsRef::as_ref).partition(|text| is_part(Path::new(text)));
    // The shell lists the file with the state of the application with the parts.
    let is_with_parts = !parts.is_empty();
    let logs = others.into_iter().filter(|text| !(is_with_parts && is_status(Path::new(text))));
    let logs = logs.flat_map(|text| of_argument(text, applications, folder));
    logs.chain(joined(parts.into_iter().map(Path::new)).into_iter().map(Ok)).collect()
}

fn of_argument(text: &OsStr, applications: &[String], folder: &Path) -> Vec<anyhow::Result<LogFiles>> {
    let found = match text.to_str().and_then(HistoryServer::at) {
        Some(server) => downloaded(&server, &text.to_string_lossy(), applications, folder),
        None => local(text, folder),
    };
    match found {
        Ok(logs) if logs.is_empty() => {
            vec![Err(unusable(format!("there is no event log in {}", text.display())))]
        }
        Ok(logs) => logs,
        Err(error) => vec![Err(error)],
    }
}

/// Downloads the logs of a history server.
fn downloaded(
    server: &HistoryServer,
    address: &str,
    applications: &[String],
    folder: &Path,
) -> anyhow::Result<Vec<anyhow::Result<LogFiles>>> {
    let mut logs = Vec::new();
    for application in server.applications(applications)? {
        let own = inside(folder)?;
        match server.fetch(&application, &own).and_then(|()| logs_at(&own)) {
            Ok(fetched) => logs.extend(named(fetched, |_| format!("{application} of {address}"))),
            Err(error) => logs.push(Err(error)),
        }
    }
    Ok(logs)
}

/// Returns the logs of a path or of standard input. Zip files are unpacked.
fn local(text: &OsStr, folder: &Path) -> anyhow::Result<Vec<anyhow::Result<LogFiles>>> {
    let path = Path::new(text);
    let logs = if text == "-" {
        vec![Ok(copied("standard input", &mut io::stdin().lock(), folder)?)]
    } else if is_device(path) {
        // Such as /dev/zero, whose copy would fill the disk.
        return Err(unusable(format!("{} is a device; give a file, a folder or a pipe", path.display())));
    } else if is_pipe(path) {
        let mut pipe = File::open(path).map_err(|error| unreadable(path, &error))?;
        vec![Ok(copied(&path.display().to_string(), &mut pipe, folder)?)]
    } else {
        let runs = if path.is_dir() { training_runs(path)? } else { Vec::new() };
        if runs.is_empty() { logs_at(path)? } else { runs.into_iter().map(Ok).collect() }
    };
    Ok(logs
        .into_iter()
        .flat_map(|log| log.and_then(|log| unpacked(log, folder)).unwrap_or_else(|error| vec![Err(error)]))
        .collect())
}

/// Returns the logs inside a zip file, and any other log unchanged.
fn unpacked(log: LogFiles, folder: &Path) -> anyhow::Result<Vec<anyhow::Result<LogFiles>>> {
    let [file] = log.files.as_slice() else { return Ok(vec![Ok(log)]) };
    if !is_zip(file)? {
        return Ok(vec![Ok(log)]);
    }
    let (own, zip) = (inside(folder)?, &log.name);
    let archive = File::open(file).map_err(|error| unreadable(file, &error))?;
    unzip(archive, &own).map_err(|error| unusable(format!("the zip file {zip} cannot be unpacked: {error:#}")))?;
    let logs = logs_at(&own)?;
    if logs.is_empty() {
        return Err(unusable(format!("there is no event log in {zip}")));
    }
    let first = |log: &LogFiles| log.files.first().and_then(|file| Some(file.file_name()?.display().to_string()));
    Ok(named(logs, |log| format!("{} of {zip}", first(log).unwrap_or_default())).collect())
}

/// Names logs for messages.
fn named(
    logs: Vec<anyhow::Result<LogFiles>>,
    name: impl Fn(&LogFiles) -> String,
) -> impl Iterator<Item = anyhow::Result<LogFiles>> {
    logs.into_iter().map(move |log| log.map(|log| LogFiles { name: name(&log), ..log }))
}

/// Copies a stream, which can be read only once, into a file.
fn copied(name: &str, stream: &mut dyn Read, folder: &Path) -> anyhow::Result<LogFiles> {
    let file = inside(folder)?.join("log");
    let mut copy = File::create(&file).context("a temporary file could not be created")?;
    io::copy(stream, &mut copy).with_context(|| format!("{name} cannot be saved"))?;
    Ok(LogFiles { name: name.to_owned(), files: vec![file], gaps: Vec::new() })
}

/// Returns whether a path is that of a pipe, such as `/dev/stdin`.
fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir())
}

#[cfg(unix)]
fn is_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = path.metadata().map(|data| data.file_type());
    kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device())
}

#[cfg(not(unix))]
fn is_device(_path: &Path) -> bool {
    false
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

#[cfg(test)]
#[cfg(unix)]
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
        let logs = find(&[&pipe], &[], folder.path());
        writer.join().unwrap().unwrap();
        let [Ok(log)] = logs.as_slice() else { panic!("{logs:?}") };
        assert_eq!(std::fs::read_to_string(&log.files[0]).unwrap(), text);
        assert_eq!(log.name, pipe.display().to_string());
    }

    #[test]
    fn an_endless_device_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (logs, errors) = found(OsStr::new("/dev/zero"), folder.path());
        assert!(logs.is_empty() && errors[0].contains("/dev/zero is a device"), "{errors:?}");
    }

    /// Returns the names of the logs, and the errors, that an argument gives.
    fn found(text: &OsStr, folder: &Path) -> (Vec<String>, Vec<String>) {
        let (logs, errors): (Vec<_>, Vec<_>) = find(&[text], &[], folder).into_iter().partition(Result::is_ok);
        let errors = errors.into_iter().map(|error| error.unwrap_err().to_string());
        (logs.into_iter().map(|log| log.unwrap().name).collect(), errors.collect())
    }

    fn zip_of(names: &[&str]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for name in names {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            io::Write::write_all(&mut archive, b"{\"Event\":\"SparkListenerLogStart\"}\n").unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn a_zip_file_is_unpacked_from_a_folder_and_from_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("logs");
        std::fs::create_dir(&logs).unwrap();
        let zip = zip_of(&["app-1", "eventlog_v2_app-2/events_1_app-2"]);
        std::fs::write(logs.join("a.zip"), &zip).unwrap();
        std::fs::write(logs.join("b"), "x").unwrap();
        std::fs::write(logs.join("c.zip"), b"PK\x03\x04").unwrap();
        let (names, errors) = found(logs.as_os_str(), folder.path());
        let of_zip =
            |zip: &Path| ["app-1", "events_1_app-2"].map(|name| format!("{name} of {}", zip.display())).to_vec();
        let expected = [of_zip(&logs.join("a.zip")), vec![logs.join("b").display().to_string()]].concat();
        assert_eq!(names, expected);
        assert!(errors[0].starts_with("the zip file ") && errors.len() == 1, "{errors:?}");

        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let path = pipe.clone();
        let writer = std::thread::spawn(move || std::fs::write(path, zip));
        assert_eq!(found(pipe.as_os_str(), folder.path()), (of_zip(&pipe), Vec::new()));
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_found() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OsStr::from_bytes(b"caf\xe9"));
        std::fs::write(&path, "x").unwrap();
        assert_eq!(found(path.as_os_str(), folder.path()), (vec![path.display().to_string()], Vec::new()));
    }

    #[test]
    fn what_cannot_be_found_is_an_error_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let none = folder.path().join("none");
        let (names, errors) = found(none.as_os_str(), folder.path());
        assert!(names.is_empty() && errors[0].starts_with("there is no file "), "{errors:?}");
        std::fs::create_dir(&none).unwrap();
        let (names, errors) = found(none.as_os_str(), folder.path());
        assert!(names.is_empty() && errors[0].starts_with("there is no event log in "), "{errors:?}");
    }
}
