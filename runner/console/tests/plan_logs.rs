//! Plans from event logs: answers, and files that cannot be planned.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::path::Path;

use clap::Parser;
use foreglow_console::answer::PlanAnswer;
use foreglow_console::ask::Source;
use foreglow_console::compare::MachineArgs;
use foreglow_console::event_logs::plan_logs;
use foreglow_console::output::Format;
use foreglow_console::question::QuestionArgs;
use foreglow_console::split::TotalsOfCores;
use foreglow_import::{Given, Input, import};
use serde_json::Value;

const LOGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/spark-log/tests/event-logs");
const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/samples.jsonl");

/// The options of `foreglow plan` that apply to logs.
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    question: QuestionArgs,
    #[command(flatten)]
    totals: TotalsOfCores,
    #[command(flatten)]
    machines: MachineArgs,
}

/// A folder for logs.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Removes the folder from an answer, and its width from the column of logs.
    fn without_folder(&self, text: &str) -> String {
        let folder = self.path("");
        let width = folder.chars().count();
        let mut is_below = false;
        let lines = text.split_inclusive('\n').map(|line| {
            let is_head = line.starts_with("log ");
            let filler = if is_below { "─" } else { " " };
            let is_padded = std::mem::replace(&mut is_below, is_head) || is_head;
            if is_padded { line.replacen(&filler.repeat(width), "", 1) } else { line.replace(&folder, "") }
        });
        lines.collect()
    }
}

fn plan(arguments: &[&str]) -> anyhow::Result<Option<PlanAnswer>> {
    let Args { source, question, totals, machines } = Args::parse_from([&["plan"], arguments].concat());
    plan_logs(&source, &question, &totals, &machines)
}

fn answer(arguments: &[&str]) -> PlanAnswer {
    plan(arguments).unwrap().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&answer(arguments).render(Format::Json)).unwrap()
}

/// Returns the path of a log without labels, of an application with this name and id, whose tasks
/// read this many bytes each.
fn unlabelled(home: &Home, name: &str, id: &str, bytes: u32) -> String {
    let log = std::fs::read_to_string(format!("{LOGS}/3.5-measured")).unwrap();
    let log = log.replace("spark.foreglow.", "spark.other.").replace("foreglow measured", "count");
    let log = log.replace("foreglow warm-up", "count").replace("\"Bytes Read\":0", &format!("\"Bytes Read\":{bytes}"));
    let start = log.find("\"App Name\":\"").unwrap() + 12;
    let end = start + log[start..].find('"').unwrap();
    let log = format!("{}{name}{}", &log[..start], &log[end..]);
    let start = log.find("\"App ID\":\"").unwrap() + 10;
    let end = start + log[start..].find('"').unwrap();
    home.write(id, &format!("{}{id}{}", &log[..start], &log[end..]))
}

fn secs(row: &Value) -> f64 {
    row["completion_time_secs"].as_f64().unwrap()
}

#[test]
fn a_plan_from_one_log_is_readable() {
    let home = Home::new();
    let log = unlabelled(&home, "nightly", "a", 1000);
    let table = answer(&[&log, "--deadline", "60s"]).render(Format::Table);
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    let json = answer(&[&log, "--executors", "4"]).render(Format::Json);
    settings.bind(|| {
        insta::assert_snapshot!("plan-log-table", home.without_folder(&table));
        insta::assert_snapshot!("plan-log-json", home.without_folder(&json));
    });
}

#[test]
fn samples_of_logs_give_the_plan_of_the_logs() {
    let home = Home::new();
    let logs = [("a", 1000), ("b", 1100), ("c", 2000)].map(|(id, bytes)| unlabelled(&home, "nightly", id, bytes));
    let sample = |log: &String| {
        let bytes = std::fs::read(log).unwrap();
        let import = import(Input::from_bytes(&bytes), &Given::default()).unwrap();
        serde_json::to_string(&import.samples[0]).unwrap() + "\n"
    };
    let samples = home.write("samples.jsonl", &logs.iter().map(sample).collect::<String>());
    let asked = ["--deadline", "3s", "--executors", "1-6", "--cores", "1,2,3"];
    let of_logs = json(&[&logs.each_ref().map(String::as_str)[..], &asked].concat());
    let Args { source, question, totals, machines } = Args::parse_from([&["plan", &samples], &asked[..]].concat());
    let group = source.group(&source.samples().unwrap(), &|_| true).unwrap();
    let answer = machines.plan(&question, &totals, group, None).unwrap().answer().unwrap();
    let of_samples: Value = serde_json::from_str(&answer.render(Format::Json)).unwrap();
    assert_eq!(of_samples["measured"][0]["basis"], "simulated");
    assert!(of_samples["candidates"].as_array().unwrap().len() > 10);
    for part in ["candidates", "recommended", "measured"] {
        assert_eq!(of_samples[part], of_logs[part], "{part}");
    }
}

#[test]
fn several_logs_of_one_application_are_runs_of_one_job_with_different_amounts() {
    let home = Home::new();
    let logs = [("a", 1000), ("b", 1100), ("c", 2000)].map(|(id, bytes)| unlabelled(&home, "nightly", id, bytes));
    let logs = logs.each_ref().map(String::as_str);
    let answer = json(&logs);
    assert_eq!((&answer["job"]["model"], &answer["job"]["unit"]), (&"nightly".into(), &"bytes".into()));
    assert_eq!(
        (answer["event_logs"]["runs"].as_array().unwrap().len(), &answer["measured"][0]["basis"]),
        (3, &"simulated".into())
    );
    let usual = secs(&answer["fastest"]);
    let images = answer["job"]["images"].as_u64().unwrap();
    let twice = json(&[&logs[..], &["--images", &(2 * images).to_string()]].concat());
    assert!(secs(&twice["fastest"]) > usual && twice["job"]["images"] == 2 * images, "{twice}");
    assert!(twice["fastest"]["warnings"].to_string().contains("bytes"), "{}", twice["fastest"]);
    // A folder holds several logs.
    std::fs::create_dir(home.path("events")).unwrap();
    ["a", "b", "c"]
        .iter()
        .for_each(|id| assert!(std::fs::copy(home.path(id), home.path(&format!("events/{id}"))).is_ok()));
    assert_eq!(secs(&json(&[&home.path("events")])["fastest"]), usual);
}

#[test]
fn a_log_with_the_labels_of_a_cnn_is_a_plan_of_that_cnn() {
    let answer = json(&[&format!("{LOGS}/3.5-measured.zstd"), "--executors", "1-8", "--cores", "1,2"]);
    assert_eq!(
        (&answer["job"]["model"], &answer["job"]["images"], &answer["compared"]),
        (&"resnet18".into(), &120.into(), &16.into())
    );
    assert!(answer["spark_submit"].as_str().unwrap().contains("spark.executor.memory"), "{answer}");
}

#[test]
fn the_smallest_memory_that_the_peak_heap_needs_is_named() {
    let home = Home::new();
    let log = std::fs::read_to_string(unlabelled(&home, "nightly", "a", 1000)).unwrap();
    // The profile overrides the property.
    let log = home.write("large", &log.replace("\"memory\",\"Amount\":512", "\"memory\",\"Amount\":4096"));
    let large = &json(&[&log])["event_logs"]["runs"][0];
    assert_eq!((&large["memory_per_executor_mib"], &large["sufficient_memory_mib"]), (&4096.into(), &512.into()));
    assert!(answer(&[&log]).render(Format::Table).contains("spark.executor.memory=512m would do"));
}

#[test]
fn machines_are_rented_if_the_user_names_the_type_of_the_logs() {
    let home = Home::new();
    let log = unlabelled(&home, "nightly", "a", 1000);
    let answer = json(&[&log, "--machines", "m5.xlarge"]);
    assert_eq!((&answer["recommended"]["machine"], &answer["objective"]), (&"m5.xlarge".into(), &"cost".into()));
    assert!(answer["recommended"]["machines"].as_u64().unwrap() > 0, "{answer}");
}

#[test]
fn logs_that_cannot_be_planned_are_refused_in_one_sentence() {
    let home = Home::new();
    let (one, other) = (unlabelled(&home, "nightly", "a", 1000), unlabelled(&home, "weekly", "b", 1000));
    let text = std::fs::read_to_string(&one).unwrap();
    let running = home.write("running", text.rsplit_once("{\"Event\":\"SparkListenerApplicationEnd\"").unwrap().0);
    let twice = home.write("twice", &text.repeat(2));
    let jobless = home.write("jobless", &text[..text.find("{\"Event\":\"SparkListenerJobStart\"").unwrap()]);
    let unequal = home.write("unequal", &text.replacen("\"Total Cores\":2", "\"Total Cores\":1", 1));
    let stream = home.write("stream", &text.replace("\"spark.job.description\"", "\"sql.streaming.queryId\""));
    for (arguments, sentence) in [
        (
            vec![one.as_str(), &other],
            "the logs are of several applications: nightly, weekly; choose one with --model NAME",
        ),
        (vec![&one, SAMPLES], "samples.jsonl is not an event log, and "),
        (vec![&running], "it is no completed run: the end of the application is not in the log"),
        (vec![&twice], "it has the starts of 2 applications or attempts"),
        (vec![&jobless], "the log has no jobs"),
        (vec![&unequal], "it is no completed run: its executors have different numbers of cores, from 1 to 2"),
        (vec![&stream], "it is of a streaming application"),
        (vec![&one, "--machines", "m5.large,m5.xlarge"], "name that one alone with --machines"),
        (vec![&one, "--total-cores", "8"], "--total-cores is not for event logs"),
        (vec![&one, "--batch-size", "8"], "--batch-size is not for event logs"),
    ] {
        let error = plan(&arguments).unwrap_err();
        assert!(
            error.is::<foreglow_exit::UnusableInput>() && error.to_string().contains(sentence),
            "{arguments:?}: {error}"
        );
    }
    let partly = format!("{LOGS}/4.1-stages.zstd");
    let error = plan(&[&partly]).unwrap_err().to_string();
    assert!(error.contains("the log lacks sampling_rate; give --sampling-rate to `foreglow import`"), "{error}");
    // Other nights are enough, and a name chooses one application or names all.
    assert_eq!(json(&[&one, &running])["event_logs"]["runs"].as_array().unwrap().len(), 1);
    let runs = |model: &str| json(&[&one, &other, "--model", model])["event_logs"]["runs"].as_array().unwrap().len();
    assert_eq!((runs("weekly"), runs("all")), (1, 2));
}

#[test]
fn files_of_samples_are_left_to_the_plan_from_samples() {
    assert!(plan(&[SAMPLES]).unwrap().is_none());
    let missing = Path::new(SAMPLES).with_file_name("missing.jsonl");
    assert!(plan(&[missing.to_str().unwrap()]).unwrap().is_none());
}
