#!/usr/bin/env python3
"""Times a full training step of `weft bench train` and of PyTorch, in turn, and prints the ratios.

A step is: gradients cleared, forward, loss, backward, SGD with momentum 0.9. Models, batches and
numbers of threads are the same on both sides; each run is a process of its own with a clean
environment, the two sides take turns, and the medians over all runs are compared. Needs a Python
with torch for the other side (--python).

    bench/rivals/train_step.py --weft build/release/weft --json steps.json --markdown steps.md
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import time

BATCH = 64
# What a shell may have set to make OpenBLAS choose old kernels or a number of threads of its own.
UNWANTED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "GOMP_CPU_AFFINITY", "OMP_PROC_BIND")
# Debian keeps the variants of OpenBLAS side by side; PyTorch uses OpenMP, so its BLAS should too.
OPENMP_BLAS = pathlib.Path("/usr/lib/x86_64-linux-gnu/openblas-openmp")


def clean_environment(threads):
    env = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    env["OMP_NUM_THREADS"] = env["OPENBLAS_NUM_THREADS"] = str(threads)
    return env


def torch_environment(threads):
    env = clean_environment(threads)
    if OPENMP_BLAS.is_dir():
        env["LD_LIBRARY_PATH"] = str(OPENMP_BLAS)
    return env


def torch_model(name):
    from torch import nn

    if name == "mlp":
        layers = [nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)]
    else:
        layers = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(),
                  nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 12 * 12, 128), nn.ReLU(),
                  nn.Linear(128, 10)]
    return nn.Sequential(*layers)


def run_torch_here(name, threads, seconds):
    """The other side's whole benchmark; runs in a process of its own."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = torch_model(name)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    batches = [(torch.randn(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))) for _ in range(4)]

    def step(images, labels):
        optimizer.zero_grad(set_to_none=True)
        loss_of(model(images), labels).backward()
        optimizer.step()

    for _ in range(5):
        step(*batches[0])
    times = []
    begun = time.perf_counter()
    while len(times) < 10 or time.perf_counter() - begun < seconds:
        before = time.perf_counter()
        step(*batches[len(times) % len(batches)])
        times.append((time.perf_counter() - before) * 1e3)
    times.sort()
    print(json.dumps({"version": torch.__version__, "median_ms": statistics.median(times),
                      "p10_ms": times[len(times) // 10], "steps": len(times)}))


def run(command, env):
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True,
                          timeout=600)
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_weft(options, name, threads):
    return run([options.weft, "bench", "train", "--model", name, "--batch", str(BATCH),
                "--threads", str(threads), "--seconds", str(options.seconds), "--json"],
               clean_environment(threads))


def run_torch(options, name, threads):
    return run([options.python, os.path.abspath(__file__), "--torch-child", name,
                "--threads", str(threads), "--seconds", str(options.seconds)],
               torch_environment(threads))


def compare(options, name, threads):
    ours, theirs = [], []
    for _ in range(options.runs):
        ours.append(run_weft(options, name, threads))
        theirs.append(run_torch(options, name, threads))
    row = {"model": name, "batch": BATCH, "threads": threads, "runs": options.runs,
           "torch_version": theirs[0]["version"]}
    for key in ("median_ms", "p10_ms"):
        row["weft_" + key] = round(statistics.median(r[key] for r in ours), 3)
        row["torch_" + key] = round(statistics.median(r[key] for r in theirs), 3)
        row["ratio_" + key.removesuffix("_ms")] = round(row["weft_" + key] / row["torch_" + key],
                                                        3)
    return row


def markdown(rows):
    lines = ["| model, batch | threads | Weft ms | PyTorch ms | ratio | ratio of the 10 % |",
             "|---|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {r['model']}, {r['batch']} | {r['threads']} | {r['weft_median_ms']:.2f} "
                     f"| {r['torch_median_ms']:.2f} | {r['ratio_median']:.2f} "
                     f"| {r['ratio_p10']:.2f} |")
    return "\n".join(lines)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weft", default="build/release/weft", help="the program to measure")
    parser.add_argument("--python", default="/usr/bin/python3",
                        help="a Python that has torch")
    parser.add_argument("--models", nargs="+", default=["mlp", "cnn"], choices=["mlp", "cnn"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--runs", type=int, default=3, help="runs of each side")
    parser.add_argument("--seconds", type=float, default=5, help="of each run")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--markdown", help="file for the table")
    parser.add_argument("--torch-child", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.torch_child:
        run_torch_here(options.torch_child, options.threads[0], options.seconds)
        return
    rows = []
    for name in options.models:
        for threads in options.threads:
            rows.append(compare(options, name, threads))
            print(json.dumps(rows[-1]), flush=True)
    print(markdown(rows))
    if options.json:
        report = {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count(),
                  "rows": rows}
        pathlib.Path(options.json).write_text(json.dumps(report, indent=2) + "\n")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(markdown(rows) + "\n")


if __name__ == "__main__":
    main()
