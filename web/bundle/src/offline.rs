//! The service worker: the list of the page's files with their checksums, followed by its code.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::page::SERVICE_WORKER;

/// Writes the service worker for the files in `out`. Its version is a hash of their contents, so
/// that browsers update it exactly when a file has changed.
///
/// Files whose names begin with `later` are cached on first use, all others at once.
pub fn write(out: &Path, code: &Path, later: &str) -> Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(out).with_context(|| format!("reading {}", out.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).context("a file of the page has no plain name")?;
        let body = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        files.push((name.to_owned(), hex(&Sha256::digest(body))));
    }
    files.sort();
    let code = crate::read(code)?;
    crate::write(&out.join(SERVICE_WORKER), &script(&files, &code, later))
}

fn script(files: &[(String, String)], code: &str, later: &str) -> String {
    let lines: Vec<String> = files
        .iter()
        .map(|(path, sha256)| {
            let later = path.starts_with(later);
            format!("  {{ path: {path:?}, sha256: {sha256:?}, later: {later} }},\n")
        })
        .collect();
    let version = hex(&Sha256::digest(format!("{}{code}", lines.concat())));
    format!("const VERSION = {:?};\nconst FILES = [\n{}];\n\n{code}", &version[..16], lines.concat())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_changes_with_every_file_and_with_the_code() {
        let files = |sum: &str| vec![("index.html".to_owned(), sum.to_owned())];
        let first_line = |files: &[(String, String)], code| {
            script(files, code, "large").lines().next().unwrap_or_default().to_owned()
        };
        let version = first_line(&files("aa"), "code");
        assert_eq!(version, first_line(&files("aa"), "code"));
        assert_ne!(version, first_line(&files("ab"), "code"));
        assert_ne!(version, first_line(&files("aa"), "other"));
        assert!(script(&files("aa"), "code", "index").contains("later: true"));
        assert!(
            script(&files("aa"), "code", "large").contains(r#"{ path: "index.html", sha256: "aa", later: false },"#)
        );
    }
}
