#!/usr/bin/env python3
"""A decentralised diffusion model beside one model of all data, on Fashion-MNIST of 14x14.

usage: PYTHONPATH=build/release/python bench/diffusion_experts.py [--seeds 3] [--steps 8000] [--experts 4]

One network (bindings/python/examples/diffusion_experts.py) takes all steps on all data. Each of the
experts, of the same size, takes its share of the steps on its cluster, and a router takes as many as
one expert. Printed: the flow-matching loss on the test split, with the same noise and times for all,
mean and standard deviation over the seeds. Arms that show what a part is worth: experts on parts that
are drawn instead of clusters, and experts with equal weights instead of the router.
"""
import argparse
import pathlib
import statistics
import sys

import weft
from weft import diffusion

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bindings/python/examples"))
import diffusion_experts as example  # noqa: E402

BATCH = 128


class EqualWeights(weft.nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def forward(self, x, t):
        return weft.zeros(len(x), self.count)


def one_seed(seed, steps, count):
    weft.manual_seed(seed)
    x, test = example.pictures("fashion-mnist"), example.pictures("fashion-mnist", train=False)
    found = {"one model, all steps": example.test_loss(example.train_expert(x, steps, BATCH), test)}
    share = steps // count
    found["one model, the steps of one expert"] = example.test_loss(
        example.train_expert(x, share, BATCH), test)
    clusters = diffusion.kmeans(x, count).assign(x)
    drawn = weft.randint(0, count, (len(x),))
    for name, parts in (("clusters", clusters), ("drawn parts", drawn)):
        experts = [example.train_expert(x[(parts == k).nonzero().reshape(-1)], share, BATCH)
                   for k in range(count)]
        router = example.train_router(x, parts, count, share, BATCH) if name == "clusters" \
            else EqualWeights(count)
        for top_k, text in ((0, "all"), (2, "the best 2"), (1, "the best")):
            if name == "clusters" or top_k == 0:
                found[f"{count} experts on {name}, {text}"] = example.test_loss(
                    diffusion.Experts(experts, router, top_k), test)
        if name == "clusters":
            found[f"{count} experts on clusters, equal weights"] = example.test_loss(
                diffusion.Experts(experts, EqualWeights(count), 0), test)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--experts", type=int, default=4)
    arguments = parser.parse_args()
    weft.set_num_threads(1)
    runs = [one_seed(seed, arguments.steps, arguments.experts)
            for seed in range(1, arguments.seeds + 1)]
    base = statistics.fmean(run["one model, all steps"] for run in runs)
    print("\n| arm | test loss | beside one model |\n|---|---|---|")
    for arm in runs[0]:
        values = [run[arm] for run in runs]
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        mean = statistics.fmean(values)
        print(f"| {arm} | {mean:.4f} ± {spread:.4f} | {100 * (mean / base - 1):+.1f} % |")


if __name__ == "__main__":
    main()
