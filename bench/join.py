#!/usr/bin/env python3
"""What a newcomer costs: peers in network namespaces on shaped lines train; one more joins.

usage (as root): join.py WEFT [--peers 4] [--rate-mbit 1000] [--hidden 10500] [--optimizer adamw]
                 [--round-seconds 0.8] [--local-steps 1] [--joins 1] [--phase 0] [--cut SECONDS]

Each peer's line is shaped both ways by tc tbf. The model is a multilayer perceptron: with 10500
hidden units and AdamW its state is 100 MB, and gradients are a third of that. Rounds begin
--round-seconds apart, as if members computed so long; so the processors have time for what is
measured. The newcomer starts after that part --phase of a round. Reported are its time from the
start of its process to its first round, beside the time that its line needs for the state alone;
when its process had begun, had its links, the state, the sums after it, and was let in; and how
much longer the others' rounds took meanwhile, until the one after it came in. With --cut the newcomer is killed after so many seconds
and started again: what it had is not fetched again.

Prints one JSON object a join.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import netlab

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 240
ALONE = 8


def settings(arguments):
    return {
        "model.hidden_units": arguments.hidden, "model.layers": 2,
        "optimizer.name": f'"{arguments.optimizer}"', "optimizer.learning_rate": 0.0001,
        "run.steps": 100000, "run.global_batch": 8, "run.evaluate": "false",
        "run.round_seconds_min": arguments.round_seconds, "local.steps": arguments.local_steps,
        "group.bucket_bytes": 4194304, "group.segment_bytes": 262144,
        "group.suspicion_timeout_ms": 5000, "group.discovery": '"off"',
    }


def kind(name):
    return lambda event: event.get("kind") == name


def rounds_of(peer):
    peer.drain()
    return [when for when, event in peer.lines if event.get("kind") == "round"]


def parts_of(joiner, begun):
    """Seconds from `begun` to the first of each; None for what was not seen."""
    def caught_up(event):
        return str(event.get("text")).startswith("caught up")
    joiner.drain()
    first = {}
    for name, ready in (("started", kind("started")), ("linked", kind("link_up")),
                        ("state", kind("state_loaded")), ("caught_up", caught_up),
                        ("let_in", kind("view_changed")), ("first_round", kind("first_step"))):
        first[name] = next((round(when - begun, 2) for when, e in joiner.lines if ready(e)), None)
    return first


def one_join(weft, lab, founder, out, arguments):
    """The founder's rounds with their times; when the newcomer began and worked; its state."""
    address = f"{lab.address(arguments.peers)}:0"
    before = len(rounds_of(founder))
    while len(rounds_of(founder)) < before + ALONE + 1:
        time.sleep(0.02)
    ticket = founder.ticket()
    time.sleep(arguments.phase * arguments.round_seconds)
    begun = time.monotonic()
    joiner = netlab.join(weft, lab.names[-1], ticket, address, out)
    try:
        if arguments.cut > 0:
            time.sleep(arguments.cut)
            joiner.stop()
            joiner = netlab.join(weft, lab.names[-1], ticket, address, out)
        works, _ = joiner.wait_for(kind("first_step"), "the newcomer's first round", LIMIT_SECONDS)
        loaded = joiner.wait_for(kind("state_loaded"), "its state", 1)[1]
        _, received = joiner.wait_for(lambda e: "the state after" in str(e.get("text")),
                                      "what it received", 1)
        parts = parts_of(joiner, begun)
        count = len(rounds_of(founder))
        while len(rounds_of(founder)) < count + 2:
            time.sleep(0.02)
    finally:
        joiner.stop()
    return {"begun": begun, "works": works, "parts": parts, "rounds": rounds_of(founder)[before:],
            "bytes": loaded["bytes"], "text": received["text"]}


def report(seen, arguments):
    alone = [when for when in seen["rounds"] if when <= seen["begun"]]
    during = [when for when in seen["rounds"] if when > seen["begun"]]
    usual = statistics.mean(b - a for a, b in zip(alone, alone[1:]))
    ended = next((when for when in during if when >= seen["works"]), during[-1])
    count = sum(when <= ended for when in during)
    meanwhile = (ended - alone[-1]) / count
    line = seen["bytes"] * 8 / (arguments.rate_mbit * 1e6)
    return {
        "peers": arguments.peers, "rate_mbit": arguments.rate_mbit, "state_bytes": seen["bytes"],
        "line_seconds": round(line, 2), "bound_seconds": round(1.2 * line + 2, 2),
        "joined_seconds": round(seen["works"] - seen["begun"], 2), "parts": seen["parts"],
        "round_seconds": round(usual, 3), "round_seconds_meanwhile": round(meanwhile, 3),
        "slowdown": round(meanwhile / usual, 3), "rounds_meanwhile": count,
        "received": seen["text"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--peers", type=int, default=4)
    parser.add_argument("--rate-mbit", type=int, default=1000)
    parser.add_argument("--hidden", type=int, default=10500)
    parser.add_argument("--optimizer", default="adamw")
    parser.add_argument("--round-seconds", type=float, default=0.8)
    parser.add_argument("--local-steps", type=int, default=1)
    parser.add_argument("--joins", type=int, default=1)
    parser.add_argument("--phase", type=float, default=0)
    parser.add_argument("--cut", type=float, default=0)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("join.py: network namespaces need root")
    weft = os.path.abspath(arguments.weft)
    rates = [arguments.rate_mbit] * (arguments.peers + 1)
    with netlab.Lan(rates, both_ways=True) as lab, tempfile.TemporaryDirectory() as folder:
        peers = netlab.start_group(weft, lab, str(ROOT / "recipes/synthetic_mlp.toml"),
                                   settings(arguments), folder, arguments.peers)
        try:
            peers[0].wait_round(5, LIMIT_SECONDS)
            for number in range(arguments.joins):
                seen = one_join(weft, lab, peers[0], f"{folder}/joiner{number}", arguments)
                print(json.dumps(report(seen, arguments)), flush=True)
        finally:
            for peer in peers:
                peer.stop()


if __name__ == "__main__":
    main()
