"""Measures the published study's grid on slow cores: `make sweep-paper`.

    python3 bench/paper/run.py FOLDER [CNN…]

Myung and Yu (Electronics 9(9):1340, 2020) ran Inception-v4, ResNet-50 and Xception on up to 24 cores
of three machines, on 1 %, 10 % and all of 200,000 images. Here 24 cores of 5 % of a processor take
their place (`--core-share 5%`): 1 to 6 executors of 1 to 4 cores, 24 configurations, and 2,400
images of the smallest size that the CNNs accept, one image per task.

Several configurations are measured at the same time, together on at most SLOTS slow cores (24, which
is 1.2 processors), so that the small ones do not leave the machine idle. The quotas keep them apart.
Each configuration has its file FOLDER/CNN/E-C.jsonl. The same command continues an interrupted
sweep. Then samples/CNN.jsonl beside this script has all samples of a CNN, samples/memory/CNN.jsonl
those with other memory limits and partition sizes, and samples/uneven/CNN.jsonl those of a total
number of cores on each number of executors (the study's Table 7), without the fields that nothing
reads.
"""

import json
import math
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = Path(__file__).resolve().parent / "samples"
KEPT = ["schema", "id", "workload", "configuration", "sampling_rate", "outcome", "completion_time_secs", "startup_secs", "engine",
        "runner_version", "host", "started_at", "images_processed", "peak_memory_mib", "spark"]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
SLOTS = int(os.environ.get("SLOTS", 24))
IMAGES = int(os.environ.get("IMAGES", 2400))
SHARE = "5%"
# Image sizes, pixels; for Inception-v4 and Xception the smallest accepted ones.
CNNS = {"inception_v4": 75, "xception": 71, "resnet50": 64}
# Executors and cores per executor, the longest runs first.
GRID = sorted(((executors, cores) for executors in range(1, 7) for cores in range(1, 5)), key=math.prod)
# Sampling rate and number of runs: short runs are repeated more often.
RATES = [("0.01", 3), ("0.1", 2), ("1", 1)]
# Configurations whose whole job is repeated, for the noise.
REPEATED = [(2, 4), (4, 4), (6, 4)]
# Memory limits, MiB, and partition sizes, images, on 2 executors of 2 cores and 10 % of the images.
MEMORY = "64,96,128,192,256,512,1024,2048"
PARTITIONS = "1,4,16"
# CNNs whose whole job is measured on this total of cores, divided as evenly as possible among 1 to
# 6 executors: 3+3+2 on 3.
UNEVEN = ["resnet50", "xception"]
TOTAL_CORES = 8


def collect(cnn, output, *arguments, images=IMAGES, engine=("--core-share", SHARE), before=(), environment=None):
    """Measures a CNN; runs with a saved sample are not repeated. `before` are words before the
    command."""
    output.parent.mkdir(parents=True, exist_ok=True)
    command = [*before, FOREGLOW, "collect", "--model", cnn, "--image-px", str(CNNS[cnn]), "--images", str(images), "--batch-size", "1",
               *engine, "--device", "cpu", "--cache-dir", output.parents[1] / "cache", "--output", output, *arguments]
    with open(output.with_suffix(".log"), "a") as log:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=log, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{output.with_suffix('.log')} says why a run failed; the same command continues the sweep")


def measure(folder, cnn, executors, cores):
    output = folder / cnn / f"{executors}-{cores}.jsonl"
    grid = ["--executors", str(executors), "--cores", str(cores), "--partition-size", "1"]
    for rate, count in RATES:
        count += 2 if rate == "1" and (executors, cores) in REPEATED else 0
        collect(cnn, output, *grid, "--sampling-rate", rate, "--repeat", str(count))


def measure_memory(folder, cnn):
    grid = ["--executors", "2", "--cores", "2", "--sampling-rate", "0.1"]
    collect(cnn, folder / "memory" / f"{cnn}.jsonl", *grid, "--memory", MEMORY, "--partition-size", PARTITIONS)


def measure_uneven(folder, cnn):
    grid = ["--executors", "1-6", "--total-cores", str(TOTAL_CORES), "--partition-size", "1", "--sampling-rate", "1"]
    collect(cnn, folder / "uneven" / f"{cnn}.jsonl", *grid)


def task_secs(sample):
    """The mean time of a task in the executor's program, seconds."""
    if "spark" in sample:
        return sum(sample["phases"].values()) / sample["spark"]["tasks"]
    parts = sample["executors"]
    return sum(sum(part["phases"].values()) for part in parts) / sum(part["partitions"] for part in parts)


def keep(files, output):
    """Writes the samples of all files into one."""
    lines = []
    for sample in (json.loads(line) for file in files for line in file.read_text().splitlines()):
        kept = {name: sample[name] for name in KEPT if name in sample}
        if sample["outcome"] == "completed":
            kept["task_secs"] = round(task_secs(sample), 6)
        lines.append(json.dumps(kept, separators=(",", ":"), ensure_ascii=False))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(lines) + "\n")


def measure_all(jobs, all_slots=SLOTS):
    """Runs jobs (slow cores, function) in threads; the first one that fits into the free slow cores
    is next. Raises the first failure, after the running jobs."""
    room, free, waiting = threading.Condition(), all_slots, list(jobs)

    def work(slots, job):
        nonlocal free
        try:
            job()
        finally:
            with room:
                free += slots
                room.notify()

    with ThreadPoolExecutor(max_workers=all_slots) as pool:
        started = []
        while waiting and not any(one.done() and one.exception() for one in started):
            with room:
                room.wait_for(lambda: any(slots <= free for slots, _ in waiting))
                place = next(place for place, (slots, _) in enumerate(waiting) if slots <= free)
                slots, job = waiting.pop(place)
                free -= slots
            started.append(pool.submit(work, slots, job))
    for one in started:
        one.result()


def keep_completed(cnn, files, output):
    """Writes the samples of all files into one, unless a run did not complete."""
    outcomes = [json.loads(line)["outcome"] for file in files for line in file.read_text().splitlines()]
    failed = len(outcomes) - outcomes.count("completed")
    if failed:
        raise RuntimeError(f"{cnn}: {failed} of {len(outcomes)} runs did not complete; see the samples in {files[0].parent}")
    keep(files, output)
    print(f"{cnn}: {len(outcomes)} runs")


def finish(folder, cnn):
    """Keeps the samples of a CNN."""
    keep_completed(cnn, [folder / cnn / f"{executors}-{cores}.jsonl" for executors, cores in GRID], SAMPLES / f"{cnn}.jsonl")
    for kind in ["memory"] + ["uneven"] * (cnn in UNEVEN):
        keep([folder / kind / f"{cnn}.jsonl"], SAMPLES / kind / f"{cnn}.jsonl")


def main():
    folder, cnns = Path(sys.argv[1]).resolve(), sys.argv[2:] or list(CNNS)
    jobs = []
    for executors, cores in GRID:
        for cnn in cnns:
            jobs.append((executors * cores, lambda cnn=cnn, size=(executors, cores): measure(folder, cnn, *size)))
    jobs += [(4, lambda cnn=cnn: measure_memory(folder, cnn)) for cnn in cnns]
    jobs += [(TOTAL_CORES, lambda cnn=cnn: measure_uneven(folder, cnn)) for cnn in UNEVEN if cnn in cnns]
    try:
        # The images are generated once, before several processes read them.
        for cnn in cnns:
            collect(cnn, folder / cnn / "4-4.jsonl", "--executors", "4", "--cores", "4", "--partition-size", "1", "--sampling-rate", "0.01")
        measure_all(jobs)
        for cnn in cnns:
            finish(folder, cnn)
    except RuntimeError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
