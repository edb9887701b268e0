//! How a run ends otherwise than by its last result.

use std::time::Duration;

use foreglow_shared::{Configuration, Outcome};

use super::fleet::{End, Event, Fleet};
use crate::executor::is_out_of_memory;
use crate::executor::protocol::Report;

/// What the sample says of an end.
pub struct Ending {
    pub outcome: Outcome,
    /// A lower bound where the run timed out.
    pub completion_time_secs: Option<f64>,
    pub reason: Option<String>,
}

/// Why a run goes no further.
pub enum Stop {
    /// Somebody wants the command to end: there is no sample.
    Interrupted,
    /// The run itself has ended.
    Ended(Ending),
}

/// An end for a reason that says nothing of the configuration.
pub fn failed(reason: String) -> Stop {
    Stop::Ended(Ending { outcome: Outcome::Failed, completion_time_secs: None, reason: Some(reason) })
}

/// An end at the limit of the time.
pub fn timed_out(timeout: Duration) -> Stop {
    let secs = timeout.as_secs_f64();
    Stop::Ended(Ending {
        outcome: Outcome::TimedOut,
        completion_time_secs: Some(secs),
        reason: Some(format!("not finished after {secs} s")),
    })
}

/// An end by something that an executor should not have said or done.
pub fn unexpected(configuration: &Configuration, fleet: &mut Fleet, executor: usize, event: Event) -> Stop {
    let named = format!("executor {} of {}", executor + 1, configuration.executors);
    match event {
        Event::Report(Report::Failed { reason, .. }) if is_out_of_memory(&reason) => {
            out_of_memory(configuration, &reason, false)
        }
        Event::Report(Report::Failed { reason, .. }) => failed(reason),
        Event::Gone => {
            let end = fleet.end_of(executor);
            let reason = format!("{named} {}", describe(&end));
            let is_out_of_memory = end.is_out_of_memory || is_out_of_memory(&reason);
            if is_out_of_memory { out_of_memory(configuration, &reason, end.is_out_of_memory) } else { failed(reason) }
        }
        Event::Report(other) => failed(format!("{named} said {other:?} out of turn")),
        Event::Garbled(line) => failed(format!("{named} said what is no report: {line}")),
    }
}

/// An executor ran out of its own memory or, unless the system ended it for that, of its GPU's.
fn out_of_memory(configuration: &Configuration, reason: &str, by_system: bool) -> Stop {
    let memory_mib = configuration.memory_per_executor_mib;
    let whose = match &configuration.accelerator {
        Some(name) if !by_system => {
            format!("the memory of the GPU ({name}) is not enough; use a smaller --batch-size or fewer --cores")
        }
        _ => format!("an executor needs more than its {memory_mib} MiB"),
    };
    Stop::Ended(Ending {
        outcome: Outcome::OutOfMemory,
        completion_time_secs: None,
        reason: Some(format!("{whose}: {reason}")),
    })
}

fn describe(end: &End) -> String {
    let how = end.status.map_or_else(|| "without a status".to_owned(), |status| status.to_string());
    if end.is_out_of_memory {
        return format!("was ended by the system for its memory ({how})");
    }
    // Of many last words those about memory tell most: a backtrace may follow them.
    let telling = end.last_words.iter().rev().find(|line| is_out_of_memory(line)).or_else(|| end.last_words.last());
    telling.map_or_else(|| format!("ended early ({how})"), |line| format!("ended early ({how}): {line}"))
}
