//! Ways in which a run ends early.

use std::time::Duration;

use foreglow_machine::bounds::is_out_of_memory;
use foreglow_protocol::Report;
use foreglow_shared::{Configuration, ExceededMemory, Outcome};

use super::executor_pool::{End, Event, ExecutorPool};

/// Outcome of a run in its sample.
pub struct RunResult {
    pub outcome: Outcome,
    /// A lower bound if the run timed out.
    pub completion_time_secs: Option<f64>,
    pub reason: Option<String>,
    /// Whether the run exceeded the memory of its accelerator instead of an executor's.
    pub is_of_accelerator: bool,
}

impl RunResult {
    pub fn new(outcome: Outcome, completion_time_secs: Option<f64>, reason: Option<String>) -> Self {
        Self { outcome, completion_time_secs, reason, is_of_accelerator: false }
    }

    /// Returns the exceeded memory; `None` if the run did not run
    /// out of memory.
    pub fn exceeded_memory(&self) -> Option<ExceededMemory> {
        let whose = if self.is_of_accelerator { ExceededMemory::Accelerator } else { ExceededMemory::Executor };
        (self.outcome == Outcome::OutOfMemory).then_some(whose)
    }
}

/// Reason to stop a run.
pub enum Stop {
    /// The user interrupted the command; there is no sample.
    Interrupted,
    /// The run has ended with an outcome.
    Ended(RunResult),
}

/// Ends the run for a reason that is independent of the configuration.
pub fn failed(reason: String) -> Stop {
    Stop::Ended(RunResult::new(Outcome::Failed, None, Some(reason)))
}

/// Ends the run at its timeout.
pub fn timed_out(timeout: Duration) -> Stop {
    let secs = timeout.as_secs_f64();
    Stop::Ended(RunResult::new(Outcome::TimedOut, Some(secs), Some(format!("not finished after {secs} s"))))
}

/// Ends the run because of an unexpected event of an executor.
pub fn unexpected(configuration: &Configuration, pool: &mut ExecutorPool, executor: usize, event: Event) -> Stop {
    let named = format!("executor {} of {}", executor + 1, configuration.executors);
    match event {
        Event::Report(Report::Failed { reason, .. }) if is_out_of_memory(&reason) => {
            out_of_memory(configuration, &reason, false)
        }
        Event::Report(Report::Failed { reason, .. }) => failed(reason),
        Event::Gone => {
            let end = pool.end_of(executor);
            let reason = format!("{named} {}", describe(&end));
            let is_out_of_memory = end.is_out_of_memory || is_out_of_memory(&reason);
            if is_out_of_memory { out_of_memory(configuration, &reason, end.is_out_of_memory) } else { failed(reason) }
        }
        Event::Report(other) => failed(format!("{named} sent an unexpected message: {other:?}")),
        Event::Garbled(line) => failed(format!("{named} sent an invalid report: {line}")),
    }
}

/// Ends the run because an executor ran out of memory: its own if the system ended it for that,
/// otherwise possibly its GPU's.
fn out_of_memory(configuration: &Configuration, reason: &str, by_system: bool) -> Stop {
    let memory_mib = configuration.memory_per_executor_mib;
    let accelerator = configuration.accelerator.as_ref().filter(|_| !by_system);
    let whose = match accelerator {
        Some(name) => {
            format!("the memory of the GPU ({name}) is not enough; use a smaller --batch-size or fewer --cores")
        }
        None => format!("an executor needs more than its {memory_mib} MiB"),
    };
    let ending = RunResult::new(Outcome::OutOfMemory, None, Some(format!("{whose}: {reason}")));
    Stop::Ended(RunResult { is_of_accelerator: accelerator.is_some(), ..ending })
}

fn describe(end: &End) -> String {
    let how = end.status.map_or_else(|| "without a status".to_owned(), |status| status.to_string());
    if end.is_out_of_memory {
        return format!("was killed by the system for exceeding its memory ({how})");
    }
    // A line about memory is the most informative, because a backtrace may follow it.
    let telling = end.last_words.iter().rev().find(|line| is_out_of_memory(line)).or_else(|| end.last_words.last());
    telling.map_or_else(|| format!("ended early ({how})"), |line| format!("ended early ({how}): {line}"))
}
