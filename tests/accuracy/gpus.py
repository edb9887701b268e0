"""Writes the tables of three public GPU benchmarks from clones of their repositories.

    git clone https://github.com/ryujaehun/pytorch-gpu-benchmark
    git clone https://github.com/jcjohnson/cnn-benchmarks
    git clone https://github.com/lambdal/deeplearning-benchmark
    python gpus.py pytorch-gpu-benchmark cnn-benchmarks deeplearning-benchmark FOLDER

FOLDER then has torchvision/steps.csv (32 CNNs of torchvision in inference and training, three
precisions, 1 to 4 of six GPU types, 12 images of 224 pixels on each GPU), torch7/passes.csv (CNNs of
Torch 7 on GPUs with several versions of cuDNN and on a CPU, 16 images) and lambda/jobs.csv (training
of seven networks in two precisions on 1 to 8 GPUs of many types). Times are seconds for 1,000 images,
and in the last table for 1,000 samples of the network's kind.
"""

import csv
import json
import statistics
import sys
from pathlib import Path

# Folder of the results, name of the GPU and number of GPUs in the names of its files. Of two sets
# of runs of the RTX 2080 Ti, the newer is used.
TORCHVISION = {"results/1080TI": "GTX 1080 Ti", "results/TitanV": "TITAN V", "results/TITANXP": "TITAN Xp", "results/TitanRTX": "TITAN RTX",
               "results/dgx-a100": "A100", "new_results": "RTX 2080 Ti"}
PRECISIONS = {"_half_": "half", "_single_": "single", "_float_": "single", "_double_": "double"}
IMAGES_PER_GPU = 12
# Providers in the names of machines; the rest of a name is the GPU.
PROVIDERS = ["LambdaCloud ", "DellTexas ", "Dell ", "SMC ", "1CC ", "RAIDZ1 "]
# Without ncf, whose throughput is higher than the memory of the GPUs allows, and the two that were
# not measured on every machine.
NETWORKS = ["ssd", "bert_base_squad", "bert_large_squad", "gnmt", "resnet50", "tacotron2", "waveglow"]


def torchvision(root):
    """Yields a row for each GPU, number of GPUs, precision, mode and CNN: the median step."""
    for folder, gpu in TORCHVISION.items():
        for path in sorted((root / folder).glob("*_benchmark.csv")):
            gpus = next((count for count in range(1, 5) if f"_{count}_gpus_" in path.name), 1)
            precision = next(name for part, name in PRECISIONS.items() if part in path.name)
            mode = "inference" if "inference" in path.name else "training"
            with path.open(newline="") as file:
                steps = list(csv.DictReader(file))
            for cnn in steps[0]:
                secs = statistics.median(float(step[cnn]) for step in steps) / 1000
                yield gpu, gpus, precision, mode, cnn, 1000 * secs / (IMAGES_PER_GPU * gpus)


def torch7(root):
    """Yields a row for each device, version of cuDNN, mode and CNN."""
    for path in sorted(root.glob("outputs/*/*.json")):
        run = json.loads(path.read_text())
        options = run["opt"]
        cnn, images = Path(options["model_t7"]).stem, options["batch_size"]
        device = run["gpu_name"] if run["cudnn_version"] == "none" else f"{run['gpu_name']}, cuDNN {run['cudnn_version']}"
        for mode, times in [("inference", "forward_times"), ("training", "total_times")]:
            yield device, mode, cnn, 1000 * statistics.median(run[times]) / images


def lambda_machines(root):
    """Yields a row for each machine, precision and network; machines of several providers are
    repeats."""
    for precision in ["fp16", "fp32"]:
        with (root / f"pytorch/pytorch-train-throughput-{precision}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                gpu, gpus = row["name_gpu"], int(float(row["num_gpu"]))
                for provider in PROVIDERS:
                    gpu = gpu.removeprefix(provider)
                # "8x H100 80GB SXM5" and "8xV100 16GB".
                gpu = gpu.removeprefix(f"{gpus}x").strip()
                for network in NETWORKS:
                    if float(row[network] or 0) > 0:
                        yield gpu, gpus, precision, network, 1000 / float(row[network])


def write(path, columns, rows):
    rows = list(rows)
    if not rows:
        sys.exit(f"gpus.py: no run for {path} found; are the folders clones in the order of the usage?")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns.split())
        table.writerows(rows)


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: gpus.py PYTORCH-GPU-BENCHMARK CNN-BENCHMARKS DEEPLEARNING-BENCHMARK FOLDER, the first three being clones")
    first, second, third, out = (Path(argument) for argument in sys.argv[1:])
    write(out / "torchvision/steps.csv", "gpu gpus precision mode cnn time_s", torchvision(first))
    write(out / "torch7/passes.csv", "device mode cnn time_s", torch7(second))
    write(out / "lambda/jobs.csv", "gpu gpus precision network time_s", lambda_machines(third))


if __name__ == "__main__":
    main()
