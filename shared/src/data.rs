//! The user's data set of a workload.

use crate::Workload;

/// Fields of the workload that hold a [`DataSet`].
const PATH: &str = "data";
const FORMAT: &str = "data_format";
const ITEMS: &str = "data_items";
const FINGERPRINT: &str = "data_fingerprint";
/// The `data` of generated digits.
const DRAWN_DIGITS: &str = "digits";

/// A data set on disk: the workload's fields `data`, `data_format`, `data_items` and
/// `data_fingerprint`. Samples of earlier versions have only `data`, the name of the folder.
///
/// ```
/// # use foreglow_shared::{DataSet, Workload};
/// let mut workload: Workload = serde_json::from_str(
///     r#"{"model":"lenet5","mode":"inference","image_px":28,"images":400,"epochs":1,"batch_size":8}"#,
/// )?;
/// let photos = DataSet {
///     path: "/data/photos".into(),
///     format: "folder".into(),
///     items: 400,
///     fingerprint: "af63bd4c8601b7df".into(),
/// };
/// workload.set_data_set(&photos);
/// assert_eq!((workload.data_path(), workload.data_format()), (Some("/data/photos"), Some("folder")));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSet {
    /// Absolute path.
    pub path: String,
    /// Name of its format, as in `--data-format`, or `texts`.
    pub format: String,
    /// Images or texts in it.
    pub items: u64,
    /// Hash of the names and sizes of its files.
    pub fingerprint: String,
}

impl Workload {
    /// Sets the data set.
    pub fn set_data_set(&mut self, set: &DataSet) {
        let DataSet { path, format, items, fingerprint } = set;
        self.extra.insert(PATH.to_owned(), path.clone().into());
        self.extra.insert(FORMAT.to_owned(), format.clone().into());
        self.extra.insert(ITEMS.to_owned(), (*items).into());
        self.extra.insert(FINGERPRINT.to_owned(), fingerprint.clone().into());
    }

    /// Marks the data as generated digits.
    pub fn set_drawn_digits(&mut self) {
        self.extra.insert(PATH.to_owned(), DRAWN_DIGITS.into());
    }

    /// Returns whether the data are generated digits.
    pub fn has_drawn_digits(&self) -> bool {
        self.word(PATH) == Some(DRAWN_DIGITS) && !self.extra.contains_key(FINGERPRINT)
    }

    /// Returns the path of the user's data (the name of the folder in samples of earlier versions);
    /// `None` for generated data.
    pub fn data_path(&self) -> Option<&str> {
        self.word(PATH).filter(|_| !self.has_drawn_digits())
    }

    /// Returns the format of the user's data if it is known.
    pub fn data_format(&self) -> Option<&str> {
        self.word(FORMAT)
    }

    fn word(&self, field: &str) -> Option<&str> {
        self.extra.get(field)?.as_str()
    }
}
