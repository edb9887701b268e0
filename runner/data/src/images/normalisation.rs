//! Normalisation of the bytes of an image to the input of a CNN.

use foreglow_architectures::Colour;
use serde::{Deserialize, Serialize};

/// Mean and standard deviation of the channels of ImageNet (torchvision's values) and of MNIST.
const IMAGENET: [(f32, f32); 3] = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)];
const MNIST: [(f32, f32); 1] = [(0.1307, 0.3081)];

/// Normalisation of a job's images: `(value − mean) ÷ deviation`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normalisation {
    /// Mean of each channel, in the CNN's order.
    pub mean: Vec<f32>,
    /// Standard deviation of each channel.
    pub std: Vec<f32>,
    /// Values of the pixels before normalisation.
    pub pixel_range: PixelRange,
    /// Order of the channels.
    pub channel_order: ChannelOrder,
}

/// Values of the pixels before normalisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
pub enum PixelRange {
    /// 0 to 1.
    #[default]
    #[serde(rename = "1")]
    #[value(name = "1")]
    One,
    /// 0 to 255.
    #[serde(rename = "255")]
    #[value(name = "255")]
    Bytes,
}

/// Order of the channels of a colour image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ChannelOrder {
    /// Red, green, blue.
    #[default]
    Rgb,
    /// Blue, green, red, as in OpenCV and Caffe.
    Bgr,
}

impl Normalisation {
    /// Returns the default: the statistics of ImageNet for colour images, and those of MNIST for
    /// grey ones.
    pub fn usual(colour: Colour, channel_order: ChannelOrder) -> Self {
        let channels: &[(f32, f32)] = if colour == Colour::Grey { &MNIST } else { &IMAGENET };
        let (mut mean, mut std): (Vec<f32>, Vec<f32>) = channels.iter().copied().unzip();
        if channel_order == ChannelOrder::Bgr {
            mean.reverse();
            std.reverse();
        }
        Self { mean, std, pixel_range: PixelRange::One, channel_order }
    }

    /// Returns the normalisation of each channel, in the CNN's order.
    pub fn scales(&self) -> Vec<Scale> {
        let pairs = self.mean.iter().zip(&self.std);
        pairs.map(|(mean, deviation)| Scale::of(*mean, *deviation, self.pixel_range)).collect()
    }
}

/// Normalisation of a channel as `value × factor − shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// 1 ÷ deviation, for pixels from 0 to 1 also ÷ 255.
    pub factor: f32,
    /// mean ÷ deviation.
    pub shift: f32,
}

impl Scale {
    fn of(mean: f32, deviation: f32, range: PixelRange) -> Self {
        let factor = match range {
            PixelRange::One => 1.0 / (255.0 * deviation),
            PixelRange::Bytes => 1.0 / deviation,
        };
        Self { factor, shift: mean / deviation }
    }

    /// Returns the normalised value of one byte.
    pub fn apply(self, value: u8) -> f32 {
        f32::from(value) * self.factor - self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normalisation_of_bytes_is_that_of_numbers_up_to_1_times_255() {
        let ones =
            Normalisation { mean: vec![0.5], std: vec![0.25], ..Normalisation::usual(Colour::Grey, ChannelOrder::Rgb) };
        let bytes = Normalisation { mean: vec![127.5], std: vec![63.75], pixel_range: PixelRange::Bytes, ..ones };
        for value in [0, 51, 255] {
            let [one, other] = [&ones, &bytes].map(|normalisation| normalisation.scales()[0].apply(value));
            assert!((one - (f32::from(value) / 255.0 - 0.5) / 0.25).abs() < 1e-6 && (one - other).abs() < 1e-5);
        }
    }
}
