#!/usr/bin/env python3
"""All-reduce at five sizes with 2, 4 and 8 processes of this machine: Weft, Gloo and OpenMPI.

usage: all_reduce_matrix.py WEFT [--results FILE] [--rounds 3] [--peers 2,4,8] [--programs NAMES]
                            [--seconds S] [--python PYTHON]
       all_reduce_matrix.py --table FILE

WEFT is the built program. Programs take turns: in each round each measures all sizes once; a figure
is the median of the rounds' medians, and a ratio is that of two such figures. What is measured is
appended to FILE (default: all_reduce_matrix.jsonl), and what FILE has already is not measured
again, so a run that was stopped, by --seconds or otherwise, goes on where it was. --table prints the
tables of a file. A program that is not installed is left out.
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

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_SECONDS = 180
# Bytes of the vector, and repetitions of one measurement; of Gloo's, whose small ones take
# milliseconds.
SIZES = {4 << 10: 2000, 64 << 10: 1000, 1 << 20: 100, 16 << 20: 9, 64 << 20: 7}
GLOO_SIZES = {4 << 10: 60, 64 << 10: 60, 1 << 20: 30, 16 << 20: 9, 64 << 20: 7}
NAMES = ["weft-tcp", "weft-shm", "weft-tls", "gloo", "openmpi-shm", "openmpi-tcp"]
# Ours, the rival, sizes from and below, wanted: how many times the rival's time over ours.
TARGETS = [("weft-tcp", "gloo", 1 << 20, 1 << 40, 1.3),
           ("weft-shm", "openmpi-shm", 1 << 20, 1 << 40, 1.3),
           ("weft-shm", "openmpi-shm", 0, 1 << 20, 1 / 1.5),
           ("weft-tls", "gloo", 0, 1 << 40, None)]


def runs(sizes):
    return [str(value) for size, repetitions in sizes.items() for value in (size, repetitions)]


def objects(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def measure_weft(arguments, name, peers):
    for size, repetitions in SIZES.items():
        command = [arguments.weft, "bench", "allreduce", "--peers", str(peers), "--transport",
                   name.removeprefix("weft-"), "--bytes", str(size), "--repetitions",
                   str(repetitions), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS,
                              check=True)
        yield from objects(done.stdout)


def measure_gloo(arguments, _name, peers):
    port = str(29000 + os.getpid() % 2000)
    command = [arguments.python, str(HERE / "gloo_all_reduce.py")]
    ranks = [subprocess.Popen([*command, str(rank), str(peers), "127.0.0.1", port, "lo",
                               *runs(GLOO_SIZES)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
             for rank in range(peers)]
    try:
        yield from objects(ranks[0].communicate(timeout=LIMIT_SECONDS)[0])
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def measure_mpi(arguments, name, peers):
    over = ["--mca", "btl", "tcp,self"] if name == "openmpi-tcp" else []
    command = ["mpirun", "--oversubscribe", *over, "-np", str(peers), arguments.mpi,
               *runs(SIZES)]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS,
                          check=True, env=environment)
    yield from objects(done.stdout)


def installed(arguments, folder):
    names = [name for name in NAMES if name.startswith("weft")]
    if subprocess.run([arguments.python, "-c", "import torch"], check=False,
                      stderr=subprocess.DEVNULL).returncode == 0:
        names.append("gloo")
    if shutil.which("mpicxx") and shutil.which("mpirun"):
        arguments.mpi = str(pathlib.Path(folder) / "mpi_all_reduce")
        subprocess.run(["mpicxx", "-O2", "-std=c++20", str(HERE / "mpi_all_reduce.cpp"), "-o",
                        arguments.mpi], check=True)
        names += ["openmpi-shm", "openmpi-tcp"]
    return [name for name in arguments.programs.split(",") if name in names]


def read_results(path):
    path = pathlib.Path(path)
    return objects(path.read_text()) if path.exists() else []


def measure_all(arguments, folder):
    """True once FILE has everything."""
    ends = time.monotonic() + arguments.seconds
    names = installed(arguments, folder)
    units = [(turn, int(peers), name) for turn in range(arguments.rounds)
             for peers in arguments.peers.split(",") for name in names]
    have = {(each["round"], each["peers"], each["program"])
            for each in read_results(arguments.results) if each["bytes"] == max(SIZES)}
    for number, (turn, peers, name) in enumerate(units, 1):
        if (turn, peers, name) in have:
            continue
        if time.monotonic() > ends:
            return False
        began = time.monotonic()
        kind = {"weft": measure_weft, "gloo": measure_gloo, "openmpi": measure_mpi}
        try:
            found = list(kind[name.split("-")[0]](arguments, name, peers))
        except (subprocess.SubprocessError, OSError) as error:
            print(f"{name} with {peers} processes failed: {error}", file=sys.stderr)
            continue
        with open(arguments.results, "a", encoding="utf-8") as out:
            for each in found:
                out.write(json.dumps({"round": turn, "peers": peers, "program": name,
                                      "bytes": each["bytes"],
                                      "seconds": each["median_seconds"]}) + "\n")
        text = " ".join(f"{1e6 * each['median_seconds']:.0f}" for each in found)
        print(f"[{number}/{len(units)}] round {turn + 1}, {peers} processes, {name}: {text} us "
              f"({time.monotonic() - began:.0f} s)", file=sys.stderr, flush=True)
    return True


def size_text(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def time_text(seconds):
    if seconds is None:
        return "-"
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} us"
    return f"{1e3 * seconds:.3g} ms"


def tables(results):
    times = {}
    for each in results:
        key = (each["program"], each["peers"], each["bytes"])
        times.setdefault(key, []).append(each["seconds"])
    medians = {key: statistics.median(values) for key, values in times.items()}
    names = [name for name in NAMES if any(key[0] == name for key in medians)]
    peers_seen = sorted({key[1] for key in medians})
    lines = [f"| processes | vector | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for peers in peers_seen:
        for size in SIZES:
            row = [time_text(medians.get((name, peers, size))) for name in names]
            lines.append(f"| {peers} | {size_text(size)} | {' | '.join(row)} |")
    lines += ["", "| ours to rival | processes | " + " | ".join(map(size_text, SIZES)) + " |",
              "|---" * (2 + len(SIZES)) + "|"]
    for ours, rival in dict.fromkeys((target[0], target[1]) for target in TARGETS):
        for peers in peers_seen:
            row = [ratio_text(medians, ours, rival, peers, size) for size in SIZES]
            lines.append(f"| {ours} to {rival} | {peers} | {' | '.join(row)} |")
    return "\n".join(lines)


def ratio_text(medians, ours, rival, peers, size):
    own, other = medians.get((ours, peers, size)), medians.get((rival, peers, size))
    if own is None or other is None:
        return "-"
    wanted = next((target[4] for target in TARGETS
                   if target[:2] == (ours, rival) and target[2] <= size < target[3]), None)
    ratio = other / own
    return f"{ratio:.2f}" if wanted is None or ratio >= wanted else f"**{ratio:.2f}**"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft", nargs="?")
    parser.add_argument("--results", default="all_reduce_matrix.jsonl")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="2,4,8")
    parser.add_argument("--programs", default=",".join(NAMES))
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after this time")
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--table", help="print the tables of this file")
    arguments = parser.parse_args()
    if arguments.table:
        print(tables(read_results(arguments.table)))
        return 0
    if not arguments.weft:
        parser.error("expected the built program")
    with tempfile.TemporaryDirectory() as folder:
        complete = measure_all(arguments, folder)
    if complete:
        print(tables(read_results(arguments.results)))
    return 0 if complete else 3


if __name__ == "__main__":
    sys.exit(main())
