"""Throughput of the CNNs on a GPU, beside PyTorch if this Python has it.

    make bench-gpu                               on the machine where Foreglow was built
    make bench-gpu-archive                       packs this script with the binary, for a bare machine
    python3 run.py --foreglow ./foreglow         there: needs Python 3.8, a Vulkan driver, no network

Inference is the forward passes alone with the copy to the device (`foreglow executor
--forward-passes`). Training is `foreglow run --mode training`: reading, decoding (8 cores), gradients
and optimiser. The demo is the time of `foreglow demo --once` from its start to its answer. PyTorch runs
on a mini-batch in memory, in eager mode and, in the time that is left, compiled, in fp32 (with TF32
off and on), fp16 and bf16. Foreglow infers in f32, and in f16 where the GPU has it; it trains in f32.

The cases are ordered by importance; a case that would not fit into --minutes is left out and listed
as such. Writes gpu.json (the list of comparisons that all benchmarks write), gpu-raw.json
(everything) and gpu.md (the table of docs/performance.md).

The share of the roofline is 2 · multiply-accumulates · images/s (three times that for training)
divided by the GPU's peak of fp32 without tensor cores.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Peak of fp32 without tensor cores, TFLOP/s, by words of the name, from the makers' data sheets.
PEAKS = [(("H200",), 66.9), (("H100", "PCIe"), 51.2), (("H100",), 66.9), (("A100",), 19.5), (("A10G",), 31.2), (("A10",), 31.2),
         (("L40S",), 91.6), (("L4",), 30.3), (("T4",), 8.1), (("V100", "PCIE"), 14.0), (("V100",), 15.7), (("4090",), 82.6),
         (("3090",), 35.6)]
# Mode, CNN, image side in pixels, mini-batch size, mini-batches that are timed, number format.
CASES = [("inference", "resnet50", 224, 32, 60), ("training", "resnet50", 224, 32, 40), ("inference", "resnet50", 224, 128, 20),
         ("training", "resnet50", 224, 64, 20), ("inference", "resnet50", 224, 8, 100), ("inference", "resnet50", 224, 1, 200),
         ("inference", "mobilenet_v2", 224, 32, 60), ("training", "mobilenet_v2", 224, 32, 40),
         ("inference", "mobilenet_v2", 224, 128, 20), ("inference", "lenet5", 32, 512, 200), ("training", "lenet5", 32, 512, 50)]
# Next to the case of the same size in f32.
HALF = [("inference", "resnet50", 224, 32, 60), ("inference", "resnet50", 224, 128, 20), ("inference", "mobilenet_v2", 224, 128, 20)]
CASES = [(*case, dtype) for case in CASES for dtype in (("f32", "f16") if case in HALF else ("f32",))]
# A software adapter under the test rig finishes these in a minute or two.
QUICK = [("inference", "lenet5", 32, 8, 5, "f32"), ("inference", "lenet5", 32, 8, 5, "f16"), ("training", "lenet5", 32, 8, 4, "f32")]
# Longest time of one case, seconds: the first start on a GPU compiles and tunes every kernel.
LONGEST_CASE = 180
LONGEST_DEMO = 240
# A software adapter that shares its processors with other programs takes this long.
LONGEST_QUICK = 600
WARM_UP = 5
# Cores that read and decode the images of training: one core is slower than a GPU.
DECODING_CORES = min(8, os.cpu_count() or 1)
# Longest time of PyTorch's compilation of a network, seconds.
COMPILATION = 60


def main():
    arguments = parse()
    start = time.monotonic()
    arguments.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(arguments, start)
    gpu = bench.gpu()
    print(f"{gpu['name']} ({gpu['backend']}, {gpu['driver']})", file=sys.stderr)
    for case in QUICK if arguments.quick else CASES:
        bench.case(*case)
    if not arguments.only:
        bench.demo()
    bench.write()
    bench.compiled_peers()
    bench.write()
    print((arguments.out / "gpu.md").read_text())


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    # On a bare machine the script can be in any folder.
    folders = Path(__file__).resolve().parents
    root = folders[min(2, len(folders) - 1)]
    parser.add_argument("--foreglow", type=Path, default=root / "target/release/foreglow", help="the binary")
    parser.add_argument("--device", default="gpu", help="gpu, or an index or a name of `foreglow devices`")
    parser.add_argument("--minutes", type=float, help="stop in time for this; 10 by default, 30 with --quick")
    parser.add_argument("--out", type=Path, default=root / "target/bench", help="folder of the results")
    parser.add_argument("--peak-tflops", type=float, help="fp32 peak of the GPU, if its name is not known here")
    parser.add_argument("--only", metavar="WORDS", help="cases with all of these words in their name, and no demo")
    parser.add_argument("--quick", action="store_true", help="two small cases: a check of the script itself")
    arguments = parser.parse_args()
    # A name without a folder would be searched in PATH.
    arguments.foreglow = arguments.foreglow.resolve()
    if arguments.minutes is None:
        arguments.minutes = 30 if arguments.quick else 10
    return arguments


class Bench:
    def __init__(self, arguments, start):
        self.arguments, self.start = arguments, start
        self.folder = tempfile.TemporaryDirectory(prefix="foreglow-bench-")
        self.cache = Path(self.folder.name)
        self.device, self.results, self.skipped, self.peer = None, [], [], Peer.find()
        self.macs = None

    def left(self):
        return self.arguments.minutes * 60 - (time.monotonic() - self.start)

    def foreglow(self, *words, limit=LONGEST_CASE, **options):
        limit = LONGEST_QUICK if self.arguments.quick else limit
        command = [str(self.arguments.foreglow), *map(str, words)]
        environment = {**os.environ, "FOREGLOW_CACHE": str(self.cache), "FOREGLOW_DATA": str(self.cache / "data")}
        limit = max(5.0, min(limit, self.left()))
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, env=environment, **options)

    def gpu(self):
        if not self.arguments.foreglow.exists():
            sys.exit(f"{self.arguments.foreglow} is not there; give the binary with --foreglow")
        listed = json.loads(self.foreglow("devices", "--format", "json").stdout)
        gpus = [device for device in listed["devices"] if device["kind"].endswith("_gpu")]
        wanted = self.arguments.device.lower()
        if wanted != "gpu":
            gpus = [gpu for gpu in gpus if str(gpu["index"]) == wanted or wanted in gpu["name"].lower()]
        if not gpus:
            names = ", ".join(device["name"] for device in listed["devices"])
            sys.exit(f"foreglow finds no GPU {self.arguments.device} among: {names}; install the GPU's Vulkan driver")
        self.device = gpus[0]
        models = json.loads(self.foreglow("models", "--format", "json").stdout)
        models = models.get("models", models) if isinstance(models, dict) else models
        self.macs = {model["name"]: model for model in models}
        return self.device

    def case(self, mode, model, px, batch, count, dtype):
        name = f"{model} {px} px, {mode}, batch {batch}, {dtype}"
        if not all(word in name for word in (self.arguments.only or "").split()):
            return
        if dtype not in self.device["number_formats"]:
            self.skipped.append(f"{name}: the GPU does not compute in {dtype}")
            return
        if self.left() < 30:
            self.skipped.append(f"{name}: no time left")
            return
        try:
            rate, startup = (self.training if mode == "training" else self.inference)(model, px, batch, count, dtype)
        except subprocess.TimeoutExpired as late:
            self.skipped.append(f"{name}: not finished after {late.timeout:.0f} s")
            return
        except RuntimeError as error:
            self.skipped.append(f"{name}: {error}")
            return
        # The peak is that of fp32.
        roofline = self.roofline(mode, model, px, rate) if dtype == "f32" else None
        result = {"name": name, "mode": mode, "model": model, "px": px, "batch": batch, "dtype": dtype, "images_per_sec": rate,
                  "startup_secs": startup, "roofline": roofline, "peers": {}, "count": count}
        if self.peer and self.left() > 60:
            result["peers"] = self.peer.measure(result, compiled=False)
        self.results.append(result)
        print(result, file=sys.stderr, flush=True)

    def compiled_peers(self):
        for result in self.results:
            if self.peer and "images_per_sec" in result and self.left() > 2 * COMPILATION:
                result["peers"].update(self.peer.measure(result, compiled=True))

    def inference(self, model, px, batch, passes, dtype):
        self.draw(batch)
        job = {"model": model, "image_px": px, "batch_size": batch, "partition_size": batch, "threads": 1, "memory_mib": None,
               "place": self.device["place"], "source": {"path": str(self.cache / "images"), "kind": "folder"}, "images": batch,
               "sampling_rate": 1.0, "number_format": dtype, "seed": 0}
        start = time.monotonic()
        answer = self.foreglow("executor", "--forward-passes", passes, input=json.dumps(job).encode())
        check(answer)
        secs = float(answer.stdout)
        return batch * passes / secs, time.monotonic() - start - secs

    def training(self, model, px, batch, steps, dtype):
        answer = self.foreglow("run", "--mode", "training", "--model", model, "--image-px", px, "--batch-size", batch, "--images",
                               batch * steps, "--sampling-rate", 1, "--executors", 1, "--cores", DECODING_CORES, "--share-size", batch,
                               "--memory", 16384, "--device", self.device["index"], "--dtype", dtype, "--format", "json")
        check(answer)
        sample = json.loads(answer.stdout)
        return batch * steps / sample["completion_time_secs"], sample["startup_secs"]

    def draw(self, images):
        check(self.foreglow("run", "--model", "lenet5", "--images", max(images, 8), "--sampling-rate", 1, "--device", "cpu",
                            "--format", "json"))

    def demo(self):
        if self.left() < 60:
            self.skipped.append("the demo: no time left")
            return
        small = ["--model", "lenet5", "--images", "200"] if self.arguments.quick else []
        start = time.monotonic()
        try:
            check(self.foreglow("demo", "--once", "--format", "json", "--device", self.device["index"], *small, limit=LONGEST_DEMO))
        except (subprocess.TimeoutExpired, RuntimeError) as error:
            self.skipped.append(f"the demo: {error}")
            return
        self.results.append({"name": "the demo, from its start to its answer", "secs": time.monotonic() - start})

    def roofline(self, mode, model, px, rate):
        known = self.macs.get(model, {})
        macs, peak = known.get("multiply_accumulates"), self.peak()
        # `foreglow models` lists the operations at the CNN's default size only.
        if not macs or not peak or px != known.get("image_px"):
            return None
        return rate * macs * 2 * (3 if mode == "training" else 1) / (peak * 1e12)

    def peak(self):
        if self.arguments.peak_tflops:
            return self.arguments.peak_tflops
        words = set(self.device["name"].replace("-", " ").split())
        return next((peak for parts, peak in PEAKS if all(part in words for part in parts)), None)

    def write(self):
        machine = {"gpu": self.device, "processor": platform.processor() or platform.machine(), "system": platform.platform(),
                   "date": time.strftime("%Y-%m-%d"), "driver": nvidia_smi(), "peer": self.peer.version if self.peer else None}
        raw = {"machine": machine, "results": self.results, "skipped": self.skipped}
        out = self.arguments.out
        (out / "gpu-raw.json").write_text(json.dumps(raw, indent=2) + "\n")
        (out / "gpu.json").write_text(json.dumps(self.comparisons(), indent=2, ensure_ascii=False) + "\n")
        (out / "gpu.md").write_text(self.table(machine))

    def comparisons(self):
        entries = []
        for result in self.results:
            if "images_per_sec" not in result:
                entries.append({"name": result["name"], "unit": "s", "ours": round(result["secs"], 2), "peer_name": None, "peer": None,
                                "ratio": None})
                continue
            same = {"f32": "eager fp32", "f16": "eager fp16"}[result["dtype"]]
            eager = {name: rate for name, rate in result["peers"].items() if same in name and rate}
            best = max(eager, key=eager.get) if eager else None
            entries.append({"name": result["name"], "unit": "images/s", "ours": round(result["images_per_sec"], 2), "peer_name": best,
                            "peer": round(eager[best], 2) if best else None,
                            "ratio": round(result["images_per_sec"] / eager[best], 3) if best else None})
        return entries

    def table(self, machine):
        peers = sorted({name for result in self.results for name in result.get("peers", {})})
        head = ["case", "Foreglow images/s", "share of the fp32 roofline", *peers]
        rows = [head, ["---"] * len(head)]
        number = lambda value: "" if value is None else f"{value:.1f}"
        for result in self.results:
            if "images_per_sec" not in result:
                rows.append([result["name"], f"{result['secs']:.1f} s", "", *[""] * len(peers)])
                continue
            share = "unknown" if result["roofline"] is None else f"{100 * result['roofline']:.1f} %"
            rows.append([result["name"], number(result["images_per_sec"]), share,
                         *[number(result["peers"].get(peer)) for peer in peers]])
        lines = [f"{machine['gpu']['name']}, {machine['gpu']['driver']}, {machine['system']}, {machine['date']}", ""]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        lines += [""] + [f"Left out: {why}" for why in self.skipped]
        return "\n".join(lines) + "\n"


class Peer:
    """PyTorch on CUDA or ROCm, with a mini-batch in memory."""

    @staticmethod
    def find():
        try:
            import torch
            import torchvision
            return Peer(torch, torchvision) if torch.cuda.is_available() else None
        except ImportError:
            return None

    def __init__(self, torch, torchvision):
        self.torch, self.models, self.version = torch, torchvision.models, f"PyTorch {torch.__version__}"

    def measure(self, case, compiled):
        rates = {}
        if not hasattr(self.models, case["model"]):
            return rates
        for kind in ("fp16", "bf16") if case["dtype"] == "f16" else ("fp32", "tf32"):
            name = f"{self.version}, {'compiled' if compiled else 'eager'} {kind}"
            try:
                size = [case[key] for key in ("mode", "model", "px", "batch", "count")]
                rates[name] = self.rate(*size, compiled, kind)
            except Exception as error:  # Without this peer, Foreglow's own figure is still valid.
                print(f"{name}: {error}", file=sys.stderr)
        return rates

    def rate(self, mode, model, px, batch, count, compiled, kind):
        torch = self.torch
        for backend in (torch.backends.cuda.matmul, torch.backends.cudnn):
            backend.allow_tf32 = kind == "tf32"
        learns = mode == "training"
        cnn = getattr(self.models, model)(weights=None).cuda().to(memory_format=torch.channels_last).train(learns)
        run = torch.compile(cnn) if compiled else cnn
        images = torch.randn(batch, 3, px, px).pin_memory()
        labels = torch.randint(1000, (batch,)).cuda()
        optimizer = torch.optim.SGD(cnn.parameters(), lr=0.01, momentum=0.9)

        def step():
            # Copies the mini-batch to the device in each step, as Foreglow does.
            there = images.cuda(non_blocking=True).to(memory_format=torch.channels_last)
            with torch.autocast("cuda", torch.float16 if kind == "fp16" else torch.bfloat16, enabled=kind in ("fp16", "bf16")):
                if not learns:
                    with torch.inference_mode():
                        return run(there).argmax(1).cpu()
                loss = torch.nn.functional.cross_entropy(run(there), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()

        for _ in range(WARM_UP):
            step()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize()
        return batch * count / (time.perf_counter() - start)


def check(answer):
    if answer.returncode != 0:
        lines = answer.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"exit code {answer.returncode}")


def nvidia_smi():
    if not shutil.which("nvidia-smi"):
        return None
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,memory.total", "--format=csv,noheader"]
    return subprocess.run(query, stdout=subprocess.PIPE, universal_newlines=True).stdout.strip() or None


if __name__ == "__main__":
    main()
