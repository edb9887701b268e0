//! The encoding of the messages between the page and its workers: postcard, whose code for a type
//! is a fraction of that for JSON. What links and files hold crosses as JSON, which the page reads
//! and writes anyway ([`json`]).

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The sources of the messages' types, as `build.rs` hashes them; every message begins with it.
/// Without it, a module that a browser has cached could misread the messages of a newer build.
const VERSION: &[u8] = env!("FOREGLOW_SOURCES").as_bytes();

/// Encodes a message.
///
/// # Errors
/// The message has a part that only a format with names of fields can hold; one sentence.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, String> {
    postcard::to_extend(message, VERSION.to_vec()).map_err(|error| format!("the message cannot be sent: {error}"))
}

/// Decodes a message.
///
/// # Errors
/// The message is of another build; one sentence.
pub fn decode<T: DeserializeOwned>(message: &[u8]) -> Result<T, String> {
    let message = message.strip_prefix(VERSION).and_then(|message| postcard::from_bytes(message).ok());
    message.ok_or_else(|| "the worker is of another version; reload the page".to_owned())
}

/// A field that crosses as JSON, for `#[serde(with = "json")]`.
pub mod json {
    use serde::de::{DeserializeOwned, Error as _};
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a value as a string of JSON.
    ///
    /// # Errors
    /// The value cannot be JSON.
    pub fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(value).map_err(S::Error::custom)?;
        serializer.serialize_str(&text)
    }

    /// Reads a value from a string of JSON.
    ///
    /// # Errors
    /// The string is not JSON of such a value.
    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        serde_json::from_str(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::messages::PlanResponse;

    #[test]
    fn every_number_arrives_with_its_bits() {
        for number in [-0.0, 0.1 + 0.2, f64::MIN_POSITIVE, 5e-324, f64::NEG_INFINITY, f64::NAN] {
            let arrived: f64 = decode(&encode(&number).unwrap()).unwrap();
            assert_eq!(arrived.to_bits(), number.to_bits());
        }
    }

    #[test]
    fn a_message_of_another_version_asks_for_a_reload() {
        let mut message = encode(&PlanResponse::NeedsAll(7)).unwrap();
        assert!(matches!(decode(&message), Ok(PlanResponse::NeedsAll(7))));
        message[0] ^= 1;
        let error = decode::<PlanResponse>(&message).unwrap_err();
        assert!(error.ends_with("reload the page"), "{error}");
    }
}
