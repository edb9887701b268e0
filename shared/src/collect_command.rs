//! The command that collects a sample.

use crate::event_log::LABEL_PREFIX;
use crate::{Configuration, Context, Engine};

/// Stands for the address that no sample knows.
const MASTER: &str = "spark://HOST:7077";

/// `foreglow collect …` for one run of a job, appended to the file `output`, as a shell reads it. Of a job on a Spark cluster the
/// master's address is the person's to fill in: `spark://HOST:7077` stands there.
pub fn collect_command(context: &Context, configuration: &Configuration, sampling_rate: f64, output: &str) -> String {
    let workload = &context.workload;
    let mut words = vec!["foreglow".to_owned(), "collect".to_owned()];
    if context.engine == Engine::Spark {
        words.extend(["--engine", "spark", "--master", MASTER].map(str::to_owned));
        // The machines' names came from there.
        for (label, name) in [("cpu", &context.host.cpu), ("adapter", &context.host.adapter)] {
            let property = name.as_ref().map(|name| quoted(&format!("{LABEL_PREFIX}{label}={name}")));
            words.extend(property.into_iter().flat_map(|property| ["--spark-conf".to_owned(), property]));
        }
    }
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
    use super::*;

    #[test]
    fn a_job_on_a_cluster_is_collected_there() {
        let context = |engine: &str, host: &str| -> Context {
            serde_json::from_str(&format!(
                r#"{{"workload":{{"model":"lenet5","mode":"inference","image_px":32,"images":400,"epochs":1,"batch_size":8}},
                    "engine":"{engine}","host":{host}}}"#
            ))
            .unwrap()
        };
        let configuration: Configuration = serde_json::from_str(
            r#"{"executors":2,"cores_per_executor":1,"memory_per_executor_mib":600,"partition_size":8,"accelerator":null}"#,
        )
        .unwrap();
        let command = |engine, host| collect_command(&context(engine, host), &configuration, 0.1, "a.jsonl");
        let rest = "--model lenet5 --images 400 --image-px 32 --batch-size 8 --device cpu --executors 2 --cores 1 --memory 600 \
                    --partition-size 8 --sampling-rate 0.1 --output a.jsonl";
        assert_eq!(command("local", r#"{"cpu":"A CPU"}"#), format!("foreglow collect {rest}"));
        let on_spark = "foreglow collect --engine spark --master spark://HOST:7077";
        assert_eq!(command("spark", "{}"), format!("{on_spark} {rest}"));
        assert_eq!(
            command("spark", r#"{"cpu":"A CPU"}"#),
            format!("{on_spark} --spark-conf 'spark.foreglow.cpu=A CPU' {rest}")
        );
    }

    #[test]
    fn a_word_reaches_the_shell_as_it_is() {
        assert_eq!(quoted("runs/samples.jsonl"), "runs/samples.jsonl");
        assert_eq!(quoted("my runs.jsonl"), "'my runs.jsonl'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
