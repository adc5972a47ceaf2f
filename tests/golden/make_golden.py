#!/usr/bin/env python3
"""Writes the golden files of this folder with PyTorch: values that Weft's tests compare with.

usage: make_golden.py [DIRECTORY]     (default: the folder of this script)

README.md says what each file holds. Needs PyTorch 1.13 or later; the same version writes the same
bytes. The tests read the files only, so nobody needs PyTorch to run them.
"""
import json
import pathlib
import struct
import sys

import torch
import torch.nn.functional as F

TYPES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}
STEPS = 5


def write_safetensors(path, tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, tensor in tensors.items():
        values = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % 64)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def values(*shape, low=-1.0, high=1.0):
    """f64 values that f32 holds exactly, so that one file serves both types."""
    return (torch.rand(shape) * (high - low) + low).to(torch.float32).to(torch.float64)


def classes(count, below):
    return torch.randint(0, below, (count,))


def op_cases():
    """name -> (function, inputs); names are those of golden_test.cpp."""
    a, b = values(3, 4), values(3, 4)
    row, column = values(4), values(3, 1)
    positive = values(3, 4, low=0.3, high=2.0)
    image = values(2, 4, 7, 6)
    weight, bias = values(6, 4, 3, 2), values(6)
    scale, shift = values(4, low=0.5, high=1.5), values(4)
    wide = values(3, 4, low=-6, high=6)
    return {
        "add": (lambda x, y: x + y, [a, b]),
        "add_row": (lambda x, y: x + y, [a, row]),
        "sub_column": (lambda x, y: x - y, [a, column]),
        "mul": (lambda x, y: x * y, [a, b]),
        "mul_row": (lambda x, y: x * y, [a, row]),
        "div": (lambda x, y: x / y, [a, positive]),
        "maximum": (torch.maximum, [a, b]),
        "neg": (lambda x: -x, [a]),
        "pow_3": (lambda x: x ** 3, [a]),
        "pow_half": (lambda x: x ** 0.5, [positive]),
        "exp": (torch.exp, [wide]),
        "log": (torch.log, [positive]),
        "sqrt": (torch.sqrt, [positive]),
        "abs": (torch.abs, [a]),
        "tanh": (torch.tanh, [wide]),
        "sigmoid": (torch.sigmoid, [wide]),
        "relu": (F.relu, [a]),
        "matmul": (torch.matmul, [a, values(4, 5)]),
        "matmul_batched": (torch.matmul, [values(2, 1, 3, 4), values(5, 4, 2)]),
        "linear": (F.linear, [a, values(5, 4), values(5)]),
        "conv2d": (lambda x, w, c: F.conv2d(x, w, c), [image, weight, bias]),
        "conv2d_strided": (lambda x, w, c: F.conv2d(x, w, c, stride=(2, 1), padding=(1, 0),
                                                    dilation=(1, 2)), [image, weight, bias]),
        "conv2d_groups": (lambda x, w: F.conv2d(x, w, groups=2, padding=1),
                          [image, values(6, 2, 3, 3)]),
        "max_pool2d": (lambda x: F.max_pool2d(x, 2), [image]),
        "max_pool2d_padded": (lambda x: F.max_pool2d(x, (3, 2), stride=(2, 1), padding=(1, 0)),
                              [image]),
        "avg_pool2d": (lambda x: F.avg_pool2d(x, (3, 2), stride=(2, 1), padding=(1, 0)), [image]),
        "softmax": (lambda x: F.softmax(x, 1), [wide]),
        "softmax_first": (lambda x: F.softmax(x, 0), [wide]),
        "log_softmax": (lambda x: F.log_softmax(x, 1), [wide]),
        "cross_entropy_mean": (F.cross_entropy, [wide, classes(3, 4)]),
        "cross_entropy_sum": (lambda x, y: F.cross_entropy(x, y, reduction="sum"),
                              [wide, classes(3, 4)]),
        "batch_norm_training": (lambda x, w, c: F.batch_norm(x, None, None, w, c, True),
                                [image, scale, shift]),
        "batch_norm_evaluation": (
            lambda x, w, c: F.batch_norm(x, torch.full((4,), 0.25, dtype=x.dtype),
                                         torch.full((4,), 2.0, dtype=x.dtype), w, c, False),
            [image, scale, shift]),
        "layer_norm": (lambda x, w, c: F.layer_norm(x, (4,), w, c), [a, scale, shift]),
        "layer_norm_two_axes": (lambda x: F.layer_norm(x, (7, 6)), [image]),
        "reshape": (lambda x: x.reshape(8, -1), [image]),
        "flatten": (lambda x: x.flatten(1), [image]),
        "transpose": (lambda x: x.transpose(1, 3), [image]),
        "permute": (lambda x: x.permute(2, 0, 3, 1), [image]),
        "slice": (lambda x: x[:, :, 1:6:2], [image]),
        "concat": (lambda x, y: torch.cat([x, y, x], 1), [a, column]),
        "expand": (lambda x: x.expand(2, 3, 4), [column]),
        "sum": (lambda x: x.sum(), [image]),
        "sum_axes": (lambda x: x.sum((0, 2), keepdim=True), [image]),
        "mean": (lambda x: x.mean((1, 3)), [image]),
        "max": (lambda x: x.amax(2), [image]),
    }


def make_ops(path):
    tensors = {}
    for name, (function, inputs) in op_cases().items():
        leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
        output = function(*leaves)
        weights = values(*output.shape)
        output.backward(weights)
        for i, leaf in enumerate(leaves):
            tensors[f"{name}/input{i}"] = leaf
        tensors[f"{name}/output"] = output
        tensors[f"{name}/weights"] = weights
        for i, leaf in enumerate(leaves):
            if leaf.grad is not None:
                tensors[f"{name}/gradient{i}"] = leaf.grad
    write_safetensors(path, tensors)


class Cnn(torch.nn.Module):
    """conv, relu, conv, batch norm, relu, max pool, fc, relu, layer norm, fc."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 4, 3)
        self.conv2 = torch.nn.Conv2d(4, 6, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(6)
        self.fc1 = torch.nn.Linear(96, 12)
        self.layer_norm = torch.nn.LayerNorm(12)
        self.fc2 = torch.nn.Linear(12, 5)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.norm(self.conv2(x))), 2)
        return self.fc2(self.layer_norm(F.relu(self.fc1(x.flatten(1)))))


def make_cnn(path):
    model = Cnn()
    for parameter in model.parameters():
        parameter.data = values(*parameter.shape, low=-0.3, high=0.4).to(torch.float32)
    model = model.double()
    x, targets = values(4, 1, 10, 10), classes(4, 5)
    tensors = {"x": x, "targets": targets}
    for name, parameter in model.named_parameters():
        tensors[f"parameter/{name}"] = parameter.clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        logits = model(x)
        loss = F.cross_entropy(logits, targets)
        loss.backward()
        losses.append(loss.detach().clone())
        if step == 0:
            tensors["logits"] = logits
            for name, parameter in model.named_parameters():
                tensors[f"gradient/{name}"] = parameter.grad.clone()
            tensors["running_mean"] = model.norm.running_mean.clone()
            tensors["running_var"] = model.norm.running_var.clone()
        optimizer.step()
    tensors["losses"] = torch.stack(losses)
    write_safetensors(path, tensors)


OPTIMIZERS = {
    "sgd": dict(name="sgd", lr=0.1),
    "sgd_momentum": dict(name="sgd", lr=0.1, momentum=0.9),
    "sgd_dampening": dict(name="sgd", lr=0.1, momentum=0.9, dampening=0.5),
    "sgd_nesterov": dict(name="sgd", lr=0.1, momentum=0.9, nesterov=True),
    "sgd_decay": dict(name="sgd", lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": dict(name="adam", lr=0.01),
    "adam_decay": dict(name="adam", lr=0.01, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1),
    "adamw": dict(name="adamw", lr=0.01, weight_decay=0.1),
}


def make_optimizers(path):
    classes_by_name = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    start = values(24).to(torch.float32)
    gradients = values(STEPS, 24).to(torch.float32)
    tensors = {"start": start, "gradients": gradients}
    for case, options in OPTIMIZERS.items():
        options = dict(options)
        make = classes_by_name[options.pop("name")]
        parameter = torch.nn.Parameter(start.clone())
        optimizer = make([parameter], **options)
        after = []
        for step in range(STEPS):
            parameter.grad = gradients[step].clone()
            optimizer.step()
            after.append(parameter.detach().clone())
        tensors[case] = torch.stack(after)
    write_safetensors(path, tensors,
                      {case: json.dumps(options) for case, options in OPTIMIZERS.items()})


def main():
    directory = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.manual_seed(20260101)
    torch.set_num_threads(1)
    make_ops(directory / "ops.safetensors")
    make_cnn(directory / "cnn.safetensors")
    make_optimizers(directory / "optimizers.safetensors")


if __name__ == "__main__":
    main()
