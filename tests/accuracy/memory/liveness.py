"""Compares the peak of the tensors of a step that Foreglow computes from a graph with that of PyTorch.

    pip install torch==2.15.0 torchvision==0.29.2 timm==0.6.13 onnx
    python liveness.py FOREGLOW FOLDER torchvision:resnet50 timm:efficientnet_b0 …

Each network is exported to an ONNX file in training mode, without numbers folded, into FOLDER. PyTorch's peak is
counted on the meta device, as `timm_memory.py` does, in 32 bits and in mixed precision. Prints a table: bytes of a
training step with 64 images, without weights, gradients of the step before and momenta.
"""

import json
import statistics
import subprocess
import sys
import warnings
from pathlib import Path

import timm
import timm_memory
import torch
import torch.nn.functional as F
import torchvision

BATCH = 64
PIXELS = 224


def build(source, name, device):
    with torch.device(device):
        if source == "timm":
            return timm.create_model(name).train()
        more = {"init_weights": False} if name in ("inception_v3", "googlenet") else {}
        return torchvision.models.get_model(name, weights=None, **more).train()


def export(source, name, path):
    """Exports a network with weights, which the tracer needs."""
    if path.exists():
        return
    options = {"input_names": ["images"], "output_names": ["scores"], "dynamic_axes": {"images": {0: "n"}}}
    torch.onnx.export(
        build(source, name, "cpu"), (torch.zeros(2, 3, PIXELS, PIXELS),), path, dynamo=False, opset_version=20,
        training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, **options,
    )


def measured(source, name):
    """The peaks of PyTorch in 32 bits and in mixed precision."""
    mixed = timm_memory.peak(build(source, name, "meta"), PIXELS, BATCH)
    network = build(source, name, "meta")
    with timm_memory.Memory() as memory:
        # The weights are not counted, and views of them are not new tensors.
        memory.storages.update({parameter.untyped_storage()._cdata: 0 for parameter in network.parameters()})
        out = network(torch.empty(BATCH, 3, PIXELS, PIXELS, device="meta"))
        out = out[0] if isinstance(out, tuple) else out
        F.cross_entropy(out, torch.empty(BATCH, dtype=torch.long, device="meta")).backward()
    return {"fp32": memory.peak, "amp": mixed}


def computed(foreglow, path):
    """The peaks of Foreglow."""
    command = [foreglow, "models", path, "--layers", "--image-px", str(PIXELS), "--format", "json"]
    training = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["step_bytes"]["training"]
    return {name: peak["fixed"] + BATCH * peak["per_image"] for name, peak in training.items()}


def main():
    warnings.filterwarnings("ignore")
    foreglow, folder = sys.argv[1], Path(sys.argv[2])
    ratios = {"fp32": [], "amp": []}
    print("| network | 32 bits, MB | ratio | mixed, MB | ratio |\n|---|---:|---:|---:|---:|")
    for source, name in (word.split(":") for word in sys.argv[3:]):
        path = folder / f"{source}_{name}.onnx"
        try:
            true = measured(source, name)
            export(source, name, path)
            ours = computed(foreglow, path)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{name} is left out: {str(error)[:100]}", file=sys.stderr)
            continue
        cells = []
        for dtype, values in ratios.items():
            values.append(ours[dtype] / true[dtype])
            cells.append(f"{true[dtype] / 1e6:,.0f} | {values[-1]:.3f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    for dtype, values in ratios.items():
        near = sum(abs(ratio - 1) <= 0.1 for ratio in values)
        print(f"{dtype}: median {statistics.median(values):.3f}, within 10 %: {near} of {len(values)}")


if __name__ == "__main__":
    main()
