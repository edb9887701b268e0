//! Resource use of running executors, from the system's counters.

use std::time::{Duration, Instant};

/// Sampling interval.
const PERIOD: Duration = Duration::from_millis(250);
/// Ticks per second in which Linux reports CPU time to user space (`USER_HZ`).
const TICKS_PER_SEC: f64 = 100.0;

/// Resource use of an executor so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Peak resident memory of the process, MiB, without the page cache.
    pub peak_memory_mib: Option<u64>,
    /// CPU time, seconds.
    pub processor_secs: f64,
}

/// Samples the resource use of processes.
pub struct Watch {
    processes: Vec<u32>,
    usages: Vec<Usage>,
    looked: Instant,
    processors_in_use: f64,
}

impl Watch {
    /// Watches these processes.
    pub fn new(processes: Vec<u32>) -> Self {
        let usages = vec![Usage::default(); processes.len()];
        Self { usages, processes, looked: Instant::now(), processors_in_use: 0.0 }
    }

    /// Takes a sample if the interval has passed.
    pub fn glance(&mut self) {
        if self.looked.elapsed() >= PERIOD {
            self.look();
        }
    }

    /// Takes a sample. The last values of processes that have ended are kept.
    pub fn look(&mut self) {
        let before = self.processor_secs();
        for (process, usage) in self.processes.iter().zip(&mut self.usages) {
            usage.peak_memory_mib = usage.peak_memory_mib.max(peak_memory_mib(*process));
            usage.processor_secs = processor_secs(*process).unwrap_or(0.0).max(usage.processor_secs);
        }
        let secs = self.looked.elapsed().as_secs_f64().max(1e-3);
        self.processors_in_use = (self.processor_secs() - before) / secs;
        self.looked = Instant::now();
    }

    /// Returns the CPU time of all processes, seconds.
    pub fn processor_secs(&self) -> f64 {
        self.usages.iter().map(|usage| usage.processor_secs).sum()
    }

    /// Returns the mean number of processors used between the last two samples.
    pub fn processors_in_use(&self) -> f64 {
        self.processors_in_use
    }

    /// Returns the resident memory of all processes now, MiB; `None` if the system does not report
    /// it.
    pub fn memory_mib(&self) -> Option<u64> {
        self.processes.iter().filter_map(|process| resident_memory_mib(*process)).reduce(|a, b| a + b)
    }

    /// Records the peak memory that a process reports itself, MiB.
    pub fn note(&mut self, process: usize, peak_memory_mib: Option<u64>) {
        self.usages[process].peak_memory_mib = self.usages[process].peak_memory_mib.max(peak_memory_mib);
    }

    /// Returns the resource use of each process.
    pub fn usages(&self) -> &[Usage] {
        &self.usages
    }
}

fn peak_memory_mib(process: u32) -> Option<u64> {
    foreglow_machine::bounds::peak_memory_mib(&process.to_string())
}

fn resident_memory_mib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? >> 10)
}

/// Returns the CPU time of a process and its threads, seconds: fields 14 and 15 of `/proc/PID/stat`
/// (proc(5)).
fn processor_secs(process: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the name in parentheses, which may contain spaces and parentheses.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SEC)
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
