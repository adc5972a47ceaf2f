#!/usr/bin/env python3
"""Writes tests/onnx/pytorch: small models as PyTorch exports them, with an input and its output.

usage: tests/onnx/pytorch_models.py
Made with PyTorch 1.13 and ONNX 1.12 (Debian 12); neither is needed to run the test that reads them
(onnx_nodes --data). Each folder has the form of ONNX's own test data.
"""
import pathlib

import torch
from onnx import numpy_helper

OUT = pathlib.Path(__file__).resolve().parent / "pytorch"


class Images(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.pool = torch.nn.MaxPool2d(3, 2, 1)
        self.up = torch.nn.ConvTranspose2d(4, 4, 3, 2, 1, 1)
        self.groups = torch.nn.GroupNorm(2, 4)
        self.head = torch.nn.Linear(4 * 6 * 6, 5)

    def forward(self, x):
        x = self.pool(torch.relu(self.norm(self.conv(x))))
        x = self.groups(torch.nn.functional.gelu(self.up(x)))
        x = torch.nn.functional.interpolate(x, size=(6, 6), mode="bilinear", align_corners=False)
        return torch.log_softmax(self.head(x.flatten(1)), -1)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(20, 6)
        self.lstm = torch.nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True)
        self.gru = torch.nn.GRU(10, 4, batch_first=True)
        self.head = torch.nn.Linear(4, 20)

    def forward(self, tokens):
        return self.head(self.gru(self.lstm(self.embed(tokens))[0])[0])


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(20, 8)
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2)

    def forward(self, tokens):
        size = tokens.shape[1]
        mask = torch.full((size, size), float("-inf")).triu(1)
        return self.layers(self.embed(tokens), mask=mask)


def write(name, model, x, opset):
    if x.is_floating_point():
        model(x)  # so that running statistics are not 0 and 1
    model.eval()
    data = OUT / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(model, x, str(OUT / name / "model.onnx"), opset_version=opset,
                      input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "batch"}})
    with torch.no_grad():
        y = model(x)
    for stem, value in (("input_0", x), ("output_0", y)):
        message = numpy_helper.from_array(value.numpy())
        (data / f"{stem}.pb").write_bytes(message.SerializeToString())


def main():
    torch.manual_seed(1)
    write("images", Images(), torch.randn(2, 3, 16, 16), 11)
    write("recurrent", Recurrent(), torch.randint(0, 20, (3, 7)), 13)
    write("transformer", Transformer(), torch.randint(0, 20, (2, 9)), 16)


if __name__ == "__main__":
    main()
