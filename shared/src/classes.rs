//! Number of classes of a workload's CNN, and the share of its images that validate it.

use crate::Workload;

/// Names of the workload fields.
const CLASSES: &str = "classes";
const VALIDATION: &str = "validation";

impl Workload {
    /// Returns the number of classes that the user chose; `None` if the CNN has its own number, as
    /// in samples of earlier versions.
    ///
    /// ```
    /// # use foreglow_shared::Workload;
    /// let mut workload: Workload = serde_json::from_str(
    ///     r#"{"model":"resnet18","mode":"inference","image_px":32,"images":9,"epochs":1,
    ///         "batch_size":8}"#,
    /// )?;
    /// assert_eq!(workload.classes(), None);
    /// workload.set_classes(Some(10));
    /// assert_eq!((workload.classes(), &workload.extra["classes"]), (Some(10), &10.into()));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn classes(&self) -> Option<u32> {
        self.extra.get(CLASSES)?.as_u64()?.try_into().ok()
    }

    /// Sets the number of classes. The CNN's own number is not written, so that such jobs stay
    /// comparable with samples of earlier versions.
    pub fn set_classes(&mut self, classes: Option<u32>) {
        match classes {
            None => drop(self.extra.remove(CLASSES)),
            Some(classes) => drop(self.extra.insert(CLASSES.to_owned(), classes.into())),
        }
    }

    /// Returns the share of the sample's images that a training job leaves out to validate the CNN
    /// after each epoch; `None` if it trains on all of them.
    pub fn validation(&self) -> Option<f64> {
        self.extra.get(VALIDATION)?.as_f64().filter(|share| *share > 0.0 && *share < 1.0)
    }

    /// Sets the share of the images that validate the CNN.
    pub fn set_validation(&mut self, share: Option<f64>) {
        match share {
            None => drop(self.extra.remove(VALIDATION)),
            Some(share) => drop(self.extra.insert(VALIDATION.to_owned(), share.into())),
        }
    }
}
