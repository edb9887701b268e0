//! The wheel in an environment of its own, and real training programs that report their progress
//! with its module.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use foreglow_tests::{foreglow, workspace_dir};
use serde_json::Value;

/// Interpreter with Keras, JAX and what builds the wheel; `./setup.sh test` installs it.
fn python() -> PathBuf {
    workspace_dir().join("target/python/bin/python")
}

/// Runs a command and returns its standard output.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{command:?} cannot be started"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed:\n{errors}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Installs the wheel into a new environment and returns its folder of programs.
fn installed(folder: &Path) -> anyhow::Result<PathBuf> {
    let (wheels, environment) = (folder.join("wheels"), folder.join("environment"));
    let pip = ["-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps", "--no-build-isolation"];
    output(
        Command::new(python())
            .args(pip)
            .arg("--wheel-dir")
            .args([&wheels, &workspace_dir().join("python")])
            .env("FOREGLOW", foreglow()?),
    )?;
    let wheel = std::fs::read_dir(&wheels)?.next().context("pip writes a wheel")??.path();
    let name = wheel.file_name().context("a wheel has a name")?.to_string_lossy().into_owned();
    let is_for_this_machine = name.ends_with(&format!("_{}.whl", std::env::consts::ARCH));
    ensure!(name.contains("-cp39-abi3-manylinux_2_") && is_for_this_machine, "{name}");
    output(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let bin = environment.join("bin");
    output(Command::new(bin.join("pip")).args(["install", "--quiet", "--no-index"]).arg(wheel))?;
    Ok(bin)
}

#[test]
fn the_wheel_brings_the_program_and_the_module() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let bin = installed(folder.path())?;
    let program = output(Command::new(bin.join("foreglow")).arg("--version"))?;
    assert!(program.starts_with("foreglow "), "{program}");
    let module = output(Command::new(bin.join("python")).args(["-m", "foreglow", "--version"]))?;
    assert_eq!(module, program);

    // The module reports the progress of a program that Foreglow stops after a tenth.
    let script = "import foreglow, time\nfor batch in foreglow.track(range(2000), images=32): time.sleep(0.002)";
    let samples = folder.path().join("samples.jsonl");
    output(
        Command::new(bin.join("foreglow"))
            .args(["run", "--images", "64000", "--batch-size", "32", "--stop-after", "10%", "--output"])
            .arg(&samples)
            .arg("--")
            .arg(bin.join("python"))
            .args(["-c", script])
            .env("FOREGLOW_STORE", folder.path().join("store.sqlite")),
    )?;
    let sample: Value = serde_json::from_str(&std::fs::read_to_string(samples)?)?;
    let points = sample["progress"]["points"].as_array().context("the run has progress")?;
    let done = points.last().and_then(|point| point[1].as_f64()).context("a point has units of work")?;
    assert!((6400.0..32000.0).contains(&done), "{done}");
    assert_eq!(sample["progress"]["unit"], "images");
    Ok(())
}

/// Fits and plans in Python, without and with pandas, and compares each digit with the commands.
#[test]
fn a_notebook_has_the_digits_of_the_command_line() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let bin = installed(folder.path())?;
    let packages =
        output(Command::new(python()).args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]))?;
    let tested = Command::new(bin.join("python"))
        .arg(workspace_dir().join("python/tests/test_predictor.py"))
        .env("PYTHONPATH", packages.trim())
        .env("FOREGLOW_STORE", folder.path().join("store.sqlite"))
        .output()?;
    let report = String::from_utf8(tested.stderr)?;
    assert!(tested.status.success() && report.contains("Ran 8 tests") && report.contains("\nOK\n"), "{report}");
    // An installation without the extension, such as a copied folder, says what to do.
    let refused = Command::new("python3")
        .args(["-c", "import foreglow; foreglow.Predictor"])
        .env("PYTHONPATH", workspace_dir().join("python"))
        .output()?;
    let said = String::from_utf8(refused.stderr)?;
    assert!(said.contains("ImportError: the predictor is not in this installation of foreglow"), "{said}");
    Ok(())
}

#[test]
fn the_module_and_its_callback_work_with_keras() -> anyhow::Result<()> {
    let tests = workspace_dir().join("python/tests/test_progress.py");
    let mut command = Command::new(python());
    command.arg(tests).env("PYTHONPATH", workspace_dir().join("python")).env("KERAS_BACKEND", "jax");
    let tested = command.output()?;
    let report = String::from_utf8(tested.stderr)?;
    assert!(tested.status.success() && report.contains("Ran 14 tests"), "{report}");
    // Those of PyTorch's libraries.
    assert!(report.contains("OK (skipped=2)"), "{report}");
    Ok(())
}

/// Predicts a job from a run of 2 % of its steps and one that is stopped at a tenth of its
/// progress.
#[test]
fn a_keras_program_is_predicted_from_a_tenth_of_it() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("train.py");
    std::fs::write(&script, include_str!("train_keras.py"))?;
    let run = |arguments: &[&str], file: &str| {
        output(
            Command::new(foreglow()?)
                .args(["run", "--steps", "3000", "--cores", "1", "--output", file])
                .args(arguments)
                .arg("--")
                .arg(python())
                .arg(&script)
                .arg("{steps}")
                .env("KERAS_BACKEND", "jax")
                .env("FOREGLOW_STORE", folder.path().join("store.sqlite"))
                .current_dir(folder.path()),
        )
    };
    run(&["--sampling-rate", "0.02"], "small.jsonl")?;
    run(&["--stop-after", "10%"], "tenth.jsonl")?;
    run(&["--sampling-rate", "1"], "whole.jsonl")?;
    let answer = output(
        Command::new(foreglow()?)
            .args(["predict", "small.jsonl", "tenth.jsonl", "--executors", "1", "--cores", "1", "--format", "json"])
            .current_dir(folder.path()),
    )?;
    let answer: Value = serde_json::from_str(&answer)?;
    let whole: Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("whole.jsonl"))?)?;
    let (predicted, measured) = (&answer["completion_time_secs"], &whole["completion_time_secs"]);
    let ratio = predicted.as_f64().context("a time")? / measured.as_f64().context("a time")?;
    // A machine with other work changes its speed within the seconds of this job.
    assert!((0.4..2.5).contains(&ratio), "predicted {predicted} s, measured {measured} s");
    Ok(())
}
