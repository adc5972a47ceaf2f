#!/usr/bin/env python3
"""What a newcomer costs: peers in network namespaces on shaped lines train; one more joins.

usage (as root): join.py WEFT [--peers 4] [--rate-mbit 200] [--hidden 2600] [--local-steps 8]
                 [--cut SECONDS]

Each peer's line is shaped both ways by tc tbf. The model is a wide multilayer perceptron with Adam:
with --hidden 2600 its state is 106 MB. Reported are the newcomer's time from the start of its
process to its first round, beside the line's own time for the state, and how much longer the
others' rounds took meanwhile. With --cut the newcomer is killed after so many seconds and started
again: what it had is not fetched again.

Prints one JSON object.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECIPE = ROOT / "recipes/synthetic_mlp.toml"
SUBNET = "10.78.0"
LIMIT_SECONDS = 300


def sh(*command, check=True):
    subprocess.run(command, check=check, capture_output=not check)


def shape(command, device, rate_mbit):
    sh(*command, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{rate_mbit}mbit",
       "burst", "128kb", "latency", "100ms")


@contextlib.contextmanager
def network(peers, rate_mbit):
    tag = f"j{os.getpid() % 100000}"
    names = [f"{tag}n{i}" for i in range(peers)]
    try:
        sh("ip", "link", "add", f"{tag}b", "type", "bridge")
        sh("ip", "link", "set", f"{tag}b", "up")
        for i, name in enumerate(names):
            inside = ["ip", "netns", "exec", name]
            sh("ip", "netns", "add", name)
            sh("ip", "link", "add", f"{tag}v{i}", "type", "veth", "peer", "name", "line", "netns",
               name)
            sh("ip", "link", "set", f"{tag}v{i}", "master", f"{tag}b", "up")
            sh(*inside, "ip", "addr", "add", f"{SUBNET}.{i + 1}/24", "dev", "line")
            sh(*inside, "ip", "link", "set", "line", "up")
            sh(*inside, "ip", "link", "set", "lo", "up")
            shape(inside, "line", rate_mbit)
            shape([], f"{tag}v{i}", rate_mbit)
        yield names
    finally:
        for name in names:
            sh("ip", "netns", "del", name, check=False)
        sh("ip", "link", "del", f"{tag}b", check=False)


class Peer:
    """One weft process in a namespace; its events are kept with the time at which they came."""

    def __init__(self, arguments, place, words, out):
        command = ["ip", "netns", "exec", place, arguments.weft, *words, "--threads", "1", "--out",
                   str(out), "--json"]
        self.begun = time.monotonic()
        self.events = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.events.append((time.monotonic(), json.loads(line)))
                self.changed.notify_all()

    def wait(self, accept):
        """The first event that `accept` takes, with its time."""
        deadline = time.monotonic() + LIMIT_SECONDS
        with self.changed:
            while True:
                for entry in self.events:
                    if accept(entry[1]):
                        return entry
                if not self.changed.wait(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError(f"not seen in {LIMIT_SECONDS} s")

    def rounds(self):
        with self.changed:
            return [at for at, event in self.events if event["kind"] == "round"]

    def stop(self):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def is_kind(kind):
    return lambda event: event["kind"] == kind


def settings(arguments):
    values = {
        "model.hidden_units": arguments.hidden, "model.layers": 2, "optimizer.name": "adamw",
        "optimizer.learning_rate": 0.0001, "run.steps": 100000, "run.global_batch": 64,
        "run.evaluate": "false", "local.steps": arguments.local_steps,
        "group.start_members": arguments.peers, "group.bucket_bytes": 4194304,
        "group.segment_bytes": 262144, "group.suspicion_timeout_ms": 5000,
        "group.discovery": "off",
    }
    return [f"--set={key}={value}" for key, value in values.items()]


def run(arguments, names, folder):
    peers = []
    try:
        peers.append(Peer(arguments, names[0], ["run", str(RECIPE), "--listen",
                                                f"{SUBNET}.1:7000", *settings(arguments)],
                          folder / "peer0"))
        ticket = peers[0].wait(is_kind("ticket"))[1]["ticket"]
        for i in range(1, arguments.peers):
            peers.append(Peer(arguments, names[i],
                              ["join", ticket, "--listen", f"{SUBNET}.{i + 1}:7000"],
                              folder / f"peer{i}"))
        peers[0].wait(lambda event: event["kind"] == "round" and event["round"] >= 5)
        alone = peers[0].rounds()
        words = ["join", ticket, "--listen", f"{SUBNET}.{arguments.peers + 1}:7000"]
        joiner = Peer(arguments, names[-1], words, folder / "joiner")
        peers.append(joiner)
        begun = joiner.begun
        if arguments.cut > 0:
            time.sleep(arguments.cut)
            joiner.stop()
            joiner = Peer(arguments, names[-1], words, folder / "joiner")
            peers.append(joiner)
        works, _ = joiner.wait(is_kind("first_step"))
        loaded = joiner.wait(is_kind("state_loaded"))[1]
        received = joiner.wait(lambda event: event["kind"] == "note" and
                               "the state after" in event["text"])[1]
        count = len(peers[0].rounds())
        while len(peers[0].rounds()) < count + 1:
            time.sleep(0.05)
        return {"begun": begun, "works": works, "alone": alone, "all": peers[0].rounds(),
                "bytes": loaded["bytes"], "text": received["text"]}
    finally:
        for peer in peers:
            peer.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("--peers", type=int, default=4)
    parser.add_argument("--rate-mbit", type=int, default=200)
    parser.add_argument("--hidden", type=int, default=2600)
    parser.add_argument("--local-steps", type=int, default=8)
    parser.add_argument("--cut", type=float, default=0)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("join.py: network namespaces need root")
    arguments.weft = os.path.abspath(arguments.weft)
    with network(arguments.peers + 1, arguments.rate_mbit) as names, \
            tempfile.TemporaryDirectory() as folder:
        seen = run(arguments, names, pathlib.Path(folder))
    gaps = [b - a for a, b in zip(seen["alone"][1:], seen["alone"][2:])]
    before = statistics.mean(gaps)
    last_alone = max(at for at in seen["all"] if at <= seen["begun"])
    during = [at for at in seen["all"] if at > last_alone]
    ended = next((at for at in during if at >= seen["works"]), during[-1])
    rounds = sum(at <= ended for at in during)
    line = seen["bytes"] * 8 / (arguments.rate_mbit * 1e6)
    print(json.dumps({
        "peers": arguments.peers, "rate_mbit": arguments.rate_mbit, "state_bytes": seen["bytes"],
        "line_seconds": round(line, 2), "joined_seconds": round(seen["works"] - seen["begun"], 2),
        "bound_seconds": round(1.2 * line + 2, 2), "round_seconds": round(before, 3),
        "round_seconds_meanwhile": round((ended - last_alone) / rounds, 3),
        "slowdown": round((ended - last_alone) / rounds / before, 3), "rounds_meanwhile": rounds,
        "received": seen["text"],
    }))


if __name__ == "__main__":
    main()
