//! Resizing of images to the square input of a CNN.

use serde::{Deserialize, Serialize};

use crate::names::names;

/// Resizing of images: the workload's fields `resize`, `resize_px` and `interpolation`, which are
/// absent for the defaults, as in samples of earlier versions. Jobs with different resizing are not
/// comparable, because it takes part of their time.
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

names!(Fit { Crop => "crop", Stretch => "stretch" }, |text| "write crop or stretch".to_owned());

names!(
    Interpolation { Nearest => "nearest", Bilinear => "bilinear", Bicubic => "bicubic", Lanczos => "lanczos" },
    |text| "write nearest, bilinear, bicubic or lanczos".to_owned()
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_and_interpolation_is_read_by_its_name() {
        Fit::ALL.into_iter().for_each(|fit| assert_eq!(fit.to_string().parse(), Ok(fit)));
        Interpolation::ALL.into_iter().for_each(|it| assert_eq!(it.to_string().parse(), Ok(it)));
    }
}
