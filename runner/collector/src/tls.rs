//! TLS with certificate files, which are reloaded when they change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use foreglow_exit::{read_small, unreadable, unusable};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Certificate and key of a collector.
#[derive(Clone, Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: Arc<Mutex<Current>>,
}

#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    /// When the files were last changed.
    changed: [Option<SystemTime>; 2],
}

impl Tls {
    /// Reads a certificate chain and its private key, both PEM.
    ///
    /// # Errors
    /// A file cannot be read, has the wrong content, or the key is not the certificate's.
    pub fn read(certificate: &Path, key: &Path) -> anyhow::Result<Self> {
        let (changed, config) = (changed(certificate, key), config(certificate, key)?);
        let current = Arc::new(Mutex::new(Current { config, changed }));
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), current })
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner).config)
    }

    /// Reads the files again if they have changed; new connections use them.
    ///
    /// # Errors
    /// As for [`Tls::read`]; the earlier certificate stays in use.
    pub(super) fn refresh(&self) -> anyhow::Result<()> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = changed(&self.certificate, &self.key);
        if changed != current.changed {
            // Reported once, even if the files stay wrong.
            current.changed = changed;
            current.config = config(&self.certificate, &self.key)?;
        }
        Ok(())
    }
}

fn changed(certificate: &Path, key: &Path) -> [Option<SystemTime>; 2] {
    [certificate, key].map(|file| std::fs::metadata(file).ok()?.modified().ok())
}

fn config(certificate: &Path, key: &Path) -> anyhow::Result<Arc<ServerConfig>> {
    let bytes = |file: &Path| read_small(file).map_err(|error| unreadable(file, &error));
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&bytes(certificate)?)
        .collect::<Result<_, _>>()
        .map_err(|error| unusable(format!("{} is not a certificate in PEM: {error}", certificate.display())))?;
    if chain.is_empty() {
        return Err(unusable(format!("{} has no certificate; give a file in PEM", certificate.display())));
    }
    let secret = PrivateKeyDer::from_pem_slice(&bytes(key)?)
        .map_err(|error| unusable(format!("{} is not a private key in PEM: {error}", key.display())))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| {
            unusable(format!("{} and {} do not fit together: {error}", certificate.display(), key.display()))
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
