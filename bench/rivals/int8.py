#!/usr/bin/env python3
"""Compares weights of 8 bits with f32: the speed of forward passes, and the accuracy of checkpoints.

Each run is a process of its own with a clean environment, the two sides take turns, and the medians
over all runs are compared: milliseconds of a pass, or tokens per second where keys and values are
cached. For each checkpoint `weft eval` measures both on the test set of its recipe. With --check the
exit status is 1 unless single rows are at least 1.8 times as fast, nothing is slower, and no accuracy
is more than 0.5 points below that of f32.

usage: python3 bench/rivals/int8.py [--threads 1,2] [--checkpoints OUT ...] [--data DIR] [--check]
Python 3 standard library only.
"""
import argparse
import json
import statistics

from machine import clean_environment, geometric_mean, processor, run_json
from results import finish

SPEEDUP_MIN = 1.8  # of single rows
POINTS_MAX = 0.5  # of accuracy
RUN_SECONDS_MAX = 300
# Model, batch, and whether each pass adds one token to texts in a cache.
PASSES = [("mlp", 1, False), ("gpt4x128", 1, True), ("llama4x128", 1, True), ("gpt6x384", 1, True),
          ("lstm2x256", 1, True), ("mlp", 64, False), ("gpt4x128", 1, False),
          ("gpt6x384", 1, False), ("gpt6x384", 16, True)]


def is_single(row):
    """One row at a time passes through the layers."""
    return row["batch"] == 1 and (row["cached"] or row["model"] == "mlp")


def run_pass(options, weights, name, batch, cached, threads):
    return run_json([options.weft, "bench", "forward", "--model", name, "--batch", str(batch),
                     "--threads", str(threads), "--seconds", str(options.seconds), "--json",
                     "--weights", weights, *(["--cached"] if cached else [])],
                    clean_environment(threads), RUN_SECONDS_MAX)


def compare(options, name, batch, cached, threads):
    runs = {"f32": [], "int8": []}
    for _ in range(options.runs):
        for weights, results in runs.items():
            results.append(run_pass(options, weights, name, batch, cached, threads))
    row = {"model": name, "batch": batch, "cached": cached, "threads": threads,
           "runs": options.runs}
    for weights, results in runs.items():
        row[weights + "_ms"] = statistics.median(r["median_ms"] for r in results)
        row[weights + "_peak_rss_bytes"] = max(r["peak_rss_bytes"] for r in results)
        if cached:
            row[weights + "_tokens_per_second"] = round(
                statistics.median(r["tokens_per_second"] for r in results))
    row["speedup"] = round(row["f32_ms"] / row["int8_ms"], 3)
    return row


def evaluate(options, checkpoint):
    """Both sides on the checkpoint's test set."""
    row = {"checkpoint": checkpoint}
    for weights in ("f32", "int8"):
        data = ["--data", options.data] if options.data else []
        got = run_json([options.weft, "eval", checkpoint, "--weights", weights, "--json", *data],
                       clean_environment(1))
        row[weights] = {key: got[key] for key in ("loss", "test_accuracy") if key in got}
    return row


def misses(rows, accuracies):
    """The targets that do not hold, one text each."""
    result = []
    for r in rows:
        least = SPEEDUP_MIN if is_single(r) else 1.0
        if r["speedup"] < least:
            result.append(f"{r['model']}, batch {r['batch']}, with {r['threads']} threads: "
                          f"{r['speedup']} times as fast, at least {least}")
    for r in accuracies:
        points = 100 * (r["f32"].get("test_accuracy", 0) - r["int8"].get("test_accuracy", 0))
        if points > POINTS_MAX:
            result.append(f"{r['checkpoint']}: {points:.2f} points less, at most {POINTS_MAX}")
    return result


def markdown(rows):
    lines = ["| model | batch | threads | f32 ms | int8 ms | times as fast | f32 MB | int8 MB |",
             "|---" * 8 + "|"]
    for r in rows:
        name = r["model"] + (", a token with a cache" if r["cached"] else "")
        lines.append(f"| {name} | {r['batch']} | {r['threads']} | {r['f32_ms']:.3g} "
                     f"| {r['int8_ms']:.3g} | {r['speedup']:.2f} "
                     f"| {r['f32_peak_rss_bytes'] / 1e6:.0f} | {r['int8_peak_rss_bytes'] / 1e6:.0f} |")
    single = [r["speedup"] for r in rows if is_single(r)]
    lines.append(f"| geometric mean of single rows | | | | | {geometric_mean(single):.2f} | | |")
    return "\n".join(lines)


def markdown_accuracy(rows):
    lines = ["| checkpoint | f32 accuracy | int8 accuracy | f32 loss | int8 loss |", "|---" * 5 + "|"]
    for r in rows:
        shares = [f"{100 * r[side]['test_accuracy']:.2f} %" for side in ("f32", "int8")]
        losses = [f"{r[side]['loss']:.4f}" for side in ("f32", "int8")]
        lines.append(f"| {r['checkpoint']} | {' | '.join(shares + losses)} |")
    return "\n".join(lines)


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weft", default="build/release/weft", help="the program to measure")
    parser.add_argument("--threads", type=numbers, default=[1], help="e.g. 1,2")
    parser.add_argument("--runs", type=int, default=3, help="runs of each side")
    parser.add_argument("--seconds", type=float, default=1, help="of each run, at least 10 passes")
    parser.add_argument("--checkpoints", nargs="*", default=[], help="runs or files to evaluate")
    parser.add_argument("--data", help="where `weft eval` finds their data")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--markdown", help="file for the tables")
    return parser.parse_args()


def main():
    options = parse_arguments()
    rows, accuracies = [], []
    for threads in options.threads:
        for name, batch, cached in PASSES:
            rows.append(compare(options, name, batch, cached, threads))
            print(json.dumps(rows[-1]), flush=True)
    for checkpoint in options.checkpoints:
        accuracies.append(evaluate(options, checkpoint))
        print(json.dumps(accuracies[-1]), flush=True)
    text = "\n\n".join([processor(), markdown(rows)]
                       + ([markdown_accuracy(accuracies)] if accuracies else []))
    print(text)
    missed = misses(rows, accuracies)
    report = {"machine": processor(), "missed": missed, "rows": rows, "accuracies": accuracies}
    finish(options, report, text, missed)


if __name__ == "__main__":
    main()
