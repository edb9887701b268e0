"""Throughput of the CNNs on the processor: Foreglow against PyTorch, fp32, same number of threads.

    make bench-cnns

Training is `foreglow run --mode training`, which includes reading, decoding, gradients and the
optimiser; T threads share each mini-batch. Inference is the forward passes alone (`foreglow
executor --forward-passes`); each of T threads has a mini-batch of its own, as in an executor of T
cores. PyTorch runs in eager mode on a mini-batch in memory, with T intra-op threads
(`torch.set_num_threads`) and with `torch.inference_mode` for inference. The peer is the faster of
its two memory formats. Both programs alternate within each round; the medians over the rounds are
compared. Writes target/bench/cnns.json.

The environment variables ROUNDS, THREADS="1 2" and CASES="resnet50 …" select what to run.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
import torchvision

ROOT = Path(__file__).resolve().parents[2]
FOREGLOW = os.environ.get("FOREGLOW", ROOT / "target/release/foreglow")
FOLDER = ROOT / "target/bench"
CACHE = FOLDER / "cnns-cache"
ROUNDS = int(os.environ.get("ROUNDS", 7))
THREADS = [int(threads) for threads in os.environ.get("THREADS", "1 2").split()]
# CNN, image side in pixels, mini-batch size, whether to train, mini-batches per round and thread.
CASES = [("resnet18", 32, 64, True, 6), ("resnet50", 224, 8, False, 3), ("mobilenet_v2", 224, 8, False, 6)]
CASES = [case for case in CASES if case[0] in os.environ.get("CASES", case[0]).split()]
# PyTorch's mini-batches before the clock starts.
WARM_UP = 3


def training(model, px, batch, threads, steps):
    """Images per second of `foreglow run --mode training`."""
    arguments = ["run", "--mode", "training", "--model", model, "--image-px", px, "--batch-size", batch, "--images", batch * steps,
                 "--sampling-rate", 1, "--share-size", batch // threads, "--cores", threads, "--memory", 8192, "--device", "cpu",
                 "--cache-dir", CACHE, "--format", "json"]
    answer = subprocess.run([FOREGLOW, *map(str, arguments)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return batch * steps / json.loads(answer.stdout)["completion_time_secs"]


def inference(model, px, batch, threads, passes):
    """Images per second of the bare loop of forward passes."""
    job = {"model": model, "image_px": px, "batch_size": batch, "partition_size": batch, "threads": threads, "memory_mib": None,
           "place": "cpu", "source": {"path": str(CACHE / "images"), "kind": "folder"}, "images": batch, "sampling_rate": 1.0, "seed": 0}
    arguments = [FOREGLOW, "executor", "--forward-passes", str(passes)]
    keep = lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    answer = subprocess.run(arguments, input=json.dumps(job).encode(), check=True, stdout=subprocess.PIPE, preexec_fn=keep)
    return batch * threads * passes / float(answer.stdout)


class Peer:
    """PyTorch with a mini-batch in memory."""

    def __init__(self, model, px, batch, learns, memory_format):
        self.cnn = getattr(torchvision.models, model)(weights=None).to(memory_format=memory_format).train(learns)
        self.images = torch.randn(batch, 3, px, px).contiguous(memory_format=memory_format)
        self.labels = torch.randint(1000, (batch,))
        self.learns = learns
        self.optimizer = torch.optim.SGD(self.cnn.parameters(), lr=0.01, momentum=0.9)

    def mini_batch(self):
        if not self.learns:
            with torch.inference_mode():
                return self.cnn(self.images).argmax(1).tolist()
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.cnn(self.images), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def images_per_second(self, mini_batches):
        start = time.perf_counter()
        for _ in range(mini_batches):
            self.mini_batch()
        return len(self.images) * mini_batches / (time.perf_counter() - start)


def compare(model, px, batch, learns, count, threads):
    torch.set_num_threads(threads)
    formats = {"NCHW": torch.contiguous_format, "channels last": torch.channels_last}
    peers = {name: Peer(model, px, batch, learns, memory_format) for name, memory_format in formats.items()}
    for peer in peers.values():
        peer.images_per_second(WARM_UP)
    ours, theirs = [], {name: [] for name in peers}
    for _ in range(ROUNDS):
        ours.append((training if learns else inference)(model, px, batch, threads, count))
        for name, peer in peers.items():
            theirs[name].append(peer.images_per_second(count * threads))
    best = max(theirs, key=lambda name: statistics.median(theirs[name]))
    mine, peer = statistics.median(ours), statistics.median(theirs[best])
    what = f"{model} {px} px, {'training' if learns else 'inference'}, batch {batch}, {threads} thread{'s' * (threads > 1)}"
    entry = {"name": what, "unit": "images/s", "ours": round(mine, 2), "peer_name": f"PyTorch {torch.__version__}, {best}",
             "peer": round(peer, 2), "ratio": round(mine / peer, 3)}
    rounds = {name: [round(value, 1) for value in values] for name, values in {"Foreglow": ours, **theirs}.items()}
    print(entry, rounds, file=sys.stderr, flush=True)
    return entry


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    # Generates the images of the bare loop: a run writes them to the cache.
    drawn = ["run", "--model", "lenet5", "--images", "64", "--sampling-rate", "1", "--device", "cpu", "--cache-dir", str(CACHE)]
    subprocess.run([FOREGLOW, *drawn], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    entries = [compare(*case, threads) for case in CASES for threads in THREADS]
    (FOLDER / "cnns.json").write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
