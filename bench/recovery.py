#!/usr/bin/env python3
"""From SIGKILL of one peer to the next round of the others, on a LAN of network namespaces.

usage (as root): recovery.py WEFT [--trials 100] [--peers 4] [--part weft|gloo|torchrun]
                 [--python PYTHON]     (one that has torch, for the last two)

weft      a random peer of a training group is killed, the founder too; the time until every other
          one has completed a round without it; then a newcomer takes its place. Heartbeats of
          250 ms. median and worst over all trials.
gloo      ranks that all-reduce with torch.distributed's Gloo: the time until the last of the others
          is told that the collective failed. They cannot go on.
torchrun  the same program under `torchrun --max-restarts`: the time until all ranks, started again,
          have completed an all-reduce.

Prints one JSON object for each part.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import netlab

ROOT = pathlib.Path(__file__).resolve().parents[1]
SETTINGS = {"run.steps": 1000000, "run.round_seconds_min": 0.02, "group.heartbeat_interval_ms": 250,
            "group.suspicion_timeout_ms": 2000, "group.quorum_timeout_s": 10,
            "data.synthetic_samples": 512}
TRIAL_SECONDS = 60

# Says "ready" after some all-reduces, then a line for each; "failed" when one ends with an error.
GLOO = """
import os, sys, time
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
vector = torch.ones(50000)
count = 0
try:
    while True:
        dist.all_reduce(vector)
        vector.fill_(1.0)
        count += 1
        if count % 5 == 0:
            print("round", rank, os.getpid(), time.monotonic(), flush=True)
        time.sleep(0.02)
except RuntimeError as error:
    print("failed", rank, os.getpid(), time.monotonic(), str(error)[:120], flush=True)
    raise
"""


def figures(part, seconds, **more):
    ordered = sorted(seconds)
    return {"part": part, "trials": len(ordered), "median_s": round(ordered[len(ordered) // 2], 3),
            "p95_s": round(ordered[int(len(ordered) * 0.95)], 3), "worst_s": round(ordered[-1], 3),
            **more}


def wait_members(peer, count, begin):
    return peer.wait_for(lambda e: e.get("kind") == "round" and e["members"] == count,
                         f"a round of {count}", TRIAL_SECONDS, begin)


def one_kill(weft, lab, peers, victim, folder, trial):
    """Seconds until the last of the others has done a round without `victim`, who is replaced."""
    for peer in peers:
        peer.drain()
    killed_at = peers[victim].kill()
    others = [peer for i, peer in enumerate(peers) if i != victim]
    marks = [len(peer.lines) for peer in others]
    last = max(wait_members(peer, len(others), mark)[0] for peer, mark in zip(others, marks))
    peers[victim].stop()
    for i, peer in enumerate(others):
        marks[i] = len(peer.lines)
    # The newest one: its addresses are those of peers that still live.
    ticket = max((when, e["ticket"]) for peer in others for when, e in peer.lines
                 if e.get("kind") == "ticket")[1]
    address = f"{lab.address(victim)}:0"
    peers[victim] = netlab.join(weft, lab.names[victim], ticket, address,
                                f"{folder}/t{trial}-{victim}")
    for peer, mark in zip(others, marks):
        wait_members(peer, len(peers), mark)
    wait_members(peers[victim], len(peers), 0)
    return last - killed_at


def bench_weft(weft, members, trials, seed):
    rng = random.Random(seed)
    seconds = []
    with netlab.Lan([None] * members) as lab, tempfile.TemporaryDirectory() as folder:
        peers = netlab.start_group(weft, lab, str(ROOT / "recipes/synthetic_mlp.toml"), SETTINGS,
                                   folder)
        try:
            for peer in peers:
                wait_members(peer, members, 0)
            for trial in range(trials):
                victim = rng.randrange(members)
                seconds.append(one_kill(weft, lab, peers, victim, folder, trial))
                time.sleep(rng.uniform(0.0, 0.5))
                for peer in peers:
                    peer.drain()
                    # What is behind need not be kept; the ticket is.
                    peer.lines = [line for line in peer.lines if line[1].get("kind") == "ticket"]
        finally:
            for peer in peers:
                peer.stop()
    return figures("weft", seconds, peers=members, heartbeat_ms=250)


# torchrun. That of torch 1.13 looks for its flag NONE by walking through the flags, which Python
# from 3.11 on leaves out.
TORCHRUN = """
from torch.distributed.elastic.multiprocessing.api import Std
Std.from_str = classmethod(lambda cls, text: Std.NONE)
from torch.distributed.run import main
main()
"""


class Lines:
    """What the ranks of a GLOO program print, in files that are read as they grow."""

    def __init__(self, path):
        self.path = path

    def words(self, kind):
        with contextlib.suppress(FileNotFoundError):
            for line in self.path.read_text().splitlines():
                parts = line.split()
                # A line that is being written may be cut short.
                if len(parts) < 4 or parts[0] != kind or "." not in parts[3]:
                    continue
                with contextlib.suppress(ValueError):
                    yield int(parts[1]), int(parts[2]), float(parts[3])

    def wait(self, ready, seconds=TRIAL_SECONDS * 3):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = ready()
            if found:
                return found
            time.sleep(0.02)
        raise TimeoutError(f"not seen in {seconds} s: {self.path.read_text()[-400:]}")


def last_rounds(lines, after, ranks):
    """The first round of each rank after `after`; empty unless all have one."""
    first = {}
    for rank, _, when in lines.words("round"):
        if when > after:
            first.setdefault(rank, when)
    return first if len(first) == ranks else {}


def bench_gloo(python, ranks, trials, seed):
    rng = random.Random(seed)
    seconds = []
    for _ in range(trials):
        with netlab.Lan([None] * ranks) as lab, tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "lines"
            with open(path, "a", encoding="utf-8") as out:
                processes = [subprocess.Popen(
                    netlab.inside(name, python, "-c", GLOO), stdout=out,
                    stderr=subprocess.DEVNULL, start_new_session=True,
                    env={**os.environ, "MASTER_ADDR": lab.address(0), "MASTER_PORT": "29500",
                         "RANK": str(rank), "WORLD_SIZE": str(ranks),
                         "GLOO_SOCKET_IFNAME": "line"}) for rank, name in enumerate(lab.names)]
            try:
                lines = Lines(path)
                lines.wait(lambda: last_rounds(lines, 0, ranks))
                victim = rng.randrange(ranks)
                time.sleep(rng.uniform(0.2, 1.0))
                killed_at = time.monotonic()
                os.killpg(processes[victim].pid, signal.SIGKILL)
                failed = lines.wait(lambda: [w for w in lines.words("failed")]
                                    if len(list(lines.words("failed"))) == ranks - 1 else None)
                seconds.append(max(when for _, _, when in failed) - killed_at)
            finally:
                for process in processes:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
    return figures("gloo", seconds, peers=ranks, outcome="the others fail; none goes on")


def bench_torchrun(python, ranks, trials, seed):
    rng = random.Random(seed)
    seconds = []
    with netlab.Lan([None]) as lab, tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program.py"
        program.write_text(GLOO)
        path = pathlib.Path(folder) / "lines"
        with open(path, "a", encoding="utf-8") as out:
            agent = subprocess.Popen(
                netlab.inside(lab.names[0], python, "-c", TORCHRUN, "--master_addr", "127.0.0.1",
                              "--master_port", "29511", "--nproc_per_node",
                              str(ranks), "--max_restarts", str(trials + 1),
                              str(program)),
                stdout=out, stderr=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"})
        try:
            lines = Lines(path)
            lines.wait(lambda: last_rounds(lines, 0, ranks))
            for _ in range(trials):
                time.sleep(rng.uniform(0.2, 1.0))
                pids = {rank: pid for rank, pid, _ in lines.words("round")}
                killed_at = time.monotonic()
                os.kill(pids[rng.randrange(ranks)], signal.SIGKILL)
                old = set(pids.values())
                first = lines.wait(lambda: new_rounds(lines, killed_at, old, ranks))
                seconds.append(max(first.values()) - killed_at)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(agent.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                agent.wait(10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(agent.pid, signal.SIGKILL)
    return figures("torchrun", seconds, peers=ranks, outcome="all ranks are started again")


def new_rounds(lines, after, old, ranks):
    first = {}
    for rank, pid, when in lines.words("round"):
        if when > after and pid not in old:
            first.setdefault(rank, when)
    return first if len(first) == ranks else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--rival-trials", type=int, default=5)
    parser.add_argument("--peers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=["weft", "gloo", "torchrun"])
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("recovery.py: network namespaces need root")
    given = (arguments.peers, arguments.rival_trials, arguments.seed)
    if arguments.part in (None, "weft"):
        print(json.dumps(bench_weft(arguments.weft, arguments.peers, arguments.trials,
                                    arguments.seed)), flush=True)
    if arguments.part in (None, "gloo"):
        print(json.dumps(bench_gloo(arguments.python, *given)), flush=True)
    if arguments.part in (None, "torchrun"):
        print(json.dumps(bench_torchrun(arguments.python, *given)), flush=True)


if __name__ == "__main__":
    main()
