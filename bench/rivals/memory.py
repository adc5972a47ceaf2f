#!/usr/bin/env python3
"""Weft's footprint beside PyTorch's: peak memory of a training step, time to the first one, size.

usage: bench/rivals/memory.py [--weft PROGRAM] [--batch N] [--threads N] [--repeats N] [--check]
  --weft PROGRAM  build/release/weft unless told otherwise
  --check         exit code 1 if a limit is not met

Prints one JSON object a line, `measure, weft, rival, unit, limit, holds`:
  step_peak_memory     the CNN (3x3 convolutions 32-64, pooling, 128, 10; SGD with momentum) on
                       made-up images, in MiB of resident memory at its highest; limit: half of
                       PyTorch's for the same step
  run_peak_memory      the same limit for a whole `weft run` with Fashion-MNIST in memory
  start_to_first_step  from the start of the process until its first training step begins, data
                       present; limit 0.5 s. PyTorch's figure is its import alone
  stripped_size        the program without symbols; limit 15 MB. PyTorch: its shared libraries

PyTorch is Debian's (python3-torch, run by /usr/bin/python3) with OpenBLAS' OpenMP build and
without inherited tuning variables, which would slow it down. Where it is missing, `rival` is null.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from machine import torch_environment, torch_facts, torch_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "recipes" / "fashion_mnist_cnn.toml"
SECONDS_MAX = 300
START_SECONDS_MAX = 0.5
PROGRAM_BYTES_MAX = 15e6

# Takes the batch and the number of threads; prints the seconds that the import took.
TORCH_STEP = """
import sys, time
start = time.perf_counter()
import torch
seconds = time.perf_counter() - start
batch, threads = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
nn = torch.nn
model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(),
                      nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 12 * 12, 128), nn.ReLU(),
                      nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for _ in range(12):
    images, labels = torch.randn(batch, 1, 28, 28), torch.randint(0, 10, (batch,))
    optimizer.zero_grad(set_to_none=True)
    nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
print(seconds)
"""


def run(command, environment=None):
    """Runs `command`; (its output, the largest resident memory in MiB of it and its children)."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, env=environment)
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {child.returncode}: "
                               f"{errors.decode(errors='replace')[-2000:]}")
        output.seek(0)
        return output.read().decode(), usage.ru_maxrss / 1024


def measure_torch(options):
    """(peak MiB of the step, seconds of the import), or (None, None) without PyTorch."""
    environment = torch_environment(options.threads)
    command = ["/usr/bin/python3", "-c", TORCH_STEP, str(options.batch), str(options.threads)]
    try:
        print(torch_text(torch_facts(command[0])), file=sys.stderr)
        results = [run(command, environment) for _ in range(options.repeats)]
    except (RuntimeError, OSError, SystemExit) as failure:  # SystemExit: what torch_facts() refuses
        print(f"memory: no figures of PyTorch: {failure}", file=sys.stderr)
        return None, None
    return (statistics.median(peak for _, peak in results),
            statistics.median(float(output) for output, _ in results))


def torch_bytes():
    """The shared libraries that PyTorch's own package brings."""
    found = subprocess.run(["dpkg-query", "--listfiles", "libtorch1.13", "python3-torch"],
                           capture_output=True, text=True, check=False).stdout.split("\n")
    files = {os.path.realpath(path) for path in found if ".so" in path and os.path.isfile(path)}
    return sum(os.path.getsize(path) for path in files) or None


def measure_step(options):
    command = [options.weft, "bench", "train", "--model", "cnn", "--batch", str(options.batch),
               "--threads", str(options.threads), "--seconds", "1", "--json"]
    return statistics.median(run(command)[1] for _ in range(options.repeats))


def run_command(options, folder, steps):
    return [options.weft, "run", str(RECIPE), "--listen", "127.0.0.1:0", "--out", folder, "--json",
            "--threads", str(options.threads), "--steps", str(steps),
            "--set", f"run.global_batch={options.batch}", "--set", "run.evaluate=false",
            "--set", "schedule.warmup_steps=0"]


def measure_run(options):
    """Peak MiB of a run of some steps, and seconds until the first step begins as seen from here."""
    peaks, seconds = [], []
    for _ in range(options.repeats):
        with tempfile.TemporaryDirectory() as folder:
            peaks.append(run(run_command(options, folder, 20))[1])
        with tempfile.TemporaryDirectory() as folder:
            seconds.append(seconds_to_first_step(run_command(options, folder, 2)))
    return statistics.median(peaks), statistics.median(seconds)


def seconds_to_first_step(command):
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as child:
        for line in child.stdout:
            now = time.perf_counter()
            if now - start > SECONDS_MAX:
                break
            if json.loads(line)["kind"] == "first_step":
                child.stdout.read()
                return now - start
        child.kill()
    raise RuntimeError("weft run ended before its first step")


def stripped_bytes(program):
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "weft"
        shutil.copy(program, copy)
        subprocess.run(["strip", str(copy)], check=True)
        return copy.stat().st_size


def report(measure, unit, weft, rival, limit):
    """Prints one line; True if the limit, where there is one, is met."""
    holds = None if limit is None else weft < limit
    digits = 0 if unit == "bytes" else 3
    rounded = [None if value is None else round(value, digits) for value in (weft, rival, limit)]
    print(json.dumps({"measure": measure, "unit": unit, "weft": rounded[0], "rival": rounded[1],
                      "limit": rounded[2], "holds": holds}), flush=True)
    return holds is not False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--weft", default=str(ROOT / "build" / "release" / "weft"))
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not os.access(options.weft, os.X_OK):
        sys.exit(f"memory: {options.weft}: expected the program; build it with ./run --build-only")

    torch_peak, torch_import = measure_torch(options)
    half = None if torch_peak is None else torch_peak / 2
    run_peak, start = measure_run(options)
    held = [
        report("step_peak_memory", "MiB", measure_step(options), torch_peak, half),
        report("run_peak_memory", "MiB", run_peak, torch_peak, half),
        report("start_to_first_step", "s", start, torch_import, START_SECONDS_MAX),
        report("stripped_size", "bytes", stripped_bytes(options.weft), torch_bytes(),
               PROGRAM_BYTES_MAX),
    ]
    sys.exit(1 if options.check and not all(held) else 0)


if __name__ == "__main__":
    main()
