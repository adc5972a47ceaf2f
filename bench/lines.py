#!/usr/bin/env python3
"""How much of slow and unequal lines an all-reduce uses, over TLS between network namespaces.

usage (as root): lines.py WEFT [--part uplinks|order] [--draws 4]

uplinks  four members at one bridge, what each may send shaped by tc tbf: `weft bench allreduce`.
         Each uplink must carry 2 (n-1)/n * bytes; share_of_line is what that makes of the rate of
         the slowest one, headers and acknowledgements not counted. share_of_goodput is the same of
         what the headers of Ethernet, IPv4 and TCP leave of that rate: more no program can have.
         share_of_tcp is that of what a plain stream from each member to the next, without
         encryption, gets through at that time.
order    six members, a line of its own between any two; two of the fifteen lines, drawn from a
         seed, are ten times slower. Six real peers train; seconds a round with the order in which
         they came (group.ring = "fixed": to lines drawn at random a random order) and with the one
         that they agree on from what they measure.

Prints one JSON object a measurement.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile

import netlab

ROOT = pathlib.Path(__file__).resolve().parents[1]
UPLINKS = [[20] * 4, [100] * 4, [1000] * 4, [100, 20, 100, 100], [1000, 100, 1000, 1000]]
# One repetition takes about so long.
UPLINK_SECONDS = 3.0
BENCH_SECONDS = 240
MEMBERS = 6
FAST_MBIT = 200
SLOW_MBIT = 20
# 305,290 parameters: more than goes by butterfly, which uses all lines.
MODEL = {"model.hidden_units": 384, "run.global_batch": 48, "run.steps": 100000,
         "data.synthetic_samples": 512, "group.bucket_bytes": 1 << 20,
         "group.segment_bytes": 65536, "group.suspicion_timeout_ms": 5000}


# One member of a ring of plain streams; prints the bytes a second that came in the middle seconds.
STREAM = """
import socket, sys, threading, time
own, following, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
server = socket.create_server((own, 7411))
def send():
    for _ in range(100):
        try:
            out = socket.create_connection((following, 7411), timeout=5)
            break
        except OSError:
            time.sleep(0.1)
    piece = bytes(1 << 18)
    try:
        while True:
            out.sendall(piece)
    except OSError:
        pass
threading.Thread(target=send, daemon=True).start()
stream, _ = server.accept()
buffer = bytearray(1 << 20)
begun = time.monotonic()
first, count = None, 0
while time.monotonic() < begun + seconds:
    got = stream.recv_into(buffer)
    now = time.monotonic()
    if now < begun + seconds / 4:
        first = now
        continue
    count += got
    last = now
print(count / (last - first), flush=True)
time.sleep(seconds / 2)
"""


def plain_streams(lab):
    """The slowest stream of the ring, bytes a second."""
    ranks = len(lab.names)
    streams = [subprocess.Popen(
        netlab.inside(name, sys.executable, "-c", STREAM, lab.address(rank),
                      lab.address((rank + 1) % ranks), str(2 * UPLINK_SECONDS)),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for rank, name in enumerate(lab.names)]
    try:
        return min(float(stream.communicate(timeout=60)[0]) for stream in streams)
    finally:
        for stream in streams:
            stream.kill()


def share_of_uplinks(weft, uplinks, repetitions):
    ranks = len(uplinks)
    rate = min(uplinks) * 1e6 / 8
    share = 2 * (ranks - 1) / ranks
    size = int(min(256 << 20, UPLINK_SECONDS * rate / share)) // 4 * 4
    with netlab.Lan(uplinks) as lab, tempfile.TemporaryDirectory() as meeting:
        plain = plain_streams(lab)
        processes = [subprocess.Popen(
            netlab.inside(name, weft, "bench", "allreduce", "--peers", str(ranks), "--bytes",
                          str(size), "--transport", "tls", "--repetitions", str(repetitions),
                          "--rank", str(rank), "--meet", meeting, "--listen",
                          f"{lab.address(rank)}:0", "--json"),
            stdout=subprocess.PIPE, text=True, start_new_session=True)
            for rank, name in enumerate(lab.names)]
        try:
            outputs = [process.communicate(timeout=BENCH_SECONDS)[0] for process in processes]
        finally:
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
    found = json.loads(next(line for line in outputs[0].splitlines() if line.startswith("{")))
    seconds = share * size / rate
    return {"uplinks_mbit": uplinks, "bytes": size, "algorithm": found["algorithm"],
            "line_seconds": round(seconds, 4), "median_seconds": round(found["median_seconds"], 4),
            "min_seconds": round(found["min_seconds"], 4),
            "share_of_line": round(seconds / found["median_seconds"], 4),
            "share_of_goodput": round(seconds / netlab.GOODPUT / found["median_seconds"], 4),
            "share_of_tcp": round(share * size / plain / found["median_seconds"], 4)}


def seconds_a_round(peer, first, last):
    begun, _ = peer.wait_round(first, 300)
    ended, _ = peer.wait_round(last, 300)
    return (ended - begun) / (last - first)


def last_round(peer):
    peer.drain()
    return next(e["round"] for _, e in reversed(peer.lines) if e.get("kind") == "round")


def ring_of(peer):
    """The members in the order of the latest view of all."""
    peer.drain()
    return next(e["members"] for _, e in reversed(peer.lines)
                if e.get("kind") == "view_changed" and len(e["members"]) == MEMBERS)


def one_group(weft, slow, ring):
    """Seconds a round: in the order in which the members came, or the one that they agreed on."""
    settings = {**MODEL, "group.ring": f'"{ring}"'}
    with netlab.Mesh(MEMBERS, lambda a, b: SLOW_MBIT if (a, b) in slow else FAST_MBIT) as lab, \
            tempfile.TemporaryDirectory() as folder:
        peers = netlab.start_group(weft, lab, str(ROOT / "recipes/synthetic_mlp.toml"), settings,
                                   folder)
        try:
            peer = peers[0]
            before = seconds_a_round(peer, 5, 15)
            first = ring_of(peer)
            if ring == "fixed":
                return {"seconds": before}
            peer.wait_round(70, 300)
            at = last_round(peer)
            after = seconds_a_round(peer, at + 2, at + 22)
            return {"seconds": after, "before": round(before, 4),
                    "reordered": ring_of(peer) != first}
        finally:
            for each in peers:
                each.stop()


def order_benefit(weft, draws, seed):
    pairs = list(itertools.combinations(range(MEMBERS), 2))
    rng = random.Random(seed)
    results = []
    for _ in range(draws):
        slow = set(rng.sample(pairs, 2))
        fixed = one_group(weft, slow, "fixed")
        measured = one_group(weft, slow, "measured")
        results.append({"slow_lines": sorted(slow), "fixed_s": round(fixed["seconds"], 4),
                        "agreed_s": round(measured["seconds"], 4), "before_s": measured["before"],
                        "reordered": measured["reordered"]})
        print(json.dumps(results[-1]), flush=True)
    mean = lambda key: sum(r[key] for r in results) / len(results)  # noqa: E731
    print(json.dumps({"draws": draws, "seed": seed, "mean_random_s": round(mean("fixed_s"), 4),
                      "mean_agreed_s": round(mean("agreed_s"), 4),
                      "times_faster": round(mean("fixed_s") / mean("agreed_s"), 2)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("--part", choices=["uplinks", "order"])
    parser.add_argument("--uplinks", help="one set only, such as 100,20,100,100")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("lines.py: network namespaces need root")
    if arguments.part != "order":
        sets = UPLINKS
        if arguments.uplinks:
            sets = [[int(rate) for rate in arguments.uplinks.split(",")]]
        for uplinks in sets:
            print(json.dumps(share_of_uplinks(arguments.weft, uplinks, arguments.repetitions)),
                  flush=True)
    if arguments.part != "uplinks" and not arguments.uplinks:
        order_benefit(arguments.weft, arguments.draws, arguments.seed)


if __name__ == "__main__":
    main()
