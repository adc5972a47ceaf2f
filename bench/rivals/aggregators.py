#!/usr/bin/env python3
"""Compares robust rules with the published formulas in NumPy and PyTorch, on one thread.

All sides read the same updates from a file. Each run is a process of its own with a clean
environment, the sides take turns, and the medians over all runs are compared; a run is the median
of its rounds. Results must agree. With --check the exit status is 1 unless each rule is at least 5
times as fast as the faster of the two and the results agree.

usage: /usr/bin/python3 bench/rivals/aggregators.py [--members 16,64] [--runs 3] [--check]
Needs NumPy and PyTorch, and bench/aggregators.cpp: ninja -C build/release aggregators
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

from machine import clean_environment, processor, run_json, torch_environment
from results import finish

SPEEDUP_MIN = 5
STEPS, SMOOTHING = 8, 0.1  # of the geometric median
RULES = {"krum": "krum", "multi_krum": "multi_krum", "median": "median",
         "trimmed_mean": "trimmed_mean",
         "geometric_median": f"geometric_median:rounds={STEPS}:smoothing={SMOOTHING}"}
# In f32 and in other orders than ours.
DIFFERENCE_MAX = 1e-4
SIDES = ("weft", "numpy", "torch")


def best_by_krum(squared, liars, keep):
    """The updates with the smallest sums of squared distances to their nearest neighbours."""
    neighbours = len(squared) - liars - 2
    scores = np.sort(np.asarray(squared), axis=1)[:, 1:1 + neighbours].sum(axis=1)
    return np.argsort(scores, kind="stable")[:keep].tolist()


def numpy_rule(name, x, liars):
    count = len(x)
    if name in ("krum", "multi_krum"):
        squared = np.stack([((x - row) ** 2).sum(axis=1) for row in x])
        keep = 1 if name == "krum" else count - liars - 2
        return x[best_by_krum(squared, liars, keep)].mean(axis=0)
    if name == "median":
        return np.median(x, axis=0)
    if name == "trimmed_mean":
        return np.sort(x, axis=0)[liars:count - liars].mean(axis=0)
    z = np.zeros_like(x[0])
    for _ in range(STEPS):
        weights = 1 / np.maximum(SMOOTHING, np.linalg.norm(x - z, axis=1))
        z = weights @ x / weights.sum()
    return z


def torch_rule(name, x, liars):
    import torch
    count = len(x)
    if name in ("krum", "multi_krum"):
        squared = torch.cdist(x, x) ** 2
        keep = 1 if name == "krum" else count - liars - 2
        return x[best_by_krum(squared, liars, keep)].mean(dim=0)
    if name == "median":
        ordered = torch.sort(x, dim=0).values
        return ordered[(count - 1) // 2:count // 2 + 1].mean(dim=0)
    if name == "trimmed_mean":
        return torch.sort(x, dim=0).values[liars:count - liars].mean(dim=0)
    z = torch.zeros_like(x[0])
    for _ in range(STEPS):
        weights = 1 / torch.clamp(torch.linalg.norm(x - z, dim=1), min=SMOOTHING)
        z = weights @ x / weights.sum()
    return z


def run_side(side, name, members, liars, rounds, source, result):
    """What a process of its own does for NumPy or PyTorch: as bench/aggregators.cpp."""
    x = np.fromfile(source, dtype=np.float32).reshape(members, -1)
    rule = numpy_rule
    if side == "torch":
        import torch
        torch.set_num_threads(1)
        x, rule = torch.from_numpy(x), torch_rule
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        out = rule(name, x, liars)
        times.append(1e3 * (time.perf_counter() - begin))
    np.asarray(out, dtype=np.float32).tofile(result)
    print(json.dumps({"median_ms": statistics.median(times)}))


def measure(options, name, members, liars, folder):
    source = folder / "updates"
    times = {side: [] for side in SIDES}
    for _ in range(options.runs):
        for side in SIDES:
            text = RULES[name] if side == "weft" else name
            command = ([options.program] if side == "weft"
                       else [sys.executable, os.path.abspath(__file__), "--side", side])
            environment = torch_environment(1) if side == "torch" else clean_environment(1)
            got = run_json([*command, text, str(members), str(liars), str(options.rounds), source,
                            folder / side], environment)
            times[side].append(got["median_ms"])
    results = {side: np.fromfile(folder / side, dtype=np.float32) for side in SIDES}
    row = {"rule": name, "members": members, "liars": liars,
           **{side + "_ms": statistics.median(times[side]) for side in SIDES}}
    row["difference"] = max(float(np.abs(results["weft"] - results[side]).max())
                            for side in SIDES[1:])
    row["speedup"] = round(min(row["numpy_ms"], row["torch_ms"]) / row["weft_ms"], 2)
    return row


def misses(rows):
    result = []
    for r in rows:
        name = f"{r['rule']} of {r['members']}"
        if r["speedup"] < SPEEDUP_MIN:
            result.append(f"{name}: {r['speedup']} times as fast, at least {SPEEDUP_MIN}")
        if not r["difference"] <= DIFFERENCE_MAX:
            result.append(f"{name}: differs by {r['difference']}, at most {DIFFERENCE_MAX}")
    return result


def markdown(rows):
    lines = ["| rule | members | liars | Weft ms | NumPy ms | PyTorch ms | by NumPy | by PyTorch |",
             "|---" * 8 + "|"]
    for r in rows:
        ratios = [f"{r[side + '_ms'] / r['weft_ms']:.1f}" for side in SIDES[1:]]
        lines.append(f"| {r['rule']} | {r['members']} | {r['liars']} | {r['weft_ms']:.1f} "
                     f"| {r['numpy_ms']:.0f} | {r['torch_ms']:.0f} | {' | '.join(ratios)} |")
    return "\n".join(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bench/aggregators")
    parser.add_argument("--members", default="16,64")
    parser.add_argument("--elements", type=int, default=1_000_000, help="of an update")
    parser.add_argument("--rules", default=",".join(RULES))
    parser.add_argument("--runs", type=int, default=3, help="processes of each side")
    parser.add_argument("--rounds", type=int, default=3, help="of each process")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--markdown", help="file for the table")
    return parser.parse_args()


def main():
    if sys.argv[1:2] == ["--side"]:
        side, name, *numbers = sys.argv[2:7]
        run_side(side, name, *map(int, numbers), *sys.argv[7:9])
        return
    options = parse_arguments()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for members in map(int, options.members.split(",")):
            generator = np.random.default_rng(members)
            updates = generator.standard_normal((members, options.elements), dtype=np.float32)
            updates[:members // 8] *= 3
            updates.tofile(folder / "updates")
            del updates
            for name in options.rules.split(","):
                rows.append(measure(options, name, members, (members - 1) // 4, folder))
                print(json.dumps(rows[-1]), flush=True)
    text = processor() + ", one thread\n\n" + markdown(rows)
    print(text)
    missed = misses(rows)
    finish(options, {"machine": processor(), "missed": missed, "rows": rows}, text, missed)


if __name__ == "__main__":
    main()
