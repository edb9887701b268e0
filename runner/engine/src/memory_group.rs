//! Memory limit of an executor by a control group (cgroup v2).
//!
//! Source: Linux, Documentation/admin-guide/cgroup-v2.rst. A process can be moved to a child of its
//! own group or of that group's parent if these delegate the memory controller and are writable for
//! this user, as in a systemd user session or for root.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const NAME: &str = "foreglow";
/// Retry delays, milliseconds: a group can be removed shortly after its last process has ended.
const PATIENCE: [u64; 6] = [0, 1, 5, 20, 50, 100];

/// A control group for one executor. Dropping it removes the group, once the executor has ended.
pub struct MemoryGroup(PathBuf);

impl MemoryGroup {
    /// Moves a process to a new group with this memory limit and no swap; `None` if that is not
    /// permitted.
    pub fn around(process: u32, memory_mib: u32) -> Option<Self> {
        parents().iter().find_map(|parent| Self::below(parent, process, memory_mib).ok())
    }

    fn below(parent: &Path, process: u32, memory_mib: u32) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        remove_orphans(parent);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let group = Self(parent.join(format!("{NAME}-{}-{number}", std::process::id())));
        fs::create_dir(&group.0)?;
        fs::write(group.0.join("memory.max"), (u64::from(memory_mib) << 20).to_string())?;
        match fs::write(group.0.join("memory.swap.max"), "0") {
            // The file does not exist on systems without swap.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::write(group.0.join("cgroup.procs"), process.to_string())?;
        Ok(group)
    }

    /// Returns whether the system killed the executor for exceeding its memory limit.
    pub fn has_killed(&self) -> bool {
        let events = fs::read_to_string(self.0.join("memory.events")).unwrap_or_default();
        events.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        for millis in PATIENCE {
            std::thread::sleep(Duration::from_millis(millis));
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
        }
    }
}

/// Returns whether control groups can be used on this system.
pub fn is_allowed() -> bool {
    let is_writable = |parent: &PathBuf| fs::OpenOptions::new().write(true).open(parent.join("cgroup.procs")).is_ok();
    parents().iter().any(is_writable)
}

/// Returns the groups whose children have memory limits: among this process's own group and its
/// parent.
fn parents() -> Vec<PathBuf> {
    let own = || {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        own_group(&mounts, &groups)
    };
    let Some(own) = own() else { return Vec::new() };
    let has_memory = |group: &&Path| {
        let handed_on = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
        handed_on.split_whitespace().any(|controller| controller == "memory")
    };
    [Some(own.as_path()), own.parent()].into_iter().flatten().filter(has_memory).map(Path::to_owned).collect()
}

/// Returns the folder of this process's group, from `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn own_group(mounts: &str, groups: &str) -> Option<PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, folder) = (fields.next()?, fields.next()?);
        let below = Path::new(path).strip_prefix(root).ok()?;
        system.starts_with("cgroup2 ").then(|| Path::new(folder).join(below))
    })
}

/// Removes groups left behind by engines that were killed.
fn remove_orphans(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let engine = name.to_str().and_then(|name| name.strip_prefix(NAME)?.strip_prefix('-')?.split('-').next());
        if engine.is_some_and(|engine| !Path::new("/proc").join(engine).exists()) {
            // Fails if a process is still in the group, which is intended.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_this_process_is_found_below_its_mount() {
        let mounts = "24 1 0:22 / /proc rw - proc proc rw\n\
                      31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let session = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/shell.scope\n";
        let folder = own_group(mounts, session).unwrap();
        assert_eq!(
            folder,
            Path::new("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/shell.scope")
        );
        let hybrid = "40 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        assert_eq!(own_group(hybrid, "4:memory:/a\n0::/\n").unwrap(), Path::new("/sys/fs/cgroup/unified/"));
        let part = "40 31 0:33 /docker/a /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
        assert_eq!(own_group(part, "0::/docker/a/b\n").unwrap(), Path::new("/sys/fs/cgroup/b"));
        assert_eq!(own_group(part, "0::/elsewhere\n"), None);
        assert_eq!(own_group("31 24 0:27 / /sys rw - sysfs sysfs rw\n", session), None);
        assert_eq!(own_group(mounts, "4:memory:/a\n"), None, "cgroup v1 alone");
    }
}
