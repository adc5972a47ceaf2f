#!/usr/bin/env python3
"""Rounds a second of four peers of which one is four times slower: equal shares, shares by speed,
and a deadline.

usage: unequal.py WEFT [--seconds 12] [--slow 4] [--peers 4] [--json]

Real processes on this machine, one compute thread each. A machine of a certain speed is a process
that may run only for a part of each 20 ms: 1 / PEERS of a core for the fast ones, so that two cores
hold four, and a SLOW-th of it for the slow one. After a start that is not counted the rounds of
the rest are counted; `samples` is how many of them were in the mean. The bound is what the speeds
allow: (peers - 1 + 1 / slow) / peers of the samples that equal machines would do.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/common"))
from weft_process import WeftProcess  # noqa: E402

PERIOD = 0.020
WARM = 20
SETTINGS = {"run.steps": 1000000, "run.global_batch": 768, "model.name": "lenet",
            "run.evaluate": "false", "group.heartbeat_interval_ms": 1000,
            "group.suspicion_timeout_ms": 10000}
WAYS = {
    "equal shares": {},
    "shares by speed": {"group.shares": '"speed"'},
    "deadline, drop": {"group.wait": '"deadline"', "group.deadline_factor": 1.5},
    "deadline, carry": {"group.wait": '"deadline"', "group.deadline_factor": 1.5,
                        "group.late": '"carry"', "group.staleness_max": 8},
    "speed and deadline": {"group.shares": '"speed"', "group.wait": '"deadline"',
                           "group.deadline_factor": 2},
}


def throttle(process, part, over):
    """Lets the process run for `part` of the time until `over` is set."""
    with contextlib.suppress(ProcessLookupError):
        while not over.wait(PERIOD * part):
            os.kill(process.pid, signal.SIGSTOP)
            over.wait(PERIOD * (1 - part))
            os.kill(process.pid, signal.SIGCONT)


def start(command, out):
    return WeftProcess([*command, "--threads", "1"], out)


def rounds_of(peer):
    peer.drain()
    return [(at, event) for at, event in peer.lines if event.get("kind") == "round"]


def measure(weft, way, arguments, folder):
    """Rounds a second and samples a second, and the shares at the end."""
    count = arguments.peers
    sets = [f"--set={k}={v}" for k, v in {**SETTINGS, **WAYS[way],
                                          "group.start_members": count}.items()]
    founder = start([weft, "run", str(ROOT / "recipes/synthetic_mlp.toml"), "--listen",
                     "127.0.0.1:0", *sets], folder / "0")
    peers = [founder]
    over = threading.Event()
    threads = []
    try:
        ticket = founder.ticket()
        peers += [start([weft, "join", ticket], folder / str(i)) for i in range(1, count)]
        for i, peer in enumerate(peers):
            part = 1.0 / count / (arguments.slow if i + 1 == count else 1)
            threads.append(threading.Thread(target=throttle, args=(peer.process, part, over)))
            threads[-1].start()
        begun, _ = founder.wait_round(WARM, 60)
        time.sleep(arguments.seconds)
        counted = [(at, event) for at, event in rounds_of(founder) if event["round"] > WARM]
        seconds = counted[-1][0] - begun
        shares = [rounds[-1][1]["share"] if rounds else 0 for rounds in map(rounds_of, peers)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
        for peer in peers:
            peer.stop()
    return {"way": way, "rounds": len(counted), "rounds_per_second": len(counted) / seconds,
            "shares": sorted(shares, reverse=True)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--slow", type=float, default=4)
    parser.add_argument("--peers", type=int, default=4)
    parser.add_argument("--way", choices=WAYS, action="append")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for way in arguments.way or WAYS:
        with tempfile.TemporaryDirectory(prefix="weft-unequal-") as folder:
            rows.append(measure(arguments.weft, way, arguments, pathlib.Path(folder)))
        if arguments.json:
            print(json.dumps(rows[-1]), flush=True)
            continue
        row = rows[-1]
        ratio = row["rounds_per_second"] / rows[0]["rounds_per_second"]
        print(f"{row['way']:20} {row['rounds_per_second']:7.2f} rounds/s  {ratio:5.2f} times  "
              f"shares {row['shares']}", flush=True)


if __name__ == "__main__":
    main()
