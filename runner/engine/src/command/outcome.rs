//! Outcome of a program that ended by itself.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use foreglow_machine::bounds;
use foreglow_shared::{Configuration, Outcome};

use super::process::End;
use crate::run_result::RunResult;

/// Exit code of a shell whose command was killed: 128 and the number of SIGKILL.
const KILLED: i32 = 137;
const SIGKILL: i32 = 9;
/// Words, in lower case, with which a GPU's software says that its memory is exhausted.
const OF_ACCELERATOR: [&str; 7] = [
    "cuda out of memory",
    "cuda error: out of memory",
    "hip out of memory",
    "xpu out of memory",
    "outofmemoryerror",
    "cudaerrormemoryallocation",
    "cublas_status_alloc_failed",
];
/// Words, in lower case, of languages and libraries whose allocation failed.
const OF_PROCESS: [&str; 5] = ["memoryerror", "std::bad_alloc", "resource_exhausted", "java heap space", "oom-kill"];
/// Words, in lower case, of programs that need what Foreglow does not give them, with the remark.
const REMARKS: [(&str, &str); 4] = [
    ("eoferror", "its input is closed: a program that asks questions must get its answers as arguments"),
    ("eof when reading", "its input is closed: a program that asks questions must get its answers as arguments"),
    ("not a tty", "it needs a terminal, and gets none: run it with `script -qc`, or without its screen"),
    ("inappropriate ioctl", "it needs a terminal, and gets none: run it with `script -qc`, or without its screen"),
];

/// Returns the end of a run whose program ended by itself after a time, seconds.
pub fn of(end: &End, name: &str, configuration: &Configuration, secs: f64) -> RunResult {
    match end.status {
        Some(status) if status.success() => RunResult::new(Outcome::Completed, Some(secs), None),
        status => failure(end, status, name, configuration),
    }
}

fn failure(end: &End, status: Option<ExitStatus>, name: &str, configuration: &Configuration) -> RunResult {
    let how = status.map_or_else(|| "without a status".to_owned(), |status| status.to_string());
    let lower: Vec<String> = end.last_lines.iter().map(|line| line.to_ascii_lowercase()).collect();
    let find = |signs: &[&str]| lower.iter().rposition(|line| signs.iter().any(|sign| line.contains(sign)));
    let of_accelerator = find(&OF_ACCELERATOR);
    let of_process = find(&OF_PROCESS).or_else(|| lower.iter().rposition(|line| bounds::is_out_of_memory(line)));
    let is_killed = status.is_some_and(|status| status.code() == Some(KILLED) || status.signal() == Some(SIGKILL));
    let is_out_of_memory = end.is_out_of_memory || is_killed || of_accelerator.or(of_process).is_some();
    // A line about memory is the most informative, because a traceback may follow it.
    let telling = of_accelerator.or(of_process).or(lower.len().checked_sub(1)).map(|place| &end.last_lines[place]);
    let said =
        telling.map_or_else(|| "it printed nothing".to_owned(), |line| format!("its output says: {}", line.trim()));
    let remark = REMARKS.iter().find(|(sign, _)| lower.iter().any(|line| line.contains(sign)));
    let remark = remark.map_or_else(String::new, |(_, remark)| format!("; {remark}"));
    if !is_out_of_memory {
        return RunResult::new(Outcome::Failed, None, Some(format!("{name} failed ({how}); {said}{remark}")));
    }
    let is_of_accelerator = of_accelerator.is_some() && !end.is_out_of_memory;
    let whose = match (&configuration.accelerator, is_of_accelerator) {
        (Some(gpu), true) => format!("the memory of the GPU ({gpu}) is not enough"),
        (None, true) => "the memory of the GPU is not enough".to_owned(),
        (_, false) => "the memory of the program is not enough".to_owned(),
    };
    let ending = RunResult::new(Outcome::OutOfMemory, None, Some(format!("{whose}: {name} ended ({how}); {said}")));
    RunResult { is_of_accelerator, ..ending }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(wait_status: i32, lines: &[&str]) -> RunResult {
        let configuration = serde_json::from_str(
            r#"{"executors":1,"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":1,"accelerator":"A10G"}"#,
        );
        let status = Some(ExitStatus::from_raw(wait_status));
        let last_lines = lines.iter().map(|line| (*line).to_owned()).collect();
        of(&End { status, last_lines, ..End::default() }, "train.py", &configuration.unwrap(), 2.5)
    }

    #[test]
    fn a_program_completes_fails_or_runs_out_of_memory() {
        for (status, lines, outcome, reason) in [
            (0, &["done"][..], Outcome::Completed, None),
            (1 << 8, &["Traceback", "ValueError: bad"], Outcome::Failed, Some("says: ValueError: bad")),
            (2 << 8, &[], Outcome::Failed, Some("(exit status: 2); it printed nothing")),
            (1 << 8, &["EOFError: EOF when reading a line"], Outcome::Failed, Some("; its input is closed")),
            (1 << 8, &["the input device is not a TTY"], Outcome::Failed, Some("; it needs a terminal")),
            (1 << 8, &["MemoryError", "bye"], Outcome::OutOfMemory, Some("memory of the program is not enough")),
            (137 << 8, &[], Outcome::OutOfMemory, Some("memory of the program")),
            (9, &["step 3"], Outcome::OutOfMemory, Some("memory of the program")),
            (
                1 << 8,
                &["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "terminated"],
                Outcome::OutOfMemory,
                Some(
                    "the memory of the GPU (A10G) is not enough: train.py ended (exit status: 1); its output says: torch",
                ),
            ),
        ] {
            let ending = end(status, lines);
            assert_eq!(ending.outcome, outcome, "{status} {lines:?}");
            let said = ending.reason.clone().unwrap_or_default();
            assert!(reason.is_none_or(|reason| said.contains(reason)), "{said}");
            assert_eq!(ending.completion_time_secs, (outcome == Outcome::Completed).then_some(2.5));
        }
        assert!(end(1 << 8, &["CUDA out of memory"]).is_of_accelerator);
        assert!(!end(137 << 8, &[]).is_of_accelerator);
    }
}
