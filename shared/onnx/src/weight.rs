//! Weights of a network: location and encoding of their numbers.

use crate::Error;
use crate::known::{Known, Numbers};

/// Limit on weights that are read with the graph, bytes; shapes, bounds and factors are smaller.
pub const READ_WITH_GRAPH: u64 = 4096;

/// A weight (ONNX: initialiser).
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Name.
    pub name: String,
    /// Length of each axis.
    pub dims: Vec<usize>,
    /// Location of the numbers.
    pub place: WeightRange,
    /// Type of a number, by its number in `TensorProto.DataType`.
    pub(crate) data_type: i64,
    /// Whether it stands for a parameter that the network does not have.
    pub(crate) is_neutral: bool,
}

/// Location of a weight's numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum WeightRange {
    /// Bytes that were read with the graph.
    Here(Vec<u8>),
    /// Numbers that were written one by one: integers, or the bits of short floats.
    Numbers(Vec<i64>),
    /// Range of the file: offset and bytes.
    Inside(u64, u64),
    /// Range of another file in the same folder: name, offset, and bytes or the rest.
    Outside(String, u64, Option<u64>),
}

impl Weight {
    /// Returns the count of numbers.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Returns whether there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the length of the stored numbers; `None` for a type that is not supported.
    pub fn bytes(&self) -> Option<u64> {
        let size: u64 = match self.data_type {
            2 | 3 | 9 => 1,
            4 | 5 | 10 | 16 => 2,
            1 | 6 | 12 => 4,
            7 | 11 | 13 => 8,
            _ => return None,
        };
        (self.len() as u64).checked_mul(size)
    }

    /// Returns whether the numbers are floats.
    pub fn is_float(&self) -> bool {
        matches!(self.data_type, 1 | 10 | 11 | 16)
    }

    /// Checks type and length.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.dims.len() > crate::MOST_AXES {
            return Err(self.wrong(format!(
                "it has {} axes, and at most {} are supported",
                self.dims.len(),
                crate::MOST_AXES
            )));
        }
        let numbers = self.dims.iter().try_fold(1_usize, |product, dim| product.checked_mul(*dim));
        let Some(bytes) = numbers.and_then(|_| self.bytes()) else {
            let name = type_name(self.data_type);
            return Err(self.wrong(match numbers {
                None => format!("it has too many numbers ({name})"),
                Some(_) => {
                    format!("it has a type that is not supported ({name}); export it with floats of 16 or 32 bits")
                }
            }));
        };
        let (there, expected) = match &self.place {
            WeightRange::Here(here) => (here.len() as u64, bytes),
            WeightRange::Numbers(numbers) => (numbers.len() as u64, self.len() as u64),
            WeightRange::Inside(_, len) | WeightRange::Outside(_, _, Some(len)) => (*len, bytes),
            WeightRange::Outside(_, _, None) => (bytes, bytes),
        };
        if there != expected {
            let dims = &self.dims;
            return Err(self.wrong(format!("its shape {dims:?} needs {expected}, and the file has {there}")));
        }
        Ok(())
    }

    /// Returns the floats of the stored bytes.
    ///
    /// # Errors
    /// The bytes are too few, or a number is NaN or infinite.
    pub fn floats(&self, bytes: &[u8]) -> Result<Vec<f32>, Error> {
        let floats = match (&self.place, self.numbers(bytes)) {
            (WeightRange::Numbers(bits), _) => bits.iter().map(|bits| short(self.data_type, *bits as u16)).collect(),
            (_, Numbers::Floats(floats)) => floats,
            (_, Numbers::Ints(ints)) => ints.into_iter().map(|int| int as f32).collect(),
        };
        if floats.len() != self.len() {
            return Err(self.wrong(format!("{} of its {} numbers are there", floats.len(), self.len())));
        }
        match floats.iter().position(|float| !float.is_finite()) {
            Some(place) => Err(self.wrong(format!("its number {} of {} is {}", place + 1, self.len(), floats[place]))),
            None => Ok(floats),
        }
    }

    /// Returns the numbers if they were read with the graph.
    pub fn known(&self) -> Option<Known> {
        let numbers = match &self.place {
            WeightRange::Here(bytes) => self.numbers(bytes),
            WeightRange::Numbers(bits) if self.is_float() => {
                Numbers::Floats(bits.iter().map(|bits| short(self.data_type, *bits as u16)).collect())
            }
            WeightRange::Numbers(ints) => Numbers::Ints(ints.clone()),
            WeightRange::Inside(..) | WeightRange::Outside(..) => return None,
        };
        Some(Known { dims: self.dims.clone(), numbers })
    }

    fn numbers(&self, bytes: &[u8]) -> Numbers {
        fn of<const N: usize, T>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
            bytes.as_chunks().0.iter().map(|bytes| number(*bytes)).collect()
        }
        match self.data_type {
            1 => Numbers::Floats(of(bytes, f32::from_le_bytes)),
            10 | 16 => Numbers::Floats(of(bytes, |bits| short(self.data_type, u16::from_le_bytes(bits)))),
            11 => Numbers::Floats(of(bytes, |bits| f64::from_le_bytes(bits) as f32)),
            2 | 9 => Numbers::Ints(bytes.iter().map(|byte| i64::from(*byte)).collect()),
            3 => Numbers::Ints(bytes.iter().map(|byte| i64::from(byte.cast_signed())).collect()),
            4 => Numbers::Ints(of(bytes, |bytes| i64::from(u16::from_le_bytes(bytes)))),
            5 => Numbers::Ints(of(bytes, |bytes| i64::from(i16::from_le_bytes(bytes)))),
            6 => Numbers::Ints(of(bytes, |bytes| i64::from(i32::from_le_bytes(bytes)))),
            12 => Numbers::Ints(of(bytes, |bytes| i64::from(u32::from_le_bytes(bytes)))),
            7 | 13 => Numbers::Ints(of(bytes, i64::from_le_bytes)),
            _ => Numbers::Ints(Vec::new()),
        }
    }

    /// Returns an error about this weight.
    pub fn wrong(&self, why: impl Into<String>) -> Error {
        Error::Weight { name: self.name.clone(), why: why.into() }
    }
}

/// Returns the float with these bits: bfloat16 (16) or IEEE half (10).
fn short(data_type: i64, bits: u16) -> f32 {
    if data_type == 16 {
        return f32::from_bits(u32::from(bits) << 16);
    }
    let (sign, exponent, fraction) = (u32::from(bits >> 15), u32::from((bits >> 10) & 31), u32::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction as f32 / 16_777_216.0,
        31 => f32::from_bits(0x7F80_0000 | (fraction << 13)),
        _ => f32::from_bits(((exponent + 112) << 23) | (fraction << 13)),
    };
    f32::from_bits(magnitude.to_bits() | (sign << 31))
}

fn type_name(data_type: i64) -> String {
    match data_type {
        0 => "no type".to_owned(),
        8 => "strings".to_owned(),
        14 | 15 => "complex numbers".to_owned(),
        other => format!("type {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_floats_are_those_of_their_formats() {
        let halves = [(0x3C00, 1.0), (0xC000, -2.0), (0x0001, 1.0 / 16_777_216.0), (0x7BFF, 65504.0), (0x8000, -0.0)];
        for (bits, expected) in halves {
            assert_eq!(short(10, bits), expected, "{bits:x}");
        }
        assert!(short(10, 0x7C00).is_infinite() && short(10, 0x7E00).is_nan());
        assert_eq!((short(16, 0x3F80), short(16, 0xC049)), (1.0, -3.140625));
    }
}
