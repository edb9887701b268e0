//! Reasons why a run ends early.

use foreglow_machine::bounds::is_out_of_memory;
use foreglow_protocol::Report;
use foreglow_shared::Outcome;

/// Prefix of the executor's own message in Spark's.
const OUR_FAILURE: &str = "foreglow.ExecutorFailed: ";

/// Reason why a run ends early.
pub(super) enum Stop {
    Interrupted,
    Ended(Outcome, Option<f64>, String),
}

/// Returns the end of a run that failed for this reason.
pub(super) fn failed(reason: String) -> Stop {
    Stop::Ended(Outcome::Failed, None, reason)
}

/// Returns the end of a run from Spark's message.
pub(super) fn failed_or_out_of_memory(words: &str) -> Stop {
    let sentence = sentence(words);
    let outcome = if is_out_of_memory(&sentence) { Outcome::OutOfMemory } else { Outcome::Failed };
    Stop::Ended(outcome, None, sentence)
}

/// Shortens Spark's message about a failure to one line with the executor's own message, which is
/// on the first line or, if a barrier stage failed, on a later one.
fn sentence(words: &str) -> String {
    let mut lines = words.lines().map(str::trim);
    let first = lines.clone().next().unwrap_or_default();
    let Some((before, ours)) = lines.find_map(|line| line.rsplit_once(OUR_FAILURE)) else { return first.to_owned() };
    let ours = match serde_json::from_str(ours) {
        Ok(Report::Failed { reason, .. }) => reason,
        _ => ours.to_owned(),
    };
    let before = before.trim_end().trim_end_matches("ExceptionFailure:").trim_end();
    if before.is_empty() { ours } else { format!("{before} {ours}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executors_own_message_is_extracted() {
        let told = [
            (
                "Job aborted: Lost task 0.3 (TID 6) (10.0.0.1 executor 0): foreglow.ExecutorFailed: it ended (signal: 9)",
                "Job aborted: Lost task 0.3 (TID 6) (10.0.0.1 executor 0): it ended (signal: 9)",
            ),
            (r#"foreglow.ExecutorFailed: {"failed":{"partition":null,"reason":"no such CNN"}}"#, "no such CNN"),
            ("task 3: ExceptionFailure: foreglow.ExecutorFailed: it ended", "task 3: it ended"),
            ("All masters are unresponsive! Giving up.\nat x", "All masters are unresponsive! Giving up."),
            (
                "Job aborted: barrier task ResultTask(5, 0) finished unsuccessfully.\nforeglow.ExecutorFailed: it ended\nat x",
                "it ended",
            ),
        ];
        for (words, expected) in told {
            assert_eq!(sentence(words), expected);
        }
    }
}
