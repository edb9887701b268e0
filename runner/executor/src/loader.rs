//! Copies decoded mini-batches to the device, which normalises images itself.

use burn::tensor::{Device, Int, Tensor, TensorData};

use foreglow_architectures::Shape;
use foreglow_cnn::normalise_bytes;
use foreglow_data::Decoded;
use foreglow_data::images::Scale;

/// Bit offset of each byte in a 32-bit word.
const SHIFTS: [i32; 4] = [0, 8, 16, 24];

/// Copies mini-batches to a device without autodiff.
pub struct Loader {
    device: Device,
    shape: Shape,
    unpacking: Option<Unpacking>,
}

/// Constants on the device that turn bytes into normalised numbers.
struct Unpacking {
    shifts: Tensor<2, Int>,
    factors: Tensor<4>,
    offsets: Tensor<4>,
}

impl Loader {
    /// Creates a loader of items of this shape; `scales` has the normalisation of each channel if
    /// they arrive as bytes.
    pub fn new(device: Device, shape: Shape, scales: Option<Vec<Scale>>) -> Self {
        let per_channel = |values: Vec<f32>| {
            let channels = values.len();
            Tensor::from_data(TensorData::new(values, [1, channels, 1, 1]), &device)
        };
        let unpacking = scales.map(|scales| Unpacking {
            shifts: Tensor::from_data([SHIFTS], &device),
            factors: per_channel(scales.iter().map(|scale| scale.factor).collect()),
            offsets: per_channel(scales.iter().map(|scale| scale.shift).collect()),
        });
        Self { device, shape, unpacking }
    }

    /// Copies decoded items to the device: `[items, channels, height, width]`.
    ///
    /// # Panics
    /// The items are bytes, and the loader was created for numbers.
    pub fn load(&self, decoded: Decoded, items: usize) -> Tensor<4> {
        let [channels, height, width] = self.shape;
        let dims = [items, channels, height, width];
        match decoded {
            Decoded::Numbers(numbers) => Tensor::from_data(TensorData::new(numbers, dims), &self.device),
            Decoded::Bytes(bytes) => {
                let unpacking = self.unpacking.as_ref().expect("the data of a job give its decoder and its loader");
                unpacking.apply(bytes, dims, &self.device)
            }
        }
    }
}

impl Unpacking {
    /// Copies four bytes as a 32-bit word, because not every device can store single bytes.
    fn apply(&self, bytes: Vec<u8>, dims: [usize; 4], device: &Device) -> Tensor<4> {
        let mut bytes = match normalise_bytes(bytes, dims, &self.factors, &self.offsets) {
            Ok(numbers) => return numbers,
            Err(bytes) => bytes,
        };
        let count = bytes.len();
        bytes.resize(count.next_multiple_of(SHIFTS.len()), 0);
        let words: Vec<i32> = bytes.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect();
        let all = words.len();
        let words: Tensor<2, Int> = Tensor::from_data(TensorData::new(words, [all, 1]), device);
        // The shift copies the sign bit, which the mask removes.
        let table = [all, SHIFTS.len()];
        let values = words.expand(table).bitwise_right_shift(self.shifts.clone().expand(table));
        let values = values.bitwise_and_scalar(0xFF).reshape([all * SHIFTS.len()]);
        let values = if count == all * SHIFTS.len() { values } else { values.slice(0..count) };
        values.float().reshape(dims) * self.factors.clone() - self.offsets.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foreglow_architectures::Colour;
    use foreglow_data::images::{ChannelOrder, Normalisation};

    /// Burn's CPU device computes the same operations as a graphics device.
    #[test]
    fn bytes_are_normalised_on_the_device_as_on_the_processor() {
        let device = Device::flex();
        for (colour, px, items) in [(Colour::Grey, 3, 2), (Colour::Rgb, 3, 1), (Colour::Rgb, 4, 5)] {
            let (shape, scales) = (colour.shape(px), Normalisation::usual(colour, ChannelOrder::Rgb).scales());
            let plane = (px * px) as usize;
            let bytes: Vec<u8> = (0..items * colour.channels() * plane).map(|place| (place * 37 % 256) as u8).collect();
            let expected: Vec<f32> = bytes
                .iter()
                .enumerate()
                .map(|(place, byte)| scales[place / plane % colour.channels()].apply(*byte))
                .collect();
            let loader = Loader::new(device.clone(), shape, Some(scales));
            let loaded = loader.load(Decoded::Bytes(bytes), items);
            assert_eq!(loaded.dims(), [items, colour.channels(), px as usize, px as usize]);
            let numbers: Vec<f32> = loaded.into_data().try_to_vec().unwrap();
            for (number, expected) in numbers.iter().zip(&expected) {
                assert!((number - expected).abs() < 1e-6, "{number} and {expected}");
            }
        }
    }

    #[test]
    fn numbers_are_copied_as_they_are() {
        let loader = Loader::new(Device::flex(), [1, 2, 2], None);
        let loaded = loader.load(Decoded::Numbers(vec![1.0, -2.0, 3.0, 4.5]), 1);
        assert_eq!(loaded.into_data().try_to_vec::<f32>().unwrap(), [1.0, -2.0, 3.0, 4.5]);
    }
}
