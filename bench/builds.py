#!/usr/bin/env python3
"""Compares the training steps of two builds of the program, run in turn.

usage: bench/builds.py OLD NEW [--models NAME ...] [--threads N] [--runs N] [--seconds S] [--check]
  OLD, NEW   two programs weft, e.g. build/release/weft of two checkouts
For each model the two run one after the other, each first in every second run; the figure is the
median of the runs' ratios new / old. --check fails where the geometric mean of all is above
RATIO_MAX. Run it on a machine that does nothing else; say which processor with the figures.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys

MODELS = {"mlp": 64, "cnn": 64, "resnet9": 64, "gpt4x128": 16, "gpt6x384": 8, "lstm2x256": 32}
RATIO_MAX = 1.02


def median_ms(program, model, options):
    ran = subprocess.run([program, "bench", "train", "--model", model, "--batch",
                          str(MODELS[model]), "--threads", str(options.threads), "--seconds",
                          str(options.seconds), "--json"], check=True, text=True,
                         stdout=subprocess.PIPE)
    return json.loads(ran.stdout)["median_ms"]


def compare(model, options):
    """(old ms, new ms, median of the ratios), the first two being medians."""
    old, new = [], []
    for number in range(options.runs):
        pair = [(options.old, old), (options.new, new)]
        for program, results in pair if number % 2 else reversed(pair):
            results.append(median_ms(program, model, options))
    ratio = statistics.median(after / before for before, after in zip(old, new))
    return statistics.median(old), statistics.median(new), ratio


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    ratios = []
    for model in options.models:
        old, new, ratio = compare(model, options)
        ratios.append(ratio)
        print(f"{model:<10} {old:9.2f} ms {new:9.2f} ms  {ratio:.3f}", flush=True)
    mean = math.exp(statistics.mean(map(math.log, ratios)))
    print(f"geometric mean of new / old: {mean:.3f}")
    return 1 if options.check and mean > RATIO_MAX else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
