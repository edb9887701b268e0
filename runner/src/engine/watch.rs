//! What executors use while they run, as the system counts it.

use std::time::{Duration, Instant};

/// How often the system is asked.
const PERIOD: Duration = Duration::from_millis(250);
/// Units in which Linux counts processor time for programs, each second (`USER_HZ`).
const TICKS_PER_SEC: f64 = 100.0;

/// What an executor has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Most memory that the process has held, MiB (resident; files that the system may forget are no part of it).
    pub peak_memory_mib: Option<u64>,
    /// Processor time, seconds.
    pub processor_secs: f64,
}

/// Looks at processes now and then.
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

    /// Looks where it is time to.
    pub fn glance(&mut self) {
        if self.looked.elapsed() >= PERIOD {
            self.look();
        }
    }

    /// Looks. What is known of a process that has ended stays.
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

    /// Processor time of all processes, seconds.
    pub fn processor_secs(&self) -> f64 {
        self.usages.iter().map(|usage| usage.processor_secs).sum()
    }

    /// Processors that all processes had between the last two looks.
    pub fn processors_in_use(&self) -> f64 {
        self.processors_in_use
    }

    /// Returns the resident memory of all processes now, MiB; `None` if the system does not tell it.
    pub fn memory_mib(&self) -> Option<u64> {
        self.processes.iter().filter_map(|process| resident_memory_mib(*process)).reduce(|a, b| a + b)
    }

    /// Notes what a process says of its own peak, MiB.
    pub fn note(&mut self, process: usize, peak_memory_mib: Option<u64>) {
        self.usages[process].peak_memory_mib = self.usages[process].peak_memory_mib.max(peak_memory_mib);
    }

    /// What each process has used, as far as it is known.
    pub fn usages(&self) -> &[Usage] {
        &self.usages
    }
}

fn peak_memory_mib(process: u32) -> Option<u64> {
    crate::executor::peak_memory_mib(&process.to_string())
}

fn resident_memory_mib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? >> 10)
}

/// Processor time of a process and its threads, seconds: fields 14 and 15 of `/proc/PID/stat` (proc(5)).
fn processor_secs(process: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the name, in brackets, with whatever is in a name.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SEC)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_and_processor_time_of_a_process_are_counted() {
        let own = std::process::id();
        let mut watch = Watch::new(vec![own, u32::MAX]);
        let before = processor_secs(own).unwrap();
        // However busy the machine is, the work takes some time of a processor in the end.
        let patience = Instant::now() + Duration::from_secs(60);
        while processor_secs(own).unwrap() < before + 0.03 {
            assert!(Instant::now() < patience);
            std::hint::black_box((0..10_000_u64).sum::<u64>());
        }
        watch.look();
        let usage = watch.usages()[0];
        assert!(usage.peak_memory_mib.unwrap() > 0 && usage.processor_secs >= before + 0.03, "{usage:?}");
        assert_eq!(watch.usages()[1], Usage::default(), "there is no such process");
        assert_eq!(watch.processor_secs(), usage.processor_secs);
        assert!(watch.processors_in_use() > 0.0);
        assert!(watch.memory_mib() > Some(0), "of the process that is there");
        watch.note(1, Some(7));
        watch.note(1, Some(3));
        watch.look();
        assert_eq!(watch.usages()[1].peak_memory_mib, Some(7));
    }
}
