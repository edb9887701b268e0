"""Computes what a training step of each network in timm's training benchmark needs in memory, from its graph alone.

    pip install torch==2.15.0 torchvision==0.29.2 timm==0.6.13
    python timm_memory.py timm_memory.csv FOLDER/train-amp-n*.csv

The step runs on the meta device: shapes without numbers, so that no weights and no GPU are needed. The bytes of all
tensors that are alive are counted: the peak of forward pass, loss and backward pass. Types are those of PyTorch's
automatic mixed precision on CUDA, which the meta device lacks: products in 16 bits with their copies of the weights,
normalisations by layer and by group, softmax and sums in 32 bits. Two batches give the peak without images and the
peak per image. An existing table is continued.
"""

import csv
import hashlib
import sys
import weakref
from pathlib import Path

import timm as networks
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

COLUMNS = ["model", "pixels", "parameters", "peak_bytes", "peak_bytes_per_image"]
BATCHES = (16, 32)
# The CUDA allocator's smallest block.
BLOCK = 512
HALF = {
    *(F.conv1d, F.conv2d, F.conv3d, F.conv_transpose2d, F.linear, F.prelu),
    *(torch.conv1d, torch.conv2d, torch.matmul, torch.bmm, torch.baddbmm, torch.addmm, torch.mm, torch.einsum),
    *(torch.prelu, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.Tensor.bmm, torch.Tensor.baddbmm),
}
FULL = {
    *(F.layer_norm, F.group_norm, F.softmax, F.log_softmax, F.cross_entropy, F.normalize, F.softplus),
    *(torch.layer_norm, torch.group_norm, torch.softmax, torch.exp, torch.log, torch.pow, torch.norm, torch.sum),
    *(torch.rsqrt, torch.cumsum, torch.reciprocal, torch.Tensor.softmax, torch.Tensor.log_softmax),
    *(torch.Tensor.exp, torch.Tensor.pow, torch.Tensor.__pow__, torch.Tensor.norm, torch.Tensor.sum),
    *(torch.Tensor.rsqrt, torch.Tensor.cumsum),
}
WIDEST = {torch.cat, torch.stack}
LINSPACE = torch.linspace


class Memory(TorchDispatchMode):
    """Counts the bytes of the storages that are alive."""

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self.storages = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for result in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(result, torch.Tensor) and result.device.type == "meta":
                self.add(result.untyped_storage())
        return out

    def add(self, storage):
        key = storage._cdata
        if key not in self.storages:
            self.storages[key] = -(-storage.nbytes() // BLOCK) * BLOCK
            self.now += self.storages[key]
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self.drop, key)

    def drop(self, key):
        self.now -= self.storages.pop(key, 0)


class Autocast(TorchFunctionMode):
    """Casts as automatic mixed precision on CUDA does."""

    def __init__(self):
        super().__init__()
        self.weights = {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is F.dropout:
            return dropout(*args, **kwargs)
        dtype = None
        if function in HALF:
            dtype = torch.float16
        elif function in FULL or (function in WIDEST and any(part.dtype == torch.float32 for part in args[0])):
            dtype = torch.float32
        if dtype is not None:
            args = tuple(self.cast(value, dtype) for value in args)
            kwargs = {name: self.cast(value, dtype) for name, value in kwargs.items()}
        return function(*args, **kwargs)

    def cast(self, value, dtype):
        if isinstance(value, (list, tuple)):
            return type(value)(self.cast(part, dtype) for part in value)
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.dtype == dtype:
            return value
        if dtype == torch.float16 and value.is_leaf and value.requires_grad:
            # The copies of the weights are kept until the step ends.
            if id(value) not in self.weights:
                self.weights[id(value)] = value.to(dtype)
            return self.weights[id(value)]
        return value.to(dtype)


def dropout(x, p=0.5, training=True, inplace=False):
    """CUDA keeps a mask of bytes."""
    return torch.native_dropout(x, p, True)[0] if training and p > 0 else x


def build(name, pixels):
    """A network without numbers. Lists of rates that timm reads from a tensor stay on the processor."""
    torch.linspace = lambda *args, **kwargs: LINSPACE(*args, **{**kwargs, "device": "cpu"})
    try:
        with torch.device("meta"):
            try:
                network = networks.create_model(name, img_size=pixels)
            except TypeError:
                network = networks.create_model(name)
    finally:
        torch.linspace = LINSPACE
    return network.train()


def peak(network, pixels, batch):
    """The peak of a step, without weights, gradients of the step before and the optimiser's state."""
    for parameter in network.parameters():
        parameter.grad = None
    with Memory() as memory, Autocast() as autocast:
        # The benchmark keeps its images.
        images = torch.empty(batch, 3, pixels, pixels, device="meta")
        out = network(images)
        out = out[0] if isinstance(out, tuple) else out
        loss = F.cross_entropy(out, torch.empty(batch, dtype=torch.long, device="meta"))
        loss.backward()
        autocast.weights.clear()
    return memory.peak


def main():
    table = Path(sys.argv[1])
    wanted = set()
    for file in sys.argv[2:]:
        with open(file) as lines:
            wanted |= {(row["model"], int(row["train_img_size"])) for row in csv.DictReader(lines)}
    rows = {}
    if table.exists():
        with open(table) as lines:
            rows = {(row["model"], int(row["pixels"])): row for row in csv.DictReader(lines)}
    # In the order of a hash, so that an unfinished table is a random sample.
    for name, pixels in sorted(wanted - set(rows), key=lambda it: hashlib.sha256(repr(it[0]).encode()).digest()):
        try:
            network = build(name, pixels)
            few, many = (peak(network, pixels, batch) for batch in BATCHES)
        except (RuntimeError, AssertionError, ImportError, NotImplementedError) as error:
            print(f"{name} at {pixels} px is left out: {str(error)[:100]}", file=sys.stderr)
            continue
        parameters = sum(parameter.numel() for parameter in network.parameters())
        per_image = round((many - few) / (BATCHES[1] - BATCHES[0]))
        values = [name, pixels, parameters, few - BATCHES[0] * per_image, per_image]
        rows[name, pixels] = dict(zip(COLUMNS, values))
    with open(table, "w", newline="") as lines:
        writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))


if __name__ == "__main__":
    main()
