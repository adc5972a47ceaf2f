"""torch_plain.py as a member of a swarm: each with its own --seed, the others with the ticket that
the first one prints, as in WEFT_TICKET=weft2-... python3 torch_swarm.py --seed 2.

usage: torch_swarm.py [--data FOLDER] [--steps N] [--seed N]
  --data  where train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz lie
"""
import argparse
import gzip
import os
import pathlib

import numpy
import torch
from torch import nn
import weft.swarm


def fashion_mnist(folder):
    """(images [n, 1, 28, 28], labels [n]) of the training set."""
    with gzip.open(pathlib.Path(folder) / "train-images-idx3-ubyte.gz") as file:
        images = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(pathlib.Path(folder) / "train-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    return torch.tensor(images / numpy.float32(255)), torch.tensor(labels.astype(numpy.int64))


def invented(samples, seed):
    """Ten patterns, the same for any seed, under noise."""
    patterns = torch.rand(10, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    chance = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (samples,), generator=chance)
    noise = torch.randn(samples, 1, 28, 28, generator=chance)
    return patterns[labels] + 0.5 * noise, labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    images, labels = (fashion_mnist(arguments.data) if arguments.data
                      else invented(4096, arguments.seed))

    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 7 * 7, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    optimizer = weft.swarm.SwarmOptimizer(optimizer, os.environ.get("WEFT_TICKET"), model=model)
    print(optimizer.ticket, flush=True)
    for step in range(arguments.steps):
        batch = torch.randint(len(images), (32,))
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
