//! Control groups of this process, and the CPU quota that a container or a service has by them.
//!
//! Sources: Linux, Documentation/scheduler/sched-bwc.rst (version 1) and
//! Documentation/admin-guide/cgroup-v2.rst.

use std::fs;
use std::path::{Path, PathBuf};

/// Version of the kernel's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One tree for each controller.
    One,
    /// One tree for all controllers.
    Two,
}

/// Returns the folder of this process's group. In version 1 it is the group in the tree of the
/// controller.
pub fn own_group(version: Version, controller: &str) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    group_in(version, controller, &mounts, &groups)
}

/// Limit of a group on the CPU time of its processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// Processors that it allows, such as 0.25.
    pub processors: f64,
    folder: PathBuf,
}

/// Periods of a quota since its group exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    /// All of them.
    pub all: u64,
    /// Those in which the group used up its quota.
    pub throttled: u64,
}

impl Quota {
    /// Returns the smallest quota that this process has; `None` without one.
    pub fn of_this_process() -> Option<Self> {
        let of = |version| Self::of_group(version, &own_group(version, "cpu")?);
        smallest([Version::Two, Version::One].into_iter().filter_map(of))
    }

    /// Returns the smallest quota of a group and of those above it.
    fn of_group(version: Version, folder: &Path) -> Option<Self> {
        let of = |folder: &Path| Some(Self { processors: processors_of(version, folder)?, folder: folder.to_owned() });
        smallest(folder.ancestors().filter_map(of))
    }

    /// Returns the share of a processor that a core has: `None` if the quota is at least one.
    pub fn core_share(&self) -> Option<f64> {
        Some(self.processors).filter(|share| *share < 1.0)
    }

    /// Returns the periods so far; `None` if the system does not count them.
    pub fn periods(&self) -> Option<Periods> {
        Periods::of(&self.folder)
    }
}

impl Periods {
    /// Reads the periods of the quota of a group.
    pub fn of(folder: &Path) -> Option<Self> {
        let stat = fs::read_to_string(folder.join("cpu.stat")).ok()?;
        let count = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self { all: count("nr_periods ")?, throttled: count("nr_throttled ")? })
    }

    /// Returns the periods since an earlier moment.
    pub fn since(self, earlier: Self) -> Self {
        let (all, throttled) = (self.all.saturating_sub(earlier.all), self.throttled.saturating_sub(earlier.throttled));
        Self { all, throttled }
    }

    /// Returns the share of the periods in which the group used up its quota.
    pub fn throttled_share(self) -> Option<f64> {
        (self.all > 0).then(|| self.throttled as f64 / self.all as f64)
    }
}

fn smallest(quotas: impl Iterator<Item = Quota>) -> Option<Quota> {
    quotas.min_by(|one, other| one.processors.total_cmp(&other.processors))
}

fn processors_of(version: Version, folder: &Path) -> Option<f64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let (quota, period) = match version {
        Version::One => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
        Version::Two => {
            read("cpu.max")?.split_once(' ').map(|(quota, period)| (quota.to_owned(), period.to_owned()))?
        }
    };
    // Without a quota it is `max` or -1.
    let (quota, period) = (quota.trim().parse::<f64>().ok()?, period.trim().parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Returns the folder of a process's group from its `mountinfo` and `cgroup`.
fn group_in(version: Version, controller: &str, mounts: &str, groups: &str) -> Option<PathBuf> {
    let has_controller = |list: &str| list.split(',').any(|name| name == controller);
    let path = groups.lines().find_map(|line| match version {
        Version::Two => line.strip_prefix("0::"),
        Version::One => {
            let mut fields = line.splitn(3, ':').skip(1);
            fields.next().filter(|list| has_controller(list)).and(fields.next())
        }
    })?;
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, folder) = (fields.next()?, fields.next()?);
        let below = Path::new(path).strip_prefix(root).ok()?;
        let mut system = system.split(' ');
        let is_this = match (version, system.next()?) {
            (Version::Two, "cgroup2") => true,
            (Version::One, "cgroup") => has_controller(system.nth(1)?),
            _ => false,
        };
        is_this.then(|| Path::new(folder).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_this_process_is_found_below_its_mount() {
        let mounts = "24 1 0:22 / /proc rw - proc proc rw\n\
                      31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let session = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/shell.scope\n";
        let folder = group_in(Version::Two, "memory", mounts, session).unwrap();
        assert_eq!(
            folder,
            Path::new("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/shell.scope")
        );
        let hybrid = "40 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            group_in(Version::Two, "memory", hybrid, "4:memory:/a\n0::/\n").unwrap(),
            Path::new("/sys/fs/cgroup/unified/")
        );
        let part = "40 31 0:33 /docker/a /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
        assert_eq!(group_in(Version::Two, "memory", part, "0::/docker/a/b\n").unwrap(), Path::new("/sys/fs/cgroup/b"));
        assert_eq!(group_in(Version::Two, "memory", part, "0::/elsewhere\n"), None);
        assert_eq!(group_in(Version::Two, "memory", "31 24 0:27 / /sys rw - sysfs sysfs rw\n", session), None);
        assert_eq!(group_in(Version::Two, "memory", mounts, "4:memory:/a\n"), None, "cgroup v1 alone");
    }

    #[test]
    fn version_1_has_a_tree_for_each_controller() {
        let mounts = "33 32 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      34 32 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
        let groups = "3:cpuset:/\n2:cpu,cpuacct:/jobs/a\n0::/\n";
        let own = |controller| group_in(Version::One, controller, mounts, groups);
        assert_eq!(own("cpu").unwrap(), Path::new("/sys/fs/cgroup/cpu,cpuacct/jobs/a"));
        assert_eq!(own("cpuset").unwrap(), Path::new("/sys/fs/cgroup/cpuset/"));
        assert_eq!(own("memory"), None);
    }

    fn files(folder: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(folder).unwrap();
        files.iter().for_each(|(name, content)| fs::write(folder.join(name), content).unwrap());
    }

    #[test]
    fn the_smallest_quota_among_a_group_and_those_above_it_limits_its_processes() {
        let root = tempfile::tempdir().unwrap();
        let pod = root.path().join("kubepods/pod");
        files(&pod.join("container"), &[("cpu.max", "max 100000\n")]);
        assert_eq!(Quota::of_group(Version::Two, &pod.join("container")), None);
        files(&pod, &[("cpu.max", "25000 100000\n"), ("cpu.stat", "usage_usec 9\nnr_periods 40\nnr_throttled 10\n")]);
        files(&root.path().join("kubepods"), &[("cpu.max", "150000 100000\n")]);
        let quota = Quota::of_group(Version::Two, &pod.join("container")).unwrap();
        assert_eq!((quota.processors, quota.core_share()), (0.25, Some(0.25)));
        assert_eq!(quota.periods().unwrap().throttled_share(), Some(0.25));
        let kubepods = Quota::of_group(Version::Two, &root.path().join("kubepods")).unwrap();
        assert_eq!((kubepods.processors, kubepods.core_share()), (1.5, None), "a core is a whole processor");
    }

    #[test]
    fn a_quota_of_version_1_has_two_files_and_minus_one_for_none() {
        let root = tempfile::tempdir().unwrap();
        let job = root.path().join("jobs/a");
        files(&job, &[("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")]);
        assert_eq!(Quota::of_group(Version::One, &job), None);
        files(&job, &[("cpu.cfs_quota_us", "5000\n"), ("cpu.cfs_period_us", "10000\n")]);
        assert_eq!(Quota::of_group(Version::One, &job).unwrap().processors, 0.5);
        files(&job, &[("cpu.cfs_quota_us", "12\n"), ("cpu.cfs_period_us", "0\n")]);
        assert_eq!(Quota::of_group(Version::One, &job), None);
    }
}
