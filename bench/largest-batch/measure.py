#!/usr/bin/env python3
"""Compares the largest batch that `foreglow models --memory` predicts with the largest that really runs.

    bench/largest-batch/measure.py [--binary target/release/foreglow] [--onnx FOLDER] [--folder target/largest-batch]

For each network, mode and bound the prediction is asked for first. Then `foreglow run --memory` runs batches until the
largest that completes is known to 2 %. One more prediction takes a single run into account: that of the batch that was
predicted to fit surely. --onnx has further ONNX files; every file in it is measured at 64 px. --folder keeps what ran, so
that an interrupted measurement continues.
"""

import argparse
import json
import pathlib
import subprocess
import sys

# Network, side of the images in pixels, mode, bound in MiB.
CASES = [
    ("resnet18", 128, "inference", 300),
    ("resnet50", 96, "inference", 300),
    ("mobilenet_v2", 128, "inference", 300),
    ("vgg16", 96, "inference", 700),
    ("inception_v4", 128, "inference", 400),
    ("xception", 128, "inference", 400),
    ("resnet18", 64, "training", 400),
    ("resnet50", 64, "training", 600),
    ("mobilenet_v2", 64, "training", 300),
]
FILES = [(64, "inference", 200), (64, "training", 250)]
PRECISION = 1.02
MOST = 1 << 16


def predict(binary, case, samples=()):
    name, pixels, mode, bound = case
    command = [binary, "models", name, "--memory", str(bound), "--mode", mode, "--image-px", str(pixels)]
    command += ["--format", "json"] + (["--samples", *samples] if samples else [])
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["largest_batch"]


def run(binary, case, batch, output=None):
    """The outcome of one mini-batch under the bound."""
    name, pixels, mode, bound = case
    command = [binary, "run", "--quiet", "--model", name, "--image-px", str(pixels), "--mode", mode]
    command += ["--memory", str(bound), "--sampling-rate", "1", "--format", "json"]
    for option in ("--batch-size", "--partition-size", "--images"):
        command += [option, str(batch)]
    command += ["--output", output] if output else []
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.strip():
        sys.exit(done.stderr)
    return json.loads(done.stdout)["outcome"]


def largest(binary, case, start):
    """The largest batch that completes, to a factor of PRECISION."""
    fits, fails = 0, None
    batch = max(start, 1)
    while fails is None or fails > max(fits * PRECISION, fits + 1):
        if run(binary, case, batch) == "completed":
            fits = batch
        else:
            fails = batch
        if fails is None:
            if fits >= MOST:
                break
            batch = max(fits + 1, int(fits * 1.3))
        else:
            batch = (fits + fails) // 2 if fits else fails // 2
        if batch == fits:
            break
    return fits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="target/release/foreglow")
    parser.add_argument("--onnx", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("target/largest-batch"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    kept = options.folder / "ran.json"
    ran_before = json.loads(kept.read_text()) if kept.exists() else {}
    files = sorted(options.onnx.glob("*.onnx")) if options.onnx else []
    cases = CASES + [(str(file), *rest) for file in files for rest in FILES]
    print("| network | mode, bound | fits surely | expected | at most | largest that ran | after one run: surely, at most |")
    print("|---|---|---:|---:|---:|---:|---:|")
    counts = {"within": 0, "optimistic": 0, "all": 0}
    for case in cases:
        name, pixels, mode, bound = case
        key = f"{pathlib.Path(name).name} {pixels} {mode} {bound}"
        before = predict(options.binary, case)
        if key not in ran_before:
            ran_before[key] = largest(options.binary, case, before["surely"])
            kept.write_text(json.dumps(ran_before, indent=1) + "\n")
        ran = ran_before[key]
        samples = options.folder / f"{key.replace(' ', '-')}-{before['surely']}.jsonl"
        if not samples.exists():
            run(options.binary, case, max(before["surely"], 1), str(samples))
        after = predict(options.binary, case, [str(samples)])
        counts["all"] += 1
        counts["optimistic"] += before["surely"] > ran
        counts["within"] += before["surely"] <= ran <= before["at_most"] * PRECISION
        shown = f"{pathlib.Path(name).name} at {pixels} px"
        numbers = [before["surely"], before["expected"], before["at_most"], ran, f"{after['surely']}, {after['at_most']}"]
        print(f"| {shown} | {mode}, {bound} MiB | {' | '.join(map(str, numbers))} |", flush=True)
    print(f"\n{counts['within']} of {counts['all']} within the limits, {counts['optimistic']} too optimistic")


if __name__ == "__main__":
    main()
