"""The built-in example of accuracy beside time: LeNet-5 on MNIST.

    make example-mnist

Trains on a fifth of the 60,000 images of MNIST and tests on its 10,000 test images, with 1, 2 and 4
executors that average every mini-batch or every 8: whole runs with SEEDS seeds, and one run each on
2 % and on 10 % of the images. Each executor has a core of a quarter of a processor, so that two
processors hold all of them. Writes target/bench/mnist-example.jsonl, to be copied to
web/assets/mnist.jsonl; the same command continues an interrupted measurement.
"""

import json
import os
import subprocess
import threading

from run import FOLDER, FOREGLOW, mnist

SEEDS = range(1, 5)
JOB = ["run", "--mode", "training", "--model", "lenet5", "--data", "mnist/train", "--data-format", "idx", "--images", "12000",
       "--epochs", "6", "--batch-size", "32", "--learning-rate", "0.02", "--schedule", "cosine", "--cores", "1", "--memory", "256",
       "--core-share", "25%", "--device", "cpu", "--format", "json"]
# With one executor there is no average, and the interval has no effect.
SETTINGS = [(1, 1), (2, 1), (2, 8), (4, 1), (4, 8)]
# Fields that the planner reads. Other programs ran on the machine, but the quotas reserved
# processors for the runs.
KEPT = ["schema", "id", "workload", "configuration", "sampling_rate", "outcome", "completion_time_secs", "startup_secs", "engine",
        "runner_version", "host", "started_at", "seed", "peak_memory_mib"]
TRAINING = ["learning_rate", "schedule", "optimizer", "held_out"]
LOCK = threading.Lock()


def measured(executors, average_every, rate, seed):
    """Returns the sample of a run with what the planner reads."""
    test = ["--test-data", "mnist/t10k"] if rate == 1 else []
    done = subprocess.run([FOREGLOW, *JOB, *test, "--executors", str(executors), "--average-every", str(average_every),
                           "--sampling-rate", str(rate), "--seed", str(seed)],
                          check=True, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    sample = json.loads(done.stdout)
    kept = {name: sample[name] for name in KEPT if name in sample}
    # The sample has the absolute path.
    kept["workload"]["data"] = "mnist/train"
    if rate == 1:
        kept["training"] = {name: sample["training"][name] for name in TRAINING}
    return kept


def measure(runs, file, known):
    for run in runs:
        if run not in known:
            sample = measured(*run)
            with LOCK, open(file, "a") as samples:
                samples.write(json.dumps(sample, separators=(",", ":")) + "\n")
            print(run, sample["completion_time_secs"], sample.get("training", {}).get("held_out"), flush=True)


def key(sample):
    configuration, workload = sample["configuration"], sample["workload"]
    return configuration["executors"], workload["average_every"], sample["sampling_rate"], sample["seed"]


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    mnist()
    file = FOLDER / "mnist-example.jsonl"
    known = {key(json.loads(line)) for line in file.read_text().splitlines()} if file.exists() else set()
    small = [(*setting, rate, 1) for rate in (0.02, 0.1) for setting in SETTINGS]
    whole = [(*setting, 1, seed) for seed in SEEDS for setting in SETTINGS]
    # One executor needs a quarter of a processor: its runs share the machine with the others.
    lanes = [[run for run in small + whole if (run[0] == 1) == alone] for alone in (True, False)]
    threads = [threading.Thread(target=measure, args=(lane, file, known)) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
