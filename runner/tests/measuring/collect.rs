use foreglow_shared::{Outcome, parse_line};

use crate::bench_folder::{answer, foreglow, images, path, text};

const GRID: [&str; 14] = [
    "collect",
    "--model",
    "lenet5",
    "--executors",
    "1,2",
    "--cores",
    "1",
    "--sampling-rate",
    "0.5,0.25",
    "--device",
    "cpu",
    "--repeat",
    "1",
    "--output",
];

fn kept(file: &std::path::Path) -> Vec<foreglow_shared::Sample> {
    std::fs::read_to_string(file).unwrap().lines().map(|line| parse_line(line).unwrap()).collect()
}

#[test]
fn a_grid_is_measured_small_samples_first() {
    let folder = images(8);
    let file = folder.path().join("samples.jsonl");
    let arguments = [&GRID[..], &[text(&file), "--data", text(folder.path()), "--format", "json"]].concat();
    let (code, out, err) = answer(&arguments);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out, std::fs::read_to_string(&file).unwrap());
    let order: Vec<_> =
        kept(&file).iter().map(|sample| (sample.sampling_rate, sample.configuration.executors)).collect();
    assert_eq!(order, [(0.25, 1), (0.25, 2), (0.5, 1), (0.5, 2)]);
    assert!(err.contains("4/4  2 × 1 cores"), "{err}");
}

#[test]
fn a_second_collect_resumes_where_the_first_one_stopped() {
    let folder = images(8);
    let file = folder.path().join("samples.jsonl");
    let arguments = [&GRID[..], &[text(&file), "--data", text(folder.path()), "--format", "json"]].concat();
    assert_eq!(answer(&arguments).0, 0);
    let whole = std::fs::read_to_string(&file).unwrap();

    // Two of the runs are missing, and a crash has truncated a line.
    let two: String = whole.lines().take(2).map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, format!("{two}{{\"schema\":1,\"id\"")).unwrap();
    let dry = [&arguments[..], &["--dry-run"]].concat();
    let (code, out, _) = answer(&dry);
    assert_eq!((code, out.lines().count()), (0, 2), "{out}");

    let (code, out, err) = answer(&arguments);
    assert_eq!((code, out.lines().count()), (0, 2), "{err}");
    assert!(err.contains("2 of 4 runs are already in"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{two}{out}"));

    let (code, out, _) = answer(&arguments);
    assert_eq!((code, out.as_str()), (0, ""), "all runs are finished");
    assert_eq!(kept(&file).len(), 4);
}

#[test]
fn a_failed_run_is_recorded_and_does_not_stop_the_others() {
    let folder = images(8);
    std::fs::write(path(&folder, 3), b"no image").unwrap();
    let file = folder.path().join("samples.jsonl");
    let (code, _, err) = answer(&[
        "collect",
        "--model",
        "lenet5",
        "--data",
        text(folder.path()),
        "--executors",
        "1",
        "--cores",
        "1,2",
        "--sampling-rate",
        "1",
        "--device",
        "cpu",
        "--output",
        text(&file),
    ]);
    assert_eq!(code, 1);
    assert!(err.contains("2 of 2 runs failed"), "{err}");
    assert!(kept(&file).iter().all(|sample| sample.outcome == Outcome::Failed));
}

#[test]
fn a_dry_run_lists_the_runs_and_touches_nothing() {
    let folder = images(8);
    let file = folder.path().join("samples.jsonl");
    let arguments = [&GRID[..], &[text(&file), "--data", text(folder.path()), "--dry-run", "--format", "csv"]].concat();
    let (code, out, _) = answer(&arguments);
    assert_eq!(code, 0);
    let expected = "executors,cores_per_executor,memory_per_executor_mib,partition_size,image_px,batch_size,sampling_rate,\
                    images,repetition,secs,cost,words\n\
                    1,1,2048,8,32,8,0.25,2,0,,,\n2,1,2048,8,32,8,0.25,2,0,,,\n\
                    1,1,2048,8,32,8,0.5,4,0,,,\n2,1,2048,8,32,8,0.5,4,0,,,\n";
    assert_eq!(out, expected);
    assert!(!file.exists());
    let arguments = [&GRID[..], &[text(&file), "--data", text(folder.path()), "--dry-run"]].concat();
    let (_, out, _) = answer(&arguments);
    assert!(out.contains("4 runs; without a forecast: 4"), "{out}");
}

#[test]
fn a_dry_run_forecasts_the_remaining_time_from_finished_runs() {
    let folder = images(8);
    let file = folder.path().join("samples.jsonl");
    let arguments = [&GRID[..], &[text(&file), "--data", text(folder.path()), "--format", "json"]].concat();
    assert_eq!(answer(&arguments).0, 0);
    let first = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{}\n", first.lines().next().unwrap())).unwrap();
    let (code, out, err) = answer(&[&arguments[..], &["--dry-run"]].concat());
    assert_eq!(code, 0, "{err}");
    let runs: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|run| run["secs"].as_f64().unwrap() > 0.0 && run["cost"].as_f64().unwrap() > 0.0), "{out}");
    let table = [&GRID[..], &[text(&file), "--data", text(folder.path()), "--dry-run"]].concat();
    let (_, out, _) = answer(&table);
    assert!(out.contains("3 runs, about ") && out.contains("in all and < USD 0.01 ("), "{out}");
    // Costs below a cent have no digits.
    assert_eq!(out.matches("USD ").count(), 4, "three runs and their sum: {out}");
    assert_eq!(out.matches("< USD 0.01").count(), 4, "{out}");
}

#[test]
fn image_sizes_and_batch_sizes_are_grid_dimensions() {
    let folder = images(8);
    let file = folder.path().join("samples.jsonl");
    let arguments = ["collect", "--model", "mobilenet_v2", "--data", text(folder.path()), "--output", text(&file)];
    let sizes = ["--image-px", "64,32", "--batch-size", "2,4", "--executors", "1", "--cores", "1"];
    let more = ["--sampling-rate", "0.5", "--device", "cpu", "--format", "json"];
    let (code, _, err) = answer(&[&arguments[..], &sizes, &more].concat());
    assert_eq!(code, 0, "{err}");
    let order: Vec<_> =
        kept(&file).iter().map(|sample| (sample.workload.image_px, sample.workload.batch_size)).collect();
    assert_eq!(order, [(32, 2), (32, 4), (64, 2), (64, 4)]);
    let (code, _, err) = answer(&["run", "--model", "lenet5", "--batch-size", "2,4"]);
    assert_eq!(code, 2);
    assert!(err.contains("--batch-size has 2 sizes; this command takes one, `foreglow collect` several"), "{err}");
}

#[test]
fn a_budget_ends_a_sweep_and_the_same_command_resumes_it() {
    let folder = images(8);
    let file = folder.path().join("samples.jsonl");
    let arguments = [&GRID[..], &[text(&file), "--data", text(folder.path()), "--format", "json"]].concat();
    for (budget, made) in [(["--budget-time", "1e-9"], 0), (["--budget-money", "1e-12"], 1)] {
        // The first run has no forecast, so it is made if any budget is left.
        let (code, out, err) = answer(&[&arguments[..], &budget].concat());
        assert_eq!((code, out.lines().count()), (0, made), "{err}");
        let rest = 4 - made;
        assert!(err.contains(&format!("{rest} runs exceed the remaining budget")), "{err}");
    }
    let (code, out, err) = answer(&[&arguments[..], &["--budget-time", "10m"]].concat());
    assert_eq!((code, out.lines().count()), (0, 3), "{err}");
    for (option, sentence) in [("--budget-time=0", "write a time above 0"), ("--budget-money=-1", "above 0")] {
        let (code, _, err) = answer(&[&arguments[..], &[option]].concat());
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(sentence), "{err}");
    }
}

#[test]
fn runs_are_repeated_until_the_median_is_known() {
    let folder = images(8);
    let file = folder.path().join("samples.jsonl");
    let arguments = ["collect", "--model", "lenet5", "--data", text(folder.path()), "--output", text(&file)];
    let grid = ["--executors", "1", "--cores", "1", "--sampling-rate", "1", "--device", "cpu"];
    // With a limit of 99 % of the median, the interval is narrow enough even on a noisy machine.
    let (code, out, err) = answer(&[&arguments[..], &grid, &["--precision", "99%", "--repeat", "9"]].concat());
    assert_eq!(code, 0, "{err}");
    let runs = kept(&file).len();
    assert!((6..=9).contains(&runs), "{runs} runs");
    assert!(out.contains("95 % interval of the median"), "{out}");
    assert_eq!(err.contains("skipped: the medians"), runs < 9, "{err}");
    let (code, _, err) = answer(&[&arguments[..], &grid, &["--precision", "2"]].concat());
    assert_eq!(code, 2);
    assert!(err.contains("write a share between 0 and 1"), "{err}");
}

#[test]
fn a_file_in_another_format_is_rejected_with_its_line() {
    let folder = images(2);
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "shopping list\n").unwrap();
    let (code, _, err) = answer(&["collect", "--data", text(folder.path()), "--output", text(&file)]);
    assert_eq!(code, 2);
    assert!(err.contains("line 1 of") && err.contains("name another --output"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "shopping list\n");
}

/// A sweep of one short run and one of many seconds.
#[cfg(target_os = "linux")]
fn long_sweep(folder: &tempfile::TempDir, file: &std::path::Path, more: &[&str]) -> std::process::Command {
    let grid =
        ["--image-px", "224", "--executors", "1", "--cores", "1", "--sampling-rate", "0.025,1", "--device", "cpu"];
    let arguments = ["collect", "--data", text(folder.path()), "--output", text(file)];
    let mut command = foreglow(&[&arguments[..], &grid, more].concat());
    command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    command
}

/// Waits for the end of the first run and returns the rest of standard error.
#[cfg(target_os = "linux")]
fn after_the_first_run(collect: &mut std::process::Child) -> std::io::BufReader<std::process::ChildStderr> {
    use std::io::BufRead as _;

    let mut errors = std::io::BufReader::new(collect.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("1/2") {
        line.clear();
        assert!(errors.read_line(&mut line).unwrap() > 0);
    }
    errors
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_sweep_resumes_where_it_was() {
    let folder = images(40);
    let file = folder.path().join("samples.jsonl");
    let mut collect = long_sweep(&folder, &file, &[]).spawn().unwrap();
    let _errors = after_the_first_run(&mut collect);
    collect.kill().unwrap();
    collect.wait().unwrap();
    let first = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept(&file).len(), 1);
    let output = long_sweep(&folder, &file, &[]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && err.contains("1 of 2 runs are already in"), "{err}");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with(&first), "the finished run is as it was");
    assert_eq!(kept(&file).iter().map(|sample| sample.sampling_rate).collect::<Vec<_>>(), [0.025, 1.0]);
}

#[test]
fn the_command_that_advise_prints_runs_from_any_folder_on_the_same_data() {
    // Enough images for a partition at several sampling rates, or there is nothing to advise.
    let folder = images(100);
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("my samples.jsonl");
    let grid = ["--executors", "1", "--cores", "1", "--sampling-rate", "0.1", "--model", "lenet5", "--device", "cpu"];
    let first = [&["collect", "--output", text(&file), "--data", text(folder.path())][..], &grid].concat();
    let (code, _, err) = answer(&first);
    assert_eq!(code, 0, "{err}");
    let before = kept(&file);
    let (code, advice, err) = answer(&["advise", text(&file), "-E", "1-2", "-C", "1", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let advice: serde_json::Value = serde_json::from_str(&advice).unwrap();
    let commands: Vec<&str> =
        advice["suggestions"].as_array().unwrap().iter().map(|row| row["command"].as_str().unwrap()).collect();
    assert!(!commands.is_empty(), "{advice}");
    for (command, samples) in commands.iter().zip(2..) {
        // Runs the command in a shell, in another folder, with the built binary first on the path.
        let binary = std::path::Path::new(env!("CARGO_BIN_EXE_foreglow")).parent().unwrap();
        let path = format!("{}:{}", text(binary), std::env::var("PATH").unwrap());
        let mut shell = std::process::Command::new("sh");
        let ran = shell.args(["-c", command]).env("PATH", path).current_dir("/").output().unwrap();
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
        let after = kept(&file);
        assert_eq!(after.len(), samples, "{command}");
        assert_eq!(after.last().unwrap().workload, before[0].workload, "the same job: {command}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_terminal_ends_a_sweep_in_order() {
    use std::io::Read as _;

    let folder = images(40);
    let file = folder.path().join("samples.jsonl");
    let mut collect = long_sweep(&folder, &file, &[]).spawn().unwrap();
    let mut errors = after_the_first_run(&mut collect);
    let pid = rustix::process::Pid::from_child(&collect);
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(collect.wait().unwrap().code(), Some(129), "{rest}");
    assert!(rest.contains("interrupted: 1 of 2 runs are saved in"), "{rest}");
    assert_eq!(kept(&file).len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_executor_fails_its_run_and_the_sweep_continues() {
    let folder = images(40);
    let file = folder.path().join("samples.jsonl");
    let mut collect = long_sweep(&folder, &file, &["--sampling-rate", "1", "--repeat", "2"]).spawn().unwrap();
    let mut errors = collect.stderr.take().unwrap();
    let executor = crate::long_run::wait_for_executors(&collect, 1).remove(0);
    rustix::process::kill_process(executor, rustix::process::Signal::KILL).unwrap();
    let mut err = String::new();
    std::io::Read::read_to_string(&mut errors, &mut err).unwrap();
    assert_eq!(collect.wait().unwrap().code(), Some(1), "{err}");
    let samples = kept(&file);
    assert_eq!(samples[0].outcome, Outcome::Failed, "{err}");
    assert!(samples[0].reason.as_ref().unwrap().contains("ended early (signal: 9"), "{err}");
    assert!(samples.len() > 1 && samples[1..].iter().all(|sample| sample.outcome == Outcome::Completed), "{err}");
    assert!(err.contains("1 of ") && err.contains("runs failed; their reasons are in"), "{err}");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_during_training_keeps_earlier_runs_and_the_same_command_resumes() {
    use std::io::Read as _;

    let folder = crate::bench_folder::classed_images();
    let file = folder.path().join("samples.jsonl");
    // Eight images on two executors that average, followed by a run of many seconds.
    let training = ["--mode", "training", "--batch-size", "4", "--executors", "2", "--sampling-rate", "0.08,1"];
    let sweep = |more: &[&str]| {
        let mut command =
            foreglow(&["collect", "--data", text(folder.path()), "--output", text(&file), "--device", "cpu"]);
        command.args(training).args(["--cores", "1", "--epochs", "3", "--image-px", "224"]).args(more);
        command.stderr(std::process::Stdio::piped());
        command
    };
    let mut collect = sweep(&[]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut errors = after_the_first_run(&mut collect);
    let executors = crate::long_run::wait_for_executors(&collect, 2);
    let pid = rustix::process::Pid::from_child(&collect);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(collect.wait().unwrap().code(), Some(130));
    assert!(rest.contains("interrupted: 1 of 2 runs are saved in"), "{rest}");
    assert!(rest.contains("the same command continues with the rest"), "{rest}");
    let samples = kept(&file);
    let [sample] = &samples[..] else { panic!("{samples:?}") };
    assert_eq!((sample.outcome, sample.sampling_rate), (Outcome::Completed, 0.08));
    crate::processes::wait_until_gone(&executors);

    let list = sweep(&["--dry-run", "--format", "csv"]).output().unwrap();
    assert!(list.status.success());
    let list = String::from_utf8(list.stdout).unwrap();
    assert_eq!(list.lines().count(), 2, "the header and the remaining run: {list}");
    assert_eq!(kept(&file), samples, "finished samples are unchanged");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_keeps_and_uploads_finished_runs_and_says_how_to_resume() {
    use std::io::{BufRead as _, BufReader, Read as _};

    let folder = images(40);
    let file = folder.path().join("samples.jsonl");
    let data = folder.path().join("data");
    let mut serve = foreglow(&["serve", "--listen", "127.0.0.1:0"]);
    let mut serve = serve.env("FOREGLOW_DATA", &data).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(serve.stderr.take().unwrap());
    said.read_line(&mut line).unwrap();
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();

    let mut collect = long_sweep(&folder, &file, &["--upload", &url]);
    let mut collect = collect.env("FOREGLOW_DATA", folder.path().join("mine")).spawn().unwrap();
    let mut errors = after_the_first_run(&mut collect);
    let pid = rustix::process::Pid::from_child(&collect);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(collect.wait().unwrap().code(), Some(130));
    assert!(rest.contains("interrupted: 1 of 2 runs are saved in"), "{rest}");
    assert!(rest.contains("has the samples: 1 new, 0 known, 0 rejected"), "{rest}");
    let agent = ureq::Agent::config_builder().proxy(None).build().new_agent();
    let url = format!("{}/api/v1/samples", url.trim_end_matches('/'));
    let there = agent.get(url).call().unwrap().body_mut().read_to_string().unwrap();
    serve.kill().unwrap();
    serve.wait().unwrap();
    assert_eq!(there, std::fs::read_to_string(&file).unwrap());
    assert_eq!(kept(&file).len(), 1);
}

#[test]
fn data_of_the_same_name_elsewhere_is_another_job() {
    let (a, b, samples) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = samples.path().join("samples.jsonl");
    for (folder, count) in [(&a, 8), (&b, 9)] {
        let photos = images(count);
        std::fs::rename(photos.path(), folder.path().join("photos")).unwrap();
        let data = folder.path().join("photos");
        let (code, out, err) =
            answer(&[&GRID[..], &[text(&file), "--data", text(&data), "--images", "8", "--format", "json"]].concat());
        assert_eq!((code, out.lines().count()), (0, 4), "{err}");
    }
    let known = kept(&file);
    assert_ne!(known[0].workload, known[4].workload);
}

#[test]
fn a_master_is_a_cluster_and_nothing_is_measured_here() {
    let folder = images(2);
    let file = folder.path().join("samples.jsonl");
    let spark = ["--master", "spark://127.0.0.1:1", "--spark-home", "/no/such/folder"];
    let arguments = [&GRID[..], &[text(&file), "--data", text(folder.path())], &spark[..]].concat();
    let (code, out, err) = answer(&arguments);
    // A build without the driver fails with another message.
    assert!(code != 0 && out.is_empty() && err.contains("Spark"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), "");
    let (code, _, err) = answer(&[&arguments[..], &["--engine", "local"]].concat());
    assert_eq!(code, 2);
    assert!(err.contains("--engine local has no --master; leave one of the two out"), "{err}");
}

#[test]
fn a_mistyped_collector_is_noticed_before_the_first_run() {
    let folder = images(2);
    let file = folder.path().join("samples.jsonl");
    let (code, out, err) =
        answer(&[&GRID[..], &[text(&file), "--data", text(folder.path()), "--upload", "nonsense"]].concat());
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("\"nonsense\" is not an address; give one such as http:") && !file.exists(), "{err}");
}

#[test]
fn without_a_file_the_store_keeps_the_samples_and_the_next_command_reads_it() {
    let folder = images(8);
    let store = folder.path().join("store.sqlite");
    let grid = ["--executors", "1", "--cores", "1,2", "--sampling-rate", "25%,0.5", "--device", "cpu"];
    let collect = ["collect", "--model", "lenet5", "--data", text(folder.path()), "--store", text(&store)];
    let (code, _, err) = answer(&[&collect[..], &grid].concat());
    assert_eq!(code, 0, "{err}");
    let next = err.lines().find_map(|line| line.split_once("Next: foreglow ")).unwrap().1.to_owned();
    let words: Vec<&str> = next.split(' ').collect();
    let (code, plan, err) = answer(&words);
    assert!(code == 0 && plan.contains("RECOMMENDED"), "{next}: {err}");
    let (code, out, err) = answer(&[&collect[..], &grid].concat());
    assert!(code == 0 && err.contains("4 of 4 runs are already in"), "{out}{err}");
}

#[test]
fn outliers_and_disturbed_runs_are_measured_again_and_replaced() {
    let folder = images(8);
    let file = folder.path().join("samples.jsonl");
    let arguments = [&GRID[..], &[text(&file), "--data", text(folder.path()), "--format", "json"]].concat();
    assert_eq!(answer(&arguments).0, 0);
    let mut samples = kept(&file);
    let warning = serde_json::json!([{"kind": "busy_machine", "other_processors": 1.0, "free_processors": 0}]);
    samples[1].extra.insert("warnings".into(), warning);
    for sample in [0, 2, 3] {
        samples[sample].extra.remove("warnings");
    }
    std::fs::write(&file, foreglow_shared::write_jsonl(&samples)).unwrap();
    let (code, out, err) = answer(&[&arguments[..], &["--redo-outliers"]].concat());
    assert_eq!((code, out.lines().count()), (0, 1), "{err}");
    let after = kept(&file);
    assert_eq!(after.len(), 4, "another sample stands in its place");
    assert!(after.iter().all(|sample| sample.id != samples[1].id));
    assert_eq!(after[3].configuration, samples[1].configuration);
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_collect_into_the_same_file_is_refused_and_sigterm_ends_the_first_in_order() {
    use std::io::Read as _;

    let folder = images(40);
    let file = folder.path().join("samples.jsonl");
    let mut collect = long_sweep(&folder, &file, &[]).spawn().unwrap();
    let mut errors = after_the_first_run(&mut collect);
    let second = long_sweep(&folder, &file, &[]).output().unwrap();
    let err = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(2), "{err}");
    assert!(err.contains("another foreglow is measuring into"), "{err}");
    let pid = rustix::process::Pid::from_child(&collect);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(collect.wait().unwrap().code(), Some(143), "{rest}");
    assert!(rest.contains("interrupted: 1 of 2 runs are saved in"), "{rest}");
}

#[test]
fn a_budget_measures_every_combination_once_before_it_repeats_any() {
    let folder = images(8);
    let file = folder.path().join("samples.jsonl");
    let limits = ["--precision", "50%", "--repeat", "3", "--budget-time", "10m"];
    let arguments = [&GRID[..11], &["--output", text(&file), "--data", text(folder.path())], &limits[..]].concat();
    let (code, _, err) = answer(&arguments);
    assert_eq!(code, 0, "{err}");
    let first: std::collections::BTreeSet<String> = kept(&file)[..4]
        .iter()
        .map(|sample| format!("{} {}", sample.configuration.executors, sample.sampling_rate))
        .collect();
    assert_eq!(first.len(), 4, "{first:?}");
}
