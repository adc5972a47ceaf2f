"""The models of the training workloads in PyTorch, layer for layer what `weft bench train` builds.

make_workload(name) returns a Workload. Imports torch, so only the measured process imports this.
"""

import dataclasses
import math
from typing import Callable

import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 96


@dataclasses.dataclass
class Workload:
    model: nn.Module
    batch: Callable[[], tuple]
    optimizer: torch.optim.Optimizer


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))


def cnn():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 12 * 12, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def conv_norm_relu(inputs, outputs, pool=False):
    layers = [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
              nn.ReLU()]
    return nn.Sequential(*layers, *([nn.MaxPool2d(2)] if pool else []))


class Shortcut(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(conv_norm_relu(channels, channels),
                                  conv_norm_relu(channels, channels))

    def forward(self, x):
        return x + self.body(x)


def resnet9():
    return nn.Sequential(conv_norm_relu(3, 64), conv_norm_relu(64, 128, True), Shortcut(128),
                         conv_norm_relu(128, 256, True), conv_norm_relu(256, 512, True),
                         Shortcut(512), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(512, 10))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                          nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        return functional.relu(y + self.shortcut(x))


def resnet18():
    """For images of 224 pixels and 1,000 classes."""
    stages = [BasicBlock(inputs, outputs, stride)
              for inputs, outputs, first in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))
              for inputs, outputs, stride in ((inputs, outputs, first), (outputs, outputs, 1))]
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                         nn.MaxPool2d(3, 2, 1), *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(512, 1000))


class GptBlock(nn.Module):
    """Pre-norm: attention by two batched products and a masked softmax, then a GELU layer."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x, mask):
        rows, tokens, width = x.shape
        split = [part.view(rows, tokens, self.heads, -1).transpose(1, 2)
                 for part in self.qkv(x).split(width, 2)]
        scores = split[0] @ split[1].transpose(-2, -1) / math.sqrt(width // self.heads)
        shares = scores.masked_fill(mask[:tokens, :tokens], -math.inf).softmax(-1)
        return self.out((shares @ split[2]).transpose(1, 2).reshape(rows, tokens, width))

    def forward(self, x, mask):
        x = x + self.attend(self.norm1(x), mask)
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class CharGpt(nn.Module):
    def __init__(self, layers, width, heads, context, vocabulary=VOCABULARY):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(GptBlock(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        mask = torch.ones(context, context, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(self.norm(x))


class CharLstm(nn.Module):
    def __init__(self, width=64, hidden=256, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.recurrent = nn.LSTM(width, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, VOCABULARY)

    def forward(self, ids):
        return self.head(self.recurrent(self.tokens(ids))[0])


def images(count, *shape, classes=10):
    return lambda: (torch.randn(count, *shape), torch.randint(0, classes, (count,)))


def texts(count, length, vocabulary=VOCABULARY):
    return lambda: (torch.randint(0, vocabulary, (count, length)),
                    torch.randint(0, vocabulary, (count, length)))


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=3e-4)


# name: model, batch, optimizer
TABLE = {
    "mlp": (mlp, images(64, 1, 28, 28), sgd),
    "cnn": (cnn, images(64, 1, 28, 28), sgd),
    "resnet9": (resnet9, images(64, 3, 32, 32), sgd),
    "gpt4x128": (lambda: CharGpt(4, 128, 4, 128), texts(16, 128), adamw),
    "gpt6x384": (lambda: CharGpt(6, 384, 6, 256), texts(8, 256), adamw),
    "lstm2x256": (CharLstm, texts(32, 64), sgd),
    "resnet18_224": (resnet18, images(16, 3, 224, 224, classes=1000), sgd),
    "gpt12x768": (lambda: CharGpt(12, 768, 12, 256, 25_000), texts(4, 256, 25_000), adamw),
}


def make_workload(name):
    torch.manual_seed(0)
    build, batch, optimizer = TABLE[name]
    model = build()
    return Workload(model, batch, optimizer(model))
