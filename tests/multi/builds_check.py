#!/usr/bin/env python3
"""Compares simulations by two builds of weft: the same seed has the same events and states.

usage: builds_check.py OTHER_WEFT [--peers N] [--rounds N]
Runs a synchronous, a local and a gossiping world with WEFT_PROGRAM (build/release/weft) and 1, 2 and
3 threads, and with OTHER_WEFT, a program of another build type. A build for the check, about as long as
the release build:
    cmake -S . -B /tmp/other -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 -DWEFT_TESTS=OFF
    ninja -C /tmp/other weft
Other instruction sets have other bits (WEFT_ISA), so both run on one machine.
"""
import json
import subprocess
import sys

from harness import RECIPE, WEFT, expect, main

WORLD = ["--speed", "500..5000", "--mbit", "10,100", "--ms", "2..40", "--loss", "0,0.001"]
FAULTS = ["--crash", "any@2..3", "--join", "2.5"]
COMPARED = ("event_hash", "state_hash", "events", "bytes_sent", "loss")


def option(name, default):
    if name not in sys.argv:
        return default
    at = sys.argv.index(name)
    value = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    return value


PEERS = option("--peers", "16")
ROUNDS = option("--rounds", "5")


def simulate(program, threads, arguments):
    done = subprocess.run([program, "sim", RECIPE, "--json", "--peers", PEERS, "--rounds", ROUNDS,
                           "--threads", threads, *WORLD, *arguments], capture_output=True, text=True,
                          timeout=600, check=False, stdin=subprocess.DEVNULL)
    expect(done.returncode == 0, f"{program} sim: exit code {done.returncode}: {done.stderr}")
    result = json.loads(done.stdout.splitlines()[-1])
    return {name: result[name] for name in COMPARED}


def same_in_both(arguments):
    first = simulate(WEFT, "1", arguments)
    for program, threads in ((WEFT, "2"), (WEFT, "3"), (OTHER, "1")):
        other = simulate(program, threads, arguments)
        expect(other == first, f"{program} with {threads} threads: expected {first}, got {other}")
    return f"events {first['event_hash']}, state {first['state_hash'][:16]}"


def synchronous_rounds():
    return same_in_both(FAULTS)


def local_steps():
    return same_in_both(["--set", "local.steps=4", "--set", 'optimizer.name="adam"'])


def gossip():
    return same_in_both([*FAULTS, "--set", 'group.exchange="gossip"'])


TESTS = {test.__name__: test for test in (synchronous_rounds, local_steps, gossip)}

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    OTHER = sys.argv.pop()
    sys.exit(main(TESTS))
