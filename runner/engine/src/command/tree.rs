//! Resource use of a program and all processes that it started, from the system's counters.

use std::fs;
use std::time::{Duration, Instant};

/// Sampling interval.
const PERIOD: Duration = Duration::from_millis(500);
/// Ticks per second in which Linux reports CPU time to user space (`USER_HZ`).
const TICKS_PER_SEC: f64 = 100.0;

/// Samples the resource use of a process and its descendants.
pub struct Tree {
    root: u32,
    looked: Instant,
    now: Use,
    peak_memory_mib: Option<u64>,
    processors_in_use: f64,
}

/// Resource use at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Use {
    /// CPU time so far, seconds.
    processor_secs: f64,
    /// Resident memory without mapped files, MiB.
    memory_mib: Option<u64>,
}

impl Tree {
    /// Watches a process.
    pub fn of(root: u32) -> Self {
        Self { root, looked: Instant::now(), now: Use::default(), peak_memory_mib: None, processors_in_use: 0.0 }
    }

    /// Takes a sample if the interval has passed.
    pub fn glance(&mut self) {
        if self.looked.elapsed() >= PERIOD {
            self.look();
        }
    }

    /// Takes a sample. A process that has ended, and whose status its parent has not read yet,
    /// still has its CPU time and that of its children.
    pub fn look(&mut self) {
        let before = self.now.processor_secs;
        let processes = descendants(self.root);
        let secs: f64 = processes.iter().filter_map(|process| processor_secs(*process)).sum();
        self.now = Use {
            // Of a process whose parent does not read its status, the time would be lost.
            processor_secs: secs.max(before),
            memory_mib: processes.iter().filter_map(|process| memory_mib(*process)).reduce(|a, b| a + b),
        };
        self.peak_memory_mib = self.peak_memory_mib.max(self.now.memory_mib);
        let elapsed = self.looked.elapsed().as_secs_f64().max(1e-3);
        self.processors_in_use = (self.now.processor_secs - before) / elapsed;
        self.looked = Instant::now();
    }

    /// Returns the CPU time so far, seconds.
    pub fn processor_secs(&self) -> f64 {
        self.now.processor_secs
    }

    /// Returns the mean number of processors used between the last two samples.
    pub fn processors_in_use(&self) -> f64 {
        self.processors_in_use
    }

    /// Returns the resident memory at the last sample, MiB.
    pub fn memory_mib(&self) -> Option<u64> {
        self.now.memory_mib
    }

    /// Returns the largest resident memory of all processes together, MiB.
    pub fn peak_memory_mib(&self) -> Option<u64> {
        self.peak_memory_mib
    }
}

/// Returns a process and its descendants.
fn descendants(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut next = 0;
    while let Some(process) = all.get(next).copied() {
        next += 1;
        for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    all
}

/// Returns the other processes of a process group that have not ended.
pub fn members(group: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_member = |process: &u32| {
        *process != group
            && fields(*process).is_some_and(|fields| {
                let [state, _, process_group, ..] = fields.as_slice() else { return false };
                process_group == &group.to_string() && !matches!(state.as_str(), "Z" | "X")
            })
    };
    numbers.filter(is_member).collect()
}

/// Returns the fields of `/proc/PID/stat` (proc(5)) from the third on, the state.
fn fields(process: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the name in parentheses, which may contain spaces and parentheses.
    Some(stat.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect())
}

/// Returns the CPU time of a process and of its children that have ended, seconds: fields 14 to 17.
fn processor_secs(process: u32) -> Option<f64> {
    let fields = fields(process)?;
    let ticks: f64 = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    Some(ticks / TICKS_PER_SEC)
}

fn memory_mib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some((kib("RssAnon")? + kib("RssShmem").unwrap_or(0)).div_ceil(1024))
}
