"""Overhead per Spark task: handing a partition to a warm executor, against a no-op task.

    make bench-spark

A standalone cluster on the loopback address with one executor of one core. The two jobs alternate
in one application; the medians over the rounds are compared. Writes target/bench/spark.json.
"""

import json
import os
import statistics
import tempfile
from pathlib import Path

from cluster import ROOT, Cluster, compiled

FOREGLOW = Path(os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")).resolve()
TASKS = int(os.environ.get("TASKS", 1000))
ROUNDS = int(os.environ.get("ROUNDS", 15))
LIMIT_MS = 3.0


def measure(folder):
    """Milliseconds per task of each round, for the no-op job and the job through the executor."""
    images = folder / "images"
    images.mkdir()
    # One pixel, for the executor's warm-up; the partitions contain no image.
    (images / "1.png").write_bytes(bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8ffff3f0005fe02fe0def46b8"
        "0000000049454e44ae426082"))
    assignment = {
        "model": "lenet5", "image_px": 32, "batch_size": 1, "partition_size": 1, "threads": 1, "memory_mib": 1024,
        "place": "cpu", "source": {"path": str(images), "kind": "folder"}, "images": 1, "sampling_rate": 1.0, "seed": 0,
    }
    jar = compiled(folder, "Overhead.java")
    with Cluster(folder, cores=1) as cluster:
        properties = ["spark.executor.cores=1", "spark.cores.max=1"]
        answer = cluster.submit("Overhead", jar, properties, FOREGLOW, json.dumps(assignment), str(TASKS), str(ROUNDS))
    lines = [line.split() for line in answer.splitlines() if line.startswith("overhead ")]
    return [(float(nothing), float(through)) for _, nothing, through in lines]


def main():
    with tempfile.TemporaryDirectory() as folder:
        rounds = measure(Path(folder))
    nothing = statistics.median(one for one, _ in rounds)
    through = statistics.median(one for _, one in rounds)
    added = through - nothing
    print(f"{len(rounds)} rounds of {TASKS} tasks, median: no-op {nothing:.2f} ms a task, through the executor {through:.2f} ms, added {added:.2f} ms")
    figures = [
        {"name": "spark task", "unit": "ms", "ours": through, "peer_name": "the same job with a task that does nothing",
         "peer": nothing, "ratio": nothing / through},
        {"name": "added to a spark task", "unit": "ms", "ours": added, "peer_name": "the limit", "peer": LIMIT_MS,
         "ratio": LIMIT_MS / max(added, 0.01)},
    ]
    target = ROOT / "target/bench/spark.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
