//! `foreglow evaluate --input` by the real binary, on a synthetic table from
//! `fixtures/make_table.py`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;

use foreglow::{Answer, Foreglow};
use serde_json::Value;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/table.csv");
const FEATURES: [&str; 8] =
    ["--target", "secs", "--feature", "machine", "--feature", "machines:inverse", "--feature", "gb"];
const SPLIT: [&str; 4] = ["--fit-on", "machines<=4", "--test-on", "machines=8"];

fn evaluate(file: &str, arguments: &[&str]) -> Answer {
    Foreglow::new().run(&[&["evaluate", "--input", file], &FEATURES[..], arguments].concat())
}

/// Returns the predictors of a JSON answer.
fn predictors(file: &str, arguments: &[&str]) -> Vec<Value> {
    let answer = evaluate(file, &[arguments, &["--format", "json"]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let json: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(json["schema"], 1);
    json["predictors"].as_array().unwrap().clone()
}

fn of<'a>(predictors: &'a [Value], name: &str) -> &'a Value {
    predictors.iter().find(|predictor| predictor["name"] == name).unwrap()
}

/// Compares an answer with its golden file, without the fit times, which vary.
fn golden(name: &str, Answer { code, stdout, stderr }: Answer) {
    let width = stdout.lines().find(|line| line.starts_with("predictor")).and_then(|line| line.find("tested"));
    let cut = |line: &str| match (width, line.ends_with(" s")) {
        (Some(width), true) => line.chars().take(width + "tested".len()).collect(),
        _ => line.to_owned(),
    };
    let stdout: String = stdout.lines().map(|line| cut(line) + "\n").collect();
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    let text = format!("{stdout}--- standard error, exit code {code}\n{stderr}");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn the_table_of_predictors_is_readable() {
    let roles = ["--data-size", "gb", "--censored", "stopped"];
    golden("table", evaluate(TABLE, &[&SPLIT[..], &roles].concat()));
    let csv = evaluate(TABLE, &[&SPLIT[..], &roles, &["--format", "csv"]].concat()).stdout;
    let header = "name,mape_percent,median_ape_percent,coverage_percent,fit_secs,tested,unknown,reason\nforeglow,";
    assert!(csv.starts_with(header), "{csv}");
}

#[test]
fn json_has_the_figures_of_every_predictor() {
    let predictors = predictors(TABLE, &[&SPLIT[..], &["--data-size", "gb"]].concat());
    let foreglow = &predictors[0];
    assert_eq!(
        (&foreglow["name"], &foreglow["tested"], &foreglow["unknown"]),
        (&"foreglow".into(), &6.into(), &0.into())
    );
    for figure in ["mape_percent", "median_ape_percent", "coverage_percent", "fit_secs"] {
        assert!(foreglow[figure].as_f64().is_some_and(|figure| figure >= 0.0), "{figure}: {foreglow}");
    }
    assert!(foreglow["mape_percent"].as_f64().unwrap() < 10.0, "{foreglow}");
    let mapes: Vec<f64> = predictors[1..].iter().filter_map(|predictor| predictor["mape_percent"].as_f64()).collect();
    assert!(mapes.is_sorted() && mapes.len() >= 6, "{mapes:?}");
    let without = of(&predictors, "end-to-end");
    assert_eq!(without["mape_percent"], Value::Null);
    assert_eq!(without["reason"], "no column of the batch size is named (--batch-size)");
    assert!(of(&predictors, "ernest")["mape_percent"].is_number(), "the :inverse feature is the machines");
}

#[test]
fn repeats_stay_together_and_the_seed_determines_the_folds() {
    for (arguments, tested) in [
        (&[][..], 24),
        (&["--repeats", "each"], 72),
        (&["--folds", "4"], 24),
        (&["--random-splits", "5"], 10),
        (&["--random-splits", "5", "--fit-settings", "10"], 70),
        (&["--leave-out", "machine", "--leave-out", "gb"], 24),
        (&["--only", "gb>1", "--only", "machine=small"], 8),
    ] {
        assert_eq!(of(&predictors(TABLE, arguments), "log-additive")["tested"], tested, "{arguments:?}");
    }
    let by =
        |seed: &str| of(&predictors(TABLE, &["--folds", "3", "--seed", seed]), "log-additive")["mape_percent"].clone();
    assert_eq!(by("1"), by("1"));
    assert_ne!(by("1"), by("2"));
}

#[test]
fn every_table_format_gives_the_same_figures() {
    let home = Foreglow::new();
    let csv = std::fs::read_to_string(TABLE).unwrap();
    let figures = |file: &str| {
        let mut predictors = predictors(file, &SPLIT);
        predictors.iter_mut().for_each(|predictor| predictor["fit_secs"] = Value::Null);
        predictors
    };
    let expected = figures(TABLE);
    assert_eq!(figures(&home.write("tabs.tsv", &csv.replace(',', "\t"))), expected);
    let decimal_commas = csv.replace(',', ";").replace('.', ",");
    assert_eq!(figures(&home.write("commas.csv", &decimal_commas)), expected);
    let with_gap = format!("{csv}small,1,,1,12.5,0\n");
    let gap = home.write("gap.csv", &with_gap);
    assert_eq!(predictors(&gap, &[&SPLIT[..], &["--only", "gb!="]].concat()).len(), expected.len());
    assert_eq!(figures(&home.write("semicolons", &format!("\u{feff}{}", csv.replace(',', ";")))), expected);
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let json: String = rows
        .map(|row| {
            let cells: Vec<String> = header.iter().zip(row).map(|(name, cell)| format!("{name:?}:{cell:?}")).collect();
            format!("{{{}}}\n\n", cells.join(","))
        })
        .collect();
    assert_eq!(figures(&home.write("table.jsonl", &json)), expected);
    let mut lines: Vec<&str> = csv.lines().collect();
    lines[1..].reverse();
    assert_eq!(figures(&home.write("reversed", &lines.join("\n"))), expected, "the order of the rows");
}

#[test]
fn invalid_tables_are_rejected_with_one_sentence() {
    let home = Foreglow::new();
    let with = |from: &str, to: &str| std::fs::read_to_string(TABLE).unwrap().replacen(from, to, 1);
    let header = "machine,machines,gb,run,secs,stopped\n";
    let cases = [
        (String::new(), &[][..], "it has no rows; give a header"),
        (header.to_owned(), &[], "has no rows below its header"),
        (
            with("secs", "time"),
            &[],
            "there is no column \"secs\"; the table has machine, machines, gb, run, time, stopped",
        ),
        (with("small,1,1,1,", "small,1,1,1,-"), &[], "line 2: the time is -36.03"),
        (with("small,1,1,1,", "small,1,1,1,NaN"), &[], "line 2: the time is \"NaN36.03\""),
        (with("small,1,1,1,", "small,0,1,1,"), &[], "line 2: the column machines is 0, which has no inverse"),
        (
            with("small,1,1,1,", "small,x,1,1,"),
            &[],
            "line 2: the column machines is \"x\", which is not a finite number",
        ),
        (with("small,1,1,1,", "small,1,NaN,1,"), &[], "line 2: the column gb is empty"),
        (with("small,1,1,1,", "small,1,,1,"), &[], "line 2: the column gb is empty"),
        (with("small,1,1,1,", "small,1,few,1,"), &[], "line 3: the column gb is \"1\", a number among names; write"),
        (with("large,1,1,1,", "large,1,few,1,"), &[], "the column gb is \"few\", a name among numbers; write"),
        (with("large,1,1,1,", "NaN,1,1,1,"), &[], "the column machine is empty"),
        (with("large,1,1,1,", "7,1,1,1,"), &[], "the column machine is \"7\", a number among names; write"),
        (with("stopped", "gb"), &[], "has several columns gb; rename them"),
        (with("small,1,1,1,", "small,1,1,"), &[], "line 2: this is not a row of the table (5 cells, the header has 6)"),
        (format!("{header}a,1,1,1,5,0\n"), &[], "all rows have the same setting"),
        (with("x", "x"), &["--fit-on", "machines<=99"], "every row meets --fit-on machines<=99; none is left to test"),
        (with("x", "x"), &["--test-on", "machines>99"], "no row meets --test-on machines>99"),
        (with("x", "x"), &["--only", "machine=huge"], "none of the 72 rows meets --only machine=huge"),
        (with("x", "x"), &["--only", "machine<3"], "line 2: machine is \"small\", which has no order"),
        (with("x", "x"), &["--fit-on", "gb<=4", "--test-on", "gb>=4"], "line 5: it meets both --fit-on and --test-on"),
        (with("x", "x"), &["--feature", "run:square"], "the column run has no transform \"square\""),
        (with("x", "x"), &["--feature", "secs"], "the column secs is a --feature and also --target or --censored"),
        (with("x", "x"), &["--feature", "gb"], "the column gb is a --feature twice"),
        (with("x", "x"), &["--machines", "nodes"], "--machines names \"nodes\", which is not a --feature"),
        (with("x", "x"), &["--leave-out", "nodes"], "--leave-out names \"nodes\", which is not a --feature"),
        (with("x", "x"), &["--censored", "gb"], "the column gb is a --feature and also --target or --censored"),
        (with("x", "x"), &["--censored", "run"], "line 3: the --censored column is \"2\"; it must be 0 or 1"),
        ("{\"secs\":1}\n[2]\n".to_owned(), &[], "line 2: this is not a row of the table (it is not a JSON object)"),
        ("{\"secs\":1}\n".to_owned(), &[], "there is no column \"machine\"; the table has secs"),
        ("[{\"secs\":1}]".to_owned(), &[], "it is a JSON array; write one object a line (JSON Lines)"),
    ];
    for (text, arguments, sentence) in cases {
        let file = home.write("table", &text);
        let answer = evaluate(&file, arguments);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{sentence}: {}", answer.stderr);
        assert!(answer.stderr.contains(sentence), "{sentence}: {}", answer.stderr);
        assert_eq!(answer.stderr.lines().count(), 1, "{}", answer.stderr);
    }
    for arguments in
        [&["--only", "machine"][..], &["--fit-on", "gb~4"], &["--folds", "1"], &["--folds", "3", "--fit-on", "gb=1"]]
    {
        let answer = evaluate(TABLE, arguments);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{arguments:?}");
    }
    let answer = Foreglow::new().run(&["evaluate", "--target", "secs"]);
    assert_eq!(answer.code, 2, "a table is named with --input");
}

/// Linux reports the peak memory of a running process.
#[cfg(target_os = "linux")]
#[test]
fn errors_too_large_for_a_mean_are_unknown_with_the_reason() {
    let home = Foreglow::new();
    let rows = "n;size;secs\n0;10;1,5\n4;1;8\n2;20;3,1\n4;20;1,7\n8;20;0,9\n2;100;1,6\n";
    let table = home.write("table.csv", rows);
    let words = ["--target", "secs", "--feature", "size", "--feature", "n", "--folds", "3", "--repeats", "each"];
    let roles = ["--data-size", "size", "--machines", "n", "--format", "json"];
    let answer = home.run(&[&["evaluate", "--input", &table], &words[..], &roles].concat());
    let json: Value = serde_json::from_str(&answer.stdout).unwrap();
    let additive = of(json["predictors"].as_array().unwrap(), "log-additive");
    assert_eq!((&additive["mape_percent"], &additive["tested"]), (&Value::Null, &6.into()), "{additive}");
    assert_eq!(additive["reason"], "its errors are too large for a mean");
    assert!(additive["median_ape_percent"].as_f64().unwrap() < 100.0, "{additive}");
}

#[test]
fn german_thousands_mean_the_same_as_plain_numbers_and_a_number_with_two_meanings_is_refused() {
    let home = Foreglow::new();
    let cells =
        [("30280.6", "30.280,6"), ("61217", "61.217"), ("15277", "15.277"), ("30497.3", "30.497,3"), ("3952", "3.952")];
    let table = |name: &str, delimiter: &str, times: &[&str]| {
        let rows = times.iter().zip(1..).map(|(secs, n)| format!("{n}{delimiter}{secs}\n"));
        let text = rows.fold(format!("n{delimiter}secs\n"), |text, row| text + &row) + &delimiter.repeat(3) + "\n";
        let arguments = ["--target", "secs", "--feature", "n", "--format", "json"];
        home.run(&[&["evaluate", "--input", &home.write(name, &text)], &arguments[..]].concat())
    };
    let (plain, german): (Vec<&str>, Vec<&str>) = cells.into_iter().unzip();
    let errors = |answer: &str| {
        let answer: Value = serde_json::from_str(answer).unwrap();
        answer["predictors"].as_array().unwrap().iter().map(|it| it["mape_percent"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(errors(&table("german", ";", &german).stdout), errors(&table("plain", ",", &plain).stdout));
    let answer = table("ambiguous", ";", &["61.217", "3.952", "120"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("line 2: secs is \"61.217\", which may be 61217 or 61.217"), "{}", answer.stderr);
}

#[test]
fn a_million_rows_fit_into_half_a_gibibyte() {
    let home = Foreglow::new();
    let mut text = String::from("id,machine,machines,gb,secs\n");
    for id in 0..1_000_000_u32 {
        // Multiplying by an odd number modulo 2³² gives every row a distinct value.
        let (machines, gb) = (1 + id % 64, 1.0 + f64::from(id.wrapping_mul(2_654_435_761)) / 1e6);
        text.push_str(&format!("{id},m{},{machines},{gb},{}\n", id % 7, 1.0 + gb / f64::from(machines)));
    }
    let file = home.write("million.csv", &text);
    drop(text);
    let arguments = ["evaluate", "--input", &file, "--fit-on", "id<1000", "--test-on", "id>=1000"];
    let mut child = home.command().args(arguments).args(FEATURES).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0_u64;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak_kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(peak_kib);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let answer = child.wait_with_output().unwrap();
    assert!(answer.status.success());
    let answer = String::from_utf8(answer.stdout).unwrap();
    assert!(answer.contains("Note: 10000 of 999000 settings, drawn by seed 0, are tested."), "{answer}");
    assert!((1..500 * 1024).contains(&peak_kib), "{} MiB", peak_kib / 1024);
}
