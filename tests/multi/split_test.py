#!/usr/bin/env python3
"""A network that is cut in two while five real peers train: each side goes on, and both become one.

usage (as root, or where network namespaces may be made): split_test.py [NAME ...]

Each peer has a network namespace of its own (tests/chaos/network.py); nftables cuts two of them off
from the other three. What the event logs say is the claim.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "chaos"))
import harness  # noqa: E402
import network  # noqa: E402
from harness import RECIPE, Group, Peer, expect, main, same_hashes  # noqa: E402

PROGRAM = harness.WEFT
# What ctest takes for a skipped test.
SKIPPED = 77
MEMBERS = 5
FAR = (3, 4)
# Rounds that the cut-off side must make alone before the cut ends.
ALONE = 25
SETTINGS = {"group.start_members": MEMBERS, "group.on_quorum_lost": '"wait"',
            "group.on_split": '"merge"', "group.quorum_timeout_s": 0.5, "group.split_after_s": 0.3,
            "group.merge_timeout_s": 20, "group.discovery": '"off"', "run.steps": 300,
            "run.round_seconds_min": 0.05}
# Enough that both sides are one again long before the end, on a slow machine too: the larger side
# makes some 250 rounds while the smaller one notices the cut, trains on and asks to merge.
STEPS_OF_A_MERGE = 600


def start(group, net, settings):
    """Five peers, one a machine; the founder's ticket lets the others in."""
    sets = [f"--set={key}={value}" for key, value in settings.items()]
    peers = []
    for number in range(MEMBERS):
        where = [*net.command(number)[1:], PROGRAM]
        what = ["run", RECIPE, *sets] if number == 0 else ["join", peers[0].ticket()]
        listen = ["--listen", net.address(number) + ":7420"]
        peers.append(Peer([*where, *what, *listen], group.path / f"peer{number}"))
        group.peers.append(peers[-1])
    return peers


def cut(net):
    undo = [net.separate(number, [other for other in range(MEMBERS) if other not in FAR])
            for number in FAR]
    return lambda: [each() for each in undo]


def events(peer, kind):
    peer.drain()
    return [event for _, event in peer.lines if event.get("kind") == kind]


def rounds_between(peer, members):
    """The rounds that the peer made with so many members, in the order of its log."""
    return [event["round"] for event in events(peer, "round") if event["members"] == members]


def both_sides_train_on_and_become_one():
    harness.WEFT = "ip"
    net = network.Network(MEMBERS).open()
    try:
        with Group() as group:
            peers = start(group, net, {**SETTINGS, "run.steps": STEPS_OF_A_MERGE})
            for peer in peers:
                peer.wait_round(10)
            heal = cut(net)
            for number in FAR:
                split = peers[number].wait_kind("split", 20.0)[1]
                expect(len(split["members"]) == len(FAR), f"expected a branch of two: {split}")
                peers[number].wait_round(split["round"] + ALONE, 20.0)
            expect(not events(peers[3], "merged"), "merged before the cut ended")
            heal()
            yielding = peers[3].wait_kind("yielding", 20.0)[1]
            merged = peers[0].wait_kind("merged", 20.0)[1]
            summaries = [peer.finish(60) for peer in peers]
            state = same_hashes(summaries)
            near, far = rounds_between(peers[0], 3), rounds_between(peers[3], 2)
            expect(len(far) >= ALONE and len(near) >= ALONE,
                   f"expected {ALONE} rounds on either side, got {len(near)} and {len(far)}")
            last = rounds_between(peers[3], MEMBERS)[-1]
            expect(last == STEPS_OF_A_MERGE,
                   f"the last round of all five was {last}, they became one in {merged['round']}")
            for peer in peers[1:3]:
                expect([{**e, "t": 0} for e in events(peer, "merged")] == [{**merged, "t": 0}],
                       "the members of one side merged differently")
            batch = 96
            expect(merged["samples"] == (yielding["round"] - split["round"]) * batch
                   and merged["own_samples"] == (merged["round"] - split["round"]) * batch,
                   f"weights that are not the samples: {merged}, {split}, {yielding}")
            return (f"parted after round {split['round']}; {len(near)} rounds of three and "
                    f"{len(far)} of two; weight {merged['weight']:.3f}; state {state[:12]}")
    finally:
        harness.WEFT = PROGRAM
        net.close()


def the_smaller_side_waits_where_the_run_pauses():
    harness.WEFT = "ip"
    net = network.Network(MEMBERS).open()
    try:
        with Group() as group:
            peers = start(group, net, {**SETTINGS, "group.on_split": '"pause"'})
            for peer in peers:
                peer.wait_round(10)
            heal = cut(net)
            for number in FAR:
                peers[number].wait_kind("quorum_lost", 20.0)
            stood = peers[3].last_round()
            peers[0].wait_round(stood + ALONE, 20.0)
            expect(peers[3].last_round() <= stood + 1, "the smaller side trained on")
            heal()
            summaries = [peer.finish(60) for peer in peers]
            same_hashes(summaries)
            expect(not rounds_between(peers[3], 2), "rounds of two although the run pauses")
            return f"stood at round {stood}"
    finally:
        harness.WEFT = PROGRAM
        net.close()


if __name__ == "__main__":
    reason = network.forbidden()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    sys.exit(main({test.__name__: test for test in (both_sides_train_on_and_become_one,
                                                    the_smaller_side_waits_where_the_run_pauses)}))
