"""Counts what each CNN of the benchmark files of timm costs, from its graph alone.

    pip install torch==2.15.0 torchvision==0.29.2 timm==1.0.31
    python timm.py FOLDER timm.csv

FOLDER has the benchmark files. Networks are built and run on the meta device: shapes without numbers, so that no
weights are needed. Transformers are left out. An existing table is continued. The columns are those of `GraphCosts::NAMES`.
"""

import csv
import hashlib
import re
import sys
from pathlib import Path

import timm as networks
import torch
from torch.utils._python_dispatch import TorchDispatchMode

FILES = [
    "infer-amp-nchw-pt240-cu124-rtx3090.csv",
    "infer-fp32-nchw-pt240-cpu-i9_10940x-dynamo.csv",
    "train-amp-nchw-pt112-cu113-rtx3090.csv",
    "train-amp-nhwc-pt112-cu113-rtx3090.csv",
]
NAMES = (
    "macs_product macs_linear macs_pointwise_32 macs_pointwise_128 macs_pointwise macs_spatial_32 macs_spatial_128 "
    "macs_spatial macs_depthwise_3 macs_depthwise_5 macs_depthwise macs_grouped_8 macs_grouped_16 macs_grouped_32 "
    "macs_grouped numbers_product numbers_linear numbers_pointwise numbers_spatial numbers_depthwise numbers_grouped "
    "numbers_normalisation numbers_softmax numbers_pooling numbers_copy numbers_activation numbers_arithmetic "
    "weights launches input"
).split()
TRANSFORMER = re.compile(
    "vit|former|swin|deit|beit|halo|bot|lambda|^(eva|cait|volo|focal|twins|nest|pit|mixer|gmlp|resmlp|tnt|pvt|jx_|"
    "sequencer|levit|next|hiera|coat|max|aimv|dm_|test_|csatv|mambaout)"
)
VIEWS = set(
    "view _unsafe_view reshape permute transpose t expand slice select unsqueeze squeeze split split_with_sizes chunk "
    "detach alias as_strided unbind flatten narrow movedim diagonal".split()
)
ACTIVATION = re.compile("relu|silu|gelu|hardswish|hardsigmoid|sigmoid|hardtanh|^tanh|^elu")
COPY = re.compile("^(cat|clone|copy_|_to_copy|roll|constant_pad_nd|index|stack|contiguous)$")


class Costs(TorchDispatchMode):
    """Adds up the costs of each operation that runs."""

    def __init__(self):
        super().__init__()
        self.sums = dict.fromkeys(NAMES, 0)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        result = out[0] if isinstance(out, (tuple, list)) and out else out
        if isinstance(result, torch.Tensor) and name not in VIEWS:
            self.count(name, args, result)
        return out

    def count(self, name, args, result):
        numbers = result.numel()
        if name == "convolution":
            images, weights, groups = args[0], args[1], args[8]
            macs = (images if args[6] else result).numel() * weights[0].numel()
            self.product(convolution(weights, groups), macs, images.numel() + numbers, weights.numel())
        elif name in ("addmm", "mm"):
            left, right = args[-2:]
            self.product(("linear", "linear"), numbers * left.shape[-1], left.numel() + numbers, right.numel())
        elif name in ("bmm", "baddbmm"):
            left, right = args[-2:]
            self.product(("product", "product"), numbers * left.shape[-1], left.numel() + right.numel() + numbers, 0)
        elif "scaled_dot" in name:
            query, key, value = args[:3]
            read = query.numel() + key.numel() + value.numel()
            self.product(("product", "product"), 2 * query.numel() * key.shape[-2], read + numbers, 0)
        else:
            read = sum(tensor.numel() for tensor in tensors(args))
            if read:
                self.sums[f"numbers_{kind(name)}"] += read + numbers
                self.sums["launches"] += 1

    def product(self, kinds, macs, numbers, weights):
        self.sums[f"macs_{kinds[0]}"] += macs
        self.sums[f"numbers_{kinds[1]}"] += numbers
        self.sums["weights"] += weights
        self.sums["launches"] += 1


def tensors(args):
    """The tensors on the meta device among nested arguments, without weights."""
    for argument in args:
        if isinstance(argument, torch.nn.Parameter):
            continue
        if isinstance(argument, torch.Tensor) and argument.device.type == "meta":
            yield argument
        elif isinstance(argument, (tuple, list)):
            yield from tensors(argument)


def convolution(weights, groups):
    """The kinds of a convolution by multiply-accumulates and by traffic."""
    outputs, inputs, kernel = weights.shape[0] // groups, weights.shape[1], weights[0, 0].numel()
    if groups == 1:
        kind = "pointwise" if kernel == 1 else "spatial"
        side = min(inputs, outputs)
        return kind + ("_32" if side <= 32 else "_128" if side <= 128 else ""), kind
    if inputs == 1:
        return "depthwise" + ("_3" if kernel <= 9 else "_5" if kernel <= 25 else ""), "depthwise"
    return "grouped" + ("_8" if inputs <= 8 else "_16" if inputs <= 16 else "_32" if inputs <= 32 else ""), "grouped"


def kind(name):
    """The kind of an operation without products."""
    if "softmax" in name:
        return "softmax"
    if "norm" in name:
        return "normalisation"
    if "pool" in name or name == "mean":
        return "pooling"
    if COPY.match(name):
        return "copy"
    return "activation" if ACTIVATION.search(name) else "arithmetic"


def costs_of(name, pixels):
    """The costs of a network at an image size."""
    with torch.device("meta"):
        try:
            network = networks.create_model(name, img_size=pixels)
        except TypeError:
            network = networks.create_model(name)
    with torch.no_grad(), Costs() as costs:
        network.eval()(torch.empty(1, 3, pixels, pixels, device="meta"))
    return costs.sums | {"input": 3 * pixels * pixels}


def main():
    folder, table = Path(sys.argv[1]), Path(sys.argv[2])
    wanted = set()
    for file in FILES:
        with open(folder / file) as lines:
            for row in csv.DictReader(lines):
                wanted.add((row["model"], int(row.get("infer_img_size") or row["train_img_size"])))
    rows = {}
    if table.exists():
        with open(table) as lines:
            rows = {(row["model"], int(row["pixels"])): row for row in csv.DictReader(lines)}
    # In the order of a hash, so that an unfinished table is a random sample.
    for name, pixels in sorted(wanted - set(rows), key=lambda it: hashlib.sha256(repr(it[0]).encode()).digest()):
        if TRANSFORMER.search(name) and "convnext" not in name and "resnext" not in name:
            continue
        try:
            rows[name, pixels] = {"model": name, "pixels": pixels} | costs_of(name, pixels)
        except (RuntimeError, AssertionError) as error:
            print(f"{name} at {pixels} px is left out: {str(error)[:100]}", file=sys.stderr)
    with open(table, "w", newline="") as lines:
        writer = csv.DictWriter(lines, ["model", "pixels", *NAMES], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))


if __name__ == "__main__":
    main()
