//! Output of the answering commands of the real binary, compared with golden files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;

use foreglow::{Answer, Foreglow, SAMPLES};

/// Compares standard output, standard error and exit code with a golden file.
fn golden(name: &str, answer: &Answer) {
    let Answer { code, stdout, stderr } = answer;
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    let text = format!("{stdout}--- standard error, exit code {code}\n{stderr}");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn lenet5(command: &[&str]) -> Answer {
    let mut arguments = command.to_vec();
    arguments.extend([SAMPLES, "--model", "lenet5"]);
    Foreglow::new().run(&arguments)
}

#[test]
fn a_prediction_is_readable_in_every_format() {
    let ask = |format| lenet5(&["predict", "--executors", "2", "--cores", "1", "--format", format]);
    golden("predict-table", &ask("table"));
    golden("predict-json", &ask("json"));
    golden("predict-csv", &ask("csv"));
}

#[test]
fn a_prediction_outside_the_samples_carries_a_note() {
    golden("predict-outside", &lenet5(&["predict", "--executors", "16", "--cores", "4"]));
}

#[test]
fn a_plan_is_readable_in_every_format() {
    let ask = |format| lenet5(&["plan", "--deadline", "15s", "--format", format]);
    golden("plan-table", &ask("table"));
    golden("plan-json", &ask("json"));
    golden("plan-csv", &ask("csv"));
    golden("plan-without-deadline", &lenet5(&["plan"]));
}

#[test]
fn scaling_is_readable_in_every_format() {
    let ask = |format| lenet5(&["scaling", "--format", format]);
    golden("scaling-table", &ask("table"));
    golden("scaling-json", &ask("json"));
    golden("scaling-csv", &ask("csv"));
    let elsewhere = lenet5(&["scaling", "--machine", "c5.xlarge"]);
    assert!(elsewhere.code == 2 && elsewhere.stderr.contains("no sample ran on c5.xlarge, but on"), "{elsewhere:?}");
}

#[test]
fn whole_jobs_are_compared_with_what_the_runs_before_them_predict() {
    let ask = |format| Foreglow::new().run(&["samples", "check", SAMPLES, "--format", format]);
    golden("samples-check-table", &ask("table"));
    let csv = ask("csv").stdout;
    assert!(csv.starts_with("sample,job,started_at,executors,cores_per_executor,from,predicted_secs,"), "{csv}");
    let answer: serde_json::Value = serde_json::from_str(&ask("json").stdout).unwrap();
    let (runs, held) = (answer["runs"].as_array().unwrap(), answer["held"].as_array().unwrap());
    assert_eq!((held[0]["from"].as_str(), held[0]["runs"].as_u64()), (Some("all"), Some(runs.len() as u64)));
    assert_eq!(csv.lines().count(), runs.len() + 1);
    // The last whole job followed a plan, and another CNN has the same times.
    let planned = r#""predicted":{"planned_at":"2026-11-21T09:00:00Z","median_secs":11.9,"lower_secs":11.2,"upper_secs":12.6},"engine""#;
    let samples = std::fs::read_to_string(SAMPLES).unwrap();
    let own: Vec<&str> = samples.lines().filter(|line| line.contains("lenet5")).collect();
    let lines = own.iter().flat_map(|line| {
        let is_planned = line.contains("00000000000c");
        let kept = if is_planned { line.replace(r#""engine""#, planned) } else { (*line).to_owned() };
        [kept, line.replace("019aa6d1", "019aa6d2").replace("lenet5", "alexnet")]
    });
    let home = Foreglow::new();
    let kept = home.write("kept.jsonl", &lines.collect::<Vec<_>>().join("\n"));
    golden("samples-check-kept", &home.run(&["samples", "check", &kept]));
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one.jsonl");
    std::fs::write(&one, std::fs::read_to_string(SAMPLES).unwrap().lines().next().unwrap()).unwrap();
    let none = Foreglow::new().run(&["samples", "check", one.to_str().unwrap()]);
    assert!(none.code == 0 && none.stdout.starts_with("No whole job can be checked"), "{none:?}");
}

#[test]
fn a_plan_for_a_budget_is_readable() {
    golden("plan-budget", &lenet5(&["plan", "--budget", "0.000303"]));
    golden("plan-budget-and-deadline", &lenet5(&["plan", "--deadline", "15s", "--budget", "0.00028"]));
    golden("plan-too-sure", &lenet5(&["plan", "--deadline", "12.7s", "--probability", "99%"]));
    golden("plan-small-budget", &lenet5(&["plan", "--budget", "0.0001"]));
}

/// Writes the samples with every run on two or more cores out of memory.
fn out_of_memory(home: &Foreglow) -> String {
    let over = |line: &str| match line.contains(r#""cores_per_executor":1"#) {
        true => format!("{line}\n"),
        false => format!("{}\n", line.replace(r#""outcome":"completed""#, r#""outcome":"out_of_memory""#)),
    };
    home.write("samples.jsonl", &std::fs::read_to_string(SAMPLES).unwrap().lines().map(over).collect::<String>())
}

#[test]
fn configurations_out_of_memory_are_marked_and_not_recommended() {
    let home = Foreglow::new();
    let samples = out_of_memory(&home);
    let ask = |more: &[&str]| home.run(&[&["plan", &samples, "--model", "lenet5"], more].concat());
    golden("plan-out-of-memory", &ask(&["--cores", "1,2"]));
    let none = ask(&["--cores", "2", "--format", "json"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("no configuration is known to fit into its memory"), "{}", none.stderr);
    let json: serde_json::Value = serde_json::from_str(&none.stdout).unwrap();
    assert_eq!(json["candidates"][0]["exclusion"]["kind"], "out_of_memory");
    let predicted = home.run(&["predict", &samples, "--model", "lenet5", "-E", "1", "-C", "2"]);
    assert!(predicted.stdout.contains("Out of memory: a run with 2 cores"), "{}", predicted.stdout);
    let scaling = home.run(&["scaling", &samples, "--model", "lenet5", "--executors", "1", "--cores", "1,2"]).stdout;
    let marked: Vec<bool> = scaling
        .lines()
        .filter(|line| line.trim_start().starts_with("1  "))
        .map(|line| line.ends_with("out of memory"))
        .collect();
    assert_eq!(marked, [false, true, false, true], "{scaling}");
}

#[test]
fn long_times_do_not_run_into_the_cost() {
    let home = Foreglow::new();
    let slow = |line: &str| {
        let mut sample: serde_json::Value = serde_json::from_str(line).unwrap();
        sample["completion_time_secs"] = (sample["completion_time_secs"].as_f64().unwrap() * 4000.0).into();
        format!("{sample}\n")
    };
    let samples = std::fs::read_to_string(SAMPLES).unwrap().lines().map(slow).collect::<String>();
    let samples = home.write("slow.jsonl", &samples);
    let plan = home.run(&["plan", &samples, "--model", "lenet5"]).stdout;
    let recommended = plan.lines().find(|line| line.contains("RECOMMENDED")).unwrap();
    assert!(recommended.contains(" h ") && recommended.contains("   USD "), "{plan}");
}

#[test]
fn advice_is_readable_in_every_format_and_its_command_runs() {
    let home = Foreglow::new();
    // Three runs of LeNet-5.
    let wanted = [r#""executors":1,"cores_per_executor":1"#, r#""executors":2,"cores_per_executor":1"#];
    let is_wanted = |line: &&str| {
        line.contains("lenet5")
            && ((line.contains(wanted[0]) && line.contains(r#""sampling_rate":0.01,"#))
                || (line.contains(wanted[0]) && line.contains(r#""sampling_rate":0.1,"#))
                || (line.contains(wanted[1]) && line.contains(r#""sampling_rate":0.01,"#)))
    };
    let all = std::fs::read_to_string(SAMPLES).unwrap().replace(r#""image_px":28"#, r#""image_px":32"#);
    let three: Vec<&str> = all.lines().filter(is_wanted).collect();
    assert_eq!(three.len(), 3);
    let samples = home.write("samples.jsonl", &three.join("\n"));
    let ask = |more: &[&str]| {
        let choices = ["--executors", "1-2", "--cores", "1-2", "--deadline", "15s", "--output", "more.jsonl"];
        home.run(&[&["advise", &samples, "--model", "lenet5"], &choices[..], more].concat())
    };
    golden("advise-table", &ask(&[]));
    golden("advise-json", &ask(&["--format", "json"]));
    golden("advise-csv", &ask(&["--format", "csv"]));

    let json: serde_json::Value = serde_json::from_str(&ask(&["--format", "json"]).stdout).unwrap();
    let suggestions = json["suggestions"].as_array().unwrap();
    assert!(suggestions.len() > 3);
    for suggestion in suggestions {
        let command = suggestion["command"].as_str().unwrap();
        let words: Vec<&str> = command.split(' ').skip(1).chain(["--dry-run", "--format", "json"]).collect();
        let listed = home.run(&words);
        assert_eq!(listed.code, 0, "{command}: {}", listed.stderr);
        let run: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
        for name in ["executors", "cores_per_executor", "memory_per_executor_mib", "partition_size"] {
            assert_eq!(run["configuration"][name], suggestion[name], "{command}");
        }
        assert_eq!(run["sampling_rate"], suggestion["sampling_rate"], "{command}");
    }
}

#[test]
fn with_too_few_samples_the_advice_is_the_first_runs() {
    let home = Foreglow::new();
    let one = std::fs::read_to_string(SAMPLES).unwrap().lines().next().unwrap().to_owned();
    let one = home.write("one.jsonl", &one.replace(r#""image_px":28"#, r#""image_px":32"#));
    let choices = ["--executors", "1-2", "--cores", "1-2", "--output", "more.jsonl"];
    golden("advise-first", &home.run(&[&["advise", &one], &choices[..]].concat()));
}

#[test]
fn a_negative_number_is_rejected_with_advice() {
    let wrong = [("--deadline", "a time above 0"), ("--budget", "money above 0"), ("--probability", "between 0 and 1")];
    for (option, sentence) in wrong {
        let answer = lenet5(&["plan", option, "-5"]);
        assert_eq!(answer.code, 2);
        assert!(answer.stderr.contains(sentence), "{}", answer.stderr);
    }
}

#[test]
fn an_impossible_deadline_names_the_fastest() {
    golden("plan-impossible", &lenet5(&["plan", "--deadline", "1s"]));
}

#[test]
fn own_prices_and_ranges_are_used() {
    let home = Foreglow::new();
    let prices = r#"{"name":"ours","date":"2026-01-31","currency":"EUR","executor_hour":1.5}"#;
    let prices = home.write("prices.json", prices);
    let choices = ["--executors", "2", "--cores", "1-2,4", "--memory", "512", "--prices", &prices];
    let answer = home.run(&[&["plan", SAMPLES, "--model", "lenet5"], &choices[..]].concat());
    golden("plan-own-prices", &answer);

    let wrong = home.write("wrong.json", r#"{"name":"ours","date":"2026-01-31","currency":"EUR"}"#);
    let answer = home.run(&["plan", SAMPLES, "--model", "lenet5", "--prices", &wrong]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("wrong.json: every price is zero"), "{}", answer.stderr);
}

/// Replaces the columns that depend on the speed of this machine, and the column widths.
fn without_times(tables: &str) -> String {
    let mut measured = 0;
    let line = |line: &str| {
        if line.starts_with('─') {
            return "───\n".to_owned();
        }
        let mut cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        if line.is_empty() {
            measured = 0;
        } else if line.ends_with("  fit") {
            measured = 1;
        } else if line.contains("  t2 training  ") {
            measured = 2;
        } else {
            let kept = cells.len().saturating_sub(measured);
            cells[kept..].fill("…");
        }
        cells.join("  ") + "\n"
    };
    tables.lines().map(line).collect()
}

#[test]
fn the_scenario_table_is_readable() {
    let mut answer = lenet5(&["evaluate"]);
    answer.stdout = without_times(&answer.stdout);
    golden("evaluate-table", &answer);

    let json: serde_json::Value = serde_json::from_str(&lenet5(&["evaluate", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["schema"], 1);
    let rows = json["scenarios"].as_array().unwrap();
    let labels: Vec<&str> = rows.iter().map(|row| row["scenario"].as_str().unwrap()).collect();
    assert_eq!(labels, ["baseline", "1", "2", "3-1", "3-2", "4-1", "4-2"]);
    for row in rows {
        let total = row["t1_secs"].as_f64().unwrap() + row["t2_secs"].as_f64().unwrap();
        assert_eq!(row["total_secs"].as_f64().unwrap(), total);
    }
    let only = lenet5(&["evaluate", "--scenario", "4-2", "--scenario", "baseline", "--format", "json"]).stdout;
    let only: serde_json::Value = serde_json::from_str(&only).unwrap();
    assert_eq!(only["scenarios"].as_array().unwrap().len(), 2);
    for (one, all) in [(0, 0), (1, 6)] {
        assert_eq!(only["scenarios"][one]["scenario"], rows[all]["scenario"]);
        assert_eq!(only["scenarios"][one]["accuracy_percent"], rows[all]["accuracy_percent"]);
    }
    let refused = lenet5(&["evaluate", "--scenario", "4-3"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("write one of baseline, 1, 2, 3-1, 3-2, 4-1, 4-2"), "{}", refused.stderr);
    let csv = lenet5(&["evaluate", "--format", "csv"]).stdout;
    assert!(csv.starts_with("scenario,accuracy_percent,mape_percent,fitted,tested,t1_secs,"), "{csv}");
}

#[test]
fn a_link_opens_the_answer_it_was_made_from() {
    let planned = lenet5(&["plan", "--deadline", "15s", "--format", "json"]).stdout;
    let link = lenet5(&["link", "--deadline", "15s", "--planner", "https://example.org/planner/"]);
    assert_eq!(link.code, 0, "{}", link.stderr);
    let link = link.stdout.trim();
    assert!(link.starts_with("https://example.org/planner/#v1."), "{link}");
    let opened = Foreglow::new().run(&["link", "--open", link, "--format", "json"]);
    let (planned, opened): (serde_json::Value, serde_json::Value) =
        (serde_json::from_str(&planned).unwrap(), serde_json::from_str(&opened.stdout).unwrap());
    assert_eq!(planned, opened);
    let from_input = Foreglow::new().run_with_input(&["link", "--open", "-", "--format", "json"], &format!("{link}\n"));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&from_input.stdout).unwrap(), opened);
}

#[test]
fn damaged_newer_and_invalid_links_are_rejected() {
    let link = lenet5(&["link"]).stdout;
    let open = |link: &str| {
        let answer = Foreglow::new().run(&["link", "--open", link]);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""));
        answer.stderr
    };
    assert!(open(&link.trim()[..link.len() - 20]).contains("this link is damaged"));
    assert!(open("https://example.org/#v2.abc").contains("from a newer Foreglow (format v2)"));
    assert!(open("https://example.org/").contains("not a Foreglow link"));
    assert!(open("https://example.org/#q1.abc").contains("this is a short link"));
    assert!(open(&format!("{}&size=abc", link.trim())).contains("size must be IMAGESxEPOCHS, such as size=3200x2"));
}

#[test]
fn files_standard_input_and_a_store_give_the_same_answer() {
    let home = Foreglow::new();
    let question = ["--model", "resnet18", "--executors", "2", "--cores", "2", "--format", "json"];
    let ask = |source: &[&str], input: &str| {
        let answer = home.run_with_input(&[&["predict"], source, &question[..]].concat(), input);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        answer.stdout
    };
    let samples = std::fs::read_to_string(SAMPLES).unwrap();
    let from_file = ask(&[SAMPLES], "");
    assert_eq!(ask(&["-"], &samples), from_file);
    let server = foreglow::Serving::start(&home);
    assert_eq!(foreglow::post(&server.url, &samples).0, 200);
    assert_eq!(ask(&[], ""), from_file, "the default store");
    let csv = home.write("samples.csv", &foreglow::get(&server.url, "/api/v1/samples?format=csv").1);
    assert_eq!(ask(&[&csv], ""), from_file);
    assert_eq!(ask(&[&csv, SAMPLES], ""), from_file, "a sample in two files counts once");
}

#[test]
fn several_jobs_are_listed_for_selection() {
    let ask = |choice: &[&str]| Foreglow::new().run(&[&["plan", SAMPLES, "--format", "csv"], choice].concat());
    golden("several-jobs", &ask(&[]));
    assert_eq!(ask(&["--context", "2"]).stdout, ask(&["--model", "resnet18"]).stdout);
    for wrong in [&["--context", "3"], &["--model", "nosuch"]] {
        let answer = ask(wrong);
        assert_eq!(answer.code, 2);
        assert!(answer.stderr.contains("no job in the samples matches your choice"), "{}", answer.stderr);
    }
}

#[test]
fn an_unknown_time_has_the_reason_alone_and_no_other_warning() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../web/assets/mnist.jsonl");
    let answer = Foreglow::new().run(&["predict", example, "--context", "1", "-E", "2", "-C", "2"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.stdout.contains("measure it again, or remove it"), "{answer:?}");
    let why = "foreglow: the samples are not enough to predict this time: every sample has cores per executor 1, so what \
               cores per executor 2 would take is unknown; collect a sample with another\n";
    assert_eq!(answer.stderr, why);
}

#[test]
fn invalid_samples_are_rejected_with_one_sentence() {
    let home = Foreglow::new();
    let line = foreglow::line;
    let with = |from: &str, to: &str| format!("{}\n{}\n", line(1), line(2).replace(from, to));
    let cases = [
        ("empty", String::new(), "there are no samples in it"),
        ("binary", "\u{0}\u{1}".to_owned(), "it is not text (byte 0)"),
        ("text", "my notes\n".to_owned(), "line 1: the column schema is missing"),
        ("damaged", format!("{}\n{}\n{}\n", line(1), &line(2)[..90], line(2)), "line 2: it is not a sample"),
        ("negative", with("2.5,", "-2.5,"), "line 2: completion_time_secs is -2.5"),
        ("no number", with("2.5,", "NaN,"), "line 2: it is not a sample"),
        ("rate", with(r#""sampling_rate":0.1"#, r#""sampling_rate":1.5"#), "line 2: sampling_rate is 1.5"),
        ("newer", with(r#""schema":1"#, r#""schema":7"#), "line 2: its schema is 7"),
        ("one sample", line(1), "nothing can be learned from one"),
        ("equal samples", format!("{}\n{}", line(1), line(2)), "all 2 samples are of one setting"),
        ("failed", line(1).replace("completed", "failed"), "no run completed (1 sample)"),
    ];
    for (name, text, sentence) in cases {
        let file = home.write(name, &text);
        for command in [&["predict", "-E", "1", "-C", "1"][..], &["plan"], &["link"]] {
            let answer = home.run(&[command, &[file.as_str()]].concat());
            assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{name}: {}", answer.stderr);
            assert!(answer.stderr.contains(sentence), "{name}: {}", answer.stderr);
            assert_eq!(answer.stderr.lines().count(), 1, "{name}: {}", answer.stderr);
        }
        assert_eq!(home.run(&["evaluate", &file]).code, 2, "{name}");
    }
    for (file, sentence) in [("none.jsonl", "there is no file"), (".", "is a folder")] {
        let answer = home.run(&["plan", file]);
        assert_eq!(answer.code, 2);
        assert!(answer.stderr.contains(sentence), "{}", answer.stderr);
    }
    let answer = home.run(&["plan"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("there is no store at"), "{}", answer.stderr);
    let answer = home.run(&["plan", "--store", &home.path("text")]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("is not a Foreglow store"), "{}", answer.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_answer_is_a_failure() {
    let home = Foreglow::new();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let answer = home.command().args(["plan", SAMPLES, "--model", "lenet5"]).stdout(full).output().unwrap();
    assert_eq!(answer.status.code(), Some(1));
    let stderr = String::from_utf8(answer.stderr).unwrap();
    assert!(stderr.starts_with("foreglow: the answer could not be written to standard output"), "{stderr}");
}

#[test]
fn invalid_arguments_are_rejected() {
    let refused = |arguments: &[&str]| {
        let answer = lenet5(arguments);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{arguments:?}");
    };
    refused(&["plan", "--deadline", "soon"]);
    refused(&["plan", "--deadline", "0"]);
    refused(&["plan", "--budget", "0"]);
    refused(&["plan", "--probability", "1"]);
    refused(&["plan", "--executors", "0"]);
    refused(&["plan", "--executors", "1-9999", "--cores", "1-9999"]);
    refused(&["predict", "-E", "0", "-C", "1"]);
    refused(&["predict", "-E", "1", "-C", "1", "--sampling-rate", "1.01"]);
    refused(&["predict", "-E", "1", "-C", "1", "--sampling-rate", "NaN"]);
}

#[test]
fn the_help_of_each_command_is_readable() {
    for command in ["advise", "evaluate", "import", "link", "plan", "predict", "serve", "simulate", "upload"] {
        golden(&format!("help-{command}"), &Foreglow::new().run(&[command, "-h"]));
    }
}

#[test]
fn an_uneven_split_is_named_and_billed_in_every_format() {
    let predict = ["predict", "--executors", "2", "--total-cores", "3", "--format"];
    let plan = ["plan", "--executors", "1-3", "--total-cores", "2,3", "--format"];
    for format in ["table", "json", "csv"] {
        golden(&format!("uneven-predict-{format}"), &lenet5(&[&predict[..], &[format]].concat()));
        golden(&format!("uneven-plan-{format}"), &lenet5(&[&plan[..], &[format]].concat()));
    }
}

#[test]
fn totals_that_cannot_be_divided_are_refused() {
    let refused = |arguments: &[&str], sentence: &str| {
        let answer = lenet5(arguments);
        assert!(answer.code == 2 && answer.stderr.contains(sentence), "{arguments:?}: {}", answer.stderr);
    };
    refused(&["predict", "-E", "3", "--total-cores", "2"], "without a core; give 3 or more");
    refused(&["plan", "-E", "3-4", "--total-cores", "2"], "give 3 or more");
    refused(&["predict", "-E", "3", "-C", "1", "--total-cores", "8"], "cannot be used with");
    refused(&["predict", "-E", "3"], "--cores <C>");
}

/// Runs of a program on one and two processes with 2, 10 and 20 % of its steps, without progress.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/program.jsonl");

#[test]
fn a_plan_and_advice_for_an_own_program_are_readable() {
    let home = Foreglow::new();
    let program = home.write("program.jsonl", &std::fs::read_to_string(PROGRAM).unwrap());
    let ask = |command: &[&str]| {
        let mut answer = home.run(command);
        for text in [&mut answer.stdout, &mut answer.stderr] {
            *text = text.replace(&home.path(""), "");
        }
        answer
    };
    golden("program-plan-table", &ask(&["plan", &program, "--deadline", "1m", "--executors", "1-4"]));
    golden(
        "program-plan-json",
        &ask(&["plan", &program, "--deadline", "1m", "--executors", "1,2", "--format", "json"]),
    );
    golden("program-advise", &ask(&["advise", &program, "--deadline", "1m"]));
}

#[test]
fn a_plan_that_recommends_a_faster_of_equally_cheap_configurations_says_so() {
    let run = |executors: u32, rate: f64, secs: f64| {
        let configuration = format!(
            r#""configuration":{{"executors":{executors},"cores_per_executor":1,"memory_per_executor_mib":1024,"partition_size":8}}"#
        );
        format!(
            r#"{{"schema":1,"id":"0197a000-0000-7000-8000-{:012x}","workload":{{"model":"lenet5","mode":"inference","image_px":28,"images":10000,"epochs":1,"batch_size":8}},{configuration},"sampling_rate":{rate},"outcome":"completed","completion_time_secs":{secs},"engine":"local","runner_version":"0.1.0","host":{{}},"started_at":"2026-11-30T00:00:00Z"}}"#,
            executors * 1000 + (rate * 100.0) as u32
        ) + "\n"
    };
    // Twice the executors take little more than half of the time.
    let law = |executors: u32, rate: f64, noise: f64| rate * 400.0 / f64::from(executors).powf(0.99) * noise;
    let rows = [(1, 1.03), (2, 0.97), (3, 1.02), (4, 0.98)];
    let all = rows.map(|(executors, noise)| {
        [0.05, 0.2, 1.0]
            .map(|rate| run(executors, rate, law(executors, rate, if rate < 1.0 { noise } else { 2.0 - noise })))
    });
    let home = Foreglow::new();
    let samples = home.write("samples.jsonl", &all.concat().concat());
    let answer = home.run(&["plan", &samples, "--format", "json"]);
    let plan: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    let [best, least] = [&plan["recommended"], &plan["as_cheap"]];
    let number =
        |row: &serde_json::Value, field: &str| row[field].as_f64().unwrap_or_else(|| panic!("{field}: {plan}"));
    assert!(number(best, "completion_time_secs") < number(least, "completion_time_secs"), "{plan}");
    assert!(number(best, "cost") > number(least, "cost") && number(best, "cost") <= 1.02 * number(least, "cost"));
    let table = home.run(&["plan", &samples]).stdout;
    assert!(table.contains("as cheap") && table.contains("cost the same within the error"), "{table}");
}
