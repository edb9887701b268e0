#!/usr/bin/env python3
"""Accuracy lost by distributed training: LeNet-5 on synthetic digits with 1, 2 and 4 executors.

    make bench-training

The comparison follows the BigDL study (Matteussi et al.): the same number of epochs, and the same
mini-batch size per executor. Each figure is the mean over SEEDS seeds. Prints a table and writes
target/bench/training.json.
"""

import json
import os
import pathlib
import statistics
import subprocess

EXECUTORS = [1, 2, 4]
FOREGLOW = os.environ.get("FOREGLOW", "target/release/foreglow")
SEEDS = range(int(os.environ.get("SEEDS", 3)))
JOB = (
    "run --mode training --model lenet5 --draw digits --images 2000 --sampling-rate 1 --test-images 1000 --epochs 8 "
    "--batch-size 32 --optimizer sgd --learning-rate 0.02 --schedule cosine --device cpu --format json"
)
STRATEGIES = {
    "gradients, every mini-batch": "--average-every 1",
    "parameters, every 8 mini-batches": "--average-every 8",
    "parameters and momentum, every 8": "--average-every 8 --average-optimizer-state",
    "parameters, once an epoch or so": "--average-every 32",
}


def run(strategy: str, executors: int, seed: int) -> dict:
    command = f"{FOREGLOW} {JOB} {strategy} --executors {executors} --seed {seed}"
    done = subprocess.run(command.split(), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def samples(strategy: str, executors: int) -> list[dict]:
    return [run(strategy, executors, seed) for seed in SEEDS]


def show(row: list[str]) -> None:
    first, *rest = row
    print(first.ljust(34) + "".join(cell.rjust(max(13, len(cell) + 2)) for cell in rest), flush=True)


def main() -> None:
    rows = []
    # With one executor there is no averaging: all strategies are the same run.
    alone = samples(next(iter(STRATEGIES.values())), 1)
    show(["averaged", *[f"E = {executors}" for executors in EXECUTORS], "4 against 1", "waiting and averaging, E = 4"])
    for name, strategy in STRATEGIES.items():
        accuracies, waits = [], []
        for executors in EXECUTORS:
            runs = alone if executors == 1 else samples(strategy, executors)
            accuracies.append(100 * statistics.mean(s["training"]["held_out"]["accuracy"] for s in runs))
            phases = [s["phases"] for s in runs]
            spent = sum(sum(p.values()) for p in phases)
            waits.append(100 * sum(p.get("wait_secs", 0) + p.get("average_secs", 0) for p in phases) / spent)
        show([name, *[f"{a:.2f} %" for a in accuracies], f"{accuracies[-1] - accuracies[0]:+.2f}", f"{waits[-1]:.0f} %"])
        for executors, accuracy in zip(EXECUTORS[1:], accuracies[1:]):
            rows.append({
                "name": f"LeNet-5 on digits, held-out accuracy, {executors} executors, {name}", "unit": "%",
                "ours": accuracy, "peer_name": "1 executor", "peer": accuracies[0], "ratio": accuracy / accuracies[0],
            })
    out = pathlib.Path("target/bench/training.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
