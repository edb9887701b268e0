//! Slow cores: a CPU quota of the kernel limits the task threads of an executor to a share of a
//! processor each.
//!
//! Sources: Linux, Documentation/scheduler/sched-bwc.rst (cgroup v1) and
//! Documentation/admin-guide/cgroup-v2.rst.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use foreglow_machine::control_group::{Periods, Quota, Version};

use super::control_group::{ControlGroup, parents};

/// Period in which a group may use its quota, microseconds. A group uses its quota at the start of
/// a period. With a long period, a short run would be faster than the quota allows.
const PERIOD_MICROS: f64 = 10_000.0;
/// The kernel's smallest quota, microseconds; small quotas get a longer period.
const SMALLEST_QUOTA_MICROS: f64 = 1_000.0;

/// Factor of the group's weight. With a high weight, other programs on a busy machine do not keep
/// an executor below its quota.
const WEIGHT: u64 = 64;

/// A CPU quota around one executor, without effect until [`CpuQuota::enforce`].
pub struct CpuQuota {
    folder: PathBuf,
    version: Version,
    processors: f64,
    /// Removed after the executor has ended; `None` if the executor's memory group has the quota.
    _group: Option<ControlGroup>,
}

impl CpuQuota {
    /// Prepares a quota of `processors` processors, such as 0.2, around a process. `memory` is the
    /// current group of the process, because with cgroup v2 a process cannot be in a second one.
    ///
    /// # Errors
    /// This user has no permission to set quotas.
    pub fn around(process: u32, processors: f64, memory: Option<&ControlGroup>) -> io::Result<Self> {
        if let Some(folder) = memory.map(ControlGroup::folder).filter(|folder| folder.join("cpu.max").exists()) {
            return Ok(Self { folder: folder.to_owned(), version: Version::Two, processors, _group: None });
        }
        let mut refused = io::Error::from(io::ErrorKind::Unsupported);
        for (version, parent) in quota_parents(memory.is_some()) {
            match ControlGroup::below(&parent, process, &[]) {
                Ok(group) => {
                    let folder = group.folder().to_owned();
                    return Ok(Self { folder, version, processors, _group: Some(group) });
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Starts to enforce the quota, or lifts it. The executor gets a high weight among programs.
    ///
    /// # Errors
    /// The system does not accept the quota.
    pub fn enforce(&self, is_enforced: bool) -> io::Result<()> {
        let weighed = match self.version {
            Version::One => fs::write(self.folder.join("cpu.shares"), (1024 * WEIGHT).to_string()),
            Version::Two => fs::write(self.folder.join("cpu.weight"), (100 * WEIGHT).to_string()),
        };
        // The quota also works without the weight, except that a busy machine slows the run.
        drop(weighed);
        let period = PERIOD_MICROS.max(SMALLEST_QUOTA_MICROS / self.processors).ceil() as u64;
        let quota = (self.processors * period as f64).round() as u64;
        match self.version {
            Version::One => {
                fs::write(self.folder.join("cpu.cfs_period_us"), period.to_string())?;
                let quota = if is_enforced { quota.to_string() } else { "-1".to_owned() };
                fs::write(self.folder.join("cpu.cfs_quota_us"), quota)
            }
            Version::Two => {
                let quota = if is_enforced { quota.to_string() } else { "max".to_owned() };
                fs::write(self.folder.join("cpu.max"), format!("{quota} {period}"))
            }
        }
    }

    /// Returns the share of the periods so far in which the executor used up its quota; `None` if
    /// unknown.
    pub fn used_up(&self) -> Option<f64> {
        Periods::of(&self.folder)?.throttled_share()
    }
}

/// Returns whether this user can set CPU quotas on this system: not where this process has less
/// than a processor, which is no whole core to divide.
pub fn is_allowed() -> bool {
    if Quota::of_this_process().is_some_and(|quota| quota.core_share().is_some()) {
        return false;
    }
    let is_writable = |parent: &Path| fs::OpenOptions::new().write(true).open(parent.join("cgroup.procs")).is_ok();
    quota_parents(false).iter().any(|(_, parent)| is_writable(parent))
}

/// Returns the groups whose children can have quotas. `is_in_v2` excludes those of version 2.
fn quota_parents(is_in_v2: bool) -> Vec<(Version, PathBuf)> {
    let versions = if is_in_v2 { &[Version::One][..] } else { &[Version::Two, Version::One] };
    versions.iter().flat_map(|version| parents(*version, "cpu").into_iter().map(|parent| (*version, parent))).collect()
}
