#!/usr/bin/env python3
"""All peers of a run have died: where it goes on when they come back, with real processes.

usage: resume_test.py [NAME ...]
"""
import pathlib
import sys

from harness import Group, Peer, RECIPE, expect, main, newest_checkpoint, same_hashes

PACED = {"run.steps": 400, "run.round_seconds_min": 0.02, "checkpoint.every_steps": 5,
         "checkpoint.keep": 3, "group.discovery": "off"}


def step_of(peer):
    return int(pathlib.Path(newest_checkpoint(peer.out)).stem.split("-")[-1])


def died_one_after_the_other(group):
    """Three peers whose newest checkpoints differ; the founder's is the oldest."""
    peers = group.start(3, PACED)
    for peer in peers:
        peer.wait_round(12)
    peers[0].kill()
    peers[1].wait_round(peers[1].last_round() + 30)
    peers[1].kill()
    peers[2].wait_kind("peer_left", 20.0)
    peers[2].kill()
    for peer in peers:
        peer.process.wait(20.0)
    return peers


def come_back(group, founder, others, start_members=3, name="peer"):
    """`founder` resumes and the others join it, each with its own folder."""
    settings = {**PACED, "group.start_members": start_members, "group.start_timeout_s": 8}
    sets = [f"--set={key}={value}" for key, value in settings.items()]
    first = Peer(["run", RECIPE, "--resume", "--listen", "127.0.0.1:0", *sets], founder.out)
    group.peers.append(first)
    back = [first]
    for other in others:
        back.append(Peer(["join", first.ticket()], other.out))
        group.peers.append(back[-1])
    return back


def the_newest_state_wins_whoever_resumes():
    with Group() as group:
        dead = died_one_after_the_other(group)
        steps = [step_of(peer) for peer in dead]
        expect(steps[0] < steps[1], f"the checkpoints do not differ: {steps}")
        newest = max(steps)
        back = come_back(group, dead[0], dead[1:])
        first = back[0].wait_kind("round", 40.0)[1]
        expect(first["step"] == newest + 1, f"newest {newest}, went on with {first['step']}")
        same_hashes([peer.finish(60.0) for peer in back])
        return f"checkpoints at {steps}, went on after {newest}"


def whoever_comes_later_takes_the_groups_state():
    with Group() as group:
        dead = died_one_after_the_other(group)
        steps = [step_of(peer) for peer in dead]
        # The one with the newest state is away when the others begin.
        order = sorted(range(3), key=lambda i: steps[i])
        back = come_back(group, dead[order[0]], [dead[order[1]]], start_members=2)
        # The founder knows from the others' records who may hold a newer one, and says so.
        name = dead[order[2]].wait_kind("started")[1]["peer"]
        back[0].wait_for(lambda e: f"waits for {name}" in e.get("text", ""), "whom it waits for")
        back[0].wait_round(back[0].wait_kind("round", 40.0)[1]["round"] + 3)
        late = Peer(["join", back[0].ticket()], dead[order[2]].out)
        group.peers.append(late)
        late.wait_kind("state_loaded", 30.0)
        same_hashes([peer.finish(60.0) for peer in (*back, late)])
        aside = list(late.out.glob("checkpoints/*.aside"))
        return f"checkpoints at {steps}; {len(aside)} set aside"


TESTS = {test.__name__: test for test in (
    the_newest_state_wins_whoever_resumes,
    whoever_comes_later_takes_the_groups_state,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
