//! The user's own program: python3 scripts, sleep and sh.

use foreglow_shared::{Context, Engine, Outcome, Sample, parse_line};

use crate::bench_folder::{answer, foreglow, sample, text};

/// A program that starts for 0.2 s and then takes 10 ms a step, divided among its processes.
const TRAIN: &str = "import sys, time\nsteps, workers = int(sys.argv[1]), int(sys.argv[2])\ntime.sleep(0.2)\n\
    for step in range(steps):\n    time.sleep(0.01 / workers)\n";

fn train(folder: &tempfile::TempDir) -> String {
    let path = folder.path().join("train.py");
    std::fs::write(&path, TRAIN).unwrap();
    text(&path).to_owned()
}

fn samples(path: &str) -> Vec<Sample> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| parse_line(line).unwrap()).collect()
}

#[test]
fn a_program_is_collected_planned_advised_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let (script, output) = (train(&folder), folder.path().join("a.jsonl"));
    let output = text(&output);
    let collect = [
        "collect",
        "--executors",
        "1,2",
        "--cores",
        "1",
        "--sampling-rate",
        "2%,10%,20%",
        "--steps",
        "1000",
        "--output",
        output,
        "--machine",
        "c5.xlarge",
        "--",
        "python3",
        &script,
        "{steps}",
        "{executors}",
    ];
    let (code, table, err) = answer(&collect);
    assert_eq!(code, 0, "{err}");
    assert_eq!(table.matches("completed").count(), 6, "{table}");
    let measured = samples(output);
    let last = measured.last().unwrap();
    assert_eq!(
        (last.engine, last.workload.noun(), last.workload.model.as_str()),
        (Engine::Command, "steps", "train.py")
    );
    let rates: Vec<f64> = measured.iter().map(|sample| sample.sampling_rate).collect();
    assert_eq!(rates, [0.02, 0.02, 0.1, 0.1, 0.2, 0.2]);
    assert!(last.extra["program"]["versions"]["python"].is_string(), "{:?}", last.extra["program"]);

    let (code, table, err) = answer(&collect);
    assert_eq!((code, table.matches("completed").count()), (0, 0), "nothing is left to run: {err}");
    assert!(err.contains("6 of 6 runs are already in"), "{err}");

    let (code, plan, err) = answer(&["plan", output, "--deadline", "1h", "--executors", "1,2", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let plan_json: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let executors = plan_json["recommended"]["executors"].as_u64().unwrap_or_else(|| panic!("{plan}"));
    let secs = plan_json["recommended"]["completion_time_secs"].as_f64().unwrap();
    // 10 s on one process and 5 s on two, and more on a busy machine.
    assert!((4.0..600.0).contains(&secs), "{secs}");

    let (code, advice, err) = answer(&["advise", output, "--deadline", "1h", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let advice: serde_json::Value = serde_json::from_str(&advice).unwrap();
    for suggestion in advice["suggestions"].as_array().unwrap() {
        let command = suggestion["command"].as_str().unwrap_or_else(|| panic!("{suggestion}"));
        assert!(command.contains(" --steps 1000 ") && command.contains(" -- python3 "), "{command}");
    }

    let plan_file = folder.path().join("plan.json");
    std::fs::write(&plan_file, plan).unwrap();
    let (code, batch, err) = answer(&["export", "slurm", text(&plan_file)]);
    assert_eq!(code, 0, "{err}");
    assert!(
        batch.contains(&format!("srun --cpus-per-task={executors} python3 {script} 1000 {executors}\n")),
        "{batch}"
    );
    assert!(batch.contains("#SBATCH --ntasks=1\n"), "the program starts its processes itself: {batch}");
}

#[test]
fn a_program_that_is_not_told_its_executors_is_advised_on_one() {
    let folder = tempfile::tempdir().unwrap();
    let (script, output) = (train(&folder), folder.path().join("a.jsonl"));
    let (program, output) = (["--", "python3", &script, "{steps}", "1"], text(&output));
    // From one sampling rate no time of the whole job is known, so that another run is proposed.
    let grid = ["collect", "--cores", "1,2", "--sampling-rate", "2%", "--steps", "1000", "--output", output];
    let (code, _, err) = answer(&[&grid[..], &program].concat());
    assert!(code == 0 && !err.contains("{executors}"), "{err}");
    let (code, advice, err) = answer(&["advise", output, "--deadline", "1h", "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    let advice: serde_json::Value = serde_json::from_str(&advice).unwrap();
    let suggestions = advice["suggestions"].as_array().unwrap();
    assert!(!suggestions.is_empty() && suggestions.iter().all(|run| run["executors"] == 1), "{advice}");

    let several = [&grid[..], &["--executors", "2", "--dry-run"], &program].concat();
    let (code, _, err) = answer(&several);
    assert!(code == 0 && err.contains("unless it reads FOREGLOW_EXECUTORS"), "{err}");
}

#[test]
fn the_wall_clock_of_sleep_is_that_of_the_system() {
    // Nothing bounds its work, so that it is a run of the whole job.
    let (code, sample) = sample(&["run", "--format", "json", "--", "sleep", "0.5"]);
    assert_eq!((code, sample.outcome, sample.sampling_rate), (0, Outcome::Completed, 1.0));
    let secs = sample.completion_time_secs.unwrap();
    assert!((0.5..0.9).contains(&secs), "{secs}");
    assert_eq!(sample.configuration.accelerator, None);
}

#[test]
fn one_run_that_is_stopped_early_tells_the_time_of_the_whole_job() {
    let line = "import time\nfor step in range(1, 10001):\n    time.sleep(0.01)\n    print('step %d/10000' % step, flush=True)";
    let stopped = ["run", "--stop-after", "100steps", "--", "python3", "-c", line];
    let (code, out, err) = answer(&stopped);
    assert_eq!(code, 0, "{err}");
    let whole = out.lines().find(|line| line.starts_with("whole job, here")).unwrap_or_else(|| panic!("{out}"));
    // 100 s, and what the system adds to each pause.
    assert!(whole.contains("min") && whole.contains(" to "), "{whole}");
    let (code, sample) = sample(&[&["run", "--format", "json"], &stopped[1..]].concat());
    assert_eq!((code, sample.outcome, sample.sampling_rate), (0, Outcome::TimedOut, 1.0));
}

#[test]
fn a_program_is_stopped_as_soon_as_its_time_is_known_and_says_if_it_ended_before() {
    let of = |steps: u32| {
        format!(
            "import time\nfor step in range(1, {steps} + 1):\n    time.sleep(0.01)\n    \
             print('step %d/{steps}' % step, flush=True)"
        )
    };
    let (code, known) =
        sample(&["run", "--stop-after", "±50%", "--format", "json", "--", "python3", "-c", &of(100_000)]);
    assert_eq!((code, known.outcome), (0, Outcome::TimedOut));
    assert_eq!(known.extra["program"]["stop_after"], "±50%");
    let (_, done) = known.progress.as_ref().and_then(|curve| curve.last()).unwrap();
    assert!(done < 50_000.0, "{done} of 100,000 steps");

    let early = ["run", "--stop-after", "500steps", "--", "python3", "-c", &of(20)];
    let (code, out, err) = answer(&early);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("completed") && err.contains("ended before it was to be stopped"), "{out}{err}");
}

#[test]
fn a_job_of_tokens_keeps_to_its_budget_is_watched_and_has_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (output, monitor) = (folder.path().join("a.jsonl"), folder.path().join("monitor.jsonl"));
    let line = "test {images} -gt 0 && sleep 1.2";
    let collect = ["collect", "--cores", "1", "--sampling-rate", "10%,20%,40%", "--images", "5000", "--unit", "tokens"];
    let files = ["--output", text(&output), "--monitor", text(&monitor), "--budget-time", "4s", "--repeat", "9"];
    let (code, table, err) = answer(&[&collect[..], &files, &["--", line]].concat());
    assert_eq!(code, 0, "{err}");
    let measured = samples(text(&output));
    assert!((1..27).contains(&measured.len()), "the budget ends the sweep: {table}{err}");
    assert!(measured.iter().all(|sample| sample.workload.noun() == "tokens"));
    let lines = std::fs::read_to_string(&monitor).unwrap();
    assert!(lines.contains(&measured[0].id.to_string()), "{lines}");
    let (code, link, err) = answer(&["link", text(&output)]);
    assert_eq!(code, 0, "{err}");
    let view = foreglow_shared::View::from_link(link.trim()).unwrap();
    assert_eq!((view.job.context.engine, view.job.context.workload.noun()), (Engine::Command, "tokens"));
}

#[test]
fn a_sample_has_the_version_of_the_code_and_another_command_is_another_job() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false"];
        let output = std::process::Command::new("git").current_dir(&folder).args(identity).args(arguments).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    };
    std::fs::write(folder.path().join("train.sh"), "exit 0\n").unwrap();
    git(&["init", "--quiet"]);
    git(&["add", "train.sh"]);
    git(&["commit", "--quiet", "--message", "one"]);
    let run = |command: &[&str]| {
        let arguments = [&["run", "--cores", "1", "--format", "json", "--"], command].concat();
        let output = foreglow(&arguments).current_dir(&folder).output().unwrap();
        parse_line(String::from_utf8(output.stdout).unwrap().trim()).unwrap()
    };
    let clean = run(&["sh", "train.sh"]);
    let version = &clean.extra["program"]["git"];
    assert_eq!(
        (version["commit"].as_str(), &version["is_clean"]),
        (Some(git(&["rev-parse", "HEAD"]).as_str()), &true.into())
    );
    std::fs::write(folder.path().join("train.sh"), "exit 0\n# changed\n").unwrap();
    assert_eq!(run(&["sh", "train.sh"]).extra["program"]["git"]["is_clean"], false);
    let other = run(&["sh", "train.sh", "--fast"]);
    assert_ne!(Context::of(&clean), Context::of(&other), "another template is another job");
}

#[test]
fn each_bad_command_is_told_in_one_sentence() {
    for (arguments, expected) in [
        (&["--sampling-rate", "0.1", "--", "python3", "train.py"][..], "nothing that bounds its work"),
        (&["--", "python3", "train.py", "{step}"], "{step} is no placeholder; write {steps}"),
        (&["--", "python3", "train.py", "{steps}"], "give the steps of the whole job with --steps"),
        (&["--images", "100", "--", "python3", "train.py", "{steps}"], "--batch-size of an executor"),
        (&["--", "python3", "train.py", "{images}"], "give the number of the whole job with --images"),
        (&["--images", "9", "--", "./train", "{images}", "{data}"], "give its path with --data"),
        (
            &["--images", "9", "--weights", "a", "--", "./train", "{images}"],
            "--weights is for the CNNs that Foreglow runs",
        ),
        (&["--images", "9", "--optimizer", "adam", "--", "./train", "{images}"], "--optimizer is for the CNNs"),
        (&["--steps", "9", "--", "no-such-program", "{steps}"], "there is no program no-such-program"),
        (&["--steps", "9", "--progress", "step", "--", "sleep", "{steps}"], "--progress: it has no group"),
        (&["--steps", "9", "--progress", "(", "--", "sleep", "{steps}"], "--progress: it is not a regular expression"),
        (
            &["--stop-after", "soon", "--", "sleep", "1"],
            "write 200steps, a time such as 5m, a share such as 10%, or ±5%",
        ),
        (&["--stop-after", "5m", "--sampling-rate", "0.1", "--", "sleep", "1"], "leave --sampling-rate out"),
        (&["--steps", "9", "--images", "9", "--", "sleep", "{steps}"], "cannot be used with"),
        (&["--gpus", "2"], "COMMAND"),
        (&["--images", "9", "--device", "cpu", "--", "sleep", "{gpus}", "{images}"], "give their number with --gpus"),
        (&["--steps", "9", "--", " "], "the command is empty"),
    ] {
        for command in ["run", "collect"] {
            let all: Vec<&str> = [command].iter().chain(arguments).copied().collect();
            let (code, out, err) = answer(&all);
            assert_eq!((code, out.as_str()), (2, ""), "{all:?}: {err}");
            assert!(err.contains(expected) && err.trim().lines().count() == 1, "{all:?}: {err}");
        }
    }
}

#[test]
fn a_failed_run_keeps_the_finished_ones_and_the_same_command_continues() {
    let folder = tempfile::tempdir().unwrap();
    let (output, flag) = (folder.path().join("a.jsonl"), folder.path().join("works"));
    let line = format!("test {{steps}} = 1 || test -e {} || {{ echo 'no disk' >&2; exit 7; }}", flag.display());
    let collect = [
        "collect",
        "--cores",
        "1",
        "--sampling-rate",
        "10%,50%",
        "--steps",
        "10",
        "--output",
        text(&output),
        "--",
        &line,
    ];
    let (code, _, err) = answer(&collect);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("1 of 2 runs failed"), "{err}");
    let kept = samples(text(&output));
    assert_eq!(kept.iter().map(|sample| sample.outcome).collect::<Vec<_>>(), [Outcome::Completed, Outcome::Failed]);
    assert!(kept[1].reason.as_deref().unwrap().ends_with("(exit status: 7); its output says: no disk"));
    std::fs::write(flag, "").unwrap();
    let (code, _, err) = answer(&collect);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("1 of 2 runs are already in"), "{err}");
    assert_eq!(samples(text(&output)).len(), 3);
}

#[test]
fn work_that_does_not_follow_the_placeholder_is_told_and_not_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("a.jsonl");
    let (code, _, err) = answer(&[
        "collect",
        "--cores",
        "1",
        "--sampling-rate",
        "1%,10%",
        "--steps",
        "100",
        "--output",
        text(&output),
        "--",
        "sleep 0.3; true {steps}",
    ]);
    assert_eq!(code, 0, "{err}");
    let (code, out, err) = answer(&["plan", text(&output), "--deadline", "1h"]);
    assert!(code != 0 || !out.contains("cheapest"), "{out}");
    assert!(format!("{out}{err}").contains("1 % and 10 % of the work take equally long"), "{out}{err}");
}

#[test]
fn the_gpus_of_a_program_are_its_executors_or_divided_among_them() {
    let run = |more: &[&str]| {
        let all: Vec<&str> = ["run", "--sampling-rate", "1", "--format", "json"]
            .iter()
            .chain(more)
            .chain(&["--", "test $CUDA_VISIBLE_DEVICES = $WANTED"])
            .copied()
            .collect();
        sample(&all)
    };
    // On a machine with GPUs, it would be theirs.
    let (_, four) = run(&["--gpus", "4", "--device", "Gaudi", "--cores", "1"]);
    let configuration = &four.configuration;
    assert_eq!(
        (configuration.executors, configuration.accelerators_per_executor, configuration.machines),
        (4, None, None)
    );
    assert_eq!(configuration.accelerator.as_deref(), Some("Gaudi"));
    let (_, divided) = run(&["--gpus", "4", "--executors", "2", "--nodes", "2", "--device", "Gaudi", "--cores", "1"]);
    let configuration = &divided.configuration;
    assert_eq!(
        (configuration.executors, configuration.accelerators_per_executor, configuration.machines),
        (2, Some(4), Some(2))
    );
}
