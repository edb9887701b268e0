//! The network file of a workload, in place of a built-in CNN.

use serde::{Deserialize, Serialize};

use crate::Workload;

/// Fields of the workload that hold a [`NetworkFile`].
const PATH: &str = "network";
const FINGERPRINT: &str = "network_fingerprint";

/// A network in a file: the workload's fields `network` and `network_fingerprint`. The workload's
/// `model` is then the name of the file.
///
/// ```
/// # use foreglow_shared::{NetworkFile, Workload};
/// let mut workload: Workload = serde_json::from_str(
///     r#"{"model":"net.onnx","mode":"inference","image_px":32,"images":400,"epochs":1,
///         "batch_size":8}"#,
/// )?;
/// let path = "/nets/net.onnx".into();
/// let file = NetworkFile { path, fingerprint: "af63bd4c8601b7df".into() };
/// workload.set_network_file(&file);
/// assert_eq!(workload.network_file(), Some(file));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkFile {
    /// Absolute path.
    pub path: String,
    /// Hash of its content.
    pub fingerprint: String,
}

impl Workload {
    /// Sets the file of the network.
    pub fn set_network_file(&mut self, file: &NetworkFile) {
        self.extra.insert(PATH.to_owned(), file.path.clone().into());
        self.extra.insert(FINGERPRINT.to_owned(), file.fingerprint.clone().into());
    }

    /// Removes the file, for a workload of a built-in CNN.
    pub fn remove_network_file(&mut self) {
        for field in [PATH, FINGERPRINT] {
            self.extra.remove(field);
        }
    }

    /// Returns the file of the network; `None` for a built-in CNN.
    pub fn network_file(&self) -> Option<NetworkFile> {
        let word = |field| self.extra.get(field).and_then(serde_json::Value::as_str).map(str::to_owned);
        Some(NetworkFile { path: word(PATH)?, fingerprint: word(FINGERPRINT)? })
    }
}
