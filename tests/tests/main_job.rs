//! The main job as a new user runs it.

use foreglow_shared::{Outcome, View, parse_line};
use foreglow_tests::Answer;
use serde_json::Value;

#[test]
fn the_demo_measures_predicts_recommends_and_checks_itself() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    // Half of the default images, which take a minute less.
    let answer =
        Answer::of(home.path(), &["demo", "--once", "--scenarios", "--images", "1600", "--format", "json"])?.json()?;

    let samples = answer["samples"].as_array().unwrap();
    for sample in samples {
        let sample = parse_line(&sample.to_string())?;
        assert_eq!(sample.outcome, Outcome::Completed);
        assert_eq!(sample.workload.model, "resnet18");
    }
    let scenarios: Vec<&Value> = answer["scenario_table"].as_array().unwrap().iter().collect();
    assert!(
        scenarios.iter().any(|row| row["scenario"] == "4-2" && row["accuracy_percent"].is_number()),
        "{scenarios:?}"
    );
    assert!(scenarios.iter().any(|row| row["scenario"] == "baseline"), "{scenarios:?}");
    // Slow cores leave enough whole jobs for every scenario.
    if samples[0]["host"]["core_share"].is_number() {
        assert!(scenarios.iter().all(|row| row["accuracy_percent"].is_number()), "{scenarios:?}");
        assert_eq!((&answer["check"]["executors"], &answer["check"]["cores_per_executor"]), (&4.into(), &2.into()));
    }

    // The predictor must not have been fitted on the checked configuration.
    let check = &answer["check"];
    let left_out = |sample: &&Value| {
        let configuration = &sample["configuration"];
        configuration["executors"] == check["executors"]
            && configuration["cores_per_executor"] == check["cores_per_executor"]
    };
    let of_it: Vec<&Value> = samples.iter().filter(left_out).collect();
    assert_eq!(of_it.len(), 1, "{of_it:?}");
    assert_eq!(of_it[0]["sampling_rate"], 1.0);
    assert_eq!(of_it[0]["completion_time_secs"], check["measured_secs"]);
    assert!(check["predicted_secs"].as_f64().unwrap() > 0.0);

    let recommendation = &answer["recommendation"];
    assert!(recommendation["executors"].as_u64().unwrap() >= 1, "{recommendation}");
    assert!(recommendation["cost"].as_f64().unwrap() > 0.0, "{recommendation}");

    let view = View::from_link(answer["link"].as_str().unwrap())?;
    assert_eq!(view.job.observations.len(), samples.len());
    Ok(())
}

#[test]
fn one_run_prints_one_sample() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let args = [
        "run",
        "--model",
        "resnet18",
        "--images",
        "200",
        "--executors",
        "2",
        "--cores",
        "1",
        "--sampling-rate",
        "0.1",
        "--format",
        "json",
    ];
    let answer = Answer::of(home.path(), &args)?;
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let sample = parse_line(answer.stdout.trim())?;
    assert_eq!((sample.configuration.executors, sample.configuration.cores_per_executor), (2, 1));
    assert_eq!(sample.outcome, Outcome::Completed);
    Ok(())
}
