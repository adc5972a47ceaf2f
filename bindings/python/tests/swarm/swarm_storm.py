#!/usr/bin/env python3
"""Calls the native module of swarms in any order with arguments drawn at random; each call must
return or raise an error that callers know. A crash ends the process, which is why this is a program
of its own; the call it was at stands in the trace.

usage: swarm_storm.py SEED CALLS [TRACE_FILE]
"""
import random
import sys

import numpy

import weft
from weft import _swarm

NUMBERS = [0, 1, 2, 3, -1, 2**31, 2**63, 2**64, 0.0, 0.5, -1.0, 1e30, float("inf"), float("nan")]
ARRAYS = [numpy.ones(3, numpy.float32), numpy.ones((2, 0), numpy.float32), numpy.zeros(2),
          numpy.ones((4, 4), numpy.float32).T, bytearray(8), b"bytes", memoryview(b"abcd")]
OTHERS = [None, "x", "", True, object(), {}, weft.ones(2), weft.ones(2, 3).T]
KNOWN = (TypeError, ValueError, OverflowError, MemoryError, BufferError, AttributeError, weft.Error)
METHODS = ("next", "next", "next", "begin", "begin", "round_ended", "finish", "finish", "read",
           "applied", "publish_state", "ticket", "status", "take_events", "leave", "close")


def options():
    made = _swarm.Options()
    made.listen, made.recipe = "127.0.0.1:0", "{}"
    return made


def value(rng, depth=0):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(NUMBERS)
    if kind < 0.6:
        return rng.choice(ARRAYS)
    if kind < 0.75 or depth > 1:
        return rng.choice(OTHERS)
    return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]


def arguments(rng, name):
    """Mostly what the method is for."""
    if rng.random() < 0.4:
        return [value(rng) for _ in range(rng.randint(0, 3))]
    arrays = [rng.choice(ARRAYS[:2]) for _ in range(rng.randint(0, 2))]
    return {"begin": [arrays, rng.choice([0.0, 1.0, 2.5, float("nan")])],
            "read": [arrays, rng.random() < 0.5], "round_ended": [rng.choice(NUMBERS[:4])],
            "applied": [rng.randint(0, 4), ["a"] * len(arrays), arrays], "leave": [0.1],
            "publish_state": [rng.randint(0, 4), b"state"], "ticket": [60.0]}.get(name, [])


def main():
    seed, calls = int(sys.argv[1]), int(sys.argv[2])
    trace = open(sys.argv[3], "w") if len(sys.argv) > 3 else None
    rng, peer, returned = random.Random(seed), None, 0
    for number in range(calls):
        if peer is None or rng.random() < 0.01:
            peer = _swarm.Peer.start(options())
        name = rng.choice(METHODS)
        if name in ("leave", "close") and rng.random() < 0.8:
            continue
        given = arguments(rng, name)
        if trace:
            trace.seek(0)
            trace.write(f"{number}: {name}{given!r:.300}\n")
            trace.truncate()
            trace.flush()
        try:
            getattr(peer, name)(*given)
            returned += 1
        except KNOWN:
            pass
        if name == "close":
            peer = None
    print(f"{returned} of {calls} calls returned")


if __name__ == "__main__":
    main()
