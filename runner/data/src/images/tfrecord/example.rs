//! Reader and writer for `tf.train.Example` (tensorflow/core/example/example.proto), as far as
//! images need it:
//!
//! ```text
//! Example   { Features features = 1; }
//! Features  { map<string, Feature> feature = 1; }  a map entry is a message { key = 1; value = 2 }
//! Feature   { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; }
//! BytesList { repeated bytes value = 1; }   Int64List { repeated int64 value = 1 [packed]; }
//! ```
//!
//! Written by hand, because prost would change features of Burn's dependencies, and three messages
//! with two wire types need no code generator.

use std::ops::Range;

/// First value of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A byte string, as its range in the message.
    Bytes(Range<usize>),
    /// An integer.
    Int(i64),
}

/// The error for a message that is not a valid `tf.train.Example`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Calls `each` with every feature that holds a byte string or an integer.
///
/// # Errors
/// The message is truncated, or a field has an unexpected type.
pub fn features(message: &[u8], mut each: impl FnMut(&[u8], Feature)) -> Result<(), Malformed> {
    fields(message, 0..message.len(), |number, value| {
        let (1, Value::Bytes(all)) = (number, value) else { return Ok(()) };
        fields(message, all, |number, value| {
            let (1, Value::Bytes(entry)) = (number, value) else { return Ok(()) };
            let (mut key, mut feature) = (0..0, None);
            fields(message, entry, |number, value| {
                match (number, value) {
                    (1, Value::Bytes(name)) => key = name,
                    (2, Value::Bytes(value)) => feature = first_value(message, value)?,
                    _ => {}
                }
                Ok(())
            })?;
            if let Some(feature) = feature {
                each(&message[key], feature);
            }
            Ok(())
        })
    })
}

fn first_value(message: &[u8], feature: Range<usize>) -> Result<Option<Feature>, Malformed> {
    let mut first = None;
    fields(message, feature, |kind, list| {
        let Value::Bytes(list) = list else { return Err(Malformed) };
        fields(message, list, |number, value| {
            if number == 1 && first.is_none() {
                first = match (kind, value) {
                    (1, Value::Bytes(bytes)) => Some(Feature::Bytes(bytes)),
                    (3, Value::Varint(int)) => Some(Feature::Int(int.cast_signed())),
                    (3, Value::Bytes(mut packed)) if !packed.is_empty() => {
                        Some(Feature::Int(varint(message, &mut packed)?.cast_signed()))
                    }
                    _ => None,
                };
            }
            Ok(())
        })
    })?;
    Ok(first)
}

enum Value {
    Varint(u64),
    Bytes(Range<usize>),
    Other,
}

/// Walks the fields of the message in `part` of the bytes
/// (protobuf.dev/programming-guides/encoding).
fn fields(
    bytes: &[u8],
    mut part: Range<usize>,
    mut each: impl FnMut(u64, Value) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    while !part.is_empty() {
        let tag = varint(bytes, &mut part)?;
        let value = match tag & 7 {
            0 => Value::Varint(varint(bytes, &mut part)?),
            1 => skip(&mut part, 8).map(|_| Value::Other)?,
            2 => {
                let len = varint(bytes, &mut part)?;
                Value::Bytes(skip(&mut part, len)?)
            }
            5 => skip(&mut part, 4).map(|_| Value::Other)?,
            _ => return Err(Malformed),
        };
        each(tag >> 3, value)?;
    }
    Ok(())
}

fn skip(part: &mut Range<usize>, len: u64) -> Result<Range<usize>, Malformed> {
    let len = usize::try_from(len).ok().filter(|len| *len <= part.len()).ok_or(Malformed)?;
    let skipped = part.start..part.start + len;
    part.start += len;
    Ok(skipped)
}

fn varint(bytes: &[u8], part: &mut Range<usize>) -> Result<u64, Malformed> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = bytes[skip(part, 1)?][0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

/// Value of a feature to write.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// One byte string.
    Bytes(&'a [u8]),
    /// One integer.
    Int(i64),
}

/// Returns the message with these features, in this order.
pub fn write(features: &[(&str, Given<'_>)]) -> Vec<u8> {
    let mut all = Vec::new();
    for (name, value) in features {
        let (kind, list) = match value {
            Given::Bytes(bytes) => (1, field(1, bytes)),
            Given::Int(int) => {
                let mut packed = Vec::new();
                put_varint(&mut packed, int.cast_unsigned());
                (3, field(1, &packed))
            }
        };
        let entry = [field(1, name.as_bytes()), field(2, &field(kind, &list))].concat();
        all.extend(field(1, &entry));
    }
    field(1, &all)
}

/// Encodes a length-delimited field.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = Vec::with_capacity(bytes.len() + 11);
    field.push(number << 3 | 2);
    put_varint(&mut field, bytes.len() as u64);
    field.extend(bytes);
    field
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(message: &[u8]) -> Result<Vec<(String, Feature)>, Malformed> {
        let mut found = Vec::new();
        features(message, |name, feature| found.push((String::from_utf8_lossy(name).into_owned(), feature)))?;
        Ok(found)
    }

    /// Written by TensorFlow: `tf.train.Example(features=tf.train.Features(feature={"label":
    /// tf.train.Feature(int64_list=tf.train.Int64List(value=[300, 1]))})).SerializeToString()`.
    #[test]
    fn an_example_written_by_tensorflow_is_read() {
        let message = b"\x0a\x12\x0a\x10\x0a\x05label\x12\x07\x1a\x05\x0a\x03\xac\x02\x01";
        assert_eq!(read(message).unwrap(), [("label".to_owned(), Feature::Int(300))]);
    }

    #[test]
    fn a_written_example_is_read_back() {
        let message =
            write(&[("image/encoded", Given::Bytes(b"jpeg")), ("label", Given::Int(-5)), ("big", Given::Int(300))]);
        let found = read(&message).unwrap();
        let Feature::Bytes(place) = &found[0].1 else { panic!("{found:?}") };
        assert_eq!((&found[0].0[..], &message[place.clone()]), ("image/encoded", &b"jpeg"[..]));
        assert_eq!(found[1..], [("label".to_owned(), Feature::Int(-5)), ("big".to_owned(), Feature::Int(300))]);
    }

    #[test]
    fn other_forms_of_an_integer_list_are_read() {
        // An unpacked list, as old writers produce it; a float list; an empty list.
        let feature = |list: &[u8], kind| [field(1, b"n"), field(2, &field(kind, list))].concat();
        let unpacked = field(1, &field(1, &feature(&[8, 9], 3)));
        assert_eq!(read(&unpacked).unwrap(), [("n".to_owned(), Feature::Int(9))]);
        let float = field(1, &field(1, &feature(&field(1, &[0, 0, 128, 63]), 2)));
        assert_eq!(read(&float).unwrap(), []);
        let empty = field(1, &field(1, &feature(&[], 3)));
        assert_eq!(read(&empty).unwrap(), []);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn a_damaged_message_does_not_panic(place in 0_usize..60, byte: u8, cut in 0_usize..60) {
            let mut message = write(&[("image/encoded", Given::Bytes(b"0123456789")), ("label", Given::Int(7))]);
            let len = message.len();
            message[place % len] = byte;
            message.truncate(cut.max(1));
            let _ = read(&message);
        }
    }
}
