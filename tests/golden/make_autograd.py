#!/usr/bin/env python3
"""Writes autograd.safetensors: functions that contain gradients, and their gradients.

usage: make_autograd.py [DIRECTORY]     (default: the folder of this script)
"""
import pathlib
import sys

import torch
import torch.nn.functional as F

from make_golden import classes, values, write_safetensors


def slope(y, *inputs):
    """The gradients of sum(y), with a graph."""
    return torch.autograd.grad(y.sum(), inputs, create_graph=True)


def penalty(x, w1, b1, w2):
    score = F.linear(torch.tanh(F.linear(x, w1, b1)), w2)
    (g,) = slope(score, x)
    return ((g.pow(2).sum(1).sqrt() - 1) ** 2).mean()


def conv_curvature(x, w, b, v):
    y = torch.sigmoid(F.conv2d(x, w, b, stride=(2, 1), padding=1))
    (g,) = slope(y * y, w)
    return g * v


def pooled_curvature(x, w):
    y = F.avg_pool2d(torch.relu(F.conv2d(x, w, groups=2)), 2)
    gx, gw = slope(y ** 3, x, w)
    return torch.cat([(gx * gx).sum((1, 2, 3)), (gw * gw).sum((1, 2, 3))])


def inner_step(w, x, t, x2, t2):
    (g,) = slope((torch.tanh(x @ w) - t) ** 2, w)
    adapted = w - 0.1 * g
    return ((torch.tanh(x2 @ adapted) - t2) ** 2).mean()


def cross_entropy_curvature(x, t):
    (g,) = slope(F.cross_entropy(x, t), x)
    return g * g


def softmax_curvature(x):
    (g,) = slope(F.softmax(x, 1) ** 2 + F.log_softmax(x, 0) ** 3, x)
    return g * x


def layer_norm_curvature(x, w, b):
    gx, gw = slope(F.layer_norm(x, (4,), w, b) ** 3, x, w)
    return torch.cat([gx * gx, gw[None]])


def batch_norm_curvature(x, w, b):
    y = F.batch_norm(x, None, None, w, b, training=True)
    gx, gw = slope(y ** 3, x, w)
    return gx * gx * gw[None, :, None]


def third(x):
    y = torch.tanh(x) * torch.exp(-x)
    for _ in range(3):
        (y,) = slope(y, x)
    return y


def cases():
    return {
        "gradient_penalty": (penalty, [values(4, 5), values(6, 5), values(6), values(1, 6)]),
        "conv_curvature": (conv_curvature, [values(2, 2, 6, 5), values(3, 2, 3, 3), values(3),
                                            values(3, 2, 3, 3)]),
        "pooled_curvature": (pooled_curvature, [values(2, 4, 6, 5), values(2, 2, 3, 2)]),
        "inner_step": (inner_step, [values(3, 2), values(5, 3), values(5, 2), values(4, 3),
                                    values(4, 2)]),
        "cross_entropy_curvature": (cross_entropy_curvature, [values(5, 4), classes(5, 4)]),
        "softmax_curvature": (softmax_curvature, [values(3, 4, low=-2, high=2)]),
        "layer_norm_curvature": (layer_norm_curvature, [values(3, 4), values(4), values(4)]),
        "batch_norm_curvature": (batch_norm_curvature, [values(5, 3, 2), values(3), values(3)]),
        "third": (third, [values(2, 3)]),
    }


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    directory = directory if directory.is_dir() else directory.parent
    torch.manual_seed(30)
    tensors = {}
    for name, (function, inputs) in cases().items():
        leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
        output = function(*leaves)
        weights = values(*output.shape)
        output.backward(weights)
        for i, leaf in enumerate(leaves):
            tensors[f"{name}/input{i}"] = leaf
        tensors[f"{name}/output"] = output
        tensors[f"{name}/weights"] = weights
        for i, leaf in enumerate(leaves):
            if leaf.is_floating_point():
                tensors[f"{name}/gradient{i}"] = (torch.zeros_like(leaf) if leaf.grad is None
                                                  else leaf.grad)
    write_safetensors(directory / "autograd.safetensors", tensors)


if __name__ == "__main__":
    main()
