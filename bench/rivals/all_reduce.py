#!/usr/bin/env python3
"""All-reduce among processes of this machine: Weft beside Gloo (PyTorch) and OpenMPI.

usage: all_reduce.py WEFT [--peers 4] [--rounds 5] [--python PYTHON] [--quick]

WEFT is the built program. Programs take turns, so that a machine that is slow for a moment is slow
for all of them; the figure of each is its median over the rounds, and a ratio is the median of the
rounds' ratios. A program that is not installed is left out. Prints one JSON object a line.
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

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_SECONDS = 180
LARGE = 64 << 20
SMALL = 4 << 10


def last_object(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return None


def run(command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS,
                          env={**os.environ, **environment}, check=False)
    found = last_object(done.stdout)
    if done.returncode != 0 or found is None:
        print(f"failed: {' '.join(map(str, command))}\n{done.stderr}", file=sys.stderr)
        return None
    return found["median_seconds"]


class Weft:
    def __init__(self, program, transport, peers):
        self.name = f"weft-{transport}"
        self.command = [program, "bench", "allreduce", "--peers", str(peers), "--transport",
                        transport, "--json", "--bytes"]

    def seconds(self, size):
        return run([*self.command, str(size)])


class Gloo:
    name = "gloo"

    def __init__(self, python, peers):
        self.python, self.peers, self.port = python, peers, 29610

    def seconds(self, size):
        self.port += 1
        repetitions = 9 if size >= 1 << 20 else 100
        ranks = [subprocess.Popen(
            [self.python, str(HERE / "gloo_all_reduce.py"), str(rank), str(self.peers),
             "127.0.0.1", str(self.port), "lo", str(size), str(repetitions)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for rank in range(self.peers)]
        try:
            outputs = [rank.communicate(timeout=LIMIT_SECONDS)[0] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
        found = last_object(outputs[0])
        return found and found["median_seconds"]


class Mpi:
    def __init__(self, program, over, peers):
        self.name = f"openmpi-{over}"
        transports = ["--mca", "btl", "tcp,self"] if over == "tcp" else []
        self.command = ["mpirun", "--oversubscribe", *transports, "-np", str(peers), program]

    def seconds(self, size):
        return run([*self.command, str(size), str(9 if size >= 1 << 20 else 300)],
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def contenders(arguments, folder):
    found = [Weft(arguments.weft, transport, arguments.peers)
             for transport in ("tcp", "shm", "tls")]
    has_torch = subprocess.run([arguments.python, "-c", "import torch"], check=False,
                               stderr=subprocess.DEVNULL).returncode == 0
    if has_torch:
        found.append(Gloo(arguments.python, arguments.peers))
    if shutil.which("mpicxx") and shutil.which("mpirun"):
        program = str(folder / "mpi_all_reduce")
        subprocess.run(["mpicxx", "-O2", "-std=c++20", str(HERE / "mpi_all_reduce.cpp"), "-o",
                        program], check=True)
        found += [Mpi(program, "shm", arguments.peers), Mpi(program, "tcp", arguments.peers)]
    return found


def ratio(times, slower, faster):
    """How many times `faster` outdoes `slower`: the median over the rounds that have both."""
    pairs = [a / b for a, b in zip(times.get(slower, []), times.get(faster, [])) if a and b]
    return round(statistics.median(pairs), 3) if pairs else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("--peers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--quick", action="store_true", help="one round")
    arguments = parser.parse_args()
    rounds = 1 if arguments.quick else arguments.rounds
    share = 2 * (arguments.peers - 1) / arguments.peers
    with tempfile.TemporaryDirectory() as folder:
        programs = contenders(arguments, pathlib.Path(folder))
        for size in (LARGE, SMALL):
            times = {program.name: [] for program in programs}
            for _ in range(rounds):
                for program in programs:
                    times[program.name].append(program.seconds(size))
            for name, seconds in times.items():
                seconds = [value for value in seconds if value]
                if not seconds:
                    continue
                median = statistics.median(seconds)
                print(json.dumps({
                    "program": name, "peers": arguments.peers, "bytes": size,
                    "median_seconds": median, "best_seconds": min(seconds),
                    "bus_bandwidth_gb_per_s": round(share * size / median * 1e-9, 4),
                }), flush=True)
            pairs = {
                LARGE: [("gloo", "weft-tcp", 1.2), ("openmpi-shm", "weft-shm", 1.2),
                        ("gloo", "weft-tls", 0.4)],
                SMALL: [("openmpi-tcp", "weft-shm", 1.0)],
            }[size]
            for rival, ours, wanted in pairs:
                print(json.dumps({"bytes": size, "ratio": f"{ours} to {rival}", "wanted": wanted,
                                  "measured": ratio(times, rival, ours)}), flush=True)


if __name__ == "__main__":
    main()
