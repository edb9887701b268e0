//! Free space of the disk that holds the store.

use std::path::Path;

/// Free space below which the collector warns.
const LOW_BYTES: u64 = 1 << 30;
/// Free space below which the collector is not ready, because a write of several requests may not
/// fit.
const FULL_BYTES: u64 = 64 << 20;

/// Level of the free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    Full,
    Low,
    Enough,
}

impl Space {
    pub(super) fn of(free_bytes: u64) -> Self {
        match free_bytes {
            ..FULL_BYTES => Self::Full,
            FULL_BYTES..LOW_BYTES => Self::Low,
            _ => Self::Enough,
        }
    }

    /// Returns the warning when space has become less; `None` if it has not.
    pub(super) fn warning(self, before: Self, store: &Path, free_bytes: u64) -> Option<String> {
        (self < before).then(|| {
            format!(
                "foreglow: warning: the disk that holds the store {} has {} MiB left; free some space, or let old \
                 samples go with --keep",
                store.display(),
                free_bytes >> 20
            )
        })
    }
}

/// Returns the free bytes for this user; `None` if unknown.
#[cfg(unix)]
pub(super) fn free_bytes(path: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(path).ok()?;
    space.f_bavail.checked_mul(space.f_frsize)
}

#[cfg(not(unix))]
pub(super) fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collector_warns_once_before_the_disk_is_full() {
        let path = Path::new("s.sqlite");
        assert_eq!(
            [Space::of(2 << 30), Space::of(500 << 20), Space::of(1 << 20)],
            [Space::Enough, Space::Low, Space::Full]
        );
        let warning = Space::Low.warning(Space::Enough, path, 500 << 20).unwrap();
        assert!(warning.contains("s.sqlite has 500 MiB left"), "{warning}");
        assert_eq!(Space::Low.warning(Space::Low, path, 400 << 20), None);
        assert!(Space::Full.warning(Space::Low, path, 1).is_some());
        assert_eq!(Space::Enough.warning(Space::Low, path, 2 << 30), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_disk_of_a_folder_has_free_space() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        assert_eq!(free_bytes(&folder.path().join("missing")), None);
    }
}
