//! Training executors driven over the protocol by the test: in rounds through files, like a cluster
//! without connections between executors.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bench_folder::{foreglow, sample, text};

const IMAGES: u64 = 60;
const BATCH: u64 = 5;
/// Mini-batches between two averages.
const EVERY: u64 = 2;

/// An executor that is ready.
struct Driven {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Driven {
    fn start(digits: &Path, is_listening: bool, epochs: u32) -> (Self, Option<u64>) {
        let mut child = foreglow(&["executor"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut driven = Self { child, input, output };
        driven.say(&json!({
            "model": "lenet5", "image_px": 32, "batch_size": BATCH, "partition_size": BATCH, "threads": 1,
            "memory_mib": null, "place": "cpu", "source": {"path": digits, "kind": "digits"}, "images": IMAGES, "sampling_rate": 1.0,
            "seed": 0,
            "training": {
                "optimizer": {"sgd": {"momentum": 0.9}}, "learning_rate": 0.05, "schedule": "cosine", "epochs": epochs,
                "executors": 2, "average_every": EVERY, "average_optimizer_state": true, "share_size": 5,
                "listen": is_listening.then_some("127.0.0.1"),
            },
        }));
        let port = is_listening.then(|| driven.hear()["listening"]["port"].as_u64().unwrap());
        assert_eq!(driven.hear()["ready"]["images"], IMAGES);
        (driven, port)
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no report: {line}"))
    }

    /// Adds the loss sums of each epoch until the round is over.
    fn learned(&mut self, losses: &mut [f64; 2]) {
        loop {
            let report = self.hear();
            match report.get("learned") {
                Some(learned) => {
                    losses[learned["epoch"].as_u64().unwrap() as usize] += learned["loss_sum"].as_f64().unwrap();
                }
                None => {
                    assert!(report.get("trained").is_some(), "{report}");
                    return;
                }
            }
        }
    }
}

/// Generates digits in a cache and returns the losses of the local engine on them.
fn digits(cache: &tempfile::TempDir) -> (std::path::PathBuf, Vec<f64>) {
    let command = format!(
        "run --mode training --model lenet5 --draw digits --cache-dir {} --images {IMAGES} --sampling-rate 1 --epochs 2 \
         --batch-size {BATCH} --executors 2 --learning-rate 0.05 --schedule cosine --average-every {EVERY} \
         --average-optimizer-state --device cpu --format json",
        text(cache.path())
    );
    let (code, sample) = sample(&command.split_whitespace().collect::<Vec<_>>());
    assert_eq!(code, 0, "{:?}", sample.reason);
    let epochs = sample.extra["training"]["epochs"].as_array().unwrap();
    let losses = epochs.iter().map(|epoch| epoch["loss"].as_f64().unwrap()).collect();
    (cache.path().join("images/digits-32px-1"), losses)
}

fn assert_same(losses: [f64; 2], local: &[f64]) {
    for (sum, local) in losses.iter().zip(local) {
        let mean = sum / IMAGES as f64;
        assert!((mean - local).abs() < 1e-4, "{mean} and {local}");
    }
}

#[test]
fn rounds_through_files_equal_connected_executors() {
    let cache = tempfile::tempdir().unwrap();
    let (folder, local) = digits(&cache);
    let mut executors = [0, 1].map(|_| Driven::start(&folder, false, 2).0);
    let (mut losses, mut load) = ([0.0; 2], Vec::<String>::new());
    let steps = 2 * IMAGES / (2 * BATCH);
    for first_step in (0..steps).step_by(EVERY as usize) {
        let save = [0, 1].map(|rank| text(&cache.path().join(format!("{first_step}-{rank}"))).to_owned());
        for (rank, executor) in executors.iter_mut().enumerate() {
            let round = json!({
                "rank": rank, "first_step": first_step, "steps": EVERY, "load": load, "save": save[rank],
            });
            executor.say(&json!({ "train": round }));
        }
        executors.iter_mut().for_each(|executor| executor.learned(&mut losses));
        load = save.into();
    }
    assert_same(losses, &local);
    for executor in executors {
        drop(executor.input);
        let output = executor.child.wait_with_output().unwrap();
        assert!(output.status.success());
    }
}

#[test]
fn connected_executors_equal_the_local_engine_and_none_outlives_another() {
    let cache = tempfile::tempdir().unwrap();
    let (folder, local) = digits(&cache);
    let (mut executors, ports): (Vec<_>, Vec<_>) = (0..2).map(|_| Driven::start(&folder, true, 2)).unzip();
    let addresses: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{}", port.unwrap())).collect();
    for (rank, executor) in executors.iter_mut().enumerate() {
        executor.say(&json!({"peers": {"rank": rank, "addresses": addresses, "token": "secret"}}));
    }
    executors.iter_mut().for_each(|executor| assert_eq!(executor.hear()["joined"]["executors"], 2));
    for (rank, executor) in executors.iter_mut().enumerate() {
        executor.say(&json!({"train": {"rank": rank}}));
    }
    let mut losses = [0.0; 2];
    executors.iter_mut().for_each(|executor| executor.learned(&mut losses));
    assert_same(losses, &local);

    // The surviving executor reports the loss and exits.
    kill_process(Pid::from_child(&executors[0].child), Signal::KILL).unwrap();
    executors[1].say(&json!({"train": {"rank": 1}}));
    let reason = loop {
        if let Some(failed) = executors[1].hear().get("failed") {
            break failed["reason"].as_str().unwrap().to_owned();
        }
    };
    assert!(reason.contains("the connection with executor 1 broke off"), "{reason}");
    let mut second = executors.remove(1);
    assert!(second.child.wait().unwrap().success());
    executors[0].child.wait().unwrap();
}

#[test]
fn an_executor_stops_training_when_its_driver_ends() {
    let cache = tempfile::tempdir().unwrap();
    let (folder, _) = digits(&cache);
    let mut executor = Driven::start(&folder, false, 1_000_000).0;
    executor.say(&json!({"train": {"rank": 0}}));
    assert!(executor.hear().get("learned").is_some());
    drop(executor.input);
    assert_eq!(executor.child.wait().unwrap().code(), Some(1));
}
