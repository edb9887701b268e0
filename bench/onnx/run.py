"""Time of the built-in networks and of their exports to ONNX, on one core of the processor.

    make bench-onnx

Torchvision's and timm's version of each built-in network is exported by `runner/parity/export.py`.
`foreglow run` measures both networks with the same options and images, alternately within each
round. The time is the processor time of all its processes, which does not include waiting for other
programs on the machine. Each network runs one mini-batch and then more of them; the difference
leaves out loading and warm-up, and includes reading and decoding. The best round of each is compared:
other programs can only lengthen a round. Exports for inference have their normalisations folded
into the convolutions; exports for training keep them. Writes target/bench/onnx.json, with every
round.

The environment variables ROUNDS and CASES="resnet18 vgg16 …" select what to run.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "runner/parity"))

import torch
from export import export, large

FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
FOLDER = ROOT / "target/bench"
EXPORTS = FOLDER / "onnx-exports"
CACHE = FOLDER / "onnx-cache"
ROUNDS = int(os.environ.get("ROUNDS", 7))
# Network, its name for the export, mode, image side in pixels, mini-batch size, mini-batches beyond
# the first.
CASES = [
    ("resnet18", "resnet18", "inference", 64, 8, 60),
    ("resnet50", "resnet50", "inference", 128, 4, 16),
    ("mobilenet_v2", "mobilenet_v2", "inference", 96, 8, 60),
    ("vgg16", "vgg16", "inference", 224, 2, 8),
    ("inception_v4", "timm.inception_v4", "inference", 139, 4, 6),
    ("xception", "timm.legacy_xception", "inference", 139, 4, 6),
    ("resnet18", "resnet18", "training", 64, 16, 4),
    ("mobilenet_v2", "mobilenet_v2", "training", 64, 16, 8),
]
CASES = [case for case in CASES if case[0] in os.environ.get("CASES", case[0]).split()]


def exported(name, mode, px):
    """Exports a network and returns the file."""
    build, _ = large(name)
    folder = EXPORTS / mode
    folder.mkdir(parents=True, exist_ok=True)
    export(name, build, "dropout" if mode == "training" else "eval", px, folder)
    return folder / f"{name}.onnx"


def processor_secs():
    """Processor time of the child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(model, mode, px, batch, images):
    """Processor time of one run, with its start."""
    arguments = ["run", "--model", model, "--mode", mode, "--image-px", px, "--batch-size", batch, "--partition-size", batch,
                 "--images", images, "--sampling-rate", 1, "--executors", 1, "--cores", 1, "--memory", 8192, "--device", "cpu",
                 "--cache-dir", CACHE, "--format", "json"]
    before = processor_secs()
    subprocess.run([FOREGLOW, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return processor_secs() - before


def compare(name, export_name, mode, px, batch, more):
    models = {"export": exported(export_name, mode, px), "built-in": name}
    # The very first run generates the images.
    run(name, mode, px, batch, batch * (1 + more))
    rounds = {which: [] for which in models}
    for number in range(ROUNDS):
        # The order alternates, so that neither is always measured first.
        for which, model in list(models.items())[:: 1 if number % 2 else -1]:
            rounds[which].append([run(model, mode, px, batch, batch * count) for count in (1, 1 + more)])

    def ms_per_image(which, middle):
        few, many = (middle(secs) for secs in zip(*rounds[which]))
        return 1000 * (many - few) / (batch * more)

    best = {which: ms_per_image(which, min) for which in models}
    median = {which: ms_per_image(which, statistics.median) for which in models}
    entry = {"name": f"{name} {px} px, {mode}, batch {batch}, 1 core", "unit": "ms/image", "ours": round(best["export"], 3),
             "peer_name": "built-in network", "peer": round(best["built-in"], 3),
             "ratio": round(best["export"] / best["built-in"], 3), "ratio_of_medians": round(median["export"] / median["built-in"], 3),
             "rounds": {which: [[round(secs, 3) for secs in pair] for pair in pairs] for which, pairs in rounds.items()}}
    print(json.dumps(entry, ensure_ascii=False), file=sys.stderr, flush=True)
    return entry


def main():
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    entries = [compare(*case) for case in CASES]
    (FOLDER / "onnx.json").write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
