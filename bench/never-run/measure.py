#!/usr/bin/env python3
"""Measures CNNs that take images, built-in ones and ONNX files, and predicts each from the others.

    bench/never-run/measure.py [--binary target/release/foreglow] [--folder target/never-run]

Each CNN runs on three configurations, twice. FOLDER/samples.jsonl keeps the runs, and a run that is
there is not repeated, so an interrupted measurement continues. FOLDER/calibration.jsonl is the
output of `foreglow calibrate`. Then each CNN is left out of both, predicted with `foreglow predict
--model NAME`, and compared with the median of its runs: without the calibration, with it, and with
the calibration alone, which knows no run of the other CNNs but its own.
"""

import argparse
import collections
import json
import math
import pathlib
import statistics
import subprocess
import sys

EXPORTS = pathlib.Path(__file__).resolve().parents[2] / "shared/onnx/tests/exports"
# Side of the images in pixels, and images of a run.
CNNS = {
    "lenet5": (32, 3200),
    "cnn11": (32, 1600),
    "vgg16": (32, 160),
    "resnet18": (64, 320),
    "resnet50": (64, 160),
    "inception_v4": (96, 48),
    "xception": (96, 48),
    "mobilenet_v2": (64, 320),
    "convnext.onnx": (32, 3200),
    "densenet.onnx": (32, 3200),
    "efficientnet.onnx": (32, 3200),
    "mobilenet_v3.onnx": (32, 3200),
    "shufflenet_v2.onnx": (32, 3200),
}
CONFIGURATIONS = [(1, 1), (2, 1), (1, 2)]
IMAGES = 3200
REPEATS = 2


def model(name):
    """Returns what --model takes: a name, or the path of a file."""
    return str(EXPORTS / name) if name.endswith(".onnx") else name


def key(sample):
    configuration = sample["configuration"]
    return (sample["workload"]["model"], configuration["executors"], configuration["cores_per_executor"])


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def measure(binary, path):
    done = collections.Counter(key(sample) for sample in read(path))
    for repeat in range(REPEATS):
        for name, (px, images) in CNNS.items():
            for executors, cores in CONFIGURATIONS:
                if done[name, executors, cores] > repeat:
                    continue
                subprocess.run(
                    [binary, "run", "--quiet", "--model", model(name), "--image-px", str(px), "--images", str(IMAGES),
                     "--device", "cpu", "--sampling-rate", str(images / IMAGES), "--executors", str(executors),
                     "--cores", str(cores), "--output", str(path)],
                    check=True, stdout=subprocess.DEVNULL)


def calibrate(binary, path):
    if not path.exists():
        subprocess.run([binary, "calibrate", "--quiet", "--device", "cpu", "--output", str(path)],
                       check=True, stdout=subprocess.DEVNULL)


def is_of(sample, name):
    return sample["workload"]["model"] == name


def without(samples, name):
    """Leaves a CNN out, but not the times of layers that one of its samples carries."""
    others = [sample for sample in samples if not is_of(sample, name)]
    carried = [sample["calibration"] for sample in samples if is_of(sample, name) and "calibration" in sample]
    if carried and others:
        others[0] = {**others[0], "calibration": carried[0]}
    return others


def predict(binary, folder, samples, left_out):
    name, executors, cores = left_out
    px, images = CNNS[name]
    others = folder / "others.jsonl"
    others.write_text("".join(json.dumps(sample) + "\n" for sample in without(samples, name)))
    answer = subprocess.run(
        [binary, "predict", str(others), "--model", model(name), "--image-px", str(px), "--images", str(IMAGES),
         "--executors", str(executors), "--cores", str(cores), "--sampling-rate", str(images / IMAGES),
         "--format", "json"],
        check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def leave_one_out(arguments, samples, truth, title):
    errors, widths, covered = collections.defaultdict(list), [], []
    print(f"\n{title}\n\n| CNN | executors × cores | measured | predicted | error | 90 % interval |\n|---|---|---|---|---|---|")
    for left_out in sorted(truth):
        measured = statistics.median(truth[left_out])
        answer = predict(arguments.binary, arguments.folder, samples, left_out)
        predicted, interval = answer["completion_time_secs"], answer["interval"]
        error = predicted / measured - 1
        errors[left_out[0]].append(abs(error))
        ends = (interval["lower_secs"], interval["upper_secs"]) if interval else (0, math.inf)
        covered.append(ends[0] <= measured <= ends[1])
        widths.append(ends[1] / ends[0] if ends[0] else math.inf)
        name, executors, cores = left_out
        print(f"| {name} | {executors} × {cores} | {measured:.2f} s | {predicted:.2f} s | {error:+.1%} "
              f"| {ends[0]:.2f} to {ends[1]:.2f} s |")
    print()
    for name, of in sorted(errors.items()):
        print(f"{name}: MAPE {statistics.mean(of):.1%}")
    for title, is_there in [("built-in CNNs", lambda name: not name.endswith(".onnx")),
                            ("ONNX files", lambda name: name.endswith(".onnx")), ("all", lambda name: True)]:
        some = [error for name, of in errors.items() if is_there(name) for error in of]
        if some:
            print(f"{title}: MAPE {statistics.mean(some):.1%}, median {statistics.median(some):.1%}")
    print(f"in the 90 % interval {statistics.mean(covered):.0%}, upper end ÷ lower end {statistics.median(widths):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/foreglow")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("target/never-run"))
    parser.add_argument("--only-predict", action="store_true", help="use the runs that are there")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    path = arguments.folder / "samples.jsonl"
    if not arguments.only_predict:
        measure(arguments.binary, path)
    calibration = arguments.folder / "calibration.jsonl"
    if not arguments.only_predict:
        calibrate(arguments.binary, calibration)
    runs = [sample for sample in read(path) if sample["outcome"] == "completed"]
    if not runs:
        sys.exit("there are no runs; leave --only-predict out")
    truth = collections.defaultdict(list)
    for sample in runs:
        truth[key(sample)].append(sample["completion_time_secs"])
    extra = read(calibration)
    leave_one_out(arguments, runs, truth, "From the runs of the other CNNs")
    if extra:
        leave_one_out(arguments, runs + extra, truth, "From these and a calibration")
        leave_one_out(arguments, extra, truth, "From the calibration alone")


if __name__ == "__main__":
    main()
