#!/usr/bin/env python3
"""Writes images.safetensors with PyTorch: convolutions, poolings and normalisations.

usage: make_images.py [DIRECTORY]     (default: the folder of this script)

As ops.safetensors: CASE/inputI, CASE/output, CASE/weights (of the output, for a gradient) and
CASE/gradientI. And resnet.safetensors: the loss of one step of ResNet-9 and ResNet-18 on closed-form
weights and images, and the norms of the gradients of all parameters, computed in f64.
"""
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

from make_golden import values, write_safetensors


def cases():
    image, tall = values(2, 4, 7, 6), values(1, 3, 9, 5)
    line = values(2, 4, 11)
    scale, shift = values(4, low=0.5, high=1.5), values(4)
    return {
        "conv1d": (lambda x, w, c: F.conv1d(x, w, c, stride=2, padding=3, dilation=2),
                   [line, values(5, 4, 3), values(5)]),
        "conv1d_groups": (lambda x, w: F.conv1d(x, w, groups=4), [line, values(8, 1, 4)]),
        "conv2d_depthwise": (lambda x, w: F.conv2d(x, w, groups=4, padding=(2, 1), stride=(1, 2)),
                             [image, values(8, 1, 3, 3)]),
        "conv2d_larger_window": (lambda x, w: F.conv2d(x, w, padding=(2, 4)),
                                 [values(1, 2, 3, 4), values(3, 2, 5, 7)]),
        "conv2d_groups_dilated": (
            lambda x, w, c: F.conv2d(x, w, c, groups=2, dilation=(2, 3), stride=(3, 1),
                                     padding=(2, 3)), [image, values(6, 2, 3, 2), values(6)]),
        "conv2d_tiles": (lambda x, w: F.conv2d(x, w, padding=1),
                         [values(1, 8, 6, 9), values(8, 8, 3, 3)]),
        "conv_transpose1d": (
            lambda x, w, c: F.conv_transpose1d(x, w, c, stride=3, padding=1, output_padding=2),
            [line, values(4, 3, 4), values(3)]),
        "conv_transpose2d": (lambda x, w, c: F.conv_transpose2d(x, w, c),
                             [tall, values(3, 2, 3, 2), values(2)]),
        "conv_transpose2d_strided": (
            lambda x, w: F.conv_transpose2d(x, w, stride=(2, 3), padding=(1, 2),
                                            output_padding=(1, 2)), [tall, values(3, 4, 3, 4)]),
        "conv_transpose2d_groups": (
            lambda x, w, c: F.conv_transpose2d(x, w, c, groups=2, dilation=(2, 1)),
            [image, values(4, 3, 2, 3), values(6)]),
        "max_pool1d": (lambda x: F.max_pool1d(x, 3, stride=2, padding=1, ceil_mode=True), [line]),
        "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, stride=2, padding=1, ceil_mode=True,
                                              count_include_pad=False), [line]),
        "max_pool2d_ceil": (lambda x: F.max_pool2d(x, (3, 2), stride=(2, 3), padding=(1, 0),
                                                   ceil_mode=True), [image]),
        "avg_pool2d_ceil": (lambda x: F.avg_pool2d(x, (3, 4), stride=(3, 4), padding=(1, 1),
                                                   ceil_mode=True), [image]),
        "avg_pool2d_without_padding": (
            lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False), [image]),
        "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (3, 4)), [image]),
        "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (2, 5)), [image]),
        "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 4), [line]),
        "upsample2d_nearest": (lambda x: F.interpolate(x, size=(10, 5), mode="nearest"), [image]),
        "upsample2d_linear": (lambda x: F.interpolate(x, size=(10, 5), mode="bilinear",
                                                      align_corners=False), [image]),
        "upsample2d_corners": (lambda x: F.interpolate(x, size=(10, 5), mode="bilinear",
                                                       align_corners=True), [image]),
        "batch_norm_vectors": (lambda x, w, c: F.batch_norm(x, None, None, w, c, True),
                               [values(6, 4), scale, shift]),
        "group_norm": (lambda x, w, c: F.group_norm(x, 2, w, c), [image, scale, shift]),
        "group_norm_one": (lambda x: F.group_norm(x, 1), [line]),
        "instance_norm": (lambda x, w, c: F.instance_norm(x, weight=w, bias=c),
                          [image, scale, shift]),
        "rms_norm": (lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w,
                     [values(5, 4), scale]),
    }


def stage(inputs, outputs, pool=False):
    layers = [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
              nn.ReLU()]
    return nn.Sequential(*layers, *([nn.MaxPool2d(2)] if pool else []))


class ResNet9(nn.Module):
    def __init__(self):
        super().__init__()
        self.p, self.l1 = stage(3, 64), stage(64, 128, True)
        self.r1 = nn.Sequential(stage(128, 128), stage(128, 128))
        self.l2, self.l3 = stage(128, 256, True), stage(256, 512, True)
        self.r3 = nn.Sequential(stage(512, 512), stage(512, 512))
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = self.l1(self.p(x))
        x = self.l3(self.l2(x + self.r1(x)))
        return self.fc((x + self.r3(x)).amax((2, 3)))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                            nn.BatchNorm2d(outputs))

    def forward(self, x):
        shortcut = self.downsample(x) if hasattr(self, "downsample") else x
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + shortcut)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        widths = [64, 64, 128, 256, 512]
        for i in range(1, 5):
            blocks = [Block(widths[i - 1], widths[i], 1 if i == 1 else 2),
                      Block(widths[i], widths[i], 1)]
            setattr(self, f"layer{i}", nn.Sequential(*blocks))
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for i in range(1, 5):
            x = getattr(self, f"layer{i}")(x)
        return self.fc(x.mean((2, 3)))


def waves(shape, offset):
    """sin(i^2 mod 9973 + offset): the values of golden_resnet_test's fill()."""
    i = torch.arange(torch.Size(shape).numel(), dtype=torch.int64)
    return torch.sin((i * i % 9973).double() + offset).reshape(shape).float().double()


def make_resnet(path):
    tensors = {}
    for name, model in {"resnet9": ResNet9(), "resnet18": ResNet18()}.items():
        model = model.double()
        for index, parameter in enumerate(model.parameters()):
            fan = parameter[0].numel() if parameter.dim() > 1 else 4
            level = 1.0 if parameter.dim() == 1 else 0.0
            scale = (3.0 / fan) ** 0.5 if parameter.dim() > 1 else 0.25
            parameter.data = (waves(parameter.shape, index) * scale + level).float().double()
        loss = F.cross_entropy(model(waves((4, 3, 32, 32), 100)), torch.arange(4))
        loss.backward()
        norms = [parameter.grad.norm() for parameter in model.parameters()]
        tensors[f"{name}/loss"] = loss.detach()
        tensors[f"{name}/gradient_norms"] = torch.stack(norms)
    write_safetensors(path, tensors)


def main():
    torch.manual_seed(3)
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    folder = folder if folder.is_dir() else folder.parent
    tensors = {}
    for name, (function, inputs) in cases().items():
        leaves = [x.clone().requires_grad_() for x in inputs]
        output = function(*leaves)
        weights = values(*output.shape)
        output.backward(weights)
        for i, leaf in enumerate(leaves):
            tensors[f"{name}/input{i}"] = leaf
            tensors[f"{name}/gradient{i}"] = leaf.grad
        tensors[f"{name}/output"] = output
        tensors[f"{name}/weights"] = weights
    # Running statistics of three steps, and what evaluation makes of them.
    norm = torch.nn.BatchNorm2d(4, momentum=0.2).double()
    for step in range(3):
        x = values(3, 4, 2, 5)
        tensors[f"running/x{step}"] = x
        norm(x)
        tensors[f"running/mean{step}"] = norm.running_mean.clone()
        tensors[f"running/var{step}"] = norm.running_var.clone()
    norm.eval()
    tensors["running/evaluated"] = norm(tensors["running/x0"])
    write_safetensors(folder / "images.safetensors", tensors)
    make_resnet(folder / "resnet.safetensors")


if __name__ == "__main__":
    main()
