//! Resource use of runs over time: the file of `--monitor`, one JSON line a second.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::encoding::decode;
use crate::file_kind::NotText;

/// Resource use of a run over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MonitoredRun {
    /// Id of the run's sample.
    pub sample: Uuid,
    /// Executor processes.
    pub executors: u32,
    /// Task threads per executor.
    pub cores_per_executor: u32,
    /// Share of the images that the run processes.
    pub sampling_rate: f64,
    /// The moments in the order of the file.
    pub moments: Vec<ResourceUse>,
}

/// Resource use of a run at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// Time since the first image was handed out, seconds.
    pub secs: f64,
    /// Images finished per second since the previous moment.
    pub images_per_sec: f64,
    /// Processors in use by the executors.
    pub processors: f64,
    /// Resident memory of the executors, MiB.
    #[serde(default)]
    pub memory_mib: Option<u64>,
    /// The GPUs in the driver's order; empty if no driver reports their use.
    #[serde(default)]
    pub accelerators: Vec<AcceleratorMoment>,
}

/// Use of one GPU at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AcceleratorMoment {
    /// Share of the time with work, per cent.
    #[serde(default)]
    pub use_percent: Option<u32>,
    /// Memory in use, MiB.
    #[serde(default)]
    pub memory_used_mib: Option<u64>,
}

/// Why a monitor's file cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MonitorError {
    /// The file is not text.
    #[error("{0}; give a file that --monitor wrote")]
    NotText(NotText),
    /// The file holds no complete line.
    #[error("there are no moments in it; the run was shorter than a second")]
    Empty,
    /// A line cannot be read.
    #[error("line {line}: it is not a moment of --monitor ({reason})")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// The error in the line.
        reason: String,
    },
}

#[derive(Deserialize)]
struct Line {
    sample: Uuid,
    executors: u32,
    cores_per_executor: u32,
    sampling_rate: f64,
    #[serde(flatten)]
    moment: ResourceUse,
}

/// Returns whether the bytes are a file of `--monitor`, by the fields of the first line.
pub fn is_monitor(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(4096)];
    let line = start.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let line = line.and_then(|line| std::str::from_utf8(line).ok());
    let fields = line.and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    fields.is_some_and(|line| ["sample", "secs", "images_per_sec"].iter().all(|name| line.get(name).is_some()))
}

/// Reads a file of `--monitor` and groups its moments by run, in the order of the first moments.
///
/// Skips blank lines, and an incomplete last line, which a killed run leaves behind.
///
/// # Errors
/// [`MonitorError`]: the bytes are not text, or a line is not a moment.
pub fn read_monitor(bytes: &[u8]) -> Result<Vec<MonitoredRun>, MonitorError> {
    let text = decode(bytes).map_err(MonitorError::NotText)?;
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut runs: Vec<MonitoredRun> = Vec::new();
    for (line, content) in (1..).zip(complete.lines()).filter(|(_, content)| !content.trim().is_empty()) {
        let parsed: Line =
            serde_json::from_str(content).map_err(|error| MonitorError::Line { line, reason: error.to_string() })?;
        // Moments of a run follow each other, so a search from the last run is fast.
        match runs.iter_mut().rev().find(|run| run.sample == parsed.sample) {
            Some(run) => run.moments.push(parsed.moment),
            None => runs.push(MonitoredRun {
                sample: parsed.sample,
                executors: parsed.executors,
                cores_per_executor: parsed.cores_per_executor,
                sampling_rate: parsed.sampling_rate,
                moments: vec![parsed.moment],
            }),
        }
    }
    if runs.is_empty() { Err(MonitorError::Empty) } else { Ok(runs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(sample: u32, secs: f64) -> String {
        format!(
            r#"{{"secs":{secs},"images_per_sec":100.5,"processors":1.5,"memory_mib":64,"accelerators":[{{"use_percent":91,"memory_used_mib":2310,"processes":1,"is_throttled":false}}],"sample":"019aa6d1-0000-7000-8000-00000000000{sample}","executors":2,"cores_per_executor":4,"sampling_rate":0.1}}"#
        )
    }

    #[test]
    fn moments_are_grouped_by_run_and_an_unfinished_last_line_is_left_out() {
        let text = format!("{}\n{}\n\n{}\n{}", line(1, 1.0), line(1, 2.0), line(2, 1.0), &line(2, 2.0)[..40]);
        assert!(is_monitor(text.as_bytes()));
        let runs = read_monitor(text.as_bytes()).unwrap();
        assert_eq!(runs.iter().map(|run| run.moments.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!((runs[0].executors, runs[0].cores_per_executor, runs[0].sampling_rate), (2, 4, 0.1));
        let gpu = AcceleratorMoment { use_percent: Some(91), memory_used_mib: Some(2310) };
        assert_eq!((runs[0].moments[1].secs, &runs[0].moments[1].accelerators[..]), (2.0, &[gpu][..]));
    }

    #[test]
    fn other_files_are_not_taken_for_a_monitors() {
        assert!(!is_monitor(br#"{"schema":1,"id":"019aa6d1-0000-7000-8000-000000000001"}"#));
        assert!(!is_monitor(b"executors,cores\n1,2\n") && !is_monitor(b""));
        assert_eq!(read_monitor(b""), Err(MonitorError::Empty));
        let broken = format!("{}\n{{}}\n", line(1, 1.0));
        let error = read_monitor(broken.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("line 2: it is not a moment of --monitor (missing field"), "{error}");
        assert!(matches!(read_monitor(b"\x00\x01"), Err(MonitorError::NotText(NotText::Byte(0)))));
    }
}
