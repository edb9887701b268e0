"""Slow cores against whole processors (`--core-share`).

    make bench-core-share

Each round runs ResNet-18 on one whole processor and then under CPU quotas, so that a disturbance
affects both. Reported per share of a processor:

- fidelity: the time on 1 × 1, times the share, over the time on one whole processor (1 is exact),
- scaling: the time on E × C, times E·C, over the time on 1 × 1 of the same round (1 is exact),
- noise: the standard deviation of repeated runs over their mean, next to that of whole processors.

Start-up is not timed. Writes target/bench/core-share.json.
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
ROUNDS = int(os.environ.get("ROUNDS", 5))
IMAGES = 384
SHARES = ["5%", "20%"]
GRID = [(2, 1), (1, 2), (2, 2), (4, 2)]


def run(cache, share, executors, cores):
    """Returns the completion time, seconds; share `None` is a whole processor."""
    quota = ["--core-share", share] if share else []
    arguments = ["run", "--model", "resnet18", "--image-px", "64", "--batch-size", "8", "--images", str(IMAGES),
                 "--sampling-rate", "1", "--partition-size", "8", "--executors", str(executors), "--cores", str(cores),
                 "--device", "cpu", "--cache-dir", cache, "--format", "json", *quota]
    answer = subprocess.run([FOREGLOW, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(answer.stdout)["completion_time_secs"]


def noise(times):
    return statistics.stdev(times) / statistics.mean(times)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    cache = FOLDER / "core-share-cache"
    run(cache, None, 1, 1)
    whole, slow = [], {share: {size: [] for size in [(1, 1), *GRID]} for share in SHARES}
    for _ in range(ROUNDS):
        whole.append(run(cache, None, 1, 1))
        for share, sizes in slow.items():
            for size, times in sizes.items():
                times.append(run(cache, share, *size))
    entries = []
    for share, sizes in slow.items():
        part, one = float(share.rstrip("%")) / 100, sizes[(1, 1)]
        fidelity = statistics.median(secs * part / peer for secs, peer in zip(one, whole))
        entries.append({"name": f"ResNet-18, 64 px, 1 × 1 of {share}: time × share", "unit": "s", "ours": round(statistics.median(one) * part, 4),
                        "peer_name": "one whole processor", "peer": round(statistics.median(whole), 4), "ratio": round(fidelity, 4)})
        entries.append({"name": f"noise of 1 × 1 of {share}", "unit": "share", "ours": round(noise(one), 4),
                        "peer_name": "one whole processor", "peer": round(noise(whole), 4), "ratio": round(noise(one) / noise(whole), 3)})
        for (executors, cores), times in sizes.items():
            if (executors, cores) == (1, 1):
                continue
            slots = executors * cores
            scaling = statistics.median(secs * slots / peer for secs, peer in zip(times, one))
            entries.append({"name": f"{executors} × {cores} of {share}: time × {slots}", "unit": "s", "ours": round(statistics.median(times) * slots, 4),
                            "peer_name": f"1 × 1 of {share}", "peer": round(statistics.median(one), 4), "ratio": round(scaling, 4)})
    for entry in entries:
        print(entry, file=sys.stderr)
    (FOLDER / "core-share.json").write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
