"""Overhead of Foreglow's scheduling: a run at P = 32 against a bare loop of forward passes.

    make bench-overhead

Both send the same number of mini-batches through the same CNN on one thread that is pinned to one
processor. The run is `foreglow run`: an engine, an executor process, partitions of 32 images. The
run reports the time its thread spent on reading and decoding, which the bare loop does not do; it
is subtracted. The remaining difference is scheduling. The run also reports how long the thread had
no partition, which is less sensitive to other load. Both alternate within each round; the median of
the rounds' ratios is used. Start-up is not timed. Writes target/bench/overhead.json.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
FOLDER = ROOT / "target/bench"
ROUNDS = int(os.environ.get("ROUNDS", 9))
PARTITION = 32
# CNN, image side in pixels, mini-batch size, images per round.
WORK = [("resnet18", 64, 8, 320), ("resnet18", 64, 32, 320), ("mobilenet_v2", 224, 8, 64)]


def run(cache, model, px, batch, images):
    arguments = ["run", "--model", model, "--image-px", str(px), "--batch-size", str(batch), "--images", str(images),
                 "--sampling-rate", "1", "--partition-size", str(PARTITION), "--device", "cpu", "--cache-dir", cache,
                 "--format", "json"]
    answer = subprocess.run([FOREGLOW, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    sample = json.loads(answer.stdout)
    return sample["completion_time_secs"], sample["phases"], sample["executors"][0]["processors"]


def bare_loop(cache, model, px, batch, images, processors):
    job = {"model": model, "image_px": px, "batch_size": batch, "partition_size": PARTITION, "threads": 1, "memory_mib": None,
           "place": "cpu", "source": {"path": str(cache), "kind": "folder"}, "images": images, "sampling_rate": 1.0, "seed": 0}
    arguments = [FOREGLOW, "executor", "--forward-passes", str(images // batch)]
    keep = lambda: os.sched_setaffinity(0, processors or os.sched_getaffinity(0))
    answer = subprocess.run(arguments, input=json.dumps(job).encode(), check=True, stdout=subprocess.PIPE, preexec_fn=keep)
    return float(answer.stdout)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    cache = FOLDER / "overhead-cache"
    entries = []
    for model, px, batch, images in WORK:
        run(cache, model, px, batch, images)
        ratios, ours, peers, inputs, betweens = [], [], [], [], []
        for _ in range(ROUNDS):
            secs, phases, processors = run(cache, model, px, batch, images)
            secs_of_input = phases["read_secs"] + phases["decode_secs"]
            peer = bare_loop(cache, model, px, batch, images, processors)
            ours.append(images / (secs - secs_of_input))
            peers.append(images / peer)
            ratios.append(ours[-1] / peers[-1])
            inputs.append(secs_of_input / secs)
            betweens.append(1 - sum(phases.values()) / secs)
        ratio = statistics.median(ratios)
        entries.append({"name": f"{model} {px} px, batch {batch}, P {PARTITION}, 1 thread, input apart", "unit": "images/s",
                        "ours": round(statistics.median(ours), 2), "peer_name": "bare loop of forward passes",
                        "peer": round(statistics.median(peers), 2), "ratio": round(ratio, 4)})
        print(f"{entries[-1]}  overhead {100 / ratio - 100:.2f} %; of the run, input {100 * statistics.median(inputs):.2f} %, "
              f"between partitions {100 * statistics.median(betweens):.3f} %; ratios {[round(value, 3) for value in ratios]}",
              file=sys.stderr)
    (FOLDER / "overhead.json").write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
