//! Control groups of executors: limits of the kernel on memory (version 2) and CPU time (versions 1
//! and 2).
//!
//! Source: Linux, Documentation/admin-guide/cgroup-v2.rst. A process can be moved to a child of its
//! own group or of that group's parent if these delegate the controller and are writable for this
//! user, as in a systemd user session or for root. In version 1 each controller has a tree of its
//! own, and every group has its limits.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use foreglow_machine::control_group::{Version, own_group};

const NAME: &str = "foreglow";
/// Retry delays, milliseconds, because a group can be removed only shortly after its last process
/// has ended.
const PATIENCE: [u64; 6] = [0, 1, 5, 20, 50, 100];

/// A control group for one executor. Dropping it removes the group, once the executor has ended.
pub struct ControlGroup(PathBuf);

impl ControlGroup {
    /// Moves a process to a new group with this memory limit and no swap; `None` without
    /// permission.
    pub fn with_memory(process: u32, memory_mib: u32) -> Option<Self> {
        let bytes = (u64::from(memory_mib) << 20).to_string();
        let limits = [("memory.max", bytes.as_str()), ("memory.swap.max", "0")];
        parents(Version::Two, "memory").iter().find_map(|parent| Self::below(parent, process, &limits).ok())
    }

    /// Creates a group with these limits, as contents of its files, and moves a process to it.
    ///
    /// # Errors
    /// The system does not permit it.
    pub fn below(parent: &Path, process: u32, limits: &[(&str, &str)]) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        remove_orphans(parent);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let group = Self(parent.join(format!("{NAME}-{}-{number}", std::process::id())));
        fs::create_dir(&group.0)?;
        for (file, limit) in limits {
            match fs::write(group.0.join(file), limit) {
                // The file does not exist on systems without swap.
                Err(error) if error.kind() == io::ErrorKind::NotFound && *file == "memory.swap.max" => {}
                written => written?,
            }
        }
        fs::write(group.0.join("cgroup.procs"), process.to_string())?;
        Ok(group)
    }

    /// Returns the group's folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Kills all processes of the group, wherever they moved within it.
    pub fn kill(&self) {
        // The file does not exist before Linux 5.14.
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
    }

    /// Returns whether the system killed the executor for exceeding its memory limit.
    pub fn has_killed(&self) -> bool {
        let events = fs::read_to_string(self.0.join("memory.events")).unwrap_or_default();
        events.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for millis in PATIENCE {
            std::thread::sleep(Duration::from_millis(millis));
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
        }
    }
}

/// Returns whether the memory of executors can be limited by control groups on this system.
pub fn limits_memory() -> bool {
    let is_writable = |parent: &PathBuf| fs::OpenOptions::new().write(true).open(parent.join("cgroup.procs")).is_ok();
    parents(Version::Two, "memory").iter().any(is_writable)
}

/// Returns the groups whose children have the limits of a controller: among this process's own
/// group and its parent.
pub fn parents(version: Version, controller: &str) -> Vec<PathBuf> {
    let Some(own) = own_group(version, controller) else { return Vec::new() };
    let delegates = |group: &&Path| {
        let handed_on = || fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
        // The parent of the topmost group is not a group.
        group.join("cgroup.procs").exists()
            && (version == Version::One || handed_on().split_whitespace().any(|handed_on| handed_on == controller))
    };
    [Some(own.as_path()), own.parent()].into_iter().flatten().filter(delegates).map(Path::to_owned).collect()
}

/// Removes groups left behind by engines that were killed.
fn remove_orphans(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let engine = name.to_str().and_then(|name| name.strip_prefix(NAME)?.strip_prefix('-')?.split('-').next());
        if engine.is_some_and(|engine| !Path::new("/proc").join(engine).exists()) {
            // Fails if a process is still in the group, which is then kept.
            let _ = fs::remove_dir(entry.path());
        }
    }
}
