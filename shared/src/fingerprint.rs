//! Short fingerprints of long data.

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// A hash in 16 hexadecimal digits: FNV-1a, 64 bits (Fowler, Noll, Vo). It is not cryptographic: it
/// does not detect deliberate collisions.
///
/// ```
/// # use foreglow_shared::Fingerprint;
/// let mut whole = Fingerprint::default();
/// whole.add(b"a");
/// assert_eq!(whole.to_string(), "af63dc4c8601ec8c");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(BASIS)
    }
}

impl Fingerprint {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
