//! Everyday situations: removing samples, correcting addresses, files truncated by a crash.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "everyday/abuse.rs"]
mod abuse;
#[path = "everyday/contradictions.rs"]
mod contradictions;
#[path = "everyday/deadlines.rs"]
mod deadlines;
mod foreglow;
#[path = "everyday/kept_plans.rs"]
mod kept_plans;
#[path = "everyday/quiet.rs"]
mod quiet;
#[path = "everyday/refusals.rs"]
mod refusals;
#[path = "everyday/selection.rs"]
mod selection;
#[path = "everyday/terminal.rs"]
mod terminal;
#[path = "everyday/watch.rs"]
mod watch;

use std::net::TcpListener;

use foreglow::{Foreglow, SAMPLES, Serving, get, id, line};

/// Repetitions of one run: the last one is an outlier, the one before it was disturbed.
fn repetitions() -> String {
    let times = [2.5, 2.51, 2.49, 2.5, 2.52, 9.0];
    let run = |(number, secs): (u32, f64)| {
        let run = line(number).replace(r#""completion_time_secs":2.5"#, &format!(r#""completion_time_secs":{secs}"#));
        let busy = r#""warnings":[{"kind":"busy_machine","other_processors":1.0,"free_processors":0}],"engine""#;
        (if number == 5 { run.replace(r#""engine""#, busy) } else { run }) + "\n"
    };
    (1..).zip(times).map(run).collect()
}

#[test]
fn samples_are_listed_with_what_is_odd_about_them_shown_and_removed() {
    let home = Foreglow::new();
    let file = home.write("samples.jsonl", &repetitions());
    let list = home.run(&["samples", "list", &file]);
    assert_eq!(list.code, 0, "{}", list.stderr);
    let odd: Vec<&str> =
        list.stdout.lines().filter(|line| line.ends_with("outlier") || line.ends_with("disturbed")).collect();
    assert_eq!(odd.len(), 2, "{}", list.stdout);
    assert!(odd[0].starts_with("00000005") && odd[1].starts_with("00000006"), "{}", list.stdout);
    let outliers = home.run(&["samples", "list", &file, "--outliers", "--format", "json"]).stdout;
    assert!(outliers.lines().count() == 1 && outliers.contains(&id(6)), "{outliers}");
    let none = home.run(&["samples", "list", &file, "--model", "vgg16", "--format", "csv"]).stdout;
    assert!(none.starts_with("schema,id,") && none.lines().count() == 1, "a header and no rows: {none}");

    let shown = home.run(&["samples", "show", "00000005", &file]);
    assert!(shown.stdout.contains(&id(5)) && shown.stderr.contains("warning: other programs took"), "{}", shown.stderr);
    let unknown = home.run(&["samples", "remove", "ffffffff", "--from", &file]);
    assert!(unknown.code == 2 && unknown.stderr.contains("`foreglow samples list` shows them"), "{}", unknown.stderr);
    let removed = home.run(&["samples", "remove", "00000006", &id(5), "--from", &file]);
    assert!(removed.code == 0 && removed.stderr.starts_with("2 samples removed from "), "{}", removed.stderr);
    let left: String = repetitions().lines().take(4).map(|line| format!("{line}\n")).collect();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), left);
}

#[test]
fn the_store_can_be_cleared_of_a_sample_too() {
    let home = Foreglow::new();
    let server = Serving::start(&home);
    foreglow::post(&server.url, &repetitions());
    let removed = home.run(&["samples", "remove", &id(6)]);
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    let ids = home.run(&["samples", "list", "--format", "json"]).stdout;
    assert!(ids.lines().count() == 5 && !ids.contains(&id(6)), "{ids}");
    assert_eq!(get(&server.url, &format!("/api/v1/samples/{}", id(6))).0, 404);
}

#[test]
fn samples_for_a_mistyped_address_are_listed_sent_elsewhere_or_discarded() {
    let home = Foreglow::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mistyped = format!("http://{nobody}");
    assert_eq!(home.run(&["upload", SAMPLES, "--to", &mistyped]).code, 1);
    let waiting = home.run(&["upload", "--waiting", "--format", "csv"]).stdout;
    assert_eq!(waiting, format!("collector,samples,rejected\n{mistyped},21,0\n"));

    let collector = Foreglow::new();
    let server = Serving::start(&collector);
    let address = server.url.trim_start_matches("http://");
    let nothing = home.run(&["upload", "--to", address]);
    let said = format!("nothing was sent: no samples wait for http://{}\n", address.trim_end_matches('/'));
    assert_eq!((nothing.code, nothing.stdout), (0, said));
    let sent = home.run(&["upload", "--to", address, "--instead-of", &mistyped]);
    assert!(sent.code == 0 && sent.stdout.contains("21 new, 0 known, 0 rejected"), "{}{}", sent.stdout, sent.stderr);
    assert_eq!(home.run(&["upload", "--waiting"]).stdout, "no samples wait for a collector\n");

    assert_eq!(home.run(&["upload", SAMPLES, "--to", &mistyped]).code, 1);
    let discarded = home.run(&["upload", "--discard", &mistyped]);
    assert!(
        discarded.code == 0 && discarded.stderr.starts_with("discarded 21 samples that waited"),
        "{}",
        discarded.stderr
    );
    let again = home.run(&["upload", "--discard", &mistyped]);
    assert!(again.code == 2 && again.stderr.contains("`foreglow upload --waiting` lists"), "{}", again.stderr);
    assert_eq!(home.run(&["upload", SAMPLES]).code, 2, "an address is missing");
}

#[test]
fn a_cut_last_line_is_left_out_with_a_note_and_a_wrong_one_elsewhere_is_refused() {
    let home = Foreglow::new();
    let samples = std::fs::read_to_string(SAMPLES).unwrap();
    let question = ["--model", "lenet5", "-E", "1", "-C", "2", "--format", "json"];
    let whole = home.run(&[&["predict", SAMPLES], &question[..]].concat());
    let cut = home.write("cut.jsonl", &format!("{samples}{{\"schema\":1,\"id\":\"0189"));
    let answer = home.run(&[&["predict", &cut], &question[..]].concat());
    assert_eq!((answer.code, answer.stdout), (0, whole.stdout), "{}", answer.stderr);
    assert!(answer.stderr.contains("line 22 of ") && answer.stderr.contains("was cut short"), "{}", answer.stderr);
    let inside = home.write("inside.jsonl", &format!("{{\"schema\":1,\"id\"\n{samples}"));
    assert_eq!(home.run(&[&["predict", &inside], &question[..]].concat()).code, 2);
}

#[test]
fn a_size_of_the_job_that_no_sample_has_is_refused_with_what_to_do() {
    let home = Foreglow::new();
    let ask = |more: &[&str]| home.run(&[&["predict", SAMPLES, "-E", "1", "-C", "2"], more].concat());
    let images = ask(&["--model", "lenet5", "--images", "77"]);
    assert_eq!((images.code, images.stdout.as_str()), (2, ""), "{}", images.stderr);
    let command = "`foreglow plan --images 77 --executors 1 --cores 2` predicts others";
    assert!(images.stderr.contains("no sample has --images 77, but ") && images.stderr.contains(command));
    let batch = ask(&["--batch-size", "5"]);
    assert!(batch.code == 2 && batch.stderr.contains("no sample has --batch-size 5, but "), "{}", batch.stderr);
    assert_eq!(images.stderr.lines().count(), 1, "{}", images.stderr);
}

#[test]
fn a_name_in_a_sample_commands_no_terminal() {
    let home = Foreglow::new();
    let evil =
        std::fs::read_to_string(SAMPLES).unwrap().replace(r#""model":"lenet5""#, r#""model":"\u001b[2Jlenet5\u0007""#);
    let file = home.write("evil.jsonl", &evil);
    for arguments in [
        &["samples", "list", &file][..],
        &["plan", &file],
        &["plan", &file, "--context", "1"],
        &["plan", &file, "--context", "2"],
    ] {
        let answer = home.run(arguments);
        let text = answer.stdout + &answer.stderr;
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{arguments:?}: {text}");
    }
    assert!(home.run(&["samples", "list", &file]).stdout.contains(r"\u001b[2Jlenet5"));
}

#[test]
fn a_link_for_this_machine_alone_says_so_and_takes_another_planner() {
    let home = Foreglow::new();
    let link = |more: &[&str]| home.run(&[&["link", SAMPLES, "--model", "lenet5"], more].concat());
    let here = link(&[]);
    assert!(here.stdout.starts_with("http://127.0.0.1:8787/#v1."), "{}", here.stdout);
    assert!(here.stderr.contains("works only on this machine") && here.stderr.contains("FOREGLOW_PLANNER"));
    let elsewhere = link(&["--planner", "planner.example.org"]);
    assert!(elsewhere.stdout.starts_with("http://planner.example.org/#v1."), "{}", elsewhere.stdout);
    assert_eq!(elsewhere.stderr, "");
    let mut command = home.command();
    command.args(["link", SAMPLES, "--model", "lenet5"]).env("FOREGLOW_PLANNER", "https://planner.example.org/a/");
    let output = command.output().unwrap();
    assert!(output.stdout.starts_with(b"https://planner.example.org/a/#v1.") && output.stderr.is_empty());
}

#[test]
fn a_link_is_opened_with_another_deadline() {
    let home = Foreglow::new();
    let link = home.run(&["link", SAMPLES, "--model", "lenet5", "--deadline", "15s", "--quiet"]).stdout;
    let deadline_of = |more: &[&str]| {
        let answer = home.run(&[&["link", "--open", link.trim(), "--format", "json"], more].concat());
        let answer: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
        answer["limits"]["deadline_secs"].as_f64()
    };
    assert_eq!(deadline_of(&[]), Some(15.0));
    assert_eq!(deadline_of(&["--deadline", "1d"]), Some(86_400.0));
}

#[test]
fn a_plan_tells_the_start_up_and_a_deadline_can_include_it() {
    let home = Foreglow::new();
    let samples = std::fs::read_to_string(SAMPLES).unwrap();
    let longest = samples
        .lines()
        .map(|line| foreglow_shared::parse_line(line).unwrap())
        .filter(|sample| sample.workload.model == "lenet5" && sample.completed_secs().is_some())
        .filter_map(|sample| sample.startup_secs)
        .fold(0.0, f64::max);
    assert!(longest > 0.0);
    let plan = |more: &[&str]| home.run(&[&["plan", SAMPLES, "--model", "lenet5"], more].concat());
    assert!(plan(&[]).stdout.contains("Start-up, excluded from these times: "));
    let json = plan(&["--deadline", "1h", "--with-startup", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(answer["startup"]["longest_secs"], longest);
    assert_eq!(answer["limits"]["deadline_secs"], 3600.0 - longest);
    assert!(json.stderr.contains("after a start-up of"), "{}", json.stderr);
    let short = plan(&["--deadline", "1ms", "--with-startup"]);
    assert!(short.code == 2 && short.stderr.contains("allow more time"), "{}", short.stderr);
    assert_eq!(plan(&["--with-startup"]).code, 2);
}

#[test]
fn a_smaller_configuration_that_is_predicted_to_be_faster_is_pointed_out() {
    let home = Foreglow::new();
    let mut text = String::new();
    let mut number = 0;
    for (executors, factor) in [(1, 1.0), (2, 0.6), (4, 1.5)] {
        for rate in [0.1, 0.2] {
            number += 1;
            let secs = format!(r#""completion_time_secs":{}"#, 100.0 * rate * factor);
            let run = line(number).replace(r#""completion_time_secs":2.5"#, &secs);
            let run = run.replace(r#""executors":1"#, &format!(r#""executors":{executors}"#));
            text += &(run.replace(r#""sampling_rate":0.1"#, &format!(r#""sampling_rate":{rate}"#)) + "\n");
        }
    }
    let file = home.write("slower.jsonl", &text);
    let plan = home.run(&["plan", &file, "--executors", "2,4", "--cores", "1"]);
    assert!(plan.stdout.contains("4 executors of 1 core is predicted to take"), "{}{}", plan.stdout, plan.stderr);
    let usual = home.run(&["plan", SAMPLES, "--model", "lenet5"]);
    assert!(!usual.stdout.contains("is predicted to take"), "{}", usual.stdout);
}

#[test]
fn an_evaluation_that_answers_is_no_failure() {
    let home = Foreglow::new();
    let answer = home.run(&["evaluate", SAMPLES, "--model", "lenet5"]);
    assert!(answer.code == 0 && !answer.stdout.is_empty(), "{}", answer.stderr);
}
