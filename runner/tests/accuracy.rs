//! The accuracy of training jobs: `plan --min-accuracy`, and the link.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;

use foreglow::{Answer, Foreglow};
use serde_json::{Value, json};

/// A training run: 240 s ÷ E, a fifth less with 8 mini-batches between two averages.
fn line(number: u32, (executors, average_every): (u32, u32), rate: f64, accuracy: Option<f64>) -> String {
    let speed = if average_every > 1 { 0.8 } else { 1.0 };
    let secs = 0.1 + 240.0 * speed * rate / f64::from(executors);
    let mut line = json!({
        "schema": 1, "id": foreglow::id(number),
        "workload": {"model": "lenet5", "mode": "training", "image_px": 32, "images": 12000, "epochs": 6,
            "batch_size": 32, "average_every": average_every},
        "configuration": {"executors": executors, "cores_per_executor": 1, "memory_per_executor_mib": 256,
            "partition_size": 32, "accelerator": null},
        "sampling_rate": rate, "outcome": "completed", "completion_time_secs": secs, "engine": "local",
        "runner_version": "0.1.0", "host": {"cpu": "Some CPU", "processors": 8, "adapter": null},
        "started_at": "2026-11-21T10:00:00Z", "seed": number,
    });
    if let Some(accuracy) = accuracy {
        line["training"] = json!({"learning_rate": 0.02, "schedule": "cosine", "held_out": {"accuracy": accuracy}});
    }
    line.to_string() + "\n"
}

/// Runs without accuracy on 2 % and 10 % of the images, and whole runs with three seeds: one
/// executor with 98 %, two with 97.5 %, four with 96.5 %, each 0.1 % less at the longer interval.
fn samples(intervals: &[u32]) -> String {
    let mut lines = Vec::new();
    for average_every in intervals {
        for (executors, mean) in [(1, 0.98), (2, 0.975), (4, 0.965)] {
            let setting = (executors, *average_every);
            let mean = if *average_every > 1 { mean - 0.001 } else { mean };
            let small = [0.02, 0.1].map(|rate| (rate, None));
            let whole = [-0.001, 0.0, 0.001].map(|off| (1.0, Some(mean + off)));
            for (rate, accuracy) in small.into_iter().chain(whole) {
                lines.push(line(lines.len() as u32, setting, rate, accuracy));
            }
        }
    }
    lines.concat()
}

fn plan(samples: &str, arguments: &[&str]) -> Answer {
    let home = Foreglow::new();
    let file = home.write("samples.jsonl", samples);
    home.run(&[&["plan", &file], arguments].concat())
}

fn recommended(answer: &Answer) -> Value {
    serde_json::from_str::<Value>(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {answer:?}"))["recommended"]
        .clone()
}

#[test]
fn the_cheapest_accurate_configuration_is_recommended_with_its_measured_accuracy() {
    let arguments = ["--deadline", "150s", "--min-accuracy", "97%", "--format", "json"];
    let best = recommended(&plan(&samples(&[1]), &arguments));
    assert_eq!((&best["executors"], &best["accuracy"]["runs"]), (&json!(2), &json!(3)), "{best}");
    assert_eq!(best["accuracy"]["mean"], 0.975);
    let lower = best["accuracy"]["lower"].as_f64().unwrap();
    assert!((lower - (0.975 - 4.302_653 * 0.001 / 3.0_f64.sqrt())).abs() < 1e-6, "{best}");
    let any = recommended(&plan(&samples(&[1]), &["--deadline", "70s", "--format", "json"]));
    assert_eq!(any["executors"], 4, "without a minimum");
}

#[test]
fn the_table_shows_the_accuracy_of_measured_configurations_and_not_measured_elsewhere() {
    let table = plan(&samples(&[1]), &["--deadline", "150s", "--min-accuracy", "97%"]).stdout;
    assert!(
        table.contains("The cheapest configuration with an accuracy of at least 97 % that is done within"),
        "{table}"
    );
    let row = |executors: &str| table.lines().find(|line| line.trim_start().starts_with(executors)).unwrap_or_default();
    assert!(row("2  ").contains("97.50 % (97.25–97.75 %)"), "{table}");
    assert!(row("3  ").contains("not measured"), "{table}");
    assert!(table.contains("Accuracy: mean over the seeds of runs on all images"), "{table}");
    let csv = plan(&samples(&[1]), &["--format", "csv"]).stdout;
    assert!(csv.lines().next().unwrap().ends_with(",accuracy,accuracy_lower,accuracy_upper,accuracy_runs"), "{csv}");
}

#[test]
fn averaging_intervals_are_compared_in_one_plan_with_a_table_of_accuracies() {
    let arguments = ["--deadline", "150s", "--min-accuracy", "97%"];
    let table = plan(&samples(&[1, 8]), &arguments).stdout;
    assert!(table.contains("2 executors of 1 core, averaged every 8 mini-batches"), "{table}");
    assert!(table.contains("Accuracy by executors, mini-batch and mini-batches between two averages:"), "{table}");
    let answer = plan(&samples(&[1, 8]), &[&arguments[..], &["--format", "json"]].concat());
    let best = recommended(&answer);
    assert_eq!((&best["executors"], &best["average_every"]), (&json!(2), &json!(8)), "{best}");
    let whole: Value = serde_json::from_str(&answer.stdout).unwrap();
    let trained = whole["trained"].as_array().unwrap();
    assert_eq!((trained.len(), &trained[0]["executors"], &trained[5]["keeps_accuracy"]), (6, &json!(1), &json!(false)));
    let strict =
        recommended(&plan(&samples(&[1, 8]), &["--min-accuracy", "97.2%", "--deadline", "150s", "--format", "json"]));
    assert_eq!((&strict["executors"], &strict["average_every"]), (&json!(2), &json!(1)), "{strict}");
}

#[test]
fn a_minimum_that_nothing_keeps_ends_with_the_most_accurate_in_one_sentence() {
    for intervals in [&[1][..], &[1, 8]] {
        let answer = plan(&samples(intervals), &["--min-accuracy", "99%"]);
        assert_eq!(answer.code, 1, "{answer:?}");
        assert!(answer.stderr.contains("no configuration is known to have an accuracy of at least 99 %"), "{answer:?}");
        assert!(answer.stderr.contains("has 98.00 % (97.75–98.25 %); lower --min-accuracy"), "{answer:?}");
        let late = plan(&samples(intervals), &["--min-accuracy", "97%", "--deadline", "70s"]);
        assert_eq!(late.code, 1, "{late:?}");
        assert!(late.stderr.contains("the fastest of them, "), "{late:?}");
    }
}

#[test]
fn runs_on_few_of_the_images_are_no_evidence_of_the_accuracy() {
    let samples = |accuracy: Option<f64>| -> String {
        let run = |number: u32| line(number, (1 + number % 2, 1), 0.05 * f64::from(1 + number / 2), accuracy);
        (0..8).map(run).collect()
    };
    let answer = plan(&samples(Some(0.9)), &["--min-accuracy", "80%"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.stderr.contains("in runs on at most 2,400 images"), "{answer:?}");
    assert!(!answer.stdout.contains("90.00 %"), "{answer:?}");
    let none = plan(&samples(None), &["--min-accuracy", "80%"]);
    assert!(none.stderr.contains("no run measured the accuracy"), "{none:?}");
}

#[test]
fn a_single_run_counts_by_its_value_with_a_note() {
    let mut lines: Vec<String> =
        (0..6).map(|number| line(number, (1 + number % 2, 1), 0.02 + 0.02 * f64::from(number), None)).collect();
    lines.push(line(9, (1, 1), 1.0, Some(0.98)));
    let answer = plan(&lines.concat(), &["--min-accuracy", "98%"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.stdout.contains("98.00 % (1 run)") && answer.stdout.contains("that of a single run"), "{answer:?}");
}

#[test]
fn a_link_keeps_the_minimum_accuracy_and_what_was_measured() {
    let home = Foreglow::new();
    for intervals in [&[1][..], &[1, 8]] {
        let file = home.write("samples.jsonl", &samples(intervals));
        let question = ["--deadline", "150s", "--min-accuracy", "97%"];
        let link = home.run(&[&["link", &file, "--planner", "https://example.org/"], &question[..]].concat()).stdout;
        let open = |more: &[&str]| home.run(&[&["link", "--open", link.trim(), "--format", "json"], more].concat());
        let direct = home.run(&[&["plan", &file, "--format", "json"], &question[..]].concat());
        assert_eq!(recommended(&open(&[])), recommended(&direct));
        assert_eq!(open(&["--min-accuracy", "99%"]).code, 1);
    }
}

#[test]
fn an_accuracy_that_is_no_share_is_refused() {
    for least in ["0", "97", "-1", "much"] {
        let answer = plan(&samples(&[1]), &["--min-accuracy", least]);
        assert_eq!(answer.code, 2, "{answer:?}");
        assert!(answer.stderr.contains("write an accuracy above 0 and at most 1, such as 0.97 or 97%"), "{answer:?}");
    }
}
