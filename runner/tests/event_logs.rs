//! `foreglow import` and `foreglow simulate` by the real binary, on logs written by real Spark
//! versions (made by `shared/spark-log/tests/event-logs/make.sh`).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod foreglow;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use foreglow::{Answer, Foreglow};
use serde_json::Value;

const LOGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/spark-log/tests/event-logs");

fn log(name: &str) -> String {
    format!("{LOGS}/{name}")
}

fn import(home: &Foreglow, arguments: &[&str]) -> Answer {
    home.run(&[&["import", "--format", "json", "--output", &home.path("samples.jsonl")], arguments].concat())
}

fn samples(answer: &Answer) -> Vec<Value> {
    answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Removes the fields that differ between applications.
fn alike(answer: &Answer) -> Vec<Value> {
    let mut samples = samples(answer);
    for sample in &mut samples {
        let sample = sample.as_object_mut().unwrap();
        for name in ["id", "started_at", "completion_time_secs", "startup_secs", "spark"] {
            sample.remove(name);
        }
    }
    samples
}

#[test]
fn a_log_becomes_samples_with_any_compression() {
    let plain = import(&Foreglow::new(), &[&log("3.5-measured")]);
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    let read = samples(&plain);
    let rates: Vec<&Value> = read.iter().map(|sample| &sample["sampling_rate"]).collect();
    assert_eq!(rates, [0.1, 1.0]);
    for sample in &read {
        assert_eq!(sample["outcome"], "completed", "{sample}");
        assert_eq!(sample["engine"], "spark");
        assert_eq!(sample["workload"]["model"], "resnet18");
        let configuration = &sample["configuration"];
        assert_eq!((&configuration["executors"], &configuration["cores_per_executor"]), (&2.into(), &2.into()));
        assert_eq!(
            (&configuration["memory_per_executor_mib"], &configuration["partition_size"]),
            (&512.into(), &10.into())
        );
        assert_eq!(sample["spark"]["version"], "3.5.9");
        assert!(sample["spark"]["gc_secs"].is_f64(), "{sample}");
    }
    // The application was started for the first run and reused for the second.
    assert!(read[0]["startup_secs"].as_f64().unwrap() > 0.0 && read[1]["startup_secs"].is_null(), "{}", plain.stdout);
    // 12 tasks that sleep for 0.3 to 0.4 s, on 4 slots.
    assert!(read[1]["completion_time_secs"].as_f64().unwrap() > 0.9, "{}", read[1]);
    assert_eq!(read[1]["spark"]["tasks"], 12);

    for name in ["3.5-measured.zstd", "3.5-measured.lz4", "3.5-measured.snappy", "3.5-measured.lzf", "4.1-measured"] {
        let other = import(&Foreglow::new(), &[&log(name)]);
        assert_eq!(other.code, 0, "{name}: {}", other.stderr);
        assert_eq!(alike(&other), alike(&plain), "{name}");
    }
}

#[test]
fn importing_the_same_log_twice_keeps_its_samples_once() {
    let home = Foreglow::new();
    let first = import(&home, &[&log("3.5-measured")]);
    let again = import(&home, &[&log("3.5-measured")]);
    assert_eq!(first.stdout, again.stdout);
    assert!(again.stderr.contains("2 samples, 0 new in "), "{}", again.stderr);
    assert_eq!(std::fs::read_to_string(home.path("samples.jsonl")).unwrap().lines().count(), 2);
}

#[test]
fn importing_a_log_with_other_values_keeps_the_stored_sample_and_tells_how_to_replace_it() {
    let home = Foreglow::new();
    let with = |rate: &str| import(&home, &[&log("4.1-short.zstd"), "--sampling-rate", rate]);
    let stored = samples(&with("0.5"))[0]["id"].as_str().unwrap().to_owned();
    let other = with("0.25");
    assert_eq!((other.code, other.stdout.as_str()), (2, ""), "{}", other.stderr);
    assert!(other.stderr.contains("the first differs in sampling_rate, 0.25 instead of 0.5."), "{}", other.stderr);
    let kept = std::fs::read_to_string(home.path("samples.jsonl")).unwrap();
    assert_eq!((kept.lines().count(), kept.contains("\"sampling_rate\":0.5")), (1, true), "{kept}");
    // The command in the message makes room for the new values.
    assert!(other.stderr.contains(&format!("foreglow samples remove --from {} {stored}", home.path("samples.jsonl"))));
    assert_eq!(home.run(&["samples", "remove", "--from", &home.path("samples.jsonl"), &stored]).code, 0);
    assert_eq!((with("0.25").code, samples(&with("0.25"))[0]["sampling_rate"].clone()), (0, 0.25.into()));
}

#[test]
fn an_input_that_cannot_be_found_does_not_stop_the_others() {
    let home = Foreglow::new();
    std::fs::create_dir(home.path("empty")).unwrap();
    let zip = home.write("damaged.zip", "PK\u{3}\u{4}");
    let inputs = [&home.path("nowhere"), &home.path("empty"), &zip, &log("3.5-measured")];
    let answer = import(&home, &inputs.map(String::as_str));
    assert_eq!((answer.code, samples(&answer).len()), (2, 2), "{}", answer.stderr);
    for sentence in ["there is no file", "there is no event log in", "cannot be unpacked", "3 of the logs or files"] {
        assert!(answer.stderr.contains(sentence), "{}", answer.stderr);
    }
    let unreachable = import(&Foreglow::new(), &["http://127.0.0.1:9", &log("3.5-measured")]);
    assert_eq!((unreachable.code, samples(&unreachable).len()), (1, 2), "{}", unreachable.stderr);
}

#[test]
fn a_folder_of_logs_and_a_rolling_log_in_many_files_are_read_in_order() {
    let home = Foreglow::new();
    let plain = std::fs::read_to_string(log("3.5-measured")).unwrap();
    let lines: Vec<&str> = plain.lines().collect();
    let folder = home.path("events");
    let rolling = format!("{folder}/eventlog_v2_app-1");
    std::fs::create_dir_all(&rolling).unwrap();
    std::fs::write(format!("{rolling}/appstatus_app-1"), "").unwrap();
    for (number, part) in (1..).zip(lines.chunks(lines.len().div_ceil(12))) {
        std::fs::write(format!("{rolling}/events_{number}_app-1"), part.join("\n") + "\n").unwrap();
    }
    std::fs::copy(log("3.5-measured.zstd"), format!("{folder}/app-2.zstd.inprogress")).unwrap();
    std::fs::write(format!("{folder}/.app-2.crc"), "crc").unwrap();
    let answer = import(&home, &[&folder]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(samples(&answer).len(), 4);
    let whole = import(&Foreglow::new(), &[&log("3.5-measured")]);
    assert!(samples(&whole).iter().all(|sample| samples(&answer).contains(sample)), "{}", answer.stdout);
}

#[test]
fn the_sample_file_may_be_in_the_log_folder() {
    let home = Foreglow::new();
    std::fs::create_dir(home.path("events")).unwrap();
    std::fs::copy(log("3.5-measured"), home.path("events/app-1")).unwrap();
    let (folder, output) = (home.path("events"), home.path("events/samples.jsonl"));
    let answers = [0, 1].map(|_| home.run(&["import", "--format", "json", "--output", &output, &folder]));
    for answer in &answers {
        assert_eq!((answer.code, samples(answer).len()), (0, 2), "{}", answer.stderr);
    }
    assert_eq!(std::fs::read_to_string(&output).unwrap().lines().count(), 2);
}

#[test]
fn values_missing_in_a_log_are_asked_for() {
    let home = Foreglow::new();
    let none = import(&home, &[&log("4.1-stages.zstd")]);
    assert_eq!(none.code, 2);
    let sentence = "the log lacks sampling_rate; give --sampling-rate";
    assert!(none.stderr.contains(sentence), "{}", none.stderr);
    let given = import(&home, &[&log("4.1-stages.zstd"), "--sampling-rate", "0.5"]);
    assert_eq!(given.code, 0, "{}", given.stderr);
    let read = samples(&given);
    assert_eq!((read.len(), &read[0]["sampling_rate"], &read[0]["spark"]["killed_tasks"]), (1, &0.5.into(), &0.into()));
    let other = import(&home, &[&log("3.5-measured"), "--model", "vgg16"]);
    assert_eq!(other.code, 2);
    assert!(other.stderr.contains("--model says \"vgg16\""), "{}", other.stderr);
}

#[test]
fn a_run_that_deviates_from_its_configuration_fails_with_the_reason() {
    let killed = import(&Foreglow::new(), &[&log("4.1-killed.zstd"), "--sampling-rate", "1"]);
    assert_eq!(killed.code, 0, "{}", killed.stderr);
    let sample = &samples(&killed)[0];
    assert_eq!(sample["outcome"], "failed");
    let reason = sample["reason"].as_str().unwrap();
    // The executor was killed from outside, which does not mean that it ran out of memory.
    assert!(reason.contains("was lost during the run: Command exited with code 137"), "{reason}");
    assert!(reason.contains("task attempts failed"), "{reason}");

    let failed = import(&Foreglow::new(), &[&log("4.1-failed.zstd"), "--sampling-rate", "1"]);
    let sample = &samples(&failed)[0];
    assert_eq!(sample["outcome"], "failed");
    assert!(sample["reason"].as_str().unwrap().contains("failed 4 times"), "{sample}");

    let other = std::fs::read_to_string(log("3.5-measured")).unwrap();
    let other =
        other.replacen("\"spark.foreglow.model\"", "\"spark.foreglow.executors\":\"3\",\"spark.foreglow.model\"", 1);
    let home = Foreglow::new();
    let answer = import(&home, &[&home.write("asked", &other)]);
    let reason = "3 executors with 2 cores each were requested, and 2 with 2 ran";
    assert_eq!(samples(&answer)[0]["reason"], reason, "{}", answer.stdout);
}

#[test]
fn sample_files_are_imported_unchanged() {
    let home = Foreglow::new();
    let lines = import(&home, &[foreglow::SAMPLES]);
    assert_eq!(lines.code, 0, "{}", lines.stderr);
    let csv = home.run(&["import", foreglow::SAMPLES, "--output", &home.path("a.jsonl"), "--format", "csv"]).stdout;
    let again = import(&Foreglow::new(), &[&home.write("samples.csv", &csv)]);
    assert_eq!(again.stdout, lines.stdout);
}

#[test]
fn invalid_and_truncated_logs_are_reported() {
    let home = Foreglow::new();
    let refused = |file: &str, sentence: &str| {
        let answer = import(&home, &[file]);
        assert_eq!(answer.code, 2, "{answer:?}");
        assert!(answer.stderr.contains(sentence), "{}", answer.stderr);
    };
    refused(&home.write("empty", ""), "there are no samples in it");
    refused(&home.write("binary", "\u{0}\u{1}\u{2}"), "it is neither a Spark event log nor a usable sample file");
    refused(&home.path("nowhere"), "there is no file");
    let plain = std::fs::read_to_string(log("3.5-measured")).unwrap();
    let until = |event: &str| &plain[..plain.find(&format!("{{\"Event\":\"{event}\"")).unwrap()];
    refused(&home.write("started", until("SparkListenerJobStart")), "the log has no jobs");
    refused(&home.write("warming", until("SparkListenerJobEnd")), "only warm the executors up");
    let measured = plain.find("foreglow measured").unwrap();
    refused(&home.write("running", &plain[..measured + 2000]), "none of its 1 jobs has an end in the log");

    // A compressed log truncated in its second run: the first run is imported, with a note.
    let packed = std::fs::read(log("3.5-measured.lz4")).unwrap();
    let cut = home.path("cut.lz4.inprogress");
    std::fs::write(&cut, &packed[..packed.len() - 3000]).unwrap();
    let answer = import(&home, &[&cut]);
    assert_eq!((answer.code, samples(&answer).len() < 3), (0, true), "{}", answer.stderr);
    assert!(answer.stderr.contains("only the readable part is used"), "{}", answer.stderr);
}

#[test]
fn a_part_of_an_application_is_no_completed_run_in_any_form() {
    let home = Foreglow::new();
    // All jobs of the application are one run, whose end only the application's end shows.
    let whole = std::fs::read_to_string(log("3.5-measured")).unwrap();
    let whole = whole.replace("foreglow measured", "images").replace("foreglow warm-up", "images");
    // The jobs of the part have no rate of their own.
    let whole = whole.replace("spark.foreglow.sampling_rate", "spark.other.sampling_rate");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let ends = |line: &&str| line.contains("\"SparkListenerJobEnd\"");
    let first = lines.iter().position(ends).unwrap() + 1;
    let (head, tail) = (lines[..first].concat(), lines[first..].concat());
    let zipped = |name: &str, bytes: &str, keep: fn(usize) -> usize| {
        let file = home.write(name, bytes);
        let output = std::process::Command::new("gzip").args(["-c", &file]).output().unwrap().stdout;
        std::fs::write(&file, &output[..keep(output.len())]).unwrap();
        file
    };
    let rolling = |name: &str, parts: &[(&str, &str)]| {
        std::fs::create_dir(home.path(name)).unwrap();
        parts.iter().for_each(|(part, text)| drop(home.write(&format!("{name}/{part}"), text)));
        home.path(name)
    };
    let outcome = |inputs: &[&str]| {
        let answer = import(&Foreglow::new(), &[inputs, &["--sampling-rate", "0.1"]].concat());
        assert_eq!(answer.code, 0, "{inputs:?}: {}", answer.stderr);
        let [sample]: [Value; 1] = samples(&answer).try_into().unwrap_or_else(|samples| panic!("{samples:?}"));
        sample["outcome"].as_str().unwrap().to_owned()
    };
    let parts = rolling("parts", &[("events_1_a", &head), ("events_2_a", &tail), ("appstatus_a", "")]);
    for inputs in [
        vec![home.write("whole", &whole)],
        vec![zipped("whole.gz", &whole, |length| length)],
        vec![parts.clone()],
        vec![format!("{parts}/appstatus_a"), format!("{parts}/events_2_a"), format!("{parts}/events_1_a")],
        vec![home.write("marked", &format!("\u{feff}{whole}"))],
    ] {
        assert_eq!(outcome(&inputs.iter().map(String::as_str).collect::<Vec<_>>()), "completed", "{inputs:?}");
    }
    for input in [
        home.write("a.inprogress", &head),
        home.write("cut", &whole[..whole.len() - 9]),
        zipped("cut.gz", &whole, |length| length - 200),
        rolling("eventlog_v2_a", &[("events_1_a", &head), ("appstatus_a.inprogress", "")]),
        rolling("eventlog_v2_b", &[("events_1_b", &head), ("events_3_b", &tail)]),
        rolling("eventlog_v2_c", &[("events_2_c.compact", &head), ("events_3_c", &tail)]),
        format!("{parts}/events_1_a"),
    ] {
        assert_eq!(outcome(&[&input]), "failed", "{input}");
        let text = home.run(&["simulate", &input]).stdout;
        assert!(text.contains("Note: the run ended as failed: "), "{input}: {text}");
    }
}

#[test]
fn each_run_of_a_log_has_its_own_sampling_rate() {
    let home = Foreglow::new();
    let plain = std::fs::read_to_string(log("3.5-measured")).unwrap();
    let file = home.write("log", &plain.replace("spark.foreglow.sampling_rate", "spark.other.sampling_rate"));
    let one = import(&home, &[&file, "--sampling-rate", "0.5"]);
    assert_eq!((one.code, one.stdout.as_str()), (2, ""), "{}", one.stderr);
    assert!(one.stderr.contains("--sampling-rate gives one rate for 2 runs"), "{}", one.stderr);
    let each = import(&home, &[&file, "--sampling-rate", "10%,1"]);
    let rates: Vec<Value> = samples(&each).iter().map(|sample| sample["sampling_rate"].clone()).collect();
    assert_eq!((each.code, rates), (0, vec![0.1.into(), 1.0.into()]), "{}", each.stderr);
}

/// Serves real logs as a zip file, as a history server does.
fn serve(zip: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let count = stream.read(&mut request).unwrap();
            let text = String::from_utf8_lossy(&request[..count]).into_owned();
            let list = br#"[{"id":"app-1","name":"one","attempts":[]},{"id":"app-2","name":"two","attempts":[]}]"#;
            let (status, body) = match text.split(' ').nth(1).unwrap() {
                "/api/v1/applications?status=completed" => ("200 OK", list.to_vec()),
                "/api/v1/applications/app-2/logs" => ("200 OK", zip.clone()),
                _ => ("404 Not Found", b"unknown app".to_vec()),
            };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).unwrap();
        }
    });
    address
}

#[test]
fn an_application_is_imported_from_a_history_server() {
    let home = Foreglow::new();
    let zip = home.path("logs.zip");
    let made = std::process::Command::new("python3")
        .args(["-c", "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED).write(sys.argv[2], 'app-2.zstd')"])
        .args([&zip, &log("3.5-measured.zstd")])
        .status();
    assert!(made.unwrap().success());
    let whole = import(&Foreglow::new(), &[&log("3.5-measured.zstd")]);
    assert_eq!(import(&home, &[&zip]).stdout, whole.stdout);

    let url = serve(std::fs::read(Path::new(&zip)).unwrap());
    let several = import(&home, &[&url]);
    assert_eq!(several.code, 2);
    assert!(several.stderr.contains("has 2 applications; choose with --application ID"), "{}", several.stderr);
    assert_eq!(import(&home, &[&url, "--application", "app-2"]).stdout, whole.stdout);
    assert_eq!(import(&home, &[&format!("{url}/history/app-2/jobs/")]).stdout, whole.stdout);
    let unknown = import(&home, &[&url, "--application", "app-3", "--application", "app-2"]);
    assert_eq!((unknown.code, unknown.stderr.contains("app-3")), (2, true), "{}", unknown.stderr);
    assert_eq!(unknown.stdout, whole.stdout);
    let nobody = import(&home, &["http://127.0.0.1:9"]);
    assert!(nobody.stderr.contains("cannot be reached"), "{}", nobody.stderr);
}

fn simulate(name: &str, arguments: &[&str]) -> (Answer, Value) {
    let answer = Foreglow::new().run(&[&["simulate", &log(name), "--format", "json"], arguments].concat());
    let json = serde_json::from_str(&answer.stdout).unwrap_or(Value::Null);
    (answer, json)
}

#[test]
fn simulating_the_logged_configuration_is_within_5_percent() {
    let runs = [
        ("3.5-measured", "1"),
        ("3.5-measured", "2"),
        ("4.1-measured", "2"),
        ("4.1-stages.zstd", "1"),
        ("4.1-parallel.zstd", "1"),
        ("4.1-short.zstd", "1"),
    ];
    for (name, run) in runs {
        let (answer, json) = simulate(name, &["--run", run]);
        assert_eq!(answer.code, 0, "{name}: {}", answer.stderr);
        let (simulated, measured) = (json["simulated_secs"].as_f64().unwrap(), json["measured_secs"].as_f64().unwrap());
        let off = (simulated / measured - 1.0).abs();
        assert!(off < 0.05, "{name}, run {run}: simulated {simulated}, measured {measured}");
        assert!(json["critical_path_secs"].as_f64().unwrap() <= simulated, "{name}");
    }
}

/// The same program with another version of Spark: the table, and the JSON of a log against itself.
#[test]
fn two_logs_of_an_application_are_compared() {
    let home = Foreglow::new();
    let answer = home.run(&["simulate", &log("3.5-measured"), "--run", "1", "--against", &log("4.1-measured")]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    insta::assert_snapshot!("simulate-against", answer.stdout);

    let (_, same) = simulate("4.1-stages.zstd", &["--against", &log("4.1-stages.zstd")]);
    assert_eq!(same["before"], same["after"]);
    assert_eq!(same["simulated_secs"], same["before"]["completion_time_secs"]);
    let (refused, _) = simulate("4.1-stages.zstd", &["--against", &log("4.1-stages.zstd"), "--deadline", "1h"]);
    assert!(refused.code == 2 && refused.stderr.contains("--against"), "{}", refused.stderr);
}

#[test]
fn other_configurations_are_simulated_next_to_the_prediction() {
    let (answer, json) = simulate("4.1-stages.zstd", &["--executors", "1,2,4", "--cores", "1,2", "--deadline", "1h"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let candidates = json["candidates"].as_array().unwrap();
    let of = |executors: u64, cores: u64| {
        let wanted = |c: &&Value| c["executors"] == executors && c["cores_per_executor"] == cores;
        candidates.iter().find(wanted).unwrap()["simulated"]["completion_time_secs"].as_f64().unwrap()
    };
    assert_eq!(candidates.len(), 6);
    assert!(of(1, 1) > of(1, 2) && of(1, 2) > of(2, 2) && of(2, 2) >= of(4, 2), "{}", answer.stdout);
    assert!(of(1, 1) <= json["one_core_secs"].as_f64().unwrap() + 1e-9);
    assert_eq!(json["smallest"]["meets_deadline"], true);

    let home = Foreglow::new();
    let (beside, json) = simulate("4.1-stages.zstd", &["--samples", foreglow::SAMPLES, "--sampling-rate", "0.1"]);
    let text = home.run(&["simulate", &log("4.1-stages.zstd"), "--samples", foreglow::SAMPLES]).stdout;
    assert!(json["candidates"][0]["predicted_secs"].is_f64(), "{}{}", beside.stderr, beside.stdout);
    assert!(text.contains("predicted") && text.contains("90 % interval"), "{text}");
}

#[test]
fn a_prediction_from_samples_of_another_job_says_in_what_they_differ() {
    let (beside, _) = simulate("4.1-stages.zstd", &["--samples", foreglow::SAMPLES, "--sampling-rate", "0.1"]);
    assert!(beside.stderr.contains("spark instead of local as the engine"), "{}", beside.stderr);
    let home = Foreglow::new();
    let xception = std::fs::read_to_string(foreglow::SAMPLES).unwrap().replace("\"lenet5\"", "\"xception\"");
    let file = home.write("xception.jsonl", &xception.replace("\"resnet18\"", "\"xception\""));
    let (refused, _) = simulate("4.1-stages.zstd", &["--samples", &file]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("and the samples have only xception; give samples of the same job"),
        "{}",
        refused.stderr
    );
}

#[test]
fn impossible_configurations_and_missing_choices_are_reported() {
    let (several, _) = simulate("3.5-measured", &[]);
    assert_eq!(several.code, 2);
    assert!(several.stderr.contains("the log has 2 runs; choose one with --run N"), "{}", several.stderr);
    let (late, json) = simulate("4.1-stages.zstd", &["--executors", "1", "--deadline", "1s"]);
    assert_eq!((late.code, &json["smallest"]), (1, &Value::Null), "{}", late.stderr);
    let (barrier, json) = simulate("4.1-barrier.zstd", &["--executors", "1,2", "--cores", "2"]);
    assert_eq!((barrier.code, &json["candidates"][0]["simulated"]), (0, &Value::Null), "{}", barrier.stderr);
}

#[test]
fn a_simulation_is_readable() {
    let answer = Foreglow::new().run(&["simulate", &log("4.1-stages.zstd"), "--cores", "1,2", "--deadline", "2m"]);
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("simulate-table", answer.stdout));
}
