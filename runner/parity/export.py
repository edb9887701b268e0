"""Exports networks to ONNX with random weights, and PyTorch's scores for two images of each.

    python export.py FOLDER [NAME ...]            networks of torchvision and timm
    python export.py --small FOLDER [NAME ...]    the small networks of the tests of foreglow-cnn

NAME is resnet18 or timm.resnet50d. With the ending .training it is exported in training mode, and
with .dynamo by PyTorch's newer exporter: efficientnet_b0.training.dynamo.
"""

import json
import sys
import warnings
from pathlib import Path

import torch
import torchvision
from torch import nn
from torch.onnx import TrainingMode
from torchvision.models.convnext import CNBlockConfig, ConvNeXt
from torchvision.models.densenet import DenseNet
from torchvision.models.efficientnet import EfficientNet, MBConvConfig
from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3
from torchvision.models.shufflenetv2 import ShuffleNetV2

IMAGES = 2

# Name and side of the images: the smallest side without a layer of one pixel.
LARGE = {
    "resnet18": 96, "resnet50": 96, "vgg16": 224, "densenet121": 96, "mobilenet_v2": 96, "mobilenet_v3_large": 96,
    "efficientnet_b0": 96, "convnext_tiny": 96, "regnet_y_400mf": 96, "inception_v3": 139, "squeezenet1_0": 96,
    "shufflenet_v2_x1_0": 96,
}  # fmt: skip

# The same in training mode, with dropout and stochastic depth, and by the newer exporter.
OTHERWISE = [
    "efficientnet_b0.training", "convnext_tiny.training", "resnet18.dynamo", "mobilenet_v3_large.dynamo", "efficientnet_b0.training.dynamo",
    "timm.convnextv2_atto.training", "timm.nf_resnet26.training", "timm.resnet50d.training", "timm.hrnet_w18_small.dynamo",
    "timm.vit_tiny_patch16_224.dynamo",
]  # fmt: skip

# timm's.
TIMM = [
    "resnet50d", "resnetrs50", "efficientnet_b0", "efficientnetv2_rw_t", "mobilenetv3_small_100", "regnety_008",
    "convnext_atto", "convnextv2_atto", "densenet121", "dm_nfnet_f0", "nf_resnet26", "ghostnet_100",
    "hrnet_w18_small", "res2net50_26w_4s", "repvgg_a0", "dla34", "cspresnet50", "mobilenetv4_conv_small",
    "mobilevit_xxs", "resnest14d", "rexnet_100", "seresnext26d_32x4d", "eca_nfnet_l0", "vit_tiny_patch16_224",
]  # fmt: skip

# Side of images that are not listed above.
USUAL_PX = 96

# With larger scales the scores grow to 2e5, and PyTorch's float32 differs from its float64 by 39 %.
LARGEST_SCALE = {"timm.efficientnetv2_rw_t": 0.9}


class Operators(nn.Module):
    """Layers that the other networks do not have."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=(2, 1), dilation=2)
        self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=4, bias=False)
        self.group_norm = nn.GroupNorm(2, 8)
        self.instance_norm = nn.InstanceNorm2d(8, affine=True)
        self.prelu = nn.PReLU(8)
        self.up = nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.ceil = nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True)
        self.uncounted = nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False)
        self.max = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.last = nn.Linear(34, 10)

    def forward(self, x):
        x = self.grouped(nn.functional.silu(self.first(nn.functional.pad(x, (1, 2, 0, 1), mode="reflect"))))
        x = self.prelu(self.group_norm(x)) + nn.functional.elu(self.instance_norm(x))
        y = nn.functional.leaky_relu(self.up(x), 0.2)
        small = nn.functional.interpolate(y, scale_factor=0.5, mode="bilinear", align_corners=False)
        large = nn.functional.interpolate(x, scale_factor=2, mode="nearest")
        pools = [self.ceil(y), self.uncounted(y), self.max(large)]
        first, second = x[:, ::2], torch.softmax(x[:, 1::2], dim=1)
        numbers = [p.mean((2, 3)) for p in pools] + [small.amax((2, 3)), first.sum((2, 3)) * 0.01, second.pow(2).sum((2, 3)).sqrt()]
        return self.last(torch.cat(numbers, dim=1)).clamp(-3, 3)


def mobilenet_v3():
    def block(*numbers):
        return InvertedResidualConfig(*numbers, width_mult=1.0)

    blocks = [block(8, 3, 16, 8, True, "RE", 1, 1), block(8, 5, 24, 16, True, "HS", 2, 1), block(16, 3, 24, 16, False, "HS", 1, 1)]
    return MobileNetV3(blocks, last_channel=24, num_classes=10)


def efficientnet():
    """Dropout, and stochastic depth in the blocks whose input and output are alike."""
    blocks = [
        MBConvConfig(2, 3, 1, 8, 8, 1, 1.0, 1.0), MBConvConfig(2, 5, 2, 8, 8, 3, 1.0, 1.0),
    ]  # fmt: skip
    return EfficientNet(blocks, dropout=0.2, stochastic_depth_prob=0.5, num_classes=10, last_channel=32)


# Kinds of export: for inference, with normalisations, or in training mode.
SMALL = {
    "mobilenet_v3": (mobilenet_v3, "eval"),
    "shufflenet_v2": (lambda: ShuffleNetV2([2, 1, 1], [8, 16, 16, 24, 32], num_classes=10), "train"),
    "convnext": (lambda: ConvNeXt([CNBlockConfig(8, 16, 1), CNBlockConfig(16, None, 1)], num_classes=10), "eval"),
    "operators": (Operators, "eval"),
    "efficientnet": (efficientnet, "dropout"),
    "densenet": (lambda: DenseNet(6, (2, 3, 2), 8, bn_size=2, num_classes=10), "train"),
}
SMALL_PX = 32


def images(px):
    """The same numbers as in the tests of foreglow-cnn."""
    count = IMAGES * 3 * px * px
    return ((torch.arange(count) * 7919) % 1013 / 506.5 - 1).reshape(IMAGES, 3, px, px)


def randomise(model, largest=1.5):
    """Gives batch normalisation statistics and scales, and layer scales, that matter."""
    for name, value in model.state_dict().items():
        if name.endswith("running_var"):
            value.uniform_(0.5, 1.5)
        elif name.endswith(("running_mean", "bias")):
            value.uniform_(-0.1, 0.1)
        elif name.endswith("layer_scale"):
            value.uniform_(0.5, 1.5)
        elif value.dim() == 1 and name.endswith("weight"):
            value.uniform_(largest / 3, largest)


def export(name, build, mode, px, folder, is_dynamic=False, is_dynamo=False):
    torch.manual_seed(5)
    model = build()
    randomise(model, LARGEST_SCALE.get(name, 1.5))
    model.eval()
    batch = images(px)
    with torch.no_grad():
        scores = model(batch)
    answer = {"px": px, "parameters": sum(p.numel() for p in model.parameters()), "scores": scores.flatten().tolist()}
    (folder / f"{name}.json").write_text(json.dumps(answer) + "\n")
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = min(module.p, 0.5)
        if mode == "dropout" and isinstance(module, nn.BatchNorm2d):
            # Tracing is a forward pass in training mode, which would change the statistics.
            module.momentum = 0.0
    path = str(folder / f"{name}.onnx")
    options = {"opset_version": 18, "input_names": ["images"], "output_names": ["scores"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_dynamo:
            model.train(mode == "dropout")
            torch.onnx.export(model, (batch[:1],), path, dynamo=True, external_data=False, verbose=False, **options)
        else:
            training = {"eval": TrainingMode.EVAL, "train": TrainingMode.PRESERVE, "dropout": TrainingMode.TRAINING}[mode]
            axes = {"images": {0: "batch"}} if is_dynamic else None
            torch.onnx.export(
                model, batch[:1], path, dynamo=False, training=training, do_constant_folding=mode == "eval", dynamic_axes=axes, **options
            )  # fmt: skip
    print(f"exported {name}: {px} px, {answer['parameters']} parameters", flush=True)


def large(name):
    """Returns the builder and the side of the images of a network of torchvision or timm."""
    if name.startswith("timm."):
        import timm

        name = name.removeprefix("timm.")
        options = {"img_size": USUAL_PX} if name.startswith("vit_") else {}
        return lambda: timm.create_model(name, pretrained=False, **options), USUAL_PX
    options = {"init_weights": False} if name in ("inception_v3", "vgg16") else {}
    return lambda: getattr(torchvision.models, name)(weights=None, **options), LARGE.get(name, USUAL_PX)


def main():
    torch.set_num_threads(1)
    if sys.argv[1] == "--small":
        folder = Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        for name, (build, mode) in SMALL.items():
            if not sys.argv[3:] or name in sys.argv[3:]:
                export(name, build, mode, SMALL_PX, folder, is_dynamic=name != "mobilenet_v3")
        return
    folder, names = Path(sys.argv[1]), sys.argv[2:] or [*LARGE, *OTHERWISE, *(f"timm.{name}" for name in TIMM)]
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        base, is_dynamo = name.removesuffix(".dynamo"), name.endswith(".dynamo")
        base, mode = base.removesuffix(".training"), "dropout" if base.endswith(".training") else "eval"
        build, px = large(base)
        export(name, build, mode, px, folder, is_dynamo=is_dynamo)


if __name__ == "__main__":
    main()
