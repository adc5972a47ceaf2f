#!/usr/bin/env python3
"""The checks of a chaos run find what is planted, and nothing else; needs no rights and no peers.

usage: checks_test.py [NAME ...]
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "multi")]
from bounds import Bounds  # noqa: E402
from harness import expect, main  # noqa: E402
from schedule import DECK, make_schedule  # noqa: E402
from sums import Sums  # noqa: E402

BATCH, STEPS = 24, 10


def digest(kind, number, vector, samples, view="v1", **more):
    """As a member logs it, with three elements for projections and values alike."""
    words = " ".join(repr(x) for x in vector)
    return {"kind": kind, "round": number, "view": 1, "view_hash": view, "elements": len(vector),
            "samples": samples, "hash": words, "magnitude": sum(map(abs, vector)),
            "projections": words, "values": words, **more}


INPUTS = [(1.0, -2.0, 0.5), (0.25, 4.0, -1.5), (3.0, 0.125, 8.0)]
TOTAL = [sum(column) for column in zip(*INPUTS)]


def heard(inputs=INPUTS, total=TOTAL, samples=BATCH, members=3, view="v1"):
    sums = Sums(BATCH, STEPS)
    for rank, vector in enumerate(inputs):
        sums.hear("run", rank, digest("audit_input", 1, vector, BATCH / 3, rank=rank,
                                      members=members))
    sums.hear("run", 0, digest("audit_sum", 1, total, samples, view=view, caught_up=False))
    return sums


def faults(sums):
    sums.check()
    return sums.faults


def a_right_sum_passes():
    sums = heard()
    expect(not faults(sums), f"expected no fault, got {sums.faults}")
    expect(sums.checked == 1, f"expected one sum, got {sums.checked}")
    expect(sums.missing(2) == [2], f"expected round 2 to be missing, got {sums.missing(2)}")


def rounding_is_no_fault_and_more_is():
    size = sum(abs(x) for vector in INPUTS for x in vector)
    near = [TOTAL[0] * (1 + 2.0 ** -25), *TOTAL[1:]]
    expect(not faults(heard(total=near)), "one rounding of f32 was taken for a fault")
    far = [TOTAL[0] + 1e-6 * size, *TOTAL[1:]]
    expect(faults(heard(total=far)), "a part in a million was not seen")


def whatever_is_wrong_with_a_sum_is_found():
    twice = [a + b for a, b in zip(TOTAL, INPUTS[0])]
    without = [a - b for a, b in zip(TOTAL, INPUTS[2])]
    for name, sums in {
            "an input counted twice": heard(total=twice),
            "an input left out": heard(total=without),
            "no number": heard(total=[float("nan"), *TOTAL[1:]]),
            "samples of another batch": heard(samples=BATCH + 1),
            "a member that logged no input": heard(inputs=INPUTS[:2]),
            "inputs of another view": heard(view="v2")}.items():
        expect(faults(sums), f"{name}: not found")


def all_hold_the_same_bits():
    sums = heard()
    sums.hear("run", 1, digest("audit_sum", 1, TOTAL, BATCH, caught_up=True))
    expect(not sums.faults, f"expected no fault, got {sums.faults}")
    other = [TOTAL[0] * (1 + 2.0 ** -25), *TOTAL[1:]]
    sums.hear("run", 2, digest("audit_sum", 1, other, BATCH, caught_up=True))
    expect(sums.faults, "other bits were not found")


def an_aborted_round_counts_in_the_view_that_committed_it():
    sums = Sums(BATCH, STEPS)
    for rank, vector in enumerate(INPUTS):
        sums.hear("run", rank, digest("audit_input", 1, vector, 8, "old", rank=rank, members=3))
    halves = [(1.0, 2.0, 3.0), (4.0, 5.0, 6.0)]
    for rank, vector in enumerate(halves):
        sums.hear("run", rank, digest("audit_input", 1, vector, 12, "new", rank=rank, members=2))
    sums.hear("run", 0, digest("audit_sum", 1, [5.0, 7.0, 9.0], BATCH, "new", caught_up=False))
    expect(not faults(sums), f"expected no fault, got {sums.faults}")


def a_seed_is_a_schedule():
    one, again, other = (make_schedule(seed, 600, 10, 8) for seed in (7, 7, 8))
    told = [[(f.kind, f.at, f.seconds, f.order) for f in plan] for plan in (one, again, other)]
    expect(told[0] == told[1] and told[0] != told[2], "a seed must fix its schedule")
    expect(40 <= len(one) <= 80, f"expected about 60 faults in 600 s, got {len(one)}")
    expect({f.kind for f in one} == set(DECK), "expected every kind in ten minutes")
    first = [f.order[0] for f in one[:8]]
    expect(sorted(first) == list(range(8)), f"expected everybody to be hit early, got {first}")
    expect(sum(f.kind == "halves" for f in make_schedule(7, 600, 10, 8, 3)) == 3, "three halves")


def bounds_grow_with_what_they_stand_for():
    fast, slow = Bounds(1.0, 0.1, 100_000, 10), Bounds(5.0, 0.1, 100_000, 2)
    expect(fast.round < slow.round < slow.round_whatever, "longer timeouts, longer bounds")


if __name__ == "__main__":
    sys.exit(main({test.__name__: test for test in (
        a_right_sum_passes, rounding_is_no_fault_and_more_is,
        whatever_is_wrong_with_a_sum_is_found, all_hold_the_same_bits,
        an_aborted_round_counts_in_the_view_that_committed_it, a_seed_is_a_schedule,
        bounds_grow_with_what_they_stand_for)}))
