//! A process that Foreglow did not start.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Ticks per second in which Linux reports times to user space (`USER_HZ`).
const TICKS_PER_SEC: f64 = 100.0;

/// A running process: its number and its start, because a later process may have the number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningProcess {
    pid: u32,
    /// Start, ticks since the system started.
    started_ticks: u64,
}

impl RunningProcess {
    /// Finds a process; `None` without a process of this number, or without `/proc`.
    pub fn find(pid: u32) -> Option<Self> {
        Some(Self { pid, started_ticks: started_ticks(pid)? })
    }

    /// Returns whether the process still runs.
    pub fn is_running(self) -> bool {
        started_ticks(self.pid) == Some(self.started_ticks)
    }

    /// Returns the time since the process started.
    pub fn age(self) -> Option<Duration> {
        let uptime = fs::read_to_string("/proc/uptime").ok()?;
        let now: f64 = uptime.split(' ').next()?.parse().ok()?;
        Duration::try_from_secs_f64(now - self.started_ticks as f64 / TICKS_PER_SEC).ok()
    }

    /// Returns the regular files to which the process writes its output and its errors.
    pub fn output_files(self) -> Vec<PathBuf> {
        let file = |stream: u8| fs::read_link(Path::new(&format!("/proc/{}/fd/{stream}", self.pid))).ok();
        let mut files: Vec<PathBuf> = [1, 2].into_iter().filter_map(file).filter(|path| path.is_file()).collect();
        files.dedup();
        files
    }
}

/// Returns the start of a process: field 22 of `/proc/PID/stat` (proc(5)). A process that has ended
/// and whose parent has not read its status is in state `Z` or `X`.
fn started_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses, which may contain spaces and parentheses.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_with_its_age_and_its_output() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .stdout(fs::File::create(&log).unwrap())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let process = RunningProcess::find(child.id()).unwrap();
        assert!(process.is_running() && process.age().unwrap() < Duration::from_secs(60), "{:?}", process.age());
        assert_eq!(process.output_files(), [log.canonicalize().unwrap()]);
        child.kill().unwrap();
        // Its status is not read yet.
        let patience = std::time::Instant::now() + Duration::from_secs(20);
        while process.is_running() && std::time::Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!process.is_running());
        child.wait().unwrap();
        assert_eq!(RunningProcess::find(child.id()), None);
        assert_eq!(RunningProcess::find(u32::MAX), None);
    }
}
