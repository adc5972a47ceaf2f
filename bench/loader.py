#!/usr/bin/env python3
"""Times weft's DataLoader over a folder of JPEGs with worker processes and without, and runs many
epochs while it watches memory and descriptors.

  decode   passes over the folder with 0 and with 2 workers, in turn: seconds on the clock, and seconds
           of processors, of this process and of the workers. Other programs on the machine change the
           clock, hardly the processors' seconds; from them follows what two idle cores would give:
           the time of one process over max(all seconds / 2, those of the busiest process).
           In turn with these, one and two processes decode the folder without a loader: how much two
           processes that have nothing to do with each other gain is the machine's limit
  epochs   1,000 passes over a small set, with workers that are started for each pass and with workers
           that stay: resident memory, descriptors, threads and child processes, early and at the end
With --check the exit status is 1 unless two idle cores would give at least 1.6 times the images a
second, and memory has grown by less than 4 MiB and nothing else at all. Needs Pillow and NumPy
(apt-get install python3-pil python3-numpy) and a build with WEFT_PYTHON.

    PYTHONPATH=build/release/python bench/loader.py --check --json loader.json
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time

import numpy as np
from PIL import Image

import weft
from weft.utils import data

SPEED_MIN = 1.6
GROWTH_BYTES_MAX = 4 << 20
WORKERS = 2
WARM_EPOCHS = 50


class Folder(data.Dataset):
    """The pictures of a folder as float32 [3, side, side], each decoded when it is asked for."""

    def __init__(self, folder, side):
        self.paths, self.side = sorted(pathlib.Path(folder).glob("*.jpg")), side

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as picture:
            small = picture.convert("RGB").resize((self.side, self.side), Image.BILINEAR)
        values = np.asarray(small, np.float32).transpose(2, 0, 1) / 255
        return weft.from_numpy(np.ascontiguousarray(values)), index % 10


class Small(data.Dataset):
    """A few tensors that cost nothing."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return weft.full((16,), float(index)), index


def write_pictures(folder, count, width):
    """Noise on smooth colours: as many bytes as photographs of that size have."""
    random = np.random.default_rng(0)
    for i in range(count):
        coarse = Image.fromarray(random.integers(0, 255, (8, 8, 3), np.uint8))
        smooth = np.asarray(coarse.resize((width, width), Image.BICUBIC), np.int16)
        noisy = smooth + random.integers(-12, 12, smooth.shape)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(
            pathlib.Path(folder) / f"{i:05}.jpg", quality=90)


def processor_seconds():
    """Of this process, and of all its children that have ended."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF,
                                                      resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, ended.ru_utime + ended.ru_stime


def one_pass(dataset, workers, batch):
    """Seconds on the clock, of this process and of the workers, of one pass."""
    own, ended = processor_seconds()
    begun, seen = time.perf_counter(), 0
    for pictures, _ in data.DataLoader(dataset, batch_size=batch, num_workers=workers):
        seen += len(pictures)
    clock = time.perf_counter() - begun
    assert seen == len(dataset)
    own_after, ended_after = processor_seconds()
    return clock, own_after - own, ended_after - ended


def decode_all(dataset, gate):
    """What a process without a loader does."""
    gate.wait()
    for i in range(len(dataset)):
        dataset[i]


def clock_of_processes(dataset, count):
    """Seconds on the clock in which so many processes decode the whole folder each."""
    context = multiprocessing.get_context("fork")
    gate = context.Barrier(count + 1)
    processes = [context.Process(target=decode_all, args=(dataset, gate)) for _ in range(count)]
    for process in processes:
        process.start()
    gate.wait()
    begun = time.perf_counter()
    for process in processes:
        process.join()
    return time.perf_counter() - begun


def decode(options):
    """The medians of both kinds of passes, and their ratios."""
    with tempfile.TemporaryDirectory() as folder:
        write_pictures(folder, options.pictures, options.width)
        dataset, found = Folder(folder, options.side), {0: [], WORKERS: []}
        one_pass(dataset, 0, options.batch)  # files are in memory from now on
        apart = {1: [], WORKERS: []}
        for _ in range(options.runs):
            for workers, passes in found.items():
                passes.append(one_pass(dataset, workers, options.batch))
            for count, clocks in apart.items():
                clocks.append(clock_of_processes(dataset, count))
    one, many = (statistics.median(clocks) for clocks in apart.values())
    (clock, alone, _), (clock_many, own, workers) = (
        [statistics.median(column) for column in zip(*passes)] for passes in found.values())
    least = max((own + workers) / 2, workers / WORKERS, own)
    return {"pictures": options.pictures, "width": options.width, "runs": options.runs,
            "clock_s": round(clock, 3), "clock_workers_s": round(clock_many, 3),
            "clock_ratio": round(clock / clock_many, 2), "processor_s": round(alone, 3),
            "processor_own_s": round(own, 3), "processor_workers_s": round(workers, 3),
            "machine_ratio": round(WORKERS * one / many, 2),
            "idle_ratio": round(alone / least, 2), "load": round(os.getloadavg()[0], 1)}


def facts():
    """Resident bytes, descriptors, threads and children of this process."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return {"bytes": pages * resource.getpagesize(), "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": len(os.listdir("/proc/self/task")),
            "children": len(multiprocessing.active_children())}


def epochs(options, persistent):
    """What there is after the first passes, and after the last."""
    loader = data.DataLoader(Small(), batch_size=2, num_workers=WORKERS, shuffle=True,
                             persistent_workers=persistent)
    early = None
    for epoch in range(options.epochs):
        if sum(len(labels) for _, labels in loader) != 8:
            raise AssertionError(f"epoch {epoch} has not given 8 samples")
        if epoch == min(WARM_EPOCHS, options.epochs // 2):
            early = facts()
    return {"epochs": options.epochs, "persistent": persistent, "early": early, "late": facts()}


def report(result):
    """Prints the figures; what misses its limit comes back."""
    missed, found = [], result["decode"]
    print(f"{found['pictures']} JPEGs of {found['width']} x {found['width']}, median of "
          f"{found['runs']} passes, load of the machine {found['load']}")
    print(f"one process: {found['clock_s']} s, {found['processor_s']} s of a processor")
    print(f"{WORKERS} workers:  {found['clock_workers_s']} s, {found['processor_workers_s']} s of the "
          f"workers and {found['processor_own_s']} s of this process")
    print(f"faster by {found['clock_ratio']} on the clock, by {found['idle_ratio']} on two idle cores")
    print(f"{WORKERS} processes without a loader decode {found['machine_ratio']} times as many pictures "
          f"a second as one: the limit of this machine")
    if found["idle_ratio"] < SPEED_MIN:
        missed.append(f"{found['idle_ratio']} on two idle cores, at least {SPEED_MIN}")
    for run in result["epochs"]:
        early, late = run["early"], run["late"]
        grown = late["bytes"] - early["bytes"]
        kind = "that stay" if run["persistent"] else "of each pass"
        print(f"{run['epochs']} epochs with workers {kind}: memory grew by {grown / 1024:.0f} KiB, "
              + ", ".join(f"{early[key]} to {late[key]} {key}" for key in early if key != "bytes"))
        if grown > GROWTH_BYTES_MAX or any(late[key] > early[key] for key in early
                                           if key != "bytes"):
            missed.append(f"growth with workers {kind}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    weft.set_num_threads(1)
    result = {"decode": decode(options),
              "epochs": [epochs(options, persistent) for persistent in (False, True)]}
    missed = report(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    for line in missed:
        print("missed:", line, file=sys.stderr)
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
