//! The command that collects a sample.

use crate::{Configuration, Workload};

/// `foreglow collect …` for one run of a workload, appended to the file `output`, as a shell reads it.
pub fn collect_command(workload: &Workload, configuration: &Configuration, sampling_rate: f64, output: &str) -> String {
    let mut words = vec!["foreglow".to_owned(), "collect".to_owned()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), quoted(&value)]);
    option("--model", workload.model.clone());
    option("--images", workload.images.to_string());
    option("--image-px", workload.image_px.to_string());
    option("--batch-size", workload.batch_size.to_string());
    // A sample knows the name of the folder and not where it lies.
    if let Some(folder) = workload.extra.get("data").and_then(|name| name.as_str()) {
        option("--data", folder.to_owned());
    }
    option("--device", configuration.accelerator.clone().unwrap_or_else(|| "cpu".into()));
    option("--executors", configuration.executors.to_string());
    option("--cores", configuration.cores_per_executor.to_string());
    option("--memory", configuration.memory_per_executor_mib.to_string());
    option("--partition-size", configuration.partition_size.to_string());
    option("--sampling-rate", sampling_rate.to_string());
    option("--output", output.to_owned());
    words.join(" ")
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_reaches_the_shell_as_it_is() {
        assert_eq!(quoted("runs/samples.jsonl"), "runs/samples.jsonl");
        assert_eq!(quoted("my runs.jsonl"), "'my runs.jsonl'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
