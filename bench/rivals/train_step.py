#!/usr/bin/env python3
"""Times a full training step of `weft bench train` and of PyTorch, in turn, and prints the ratios.

A step is: gradients cleared, forward, loss, backward, optimizer (AdamW for the GPTs, else SGD with
momentum 0.9). Models, batches and numbers of threads are the same on both sides; each run is a
process of its own with a clean environment, the two sides take turns, a run takes at least 30
steps, and the medians over all runs are compared, as are the peaks of resident memory. Needs a
Python with torch for the other side (--python). With --check the exit status is 1 unless: the
geometric mean of the ratios is at most 0.65 with 1 thread and 0.70 with 2, no ratio exceeds 0.90,
and no peak of memory exceeds 0.6 of the other side's (in bf16: at most 0.65 of our own f32 time for
resnet9 and gpt6x384, and less than the other side's). The table names the processor and PyTorch's
BLAS and states how much of the measured peak of multiply-adds each side reaches (flops.py counts the
operations); a PyTorch with the reference BLAS is refused. --roofline is built from
bench/roofline: ninja -C build/release roofline.

    bench/rivals/train_step.py --weft build/release/weft --json steps.json --markdown steps.md

With --precision bf16 both sides compute in mixed precision (PyTorch under autocast) and Weft's own
f32 stands beside it. PyTorch is slow at that on processors without bf16 instructions, so its runs
end after --torch-limit seconds, and the output says how many steps that were; 0 stands for less
than two in five times the limit, and half of that for the time of one, at least.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import time

from flops import step_flops
from machine import (ISAS, busy, clean_environment, geometric_mean, measured_peaks, peaks_text,
                     processor, run_json, share_of_peak, share_text, torch_environment, torch_facts,
                     torch_text)
from results import finish

MODELS = ("mlp", "cnn", "resnet9", "gpt4x128", "gpt6x384", "lstm2x256")
# These take minutes, and are measured where --models names them.
LARGE_MODELS = ("resnet18_224", "gpt12x768")
STEPS_MIN = 30
RATIO_MEAN_MAX = {1: 0.65, 2: 0.70}
RATIO_MAX = 0.90
MEMORY_RATIO_MAX = 0.60
# Goal for bf16, as a share of the time in f32.
OWN_RATIO_MAX = {"resnet9": 0.65, "gpt6x384": 0.65}
RUN_SECONDS_MAX = 600


def run_torch_here(options):
    """The other side's whole benchmark; runs in a process of its own."""
    name, seconds = options.torch_child, options.seconds
    bf16 = options.precision == "bf16"
    import torch
    from train_models import make_workload

    torch.set_num_threads(options.threads[0])
    work = make_workload(name)
    batches = [work.batch() for _ in range(4)]

    def step(inputs, labels):
        work.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            logits = work.model(inputs)
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, -2), labels.flatten())
        loss.backward()
        work.optimizer.step()

    begun = time.perf_counter()
    for _ in range(1 if bf16 else 3):
        step(*batches[0])
    times = []
    limit = begun + options.torch_limit if bf16 else math.inf
    begun = time.perf_counter()
    while len(times) < STEPS_MIN or time.perf_counter() - begun < seconds:
        if times and time.perf_counter() > limit:
            break
        before = time.perf_counter()
        step(*batches[len(times) % len(batches)])
        times.append((time.perf_counter() - before) * 1e3)
    times.sort()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"version": torch.__version__, "median_ms": statistics.median(times),
                      "p10_ms": times[len(times) // 10], "steps": len(times),
                      "peak_rss_bytes": peak}))


def run_weft(options, name, threads, precision):
    return run_json([options.weft, "bench", "train", "--model", name, "--threads", str(threads),
                     "--precision", precision, "--seconds", str(options.seconds), "--json"],
                    clean_environment(threads, options.isa), RUN_SECONDS_MAX)


def run_torch(options, name, threads):
    command = [options.python, os.path.abspath(__file__), "--torch-child", name,
               "--threads", str(threads), "--seconds", str(options.seconds),
               "--precision", options.precision, "--torch-limit", str(options.torch_limit)]
    if options.precision == "f32":
        return run_json(command, torch_environment(threads, options.isa), RUN_SECONDS_MAX)
    limit = 5 * options.torch_limit
    try:
        return run_json(command, torch_environment(threads, options.isa), limit)
    except subprocess.TimeoutExpired:
        # Not even two steps: what is reported is a lower bound, of no step.
        return {"version": "", "median_ms": limit / 2 * 1e3, "p10_ms": limit / 2 * 1e3, "steps": 0,
                "peak_rss_bytes": 1}


def compare(options, name, threads, peak):
    ours, theirs, single = [], [], []
    for _ in range(options.runs):
        ours.append(run_weft(options, name, threads, options.precision))
        theirs.append(run_torch(options, name, threads))
        if options.precision != "f32":
            single.append(run_weft(options, name, threads, "f32"))
    row = {"model": name, "batch": ours[0]["batch"], "threads": threads, "runs": options.runs,
           "precision": options.precision, "steps": sum(r["steps"] for r in ours),
           "torch_steps": sum(r["steps"] for r in theirs), "torch_version": theirs[0]["version"]}
    for key in ("median_ms", "p10_ms"):
        row["weft_" + key] = round(statistics.median(r[key] for r in ours), 3)
        row["torch_" + key] = round(statistics.median(r[key] for r in theirs), 3)
        row["ratio_" + key.removesuffix("_ms")] = round(row["weft_" + key] / row["torch_" + key],
                                                        3)
    for side in ("weft", "torch"):
        row[side + "_share_of_peak"] = share_of_peak(step_flops(name, row["batch"]),
                                                     row[side + "_median_ms"], peak)
    for side, results in (("weft", ours), ("torch", theirs)):
        row[side + "_peak_mib"] = max(1, round(max(r["peak_rss_bytes"] for r in results) / 2**20))
    row["ratio_peak"] = round(row["weft_peak_mib"] / row["torch_peak_mib"], 3)
    if single:
        row["weft_f32_median_ms"] = round(statistics.median(r["median_ms"] for r in single), 3)
        row["ratio_own_f32"] = round(row["weft_median_ms"] / row["weft_f32_median_ms"], 3)
    return row


def means(rows):
    """Of the ratios of medians, by number of threads."""
    threads = sorted({r["threads"] for r in rows})
    return {t: round(geometric_mean([r["ratio_median"] for r in rows if r["threads"] == t]), 3)
            for t in threads}


def misses_low(rows):
    """The same in mixed precision."""
    result = []
    for r in rows:
        what = f"{r['model']} with {r['threads']} threads"
        most = OWN_RATIO_MAX.get(r["model"], math.inf)
        if r["ratio_own_f32"] > most:
            result.append(f"{what}: {r['ratio_own_f32']} of its own f32 time, at most {most}")
        if r["ratio_median"] >= 1:
            result.append(f"{what}: {r['ratio_median']} of the other side's time, less than 1")
    return result


def misses(rows):
    """The targets that do not hold, one text each."""
    result = []
    for threads, mean in means(rows).items():
        most = RATIO_MEAN_MAX.get(threads, max(RATIO_MEAN_MAX.values()))
        if mean > most:
            result.append(f"geometric mean with {threads} threads: {mean}, at most {most}")
    for r in rows:
        what = f"{r['model']} with {r['threads']} threads"
        if r["ratio_median"] > RATIO_MAX:
            result.append(f"{what}: {r['ratio_median']} of the time, at most {RATIO_MAX}")
        if r["ratio_peak"] > MEMORY_RATIO_MAX:
            result.append(f"{what}: {r['ratio_peak']} of the memory, at most {MEMORY_RATIO_MAX}")
    return result


def markdown(rows):
    lines = ["| workload, batch | threads | Weft ms | PyTorch ms | ratio | ratio of the 10 % | "
             "Weft of the peak | PyTorch of the peak | Weft MiB | PyTorch MiB | ratio |",
             "|---" * 11 + "|"]
    for r in rows:
        lines.append(f"| {r['model']}, {r['batch']} | {r['threads']} | {r['weft_median_ms']:.2f} "
                     f"| {r['torch_median_ms']:.2f} | {r['ratio_median']:.2f} "
                     f"| {r['ratio_p10']:.2f} | {share_text(r['weft_share_of_peak'])} "
                     f"| {share_text(r['torch_share_of_peak'])} | {r['weft_peak_mib']} | {r['torch_peak_mib']} "
                     f"| {r['ratio_peak']:.2f} |")
    for threads, mean in means(rows).items():
        lines.append(f"| geometric mean | {threads} | | | {mean:.2f} | | | | | | |")
    return "\n".join(lines)


def markdown_low(rows):
    lines = ["| workload, batch | threads | Weft bf16 ms | Weft f32 ms | PyTorch bf16 ms (steps) | "
             "bf16 to own f32 | to PyTorch |",
             "|---|---|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {r['model']}, {r['batch']} | {r['threads']} | {r['weft_median_ms']:.1f} "
                     f"| {r['weft_f32_median_ms']:.1f} "
                     f"| {r['torch_median_ms']:.1f} ({r['torch_steps']}) "
                     f"| {r['ratio_own_f32']:.2f} | {r['ratio_median']:.2f} |")
    return "\n".join(lines)


def heading(peaks, torch, isa):
    """What the figures were measured on and with."""
    return f"{processor(isa)}; {peaks_text(peaks)}. {torch_text(torch)}."


def numbers(text):
    return [int(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weft", default="build/release/weft", help="the program to measure")
    parser.add_argument("--python", default="/usr/bin/python3", help="a Python that has torch")
    parser.add_argument("--roofline", default="build/release/bench/roofline",
                        help="the program that measures the processor's peak")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS + LARGE_MODELS)
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="e.g. 1,2")
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--torch-limit", type=float, default=20,
                        help="seconds of a run of PyTorch in bf16, which takes at least one step")
    parser.add_argument("--runs", type=int, default=3, help="runs of each side")
    parser.add_argument("--seconds", type=float, default=5,
                        help=f"of each run, which takes at least {STEPS_MIN} steps")
    parser.add_argument("--isa", choices=ISAS, help="what both sides may use of the processor")
    parser.add_argument("--busy", type=int, default=0,
                        help="programs that compute without end meanwhile")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--markdown", help="file for the table")
    parser.add_argument("--torch-child", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.torch_child:
        run_torch_here(options)
        return
    torch = torch_facts(options.python, isa=options.isa)
    peaks = measured_peaks(options.roofline, options.threads, options.isa)
    rows = []
    with busy(options.busy):
        for name in options.models:
            for threads in options.threads:
                rows.append(compare(options, name, threads, peaks[threads]))
                print(json.dumps(rows[-1]), flush=True)
    low = options.precision != "f32"
    table = heading(peaks, torch, options.isa) + "\n\n"
    table += markdown_low(rows) if low else markdown(rows)
    print(table)
    missed = misses_low(rows) if low else misses(rows)
    report = {"machine": processor(options.isa), "cores": os.cpu_count(), "peaks_gflops": peaks,
              "torch": torch, "geometric_means": means(rows), "missed": missed, "rows": rows}
    finish(options, report, table, missed)


if __name__ == "__main__":
    main()
