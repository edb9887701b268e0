//! Tokens of the collector: generation, hashing and reading.

use std::path::Path;

use anyhow::Context as _;
use foreglow_exit::{read_small, unreadable, unusable};
use sha2::{Digest as _, Sha256};

/// Makes a token recognisable, for example to scanners of repositories.
const PREFIX: &str = "foreglow_";
/// Random bytes of a token.
const RANDOM_BYTES: usize = 32;

/// SHA-256 of a token. A fast hash is enough, because the slow hashes for passwords protect against
/// guessing, which is impossible with 256 random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, std::hash::Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Returns the hash of a token.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Compares in constant time, so that the time does not reveal the first difference.
    pub fn is(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
    }
}

/// Bits of the weakest token that a collector accepts as its own.
pub const LEAST_BITS: u32 = 128;

/// Returns the most bits that a token of this length and these kinds of characters can have if it
/// is random. Few distinct characters are no random text.
pub fn strength_bits(token: &str) -> u32 {
    const FEWEST: usize = 8;
    let has = |kind: fn(char) -> bool| token.chars().any(kind);
    let of_digits = if has(|c| c.is_ascii_digit()) { 10 } else { 0 };
    let of_case = |has_any: bool, has_others: bool| match (has_any, has_others) {
        (_, true) => 26,
        (true, false) => 6,
        (false, false) => 0,
    };
    let lower = of_case(has(|c| c.is_ascii_lowercase()), has(|c| c.is_ascii_lowercase() && c > 'f'));
    let upper = of_case(has(|c| c.is_ascii_uppercase()), has(|c| c.is_ascii_uppercase() && c > 'F'));
    let others = if has(|c| !c.is_ascii_alphanumeric()) { 33 } else { 0 };
    let letters: u32 = of_digits + lower + upper + others;
    let distinct: std::collections::BTreeSet<char> = token.chars().collect();
    let letters = if distinct.len() < FEWEST { distinct.len() as f64 } else { f64::from(letters) };
    (token.chars().count() as f64 * letters.max(1.0).log2()).floor() as u32
}

/// Returns a new token.
///
/// # Errors
/// The system gives no random bytes.
pub fn random() -> anyhow::Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    let system = rustls::crypto::ring::default_provider().secure_random;
    system.fill(&mut bytes).map_err(|_| anyhow::anyhow!("the system gives no random bytes"))?;
    Ok(format!("{PREFIX}{}", hex(&bytes)))
}

/// Returns the bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the given token, or the content of the given file.
///
/// # Errors
/// The file cannot be read, or has no token.
pub fn given(token: Option<String>, file: Option<&Path>) -> anyhow::Result<Option<String>> {
    let token = token.filter(|token| !token.is_empty());
    let Some(file) = file else { return Ok(token) };
    let bytes = read_small(file).map_err(|error| unreadable(file, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| unusable(format!("the file {} is not a text", file.display())))?;
    match text.trim() {
        "" => Err(unusable(format!("the file {} has no token", file.display()))),
        read if read.contains(char::is_whitespace) => {
            Err(unusable(format!("the file {} has more than a token", file.display())))
        }
        read => Ok(Some(read.to_owned())),
    }
}

/// Returns the token from a command's arguments, or else that of the environment.
///
/// # Errors
/// As for [`given`].
pub fn of_command(token: Option<String>, file: Option<&Path>) -> anyhow::Result<Option<String>> {
    if token.is_none() && file.is_none() { from_environment() } else { given(token, file) }
}

/// Returns the token in the environment: `FOREGLOW_TOKEN`, or the file `FOREGLOW_TOKEN_FILE`.
///
/// # Errors
/// As for [`given`].
pub fn from_environment() -> anyhow::Result<Option<String>> {
    let file = std::env::var_os("FOREGLOW_TOKEN_FILE").filter(|file| !file.is_empty());
    given(std::env::var("FOREGLOW_TOKEN").ok(), file.as_deref().map(Path::new)).context("the token cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_random_and_their_hashes_differ() {
        let (a, b) = (random().unwrap(), random().unwrap());
        assert_ne!(a, b);
        assert_eq!(a.len(), PREFIX.len() + 64);
        assert!(Hash::of(&a).is(&Hash::of(&a)) && !Hash::of(&a).is(&Hash::of(&b)));
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&Hash::of("abc").0), abc);
    }

    #[test]
    fn the_strength_of_a_token_is_that_of_its_length_and_its_characters() {
        for weak in ["", "a", "secret", "correct horse battery", "0123456789abcdef0123456789abcde"] {
            assert!(strength_bits(weak) < LEAST_BITS, "{weak}: {}", strength_bits(weak));
        }
        assert!(strength_bits(&"a".repeat(1_000)) < LEAST_BITS && strength_bits(&"ab".repeat(60)) < LEAST_BITS);
        for strong in ["0123456789abcdef0123456789abcdef", "Zm9yZWdsb3cgcmFuZG9tMQ", &random().unwrap()] {
            assert!(strength_bits(strong) >= LEAST_BITS, "{strong}: {}", strength_bits(strong));
        }
    }

    #[test]
    fn a_token_is_read_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "secret\n").unwrap();
        assert_eq!(given(None, Some(&file)).unwrap().as_deref(), Some("secret"));
        assert_eq!(given(Some("other".into()), None).unwrap().as_deref(), Some("other"));
        assert_eq!(given(Some(String::new()), None).unwrap(), None);
        for wrong in ["", "two words"] {
            std::fs::write(&file, wrong).unwrap();
            assert!(given(None, Some(&file)).is_err(), "{wrong:?}");
        }
    }
}
