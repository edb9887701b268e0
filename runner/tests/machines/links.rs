//! Links to one job on several machine types: they open with the answer of the plan.

use serde_json::Value;

use super::foreglow::Foreglow;
use super::{GRID, json, line, samples};

/// The samples with machine types that no catalog has.
fn elsewhere(home: &Foreglow) -> String {
    let names = [("c5.xlarge", "rack-a"), ("m5.xlarge", "rack-b"), ("c5.2xlarge", "rack-c")];
    home.write("racks.jsonl", &names.iter().fold(samples(), |text, (from, to)| text.replace(from, to)))
}

fn link(home: &Foreglow, file: &str, question: &[&str]) -> String {
    let answer = home.run(&[&["link", file], question].concat());
    assert_eq!(answer.code, 0, "{answer:?}");
    answer.stdout.trim().to_owned()
}

fn open(home: &Foreglow, link: &str, question: &[&str]) -> Value {
    let answer = home.run(&[&["link", "--open", link, "--format", "json"], question].concat());
    assert_eq!(answer.code, 0, "{question:?}: {}", answer.stderr);
    json(&answer)
}

fn plan(home: &Foreglow, file: &str, question: &[&str]) -> Value {
    let answer = home.run(&[&["plan", file, "--format", "json"], question].concat());
    assert_eq!(answer.code, 0, "{question:?}: {}", answer.stderr);
    json(&answer)
}

fn assert_same(opened: &Value, planned: &Value, why: &str) {
    for part in ["recommended", "fastest", "cheapest", "best_per_machine", "limits", "job", "currency", "prices"] {
        assert_eq!(opened[part], planned[part], "{why}: {part}");
    }
}

#[test]
fn the_whole_question_of_a_link_is_answered() {
    let home = Foreglow::new();
    let file = elsewhere(&home);
    let sheet = r#"{"name":"our cluster","date":"2026-11-01","currency":"EUR","core_hour":0.03,"gib_hour":0.004}"#;
    let prices = home.write("prices.json", sheet);
    for question in [
        &["--deadline", "10m"][..],
        &["--prices", &prices, "--deadline", "10m"],
        &["--prices", &prices, "--budget", "2"],
        &["-E", "2,4"],
        &["-C", "1"],
        &["--memory", "4g"],
        &["-E", "1", "-C", "2", "--memory", "3g", "--prices", &prices, "--probability", "0.5", "--deadline", "10m"],
    ] {
        let link = link(&home, &file, question);
        let planned = plan(&home, &file, question);
        assert_same(&open(&home, &link, &[]), &planned, &format!("{question:?}"));
        // The options of --open come first.
        let asked = ["-E", "3", "-C", "1", "--memory", "2g", "--deadline", "20m", "--probability", "0.8"];
        let changed = open(&home, &link, &asked);
        let row = &changed["recommended"];
        assert_eq!((&row["executors"], &row["memory_per_executor_mib"]), (&3.into(), &2048.into()), "{question:?}");
        assert_eq!((&changed["limits"]["deadline_secs"], &changed["currency"]), (&1200.0.into(), &planned["currency"]));
    }
    let file = home.write("samples.jsonl", &samples());
    for question in [&["--deadline", "10m"][..], &["-E", "2"], &["--memory", "2g"]] {
        let opened = open(&home, &link(&home, &file, question), &[]);
        assert_same(&opened, &plan(&home, &file, question), &format!("{question:?}"));
    }
}

#[test]
fn a_link_to_one_context_is_answered_as_its_plan() {
    let home = Foreglow::new();
    let sizes: Vec<String> = [8, 32]
        .into_iter()
        .flat_map(|size: u32| {
            let runs = (100 * size..).zip(GRID).map(move |(number, run)| line(number, "c5.xlarge", run, 1.0));
            runs.map(move |line| line.replace("\"partition_size\":8", &format!("\"partition_size\":{size}")))
        })
        .collect();
    let sizes = home.write("sizes.jsonl", &(sizes.join("\n") + "\n"));
    let samples = home.write("samples.jsonl", &samples());
    for (file, number) in [(&samples, "2"), (&samples, "3"), (&sizes, "1")] {
        let question = ["--context", number, "--deadline", "10m"];
        let opened = open(&home, &link(&home, file, &question), &[]);
        let planned = plan(&home, file, &question);
        assert_eq!(opened, planned, "{number} of {file}");
    }
    assert_same(&open(&home, &link(&home, &sizes, &[]), &[]), &plan(&home, &sizes, &[]), "partition sizes");
}

#[test]
fn the_part_after_the_runs_of_a_link_is_applied_or_named() {
    let home = Foreglow::new();
    let file = home.write("samples.jsonl", &samples());
    let link = link(&home, &file, &["--deadline", "20m"]);
    for (suffix, question) in [
        ("&size=40000x1", &["--images", "40000", "--epochs", "1"][..]),
        ("&size=20000x2&view=trust", &["--epochs", "2"]),
        ("&size=20000x1", &[]),
        ("&spot=1", &["--spot"]),
        ("&hourly=0.18", &["--max-hourly-cost", "0.18"]),
        ("&without=c5.xlarge", &["--machines", "m5.xlarge,c5.2xlarge"]),
        ("&devices=cpu", &["--machines", "c5.xlarge,m5.xlarge,c5.2xlarge"]),
    ] {
        let answer = home.run(&["link", "--open", &format!("{link}{suffix}"), "--format", "json"]);
        let planned = plan(&home, &file, &[&["--deadline", "20m"], question].concat());
        assert_same(&json(&answer), &planned, suffix);
        assert!(!answer.stderr.contains("only the page"), "{suffix}: {answer:?}");
    }
    let dear = open(&home, &format!("{link}&price=c5.xlarge:9.5"), &[]);
    let rows = dear["best_per_machine"].as_array().unwrap();
    let row = rows.iter().find(|row| row["machine"] == "c5.xlarge").unwrap();
    assert_eq!(row["hourly_cost"], 9.5, "{row}");
    let named = home.run(&["link", "--open", &format!("{link}&machine=c5.xlarge&batch=8"), "--format", "json"]);
    assert!(named.stderr.contains("only the page applies &machine=c5.xlarge and &batch=8 of the link"), "{named:?}");
    assert_same(&json(&named), &open(&home, &link, &[]), "as without these");
    for broken in ["size=abc", "size=0x1", "hourly=-1", "without=%"] {
        let refused = home.run(&["link", "--open", &format!("{link}&{broken}")]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
        assert!(refused.stderr.contains(&format!("the link ends with &{broken}; ")), "{refused:?}");
    }
    for none in ["&without=c5.xlarge&without=m5.xlarge&without=c5.2xlarge", "&devices=gpu"] {
        let none = home.run(&["link", "--open", &format!("{link}{none}")]);
        assert!(none.code == 2 && none.stderr.contains("leaves out every machine type"), "{none:?}");
    }
}

#[test]
fn a_link_to_one_kind_of_device_compares_only_machine_types_of_this_kind() {
    let home = Foreglow::new();
    let runs = |machine: &str, number: u32| -> Vec<String> {
        (number..).zip(GRID).map(|(number, run)| line(number, machine, run, 1.0)).collect()
    };
    let gpus = runs("rack-b", 100).join("\n").replace("\"accelerator\":null", "\"accelerator\":\"NVIDIA A10G\"");
    let lines = [runs("rack-a", 0).join("\n"), gpus, runs("rack-c", 200).join("\n"), String::new()];
    let link = link(&home, &home.write("mixed.jsonl", &lines.join("\n")), &["--deadline", "20m"]);
    let machines = |suffix: &str| {
        let answer = open(&home, &format!("{link}{suffix}"), &[]);
        let rows = answer["best_per_machine"].as_array().unwrap().iter();
        let mut machines: Vec<String> = rows.map(|row| row["machine"].as_str().unwrap().to_owned()).collect();
        machines.sort_unstable();
        machines
    };
    assert_eq!(machines("&devices=cpu"), ["rack-a", "rack-c"]);
    assert_eq!(machines("&devices=gpu"), ["rack-b"]);
    assert_eq!(machines("&devices=all"), ["rack-a", "rack-b", "rack-c"]);
}

#[test]
fn a_link_of_too_many_runs_is_refused_and_one_of_too_many_machine_types_says_so() {
    let home = Foreglow::new();
    let runs = |machine: &str, first: u32, count: usize| -> Vec<String> {
        let runs = (first..).zip(GRID.iter().cycle().take(count));
        runs.map(|(number, run)| line(number, machine, *run, 1.0)).collect()
    };
    let most = home.write("most.jsonl", &(runs("c5.xlarge", 0, 2000).join("\n") + "\n"));
    link(&home, &most, &[]);
    let many = home.write("many.jsonl", &(runs("c5.xlarge", 0, 2001).join("\n") + "\n"));
    let refused = home.run(&["link", &many]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
    assert!(refused.stderr.contains("the job has 2001 runs, and a link holds at most 2000;"), "{refused:?}");
    let both = [runs("c5.xlarge", 0, 1500), runs("m5.xlarge", 5000, 600)].concat();
    let both = home.run(&["link", &home.write("both.jsonl", &(both.join("\n") + "\n"))]);
    assert_eq!(both.code, 0, "{both:?}");
    assert!(
        both.stderr.contains("the job has more than 2000 runs, so the link holds only those of resnet18"),
        "{both:?}"
    );
}
