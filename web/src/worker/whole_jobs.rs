//! Whole jobs that were run, beside what was planned or predicted for them.

use foreglow_model::{CheckedGroups, checked_runs};
use foreglow_shared::Sample;

/// Returns how often the predictions of the whole jobs among these samples held, in the sentences
/// of `foreglow samples check`; empty if none can be checked.
pub fn whole_jobs(samples: &[Sample]) -> Vec<String> {
    match checked_runs(samples).as_slice() {
        [] => Vec::new(),
        checked => CheckedGroups::of(checked).sentences(),
    }
}

#[cfg(test)]
mod tests {
    use foreglow_shared::read_samples;

    use super::*;
    use crate::worker::import::{Added, samples_of};

    const EXAMPLE: &str = include_str!("../../assets/example.jsonl");

    #[test]
    fn the_samples_of_files_are_counted_as_those_of_the_command_line() {
        let is_of_job = |line: &&str| line.contains("mobilenet_v2") && line.contains(r#""executors":1,"#);
        let lines: Vec<&str> = EXAMPLE.lines().filter(is_of_job).collect();
        let text = |lines: &[&str]| Ok(format!("{}\n", lines.join("\n")).into_bytes());
        let files = [("a.jsonl".to_owned(), text(&lines[..20])), ("b.jsonl".to_owned(), text(&lines[10..]))];
        let sentences = whole_jobs(&samples_of(files.into_iter(), &Added::default()));
        let all = checked_runs(&read_samples(lines.join("\n").as_bytes()).unwrap());
        assert_eq!(sentences, CheckedGroups::of(&all).sentences());
        assert!(sentences[0].starts_with(&format!("{} whole jobs: median error", all.len())), "{sentences:?}");
    }

    #[test]
    fn files_without_whole_jobs_or_samples_have_none() {
        let files = [("a.csv".to_owned(), Ok(b"nodes,cores,fraction,runtime\n1,1,0.1,12.5\n".to_vec()))];
        assert_eq!(whole_jobs(&samples_of(files.into_iter(), &Added::default())), [""; 0]);
    }
}
