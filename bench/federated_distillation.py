#!/usr/bin/env python3
"""FedLGD in a small form: four members with Fashion-MNIST as four cameras would see it.

usage: PYTHONPATH=build/release/python bench/federated_distillation.py [--seeds 3] [--rounds 100]

The members of bindings/python/examples/federated_distillation.py in one process, ten synthetic samples
a class each. Printed: the mean over the four domains' test splits, and the least of them, mean and
standard deviation over the seeds. Arms: without the contrastive term, without the shared samples, and
what the members' data themselves give with as many steps.
"""
import argparse
import copy
import pathlib
import statistics
import sys

import weft
from weft import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bindings/python/examples"))
import federated_distillation as example  # noqa: E402

DOMAINS = range(4)
SAMPLES = 4000  # of a member


class OnData(example.Member):
    """A member that trains on its data themselves."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def refine(self, model, steps=20):
        pass

    def train(self, model, shared, contrast):
        return change_by(model, self.x, self.y)


class OnOwnSamples(example.Member):
    """A member that trains on its synthetic samples alone."""

    def train(self, model, shared, contrast):
        return change_by(model, self.own.samples.detach(), self.own.labels)


def change_by(model, x, y):
    local = copy.deepcopy(model)
    optimizer = weft.optim.SGD(local.parameters(), lr=example.RATE)
    for _ in range(example.ROUND_STEPS):
        rows = weft.randint(0, len(x), (example.BATCH,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(local(x[rows]), y[rows]).backward()
        optimizer.step()
    return [after.detach() - before.detach()
            for after, before in zip(local.parameters(), model.parameters())]


ARMS = {"the members' data": (OnData, 0.0), "synthetic, own only": (OnOwnSamples, 0.0),
        "synthetic, own and shared": (example.Member, 0.0),
        "FedLGD: and the contrastive term, 0.1": (example.Member, 0.1),
        "FedLGD: and the contrastive term, 1": (example.Member, 1.0)}


def run(kind, contrast, data, tests, rounds, seed):
    """[accuracy on each domain] after the last round."""
    weft.manual_seed(seed)
    model = example.Network()
    members = [kind(*each) for each in data]
    for _ in example.train_together(model, members, rounds, contrast):
        pass
    return [example.accuracy(model, x, y) for x, y in tests]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=100)
    arguments = parser.parse_args()
    weft.set_num_threads(1)
    data = [example.images("fashion-mnist", domain, count=SAMPLES) for domain in DOMAINS]
    tests = [example.images("fashion-mnist", domain, False, 2000) for domain in DOMAINS]
    print("| arm | accuracy % | worst domain % |\n|---|---|---|")
    for name, (kind, contrast) in ARMS.items():
        found = [run(kind, contrast, data, tests, arguments.rounds, seed)
                 for seed in range(1, arguments.seeds + 1)]
        texts = []
        for measure in (statistics.fmean, min):
            values = [100 * measure(each) for each in found]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            texts.append(f"{statistics.fmean(values):.1f} ± {spread:.1f}")
        print(f"| {name} | {texts[0]} | {texts[1]} |", flush=True)


if __name__ == "__main__":
    main()
