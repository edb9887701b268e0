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
fn a_second_collect_goes_on_where_the_first_one_stopped() {
    let folder = images(8);
    let file = folder.path().join("samples.jsonl");
    let arguments = [&GRID[..], &[text(&file), "--data", text(folder.path()), "--format", "json"]].concat();
    assert_eq!(answer(&arguments).0, 0);
    let whole = std::fs::read_to_string(&file).unwrap();

    // Two runs are gone, and the machine went down in the middle of a line.
    let two: String = whole.lines().take(2).map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, format!("{two}{{\"schema\":1,\"id\"")).unwrap();
    let dry = [&arguments[..], &["--dry-run"]].concat();
    let (code, out, _) = answer(&dry);
    assert_eq!((code, out.lines().count()), (0, 2), "{out}");

    let (code, out, err) = answer(&arguments);
    assert_eq!((code, out.lines().count()), (0, 2), "{err}");
    assert!(err.contains("2 of 4 runs are in"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{two}{out}"));

    let (code, out, _) = answer(&arguments);
    assert_eq!((code, out.as_str()), (0, ""), "nothing is left");
    assert_eq!(kept(&file).len(), 4);
}

#[test]
fn a_failed_run_is_kept_and_does_not_stop_the_others() {
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
    let expected = "executors,cores_per_executor,memory_per_executor_mib,partition_size,sampling_rate,images,repetition\n\
                    1,1,2048,8,0.25,2,0\n2,1,2048,8,0.25,2,0\n1,1,2048,8,0.5,4,0\n2,1,2048,8,0.5,4,0\n";
    assert_eq!(out, expected);
    assert!(!file.exists());
}

#[test]
fn a_file_of_something_else_is_refused_with_its_line() {
    let folder = images(2);
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "shopping list\n").unwrap();
    let (code, _, err) = answer(&["collect", "--data", text(folder.path()), "--output", text(&file)]);
    assert_eq!(code, 2);
    assert!(err.contains("line 1 of") && err.contains("name another --output"), "{err}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "shopping list\n");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_keeps_what_is_finished_and_says_how_to_go_on() {
    use std::io::{BufRead as _, BufReader, Read as _};

    let folder = images(40);
    let file = folder.path().join("samples.jsonl");
    let mut collect = foreglow(&[
        "collect",
        "--data",
        text(folder.path()),
        "--image-px",
        "224",
        "--executors",
        "1",
        "--cores",
        "1",
        "--sampling-rate",
        "0.025,1",
        "--device",
        "cpu",
        "--output",
        text(&file),
    ])
    .stderr(std::process::Stdio::piped())
    .stdout(std::process::Stdio::null())
    .spawn()
    .unwrap();
    let mut errors = BufReader::new(collect.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("1/2") {
        line.clear();
        assert!(errors.read_line(&mut line).unwrap() > 0);
    }
    let pid = rustix::process::Pid::from_child(&collect);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    assert_eq!(collect.wait().unwrap().code(), Some(1));
    assert!(rest.contains("interrupted: 1 of 2 runs are kept in"), "{rest}");
    assert_eq!(kept(&file).len(), 1);
}
