//! The user's data set of a workload: which one it is, and where.

use crate::Workload;

/// The workload's fields of a [`DataSet`].
const PATH: &str = "data";
const FORMAT: &str = "data_format";
const ITEMS: &str = "data_items";
const FINGERPRINT: &str = "data_fingerprint";
/// The `data` of digits that Foreglow drew.
const DRAWN_DIGITS: &str = "digits";

/// A data set on disk: the workload's fields `data`, `data_format`, `data_items` and `data_fingerprint`. Samples of earlier versions
/// have `data` alone, the name of the folder.
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
    /// Where it is, from the root of the file system.
    pub path: String,
    /// The word for its format, as `--data-format` takes it, or `texts`.
    pub format: String,
    /// Images or texts in it.
    pub items: u64,
    /// Hash of the names and sizes of its files.
    pub fingerprint: String,
}

impl Workload {
    /// Says what data it has.
    pub fn set_data_set(&mut self, set: &DataSet) {
        let DataSet { path, format, items, fingerprint } = set;
        self.extra.insert(PATH.to_owned(), path.clone().into());
        self.extra.insert(FORMAT.to_owned(), format.clone().into());
        self.extra.insert(ITEMS.to_owned(), (*items).into());
        self.extra.insert(FINGERPRINT.to_owned(), fingerprint.clone().into());
    }

    /// Says that it works through digits that Foreglow drew.
    pub fn set_drawn_digits(&mut self) {
        self.extra.insert(PATH.to_owned(), DRAWN_DIGITS.into());
    }

    /// Whether it works through digits that Foreglow drew.
    pub fn has_drawn_digits(&self) -> bool {
        self.word(PATH) == Some(DRAWN_DIGITS) && !self.extra.contains_key(FINGERPRINT)
    }

    /// Path of the user's data, or of an earlier version's sample the name of their folder; `None` of drawn data.
    pub fn data_path(&self) -> Option<&str> {
        self.word(PATH).filter(|_| !self.has_drawn_digits())
    }

    /// Format of the user's data, where the sample says it.
    pub fn data_format(&self) -> Option<&str> {
        self.word(FORMAT)
    }

    fn word(&self, field: &str) -> Option<&str> {
        self.extra.get(field)?.as_str()
    }
}
