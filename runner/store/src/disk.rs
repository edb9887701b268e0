//! Free space and kind of the disk that holds the store.

use std::path::Path;

/// Free space below which the collector warns.
const LOW_BYTES: u64 = 1 << 30;
/// Free space below which the collector is not ready, because a write of several requests may not
/// fit.
const FULL_BYTES: u64 = 64 << 20;

/// File systems that several machines share over a network, by the type in `statfs(2)`: NFS, SMB
/// (three types), Lustre, GPFS, BeeGFS, Ceph and AFS.
const SHARED_SYSTEMS: [u64; 9] =
    [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0bd0_0bd0, 0x4750_4653, 0x1983_0326, 0x00c3_6400, 0x5346_414f];

/// Level of the free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// A write may not fit.
    Full,
    /// The collector warns.
    Low,
    /// No warning is needed.
    Enough,
}

impl Space {
    /// Returns the level of this many free bytes.
    pub fn of(free_bytes: u64) -> Self {
        match free_bytes {
            ..FULL_BYTES => Self::Full,
            FULL_BYTES..LOW_BYTES => Self::Low,
            _ => Self::Enough,
        }
    }

    /// Returns the warning when space has become less; `None` if it has not.
    pub fn warning(self, before: Self, store: &Path, free_bytes: u64) -> Option<String> {
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
pub fn free_bytes(path: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(path).ok()?;
    space.f_bavail.checked_mul(space.f_frsize)
}

#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Whether a file is on a file system that several machines share over a network; false if unknown.
#[cfg(target_os = "linux")]
pub fn is_shared(path: &Path) -> bool {
    // A missing file will be on the file system of its folder.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = rustix::fs::statfs(path).or_else(|_| rustix::fs::statfs(folder));
    found.is_ok_and(|system| u64::try_from(system.f_type).is_ok_and(is_shared_system))
}

#[cfg(not(target_os = "linux"))]
pub fn is_shared(_: &Path) -> bool {
    false
}

fn is_shared_system(kind: u64) -> bool {
    SHARED_SYSTEMS.contains(&kind)
}

/// Returns the warning for a collector whose store is on a network file system.
pub fn shared_warning(store: &Path) -> Option<String> {
    is_shared(store).then(|| {
        format!(
            "foreglow: warning: the store {} is on a network file system, where writes wait for readers; keep it on a \
             local disk, or use PostgreSQL",
            store.display()
        )
    })
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

    #[test]
    fn network_file_systems_are_distinguished_from_local_ones() {
        let (nfs, ext4, tmpfs, overlay) = (0x6969, 0xef53, 0x0102_1994, 0x794c_7630);
        assert_eq!([nfs, ext4, tmpfs, overlay].map(is_shared_system), [true, false, false, false]);
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_shared(&folder.path().join("missing.sqlite")));
        assert_eq!(shared_warning(folder.path()), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_disk_of_a_folder_has_free_space() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        assert_eq!(free_bytes(&folder.path().join("missing")), None);
    }
}
