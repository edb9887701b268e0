//! A Spark history server (or the web UI of a running application), which serves event logs as zip
//! files.

use std::fs::File;
use std::io::{self, Seek as _};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use foreglow_exit::unusable;
use serde::Deserialize;
use zip::ZipArchive;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Limit on the applications in an error message.
const LISTED: usize = 20;

/// A history server, and the application in its address, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryServer {
    url: String,
    application: Option<String>,
}

#[derive(Deserialize)]
struct ListedApplication {
    id: String,
    name: String,
}

impl HistoryServer {
    /// Parses an address: `http://host:18080`, or one of its pages,
    /// `http://host:18080/history/app-…/jobs/`. Returns `None` if the text is not a URL.
    pub fn at(text: &str) -> Option<Self> {
        let url = text.trim().split(['#', '?']).next().unwrap_or_default().trim_end_matches('/');
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return None;
        }
        let (url, application) = match url.split_once("/history/") {
            Some((url, page)) => (url, page.split('/').next().filter(|id| !id.is_empty()).map(str::to_owned)),
            None => (url.strip_suffix("/api/v1/applications").unwrap_or(url), None),
        };
        Some(Self { url: url.to_owned(), application })
    }

    /// Returns the applications to read: those in `asked` (`all` selects every one), the one in the
    /// address, or the only one on the server.
    ///
    /// # Errors
    /// The server cannot be reached, or has several applications and none was chosen.
    pub fn applications(&self, asked: &[String]) -> anyhow::Result<Vec<String>> {
        if asked.iter().any(|id| id == "all") {
            return Ok(self.list()?.into_iter().map(|listed| listed.id).collect());
        }
        if !asked.is_empty() || self.application.is_some() {
            return Ok(if asked.is_empty() { self.application.iter().cloned().collect() } else { asked.to_vec() });
        }
        let listed = self.list()?;
        if let [only] = listed.as_slice() {
            return Ok(vec![only.id.clone()]);
        }
        let lines: Vec<String> =
            listed.iter().take(LISTED).map(|listed| format!("  {}  {}", listed.id, listed.name)).collect();
        let more = listed.len().saturating_sub(LISTED);
        let more = if more == 0 { String::new() } else { format!("\n  and {more} more") };
        Err(unusable(format!(
            "{} has {} applications; choose with --application ID, or --application all:\n{}{more}",
            self.url,
            listed.len(),
            lines.join("\n")
        )))
    }

    fn list(&self) -> anyhow::Result<Vec<ListedApplication>> {
        let mut body = self.get("/api/v1/applications?status=completed")?;
        let text = body.with_config().limit(1 << 30).read_to_string().context("the list of applications broke off")?;
        let listed: Vec<ListedApplication> = serde_json::from_str(&text).map_err(|_| self.no_server())?;
        if listed.is_empty() {
            return Err(unusable(format!("{} has no completed application", self.url)));
        }
        Ok(listed)
    }

    /// Downloads the log of an application into a folder.
    ///
    /// # Errors
    /// The server cannot be reached, or does not know the application.
    pub fn fetch(&self, application: &str, folder: &Path) -> anyhow::Result<()> {
        let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if application.is_empty() || !application.chars().all(is_id) {
            return Err(unusable(format!(
                "{application:?} is not an application ID; an ID looks like app-20261121100000-0001"
            )));
        }
        let body = self.get(&format!("/api/v1/applications/{application}/logs"))?;
        let mut archive = tempfile::tempfile_in(folder).context("a temporary file could not be created")?;
        io::copy(&mut body.into_reader(), &mut archive)
            .with_context(|| format!("the log of {application} broke off while {} sent it", self.url))?;
        archive.rewind()?;
        unzip(archive, folder)
            .with_context(|| format!("{} did not send the log of {application} as a zip file", self.url))
    }

    fn get(&self, path: &str) -> anyhow::Result<ureq::Body> {
        let config = ureq::Agent::config_builder().http_status_as_error(false).timeout_connect(Some(CONNECT_TIMEOUT));
        let response = config.build().new_agent().get(format!("{}{path}", self.url)).call();
        let response = response.map_err(|error| {
            anyhow::anyhow!("the history server at {} cannot be reached ({error}); check its address", self.url)
        })?;
        match response.status().as_u16() {
            200 => Ok(response.into_body()),
            404 if path.ends_with("/logs") => {
                Err(unusable(format!("{} does not know {path}; see its page for the IDs of applications", self.url)))
            }
            _ => Err(self.no_server()),
        }
    }

    fn no_server(&self) -> anyhow::Error {
        let url = &self.url;
        unusable(format!(
            "{url} does not answer as a Spark history server; give its address, such as http://host:18080"
        ))
    }
}

/// Unpacks a history server's archive: single logs, and the folders of rolling logs.
///
/// # Errors
/// The file is not a zip archive, or the disk is full.
pub fn unzip(archive: File, folder: &Path) -> anyhow::Result<()> {
    let mut archive = ZipArchive::new(archive)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        // Ignores names that point outside the folder; Spark never writes such names.
        let Some(name) = entry.enclosed_name().filter(|_| entry.is_file()) else { continue };
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        io::copy(&mut entry, &mut File::create(path)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_parsed_as_copied_from_a_browser() {
        let server = |url: &str, application: Option<&str>| {
            Some(HistoryServer { url: url.to_owned(), application: application.map(str::to_owned) })
        };
        assert_eq!(HistoryServer::at("http://h:18080/"), server("http://h:18080", None));
        assert_eq!(
            HistoryServer::at("https://h/spark/history/app-1/jobs/?id=2"),
            server("https://h/spark", Some("app-1"))
        );
        assert_eq!(HistoryServer::at("http://h:18080/api/v1/applications"), server("http://h:18080", None));
        assert_eq!(HistoryServer::at("/tmp/spark-events"), None);
    }
}
