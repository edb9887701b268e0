"""Runs the reference implementations on the weights and images of `foreglow-parity`, compares, prints the table.

    python reference.py FOLDER

Exit code 1: a CNN differs by more than the limit.
"""

import json
import sys
from pathlib import Path

import timm
import torch
import torchvision
from safetensors import safe_open
from torch import nn

LIMIT = 1e-4


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10),
    )  # fmt: skip


def cnn11():
    channels = [20, 20, 200, 200, 500]
    widths = [4500, 128, 128, 100]
    layers = [nn.Conv2d(3, 20, 5), nn.LeakyReLU(0.01), nn.MaxPool2d(2)]
    for before, after in zip(channels, channels[1:]):
        layers += [nn.Conv2d(before, after, 3), nn.LeakyReLU(0.01)]
    layers += [nn.MaxPool2d(2), nn.Flatten()]
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.LeakyReLU(0.01)]
    return nn.Sequential(*layers, nn.Linear(100, 143))


REFERENCES = {
    "lenet5": ("torch.nn layers", lenet5),
    "cnn11": ("torch.nn layers", cnn11),
    "vgg16": ("torchvision vgg16", lambda: torchvision.models.vgg16(init_weights=False)),
    "resnet18": ("torchvision resnet18", torchvision.models.resnet18),
    "resnet50": ("torchvision resnet50", torchvision.models.resnet50),
    "inception_v4": ("timm inception_v4", lambda: timm.create_model("inception_v4")),
    "xception": ("timm legacy_xception", lambda: timm.create_model("legacy_xception")),
    "mobilenet_v2": ("torchvision mobilenet_v2", torchvision.models.mobilenet_v2),
}


def load(model, path):
    """Puts our weights into the reference, layer by layer: both list them in the order of their layers."""
    with safe_open(path, "pt") as file:
        order = json.loads(file.metadata()["order"])
        weights = [file.get_tensor(name) for name in order]
    theirs = {name: value for name, value in model.state_dict().items() if not name.endswith("num_batches_tracked")}
    assert len(theirs) == len(weights), f"{len(weights)} tensors of ours, {len(theirs)} of the reference"
    for name, ours, (their_name, value) in zip(order, weights, theirs.items()):
        assert ours.shape == value.shape, f"{name} is {list(ours.shape)}, {their_name} is {list(value.shape)}"
    model.load_state_dict(dict(zip(theirs, weights)), strict=False)
    return [name for name in order if "running_" not in name]


def run(model, names, ours):
    """What the reference gives for the same images: by name, as `foreglow-parity` writes it."""
    dtype = next(model.parameters()).dtype
    images = ours["images"].to(dtype).requires_grad_()
    result = {}
    with torch.no_grad():
        result["scores"] = model.eval()(images)
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    scores = model(images)
    (scores * ours["share"].to(dtype)).sum().backward()
    result["training_scores"] = scores.detach()
    result["input_gradient"] = images.grad
    for place, (name, parameter) in enumerate(zip(names, model.parameters(), strict=True)):
        is_linear = parameter.dim() == 2
        # Burn stores the weights of a fully connected layer the other way round.
        result[f"gradient.{place}"] = parameter.grad.T if is_linear else parameter.grad
    return {name: value.to(torch.float64) for name, value in result.items()}


def deviation(a, b):
    """Largest difference, as a share of the largest number."""
    return ((a - b).abs().max() / b.abs().max()).item()


def compare(name, folder):
    title, build = REFERENCES[name]
    with safe_open(folder / "ours.safetensors", "pt") as file:
        ours = {key: file.get_tensor(key) for key in file.keys()}
    model = build()
    names = load(model, folder / "weights.safetensors")
    theirs = run(model, names, ours)
    model = build().double()
    load(model, folder / "weights.safetensors")
    exact = run(model, names, ours)
    px = ours["images"].shape[-1]
    ours = {key: ours[key].to(torch.float64) for key in theirs}
    assert all(value.isfinite().all() for value in ours.values()), f"{name}: a number is not finite"

    def worst(a, b, parts):
        return max((deviation(a[part], b[part]), part) for part in parts)

    gradients = [key for key in theirs if key.startswith("gradient.")]
    largest, place = worst(ours, theirs, gradients)
    differences = [deviation(ours[key], theirs[key]) for key in ("scores", "training_scores", "input_gradient")] + [largest]
    rounding = [worst(side, exact, theirs)[0] for side in (theirs, ours)]
    figures = [f"{value:.1e}" for value in differences + rounding]
    print("| " + " | ".join([name, title, str(px), *figures, names[int(place.split(".")[1])]]) + " |", flush=True)
    return max(differences)


def main():
    folder = Path(sys.argv[1])
    torch.manual_seed(0)
    print(f"PyTorch {torch.__version__}, torchvision {torchvision.__version__}, timm {timm.__version__}\n")
    columns = ["CNN", "reference", "px", "scores", "scores in training", "gradient of the images", "worst gradient of weights"]
    columns += ["PyTorch from float64", "ours from float64", "the worst weights"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    results = {name: compare(name, folder / name) for name in REFERENCES if (folder / name).is_dir()}
    beyond = [name for name, value in results.items() if not value <= LIMIT]
    print(f"\nlimit {LIMIT:.0e}: " + (f"exceeded by {', '.join(beyond)}" if beyond else "kept by all"))
    sys.exit(1 if beyond or not results else 0)


if __name__ == "__main__":
    main()
