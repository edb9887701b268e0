//! How images of other sizes become the square input of a CNN.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Workload;

/// Names of the workload fields.
const FIT: &str = "resize";
const INTERPOLATION: &str = "interpolation";

/// Resizing of images: the workload's fields `resize` and `interpolation`, which are absent for
/// the defaults, as in samples of earlier versions. Jobs that differ in it are not comparable,
/// because it takes a part of their time.
///
/// ```
/// # use foreglow_shared::{Fit, Interpolation, Resizing, Workload};
/// let mut workload: Workload = serde_json::from_str(
///     r#"{"model":"vgg16","mode":"inference","image_px":32,"images":9,"epochs":1,
///         "batch_size":8}"#,
/// )?;
/// assert_eq!(workload.resizing(), Resizing::default());
/// let resizing = Resizing { fit: Fit::Stretch, interpolation: Interpolation::Bilinear };
/// workload.set_resizing(resizing);
/// assert_eq!((workload.resizing(), workload.extra.len()), (resizing, 1));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resizing {
    /// What happens to an image that is not square.
    pub fit: Fit,
    /// How its pixels are combined.
    pub interpolation: Interpolation,
}

/// What happens to an image that is not square.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// The centre square is cut out.
    #[default]
    Crop,
    /// Height and width are scaled apart from each other.
    Stretch,
}

/// Interpolation between pixels. An image that gets smaller is filtered, as by Pillow, except for
/// the nearest pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interpolation {
    /// The nearest pixel.
    Nearest,
    /// Between two pixels per axis.
    #[default]
    Bilinear,
    /// Between four pixels per axis.
    Bicubic,
    /// Lanczos' filter over six pixels per axis.
    Lanczos,
}

impl Fit {
    /// All rules.
    pub const ALL: [Self; 2] = [Self::Crop, Self::Stretch];

    /// Returns the name on the command line and in samples.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Crop => "crop",
            Self::Stretch => "stretch",
        }
    }
}

impl Interpolation {
    /// All interpolations.
    pub const ALL: [Self; 4] = [Self::Nearest, Self::Bilinear, Self::Bicubic, Self::Lanczos];

    /// Returns the name on the command line and in samples.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::Bilinear => "bilinear",
            Self::Bicubic => "bicubic",
            Self::Lanczos => "lanczos",
        }
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Interpolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Fit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fit = Self::ALL.into_iter().find(|fit| fit.as_str().eq_ignore_ascii_case(text));
        fit.ok_or_else(|| "write crop or stretch".to_owned())
    }
}

impl FromStr for Interpolation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let interpolation = Self::ALL.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(text));
        interpolation.ok_or_else(|| "write nearest, bilinear, bicubic or lanczos".to_owned())
    }
}

impl Workload {
    /// Returns the resizing of images; the default for what is missing or of a later version.
    pub fn resizing(&self) -> Resizing {
        let word = |field| self.extra.get(field).and_then(serde_json::Value::as_str);
        Resizing {
            fit: word(FIT).and_then(|word| word.parse().ok()).unwrap_or_default(),
            interpolation: word(INTERPOLATION).and_then(|word| word.parse().ok()).unwrap_or_default(),
        }
    }

    /// Sets the resizing of images. Defaults are not written, so that such jobs stay comparable
    /// with samples of earlier versions.
    pub fn set_resizing(&mut self, resizing: Resizing) {
        let usual = Resizing::default();
        for (field, word, is_usual) in [
            (FIT, resizing.fit.as_str(), resizing.fit == usual.fit),
            (INTERPOLATION, resizing.interpolation.as_str(), resizing.interpolation == usual.interpolation),
        ] {
            match is_usual {
                true => drop(self.extra.remove(field)),
                false => drop(self.extra.insert(field.to_owned(), word.into())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_resizing_is_written_as_in_earlier_versions() {
        let text = r#"{"model":"lenet5","mode":"inference","image_px":32,"images":8,"epochs":1,"batch_size":8}"#;
        let mut workload: Workload = serde_json::from_str(text).unwrap();
        for fit in Fit::ALL {
            for interpolation in Interpolation::ALL {
                let resizing = Resizing { fit, interpolation };
                workload.set_resizing(resizing);
                assert_eq!(workload.resizing(), resizing);
                assert_eq!((fit.to_string().parse(), interpolation.to_string().parse()), (Ok(fit), Ok(interpolation)));
            }
        }
        workload.set_resizing(Resizing::default());
        assert_eq!(serde_json::to_string(&workload).unwrap(), text);
    }
}
