"""Runs the reference implementations on the weights and images of `foreglow-parity` and compares.

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

# Scores are compared in float32 and float64, training and gradients only in float64. In float32
# training differs between programs: batch normalisation over a few images amplifies rounding
# errors, and rounding that moves an activation across the kink of a ReLU changes the gradient. The
# table shows the difference between PyTorch's float32 and float64.
SCORES_LIMIT = 1e-4
EXACT_LIMIT = 1e-8


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


class CifarBlock(nn.Module):
    """Two convolutions; the shortcut takes every other pixel and adds channels of zeros."""

    def __init__(self, channels, width):
        super().__init__()
        self.stride = 1 if channels == width else 2
        self.conv1 = nn.Conv2d(channels, width, 3, self.stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width, eps=1e-3)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width, eps=1e-3)

    def forward(self, x):
        residual = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        if self.stride == 2:
            x = x[:, :, ::2, ::2]
            x = torch.cat([x, torch.zeros_like(x)], 1)
        return torch.relu(residual + x)


def resnet20_cifar():
    widths = [16] * 4 + [32] * 3 + [64] * 3
    blocks = [CifarBlock(channels, width) for channels, width in zip(widths, widths[1:])]
    stem = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def vgg16_cifar():
    layers, channels = [], 3
    for width, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            layers += [nn.Conv2d(channels, width, 3, 1, 1), nn.BatchNorm2d(width, eps=1e-3), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 10))


def text_head():
    return [nn.Linear(256, 128), nn.Dropout(0.2), nn.ReLU(), nn.Linear(128, 20)]


def text_cnn():
    return nn.Sequential(nn.Conv2d(1, 256, (5, 200)), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), *text_head())


class LastOfLstm(nn.Module):
    """The last output of PyTorch's LSTM, with the weights in linear layers as in the runner."""

    def __init__(self):
        super().__init__()
        self.input = nn.Linear(200, 4 * 256)
        self.hidden = nn.Linear(256, 4 * 256, bias=False)

    def forward(self, texts):
        # Gate order of the runner: input, forget, output, candidate; of PyTorch: input, forget,
        # candidate, output. PyTorch also has a second bias.
        rows = torch.tensor([0, 1, 3, 2]).repeat_interleave(256) * 256 + torch.arange(256).repeat(4)
        weights = [self.input.weight[rows], self.hidden.weight[rows], self.input.bias[rows]]
        weights.append(torch.zeros_like(self.input.bias))
        start = texts.new_zeros(1, len(texts), 256)
        outputs, _, _ = torch.lstm(texts.squeeze(1), (start, start), weights, True, 1, 0.0, self.training, False, True)
        return outputs[:, -1]


REFERENCES = {
    "lenet5": ("torch.nn layers", lenet5),
    "cnn11": ("torch.nn layers", cnn11),
    "vgg16": ("torchvision vgg16", lambda: torchvision.models.vgg16(init_weights=False)),
    "resnet18": ("torchvision resnet18", torchvision.models.resnet18),
    "resnet50": ("torchvision resnet50", torchvision.models.resnet50),
    "inception_v4": ("timm inception_v4", lambda: timm.create_model("inception_v4")),
    "xception": ("timm legacy_xception", lambda: timm.create_model("legacy_xception")),
    "mobilenet_v2": ("torchvision mobilenet_v2", torchvision.models.mobilenet_v2),
    "resnet20_cifar": ("torch.nn layers", resnet20_cifar),
    "vgg16_cifar": ("torch.nn layers", vgg16_cifar),
    "text_cnn": ("torch.nn layers", text_cnn),
    "text_lstm": ("torch.lstm, torch.nn layers", lambda: nn.Sequential(LastOfLstm(), *text_head())),
}


def load(model, path):
    """Loads the weights into the reference; both list them in the order of the layers."""
    with safe_open(path, "pt") as file:
        order = json.loads(file.metadata()["order"])
        weights = [file.get_tensor(name) for name in order]
    theirs = {name: value for name, value in model.state_dict().items() if not name.endswith("num_batches_tracked")}
    assert len(theirs) == len(weights), f"{len(weights)} tensors of ours, {len(theirs)} of the reference"
    for name, ours, (their_name, value) in zip(order, weights, theirs.items()):
        assert ours.shape == value.shape, f"{name} is {list(ours.shape)}, {their_name} is {list(value.shape)}"
    model.load_state_dict(dict(zip(theirs, weights)), strict=False)
    return [name for name in order if "running_" not in name]


def run(model, names, given):
    """Returns the reference's results for the same images, with the names of `foreglow-parity`."""
    dtype = next(model.parameters()).dtype
    images = given["images"].to(dtype).detach().requires_grad_()
    with torch.no_grad():
        result = {"scores": model.eval()(images)}
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    scores = model(images)
    (scores * given["share"].to(dtype)).sum().backward()
    result |= {"training_scores": scores.detach(), "input_gradient": images.grad}
    for place, (name, parameter) in enumerate(zip(names, model.parameters(), strict=True)):
        # Burn stores the transposed weights of a fully connected layer.
        result[f"gradient.{place}"] = parameter.grad.T if parameter.dim() == 2 else parameter.grad
    return result


def read(path):
    with safe_open(path, "pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}


def deviations(ours, theirs):
    """Returns the largest difference in each tensor relative to its largest number.

    A bias before batch normalisation has a gradient of 0 apart from rounding, so differences of
    gradients are taken relative to at least a thousandth of the largest gradient.
    """
    largest = {key: value.abs().max().item() for key, value in theirs.items()}
    floor = max(size for key, size in largest.items() if key.startswith("gradient.")) / 1000
    scale = {key: max(size, floor) if key.startswith("gradient.") else size for key, size in largest.items()}
    assert ours.keys() == theirs.keys() and all(value.isfinite().all() for value in ours.values())
    return {key: (ours[key].double() - theirs[key].double()).abs().max().item() / scale[key] for key in theirs}


def compare(name, folder):
    title, build = REFERENCES[name]
    given = read(folder / "input.safetensors")
    ours, theirs = {}, {}
    for precision in ("float32", "float64"):
        model = build().to(getattr(torch, precision))
        names = load(model, folder / "weights.safetensors")
        theirs[precision] = run(model, names, given)
        ours[precision] = read(folder / f"{precision}.safetensors")

    def gradient(deviations):
        return max(value for key, value in deviations.items() if "gradient" in key)

    single, double = (deviations(ours[precision], theirs[precision]) for precision in ours)
    own = deviations(theirs["float32"], theirs["float64"])
    figures = [single["scores"], max(double.values())]
    for of in (single, own):
        figures += [of["training_scores"], gradient(of)]
    height, width = given["images"].shape[2:]
    size = str(width) if height == width else f"{height}×{width}"
    cells = [name, title, size, *(f"{value:.1e}" for value in figures)]
    print("| " + " | ".join(cells) + " |", flush=True)
    return figures[0] <= SCORES_LIMIT and figures[1] <= EXACT_LIMIT


def main():
    folder = Path(sys.argv[1])
    torch.manual_seed(0)
    print(f"PyTorch {torch.__version__}, torchvision {torchvision.__version__}, timm {timm.__version__}\n")
    columns = ["CNN", "reference", "px, or words × numbers", "scores", "float64: everything", "scores in training", "gradients"]
    columns += ["PyTorch from its float64: scores in training", "gradients"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    agrees = {name: compare(name, folder / name) for name in REFERENCES if (folder / name).is_dir()}
    apart = [name for name, is_same in agrees.items() if not is_same]
    verdict = f"beyond: {', '.join(apart)}" if apart else "kept by all"
    print(f"\nlimits: scores {SCORES_LIMIT:.0e}, float64 {EXACT_LIMIT:.0e}; {verdict}")
    sys.exit(1 if apart or not agrees else 0)


if __name__ == "__main__":
    main()
