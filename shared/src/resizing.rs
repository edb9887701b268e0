//! Resizing of images to the square input of a CNN.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Workload;

/// Names of the workload fields.
const FIT: &str = "resize";
const RESIZE_PX: &str = "resize_px";
const INTERPOLATION: &str = "interpolation";

/// Resizing of images: the workload's fields `resize`, `resize_px` and `interpolation`, which are
/// absent for the defaults, as in samples of earlier versions. Jobs with different resizing are not
/// comparable, because it takes part of their time.
///
/// ```
/// # use foreglow_shared::{Resizing, Workload};
/// let mut workload: Workload = serde_json::from_str(
///     r#"{"model":"vgg16","mode":"inference","image_px":32,"images":9,"epochs":1,
///         "batch_size":8}"#,
/// )?;
/// assert_eq!(workload.resizing(), Resizing::default());
/// let resizing = Resizing { resize_px: Some(256), ..Resizing::default() };
/// workload.set_resizing(resizing);
/// assert_eq!((workload.resizing(), workload.extra.len()), (resizing, 1));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resizing {
    /// Treatment of an image that is not square.
    pub fit: Fit,
    /// Length of the shorter side, or with [`Fit::Stretch`] of both, to which an image is resized
    /// before the input of the CNN is cut out of its centre; `None` for the size of the CNN's
    /// input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resize_px: Option<u32>,
    /// Interpolation between pixels.
    pub interpolation: Interpolation,
}

/// Treatment of an image that is not square.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// The centre square is cut out.
    #[default]
    Crop,
    /// Height and width are scaled independently.
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
    /// Returns the resizing of images. Fields that are missing or of a later version have the
    /// default.
    pub fn resizing(&self) -> Resizing {
        let word = |field| self.extra.get(field).and_then(serde_json::Value::as_str);
        let px = self.extra.get(RESIZE_PX).and_then(serde_json::Value::as_u64);
        Resizing {
            fit: word(FIT).and_then(|word| word.parse().ok()).unwrap_or_default(),
            resize_px: px.and_then(|px| u32::try_from(px).ok()),
            interpolation: word(INTERPOLATION).and_then(|word| word.parse().ok()).unwrap_or_default(),
        }
    }

    /// Sets the resizing of images. Defaults are not written, so that such jobs stay comparable
    /// with samples of earlier versions.
    pub fn set_resizing(&mut self, resizing: Resizing) {
        let (Resizing { fit, resize_px, interpolation }, usual) = (resizing, Resizing::default());
        let values: [(&str, Option<serde_json::Value>); 3] = [
            (FIT, (fit != usual.fit).then(|| fit.as_str().into())),
            (RESIZE_PX, resize_px.map(Into::into)),
            (INTERPOLATION, (interpolation != usual.interpolation).then(|| interpolation.as_str().into())),
        ];
        for (field, value) in values {
            match value {
                None => drop(self.extra.remove(field)),
                Some(value) => drop(self.extra.insert(field.to_owned(), value)),
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
            for (interpolation, resize_px) in Interpolation::ALL.into_iter().zip([None, Some(256)].into_iter().cycle())
            {
                let resizing = Resizing { fit, resize_px, interpolation };
                workload.set_resizing(resizing);
                assert_eq!(workload.resizing(), resizing);
                assert_eq!((fit.to_string().parse(), interpolation.to_string().parse()), (Ok(fit), Ok(interpolation)));
            }
        }
        workload.set_resizing(Resizing::default());
        assert_eq!(serde_json::to_string(&workload).unwrap(), text);
    }
}
