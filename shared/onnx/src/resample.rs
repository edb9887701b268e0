//! Interpolation of an axis as a matrix: the weight of each input pixel for each output pixel
//! (<https://onnx.ai/onnx/operators/onnx__Resize.html>).

use crate::Rounding;

/// Coordinates of the specification.
pub const COORDINATES: [&str; 6] =
    ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"];

/// Settings of the interpolation of images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resampling {
    pub(crate) filter: Filter,
    /// Name of the coordinates, one of [`COORDINATES`].
    pub(crate) coordinates: &'static str,
    /// Whether a smaller output averages all pixels that it covers.
    pub(crate) is_antialiased: bool,
    /// Whether pixels outside of the image have no weight, instead of those of the edge.
    pub(crate) excludes_outside: bool,
    /// Factor of the length of each axis.
    pub(crate) scales: [f64; 2],
}

/// Function of the distance that gives the weight of a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filter {
    /// Only the nearest pixel has a weight.
    Nearest(Rounding),
    /// Falls to zero at the next pixel.
    Linear,
    /// A cubic with this coefficient.
    Cubic(f64),
}

impl Resampling {
    /// Returns the matrix `[to, from]` of the vertical or the horizontal axis, by rows.
    pub fn matrix(&self, axis: usize, from: usize, to: usize) -> Vec<f32> {
        let scale = self.scales[axis];
        (0..to).flat_map(|at| self.row(self.place(at, from, to, scale), from, scale)).collect()
    }

    /// Returns the place of an output pixel among the input pixels.
    fn place(&self, at: usize, from: usize, to: usize, scale: f64) -> f64 {
        // The runtimes compute in this precision, which decides between two nearest pixels.
        let (at, from, to, scale) = (at as f32, from as f32, to as f32, scale as f32);
        let half_pixel = (at + 0.5) / scale - 0.5;
        f64::from(match self.coordinates {
            "align_corners" if to > 1.0 => at * (from - 1.0) / (to - 1.0),
            "align_corners" => 0.0,
            "asymmetric" => at / scale,
            "tf_half_pixel_for_nn" => (at + 0.5) / scale,
            "pytorch_half_pixel" if to <= 1.0 => 0.0,
            // The output is in the middle of the exact one.
            "half_pixel_symmetric" => from / 2.0 * (1.0 - to / (from * scale)) + half_pixel,
            _ => half_pixel,
        })
    }

    fn row(&self, place: f64, from: usize, scale: f64) -> Vec<f32> {
        let last = from.saturating_sub(1) as f64;
        let mut row = vec![0.0; from];
        // A pixel of a smaller output is as wide as several of the input.
        let (narrow, reach) = match self.filter {
            Filter::Nearest(rounding) => {
                row[rounding.round(place).clamp(0.0, last) as usize] = 1.0;
                return row.iter().map(|weight| *weight as f32).collect();
            }
            _ if !self.is_antialiased => (1.0, 2.0),
            _ => (scale.min(1.0), 2.0 / scale.min(1.0)),
        };
        let mut pixel = (place - reach).floor();
        while pixel <= place + reach {
            let is_inside = (0.0..=last).contains(&pixel);
            if is_inside || !self.excludes_outside {
                row[pixel.clamp(0.0, last) as usize] += self.filter.weight((pixel - place) * narrow);
            }
            pixel += 1.0;
        }
        let sum: f64 = row.iter().sum();
        row.iter().map(|weight| (weight / sum) as f32).collect()
    }
}

impl Rounding {
    /// Rounds a coordinate.
    pub fn round(self, at: f64) -> f64 {
        match self {
            Self::HalfDown => (at - 0.5).ceil(),
            Self::HalfUp => (at + 0.5).floor(),
            Self::Floor => at.floor(),
            Self::Ceil => at.ceil(),
        }
    }
}

impl Filter {
    fn weight(self, distance: f64) -> f64 {
        let x = distance.abs();
        match self {
            Self::Nearest(_) => 0.0,
            Self::Linear => (1.0 - x).max(0.0),
            Self::Cubic(a) if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
            Self::Cubic(a) if x < 2.0 => ((x - 5.0) * x + 8.0) * x * a - 4.0 * a,
            Self::Cubic(_) => 0.0,
        }
    }
}
