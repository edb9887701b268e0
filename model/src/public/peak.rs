//! Peaks of the memory of a GPU that the user measured.

use std::fmt;
use std::str::FromStr;

use foreglow_shared::{Outcome, Sample, number};

use super::own_runs::batch_size;
use crate::MemoryRun;

/// Bytes in a MiB.
const BYTES_PER_MIB: f64 = 1_048_576.0;
/// MiB in a GiB.
const MIB_PER_GIB: f64 = 1024.0;
/// Largest memory that is read, MiB.
const MOST_MIB: f64 = 1e7;

/// The peak of a GPU's memory with a batch of the job, in its number format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPeak {
    /// Images of a step on one GPU.
    pub batch_size: u32,
    /// Largest memory that was used on the GPU, MiB.
    pub mib: u32,
}

impl OwnPeak {
    /// Returns the peak that a run recorded: of a completed run with at most one executor on a GPU,
    /// the largest memory that was used on one. The memory of other programs on the GPU, and what
    /// the framework's allocator reserves, are part of it.
    pub fn of(sample: &Sample) -> Option<Self> {
        let accelerators = sample.extra.get("usage")?.get("accelerators")?.as_array()?;
        let is_alone = sample.configuration.executors as usize <= accelerators.len();
        let is_whole = sample.outcome == Outcome::Completed && sample.configuration.accelerator.is_some() && is_alone;
        let used = accelerators.iter().filter_map(|one| one.get("memory_used_mib")?.get("max")?.as_f64());
        let mib = used.fold(0.0, f64::max);
        let batch_size = batch_size(&sample.workload)?;
        (is_whole && mib >= 1.0).then_some(Self { batch_size, mib: mib.min(MOST_MIB) as u32 })
    }

    /// Returns the peak as a run from which the memory of other batches follows.
    pub fn run(self) -> MemoryRun {
        MemoryRun::Completed { batch: self.batch_size.into(), peak_bytes: f64::from(self.mib) * BYTES_PER_MIB }
    }
}

/// Parses `64=9.5GiB` and `64=9728MiB`.
impl FromStr for OwnPeak {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a batch and the memory of a GPU that it used, such as 64=9.5GiB or 64=9728MiB".to_owned();
        let (batch, size) = text.split_once('=').ok_or_else(wrong)?;
        let size = size.trim().to_ascii_lowercase();
        let unit = size.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(size.len());
        let (size, unit) = size.split_at(unit);
        let factor = match unit {
            "m" | "mb" | "mib" => 1.0,
            "g" | "gb" | "gib" => MIB_PER_GIB,
            _ => return Err(wrong()),
        };
        let batch_size = batch.trim().parse::<u32>().ok().filter(|batch| *batch > 0).ok_or_else(wrong)?;
        let mib = number(size.trim()).map(|size| size * factor).filter(|mib| (1.0..=MOST_MIB).contains(mib));
        Ok(Self { batch_size, mib: mib.ok_or_else(wrong)?.round() as u32 })
    }
}

/// Writes what [`OwnPeak::from_str`] reads.
impl fmt::Display for OwnPeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}MiB", self.batch_size, self.mib)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run on a GPU with this outcome, number of executors and memory in use.
    fn sample(outcome: &str, executors: u32, used: &str) -> Sample {
        let text = format!(
            r#"{{"schema":1,"id":"019aa6d1-0000-7000-8000-000000000001","workload":{{"model":"train.py","mode":"training",
            "image_px":224,"images":1000,"epochs":1,"batch_size":64}},"configuration":{{"executors":{executors},
            "cores_per_executor":4,"memory_per_executor_mib":4096,"partition_size":64,"accelerator":"L4"}},
            "sampling_rate":0.1,"outcome":"{outcome}","completion_time_secs":12.4,"startup_secs":1.9,"engine":"local",
            "runner_version":"0.1.0","host":{{"cpu":"a","processors":4,"accelerators":[]}},
            "started_at":"2026-11-21T10:00:00Z","usage":{{"accelerators":[{{"memory_used_mib":{used}}}]}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_completed_run_alone_on_its_gpu_has_the_largest_memory_that_it_used() {
        let used = r#"{"mean":9000.0,"max":9728.5}"#;
        assert_eq!(OwnPeak::of(&sample("completed", 1, used)), Some(OwnPeak { batch_size: 64, mib: 9728 }));
        // Two executors share the GPU; a run that failed; a driver without this figure.
        assert_eq!(OwnPeak::of(&sample("completed", 2, used)), None);
        assert_eq!(OwnPeak::of(&sample("failed", 1, used)), None);
        assert_eq!(OwnPeak::of(&sample("completed", 1, "null")), None);
    }

    #[test]
    fn a_peak_has_a_batch_and_a_memory() {
        for (text, mib) in [("64=9.5GiB", 9728), ("64 = 9728MiB", 9728), ("64=9.3g", 9523)] {
            let peak = OwnPeak { batch_size: 64, mib };
            assert_eq!(text.parse(), Ok(peak));
            assert_eq!(peak.to_string().parse(), Ok(peak));
        }
        for wrong in ["64", "64=", "0=9GiB", "64=9", "64=9TiB", "x=9GiB", "64=-1GiB", "64=1e30GiB", "64=0.1MiB"] {
            assert!(wrong.parse::<OwnPeak>().is_err(), "{wrong}");
        }
    }
}
