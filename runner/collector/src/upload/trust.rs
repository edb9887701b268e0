//! Trusted certificate authorities of a sender.

use std::path::Path;

use foreglow_exit::{read_small, unreadable, unusable};
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

/// Returns the authorities in the file `FOREGLOW_CA`, such as a team's own; `None` without it.
///
/// # Errors
/// The file cannot be read, or has no certificate.
pub(super) fn authorities() -> anyhow::Result<Option<RootCerts>> {
    match std::env::var_os("FOREGLOW_CA").filter(|file| !file.is_empty()) {
        Some(file) => read(Path::new(&file)).map(Some),
        None => Ok(None),
    }
}

fn read(file: &Path) -> anyhow::Result<RootCerts> {
    let pem = read_small(file).map_err(|error| unreadable(file, &error))?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let certificates: Vec<Certificate<'static>> = parse_pem(&pem).filter_map(certificate).collect();
    match certificates.is_empty() {
        true => Err(unusable(format!("{} (FOREGLOW_CA) has no certificate in PEM", file.display()))),
        false => Ok(RootCerts::from(certificates)),
    }
}
