//! Plans that were acted on, and the whole jobs that follow them.

use serde_json::{Value, json};

use crate::foreglow::{Answer, Foreglow, SAMPLES, Serving};

/// A run of the whole job of the samples on 1 × 2 after all plans.
fn whole_run(number: u32, secs: f64, change: impl Fn(&mut Value)) -> String {
    let samples = std::fs::read_to_string(SAMPLES).unwrap();
    let of_configuration =
        |line: &&str| line.contains(r#""cores_per_executor":2"#) && line.contains(r#""sampling_rate":1.0"#);
    let mut run: Value = serde_json::from_str(samples.lines().find(of_configuration).unwrap()).unwrap();
    run["id"] = json!(format!("019aa6d1-0000-7000-8000-{number:012}"));
    run["started_at"] = json!("2099-11-21T10:00:00Z");
    run["completion_time_secs"] = json!(secs);
    change(&mut run);
    format!("{run}\n")
}

fn plan(home: &Foreglow, options: &[&str]) -> Answer {
    let answer = home.run(&[&["plan", SAMPLES, "--model", "lenet5", "--deadline", "15s"], options].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    answer
}

/// The answer of `samples check`.
fn checked(home: &Foreglow) -> Value {
    let answer = home.run(&["samples", "check", "--format", "json"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

#[test]
fn a_kept_plan_is_compared_with_the_whole_job_that_follows_it() {
    let home = Foreglow::new();
    plan(&home, &[]);
    let plans = home.path("data/plans.jsonl");
    assert!(!std::path::Path::new(&plans).exists(), "only plans that are acted on are kept");
    let kept = plan(&home, &["--keep"]);
    assert!(kept.stderr.ends_with(&format!("The plan is kept in {plans}.\n")), "{}", kept.stderr);

    let larger = whole_run(1, 24.0, |run| run["workload"]["images"] = json!(40_000));
    let file = home.write("runs.jsonl", &(whole_run(2, 12.1, |_| {}) + &whole_run(3, 14.0, |_| {}) + &larger));
    let imported = home.run(&["import", &file]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    let sentence =
        "local, Two-core example on 1 executor of 2 cores: predicted 11.9 s (11.2 s to 12.6 s), took 12.10 s\n";
    assert!(imported.stderr.contains(sentence), "{}", imported.stderr);
    assert!(imported.stderr.contains("took 14.00 s, outside of the interval\n"), "{}", imported.stderr);

    let answer = checked(&home);
    let runs = answer["runs"].as_array().unwrap();
    let sources: Vec<&str> = runs.iter().map(|run| run["from"].as_str().unwrap()).collect();
    assert_eq!(sources[..2], ["kept plans", "kept plans"], "{answer:#}");
    assert!(runs[0]["planned_at"].is_string() && runs[0]["is_held"] == true && runs[1]["is_held"] == false);
    assert!(runs.iter().skip(2).all(|run| run.get("planned_at").is_none()), "the larger job was not planned");
    let of_plans = &answer["held"][1];
    assert_eq!((&of_plans["from"], &of_plans["runs"], &of_plans["held"]), (&json!("kept plans"), &json!(2), &json!(1)));
    assert_eq!((&answer["jobs"][0]["runs"], &answer["jobs"][0]["held"]), (&json!(2), &json!(1)), "{answer:#}");

    // The prediction travels with the sample.
    let csv = home.write("runs.csv", &home.run(&["samples", "list", "--format", "csv"]).stdout);
    let of_csv = home.run(&["samples", "check", &csv, "--format", "json"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&of_csv).unwrap(), answer);
}

#[test]
fn a_team_sees_the_kept_plans_of_its_collector() {
    let (home, team) = (Foreglow::new(), Foreglow::new());
    plan(&home, &["--keep"]);
    // A collector rejects runs of the future.
    let plans = std::fs::read_to_string(home.path("data/plans.jsonl")).unwrap();
    let mut kept: Value = serde_json::from_str(&plans).unwrap();
    kept["predicted"]["planned_at"] = json!("2026-11-21T11:00:00Z");
    home.write("data/plans.jsonl", &format!("{kept}\n{}", &plans[..50]));
    let file = home.write("run.jsonl", &whole_run(1, 12.1, |run| run["started_at"] = json!("2026-11-21T12:00:00Z")));
    assert_eq!(home.run(&["import", &file]).code, 0);
    let server = Serving::start(&team);
    let sent = home.run(&["upload", "--all", "--to", &server.url]);
    assert_eq!(sent.code, 0, "{}", sent.stderr);
    let (own, of_team) = (checked(&home), checked(&team));
    assert_eq!(own, of_team);
    assert_eq!(of_team["runs"][0]["from"], "kept plans", "{of_team:#}");
}

#[test]
fn an_exported_plan_is_kept_and_a_folder_that_cannot_be_written_is_a_note() {
    let home = Foreglow::new();
    let json = home.write("plan.json", &plan(&home, &["--format", "json"]).stdout);
    for export in [&["export", "slurm", &json][..], &["export", "spark-submit", &json]] {
        let answer = home.run(export);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
    }
    let plans = std::fs::read_to_string(home.path("data/plans.jsonl")).unwrap();
    let kept: Vec<Value> = plans.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(kept.len(), 2);
    assert_eq!((&kept[0]["executors"], &kept[0]["cores_per_executor"]), (&json!(1), &json!(2)));
    assert_eq!(kept[0]["predicted"]["deadline_secs"], 15.0);
    assert!(kept[0]["predicted"]["success_probability"].as_f64().unwrap() > 0.9);

    // The task passes its plan on to a machine that has none.
    let (elsewhere, script) = (Foreglow::new(), home.run(&["export", "slurm", &json]).stdout);
    let passed = script.split_once("FOREGLOW_PLAN='").and_then(|(_, rest)| rest.split_once('\'')).unwrap().0;
    let file = elsewhere.write("run.jsonl", &whole_run(1, 12.1, |_| {}));
    let mut import = elsewhere.command();
    let output = import.env("FOREGLOW_PLAN", passed).args(["import", &file]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && stderr.contains("predicted 11.9 s (11.2 s to 12.6 s), took 12.10 s"),
        "{stderr}"
    );

    let file = home.write("no-folder", "");
    let mut command = home.command();
    command.env("FOREGLOW_DATA", &file).args(["plan", SAMPLES, "--model", "lenet5", "--keep"]);
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.contains("the plan is not kept"), "{stderr}");
}
