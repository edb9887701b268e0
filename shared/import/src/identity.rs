//! Identifiers of imported runs.

use foreglow_shared::{Timestamp, Uuid};

/// Derives a UUID (version 7) that is the same every time a run is imported.
pub(crate) fn run_id(identity: &str, started_at: Timestamp) -> Uuid {
    // FNV-1a, 64 bits (Fowler, Noll, Vo).
    let hash = identity
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let millisecond = u128::from(started_at.as_millisecond().unsigned_abs()) & ((1 << 48) - 1);
    Uuid::from_u128((millisecond << 80) | (7 << 76) | (2 << 62) | u128::from(hash >> 2))
}
