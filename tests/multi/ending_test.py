#!/usr/bin/env python3
"""Runs that end while others come, and members that are asked to end at the very end.

usage: ending_test.py [--tries N] [--at-once N] [--seed N] [NAME ...]

A try is a run of some seconds, of one or two members, and one to three newcomers, each started at
a moment of the last three seconds that is drawn from the seed. Every newcomer must end with the
members' state, or with the plain message that the run is over; nobody may wait longer than 15 s.
"""
import argparse
import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import time

from harness import Failure, Group, expect, main, same_hashes

LONGEST_S = 15.0
PACE_S = 0.02
STEPS = 200
SETTINGS = {"run.steps": STEPS, "run.round_seconds_min": PACE_S, "group.discovery": "off",
            "checkpoint.keep": 1}
ARGUMENTS = ("--threads", "1")
PLAIN = ("the run ended at round", "the run seems to have ended", "the run is gone")
# What one says whose first dial found that the processes had ended.
NOBODY = "the run has ended, or its members have moved"
FINAL, TOLD, NOBODY_THERE = "the final state", "told", "nobody there any more"


def words_of(peer):
    peer.drain()
    said = [e.get("reason", "") for _, e in peer.lines if e.get("kind") == "failed"]
    return " ".join(said) + (peer.out / "stderr.txt").read_text(errors="replace")


def ended_at(peer, limit):
    """Waits for the process until `limit` and returns when it ended."""
    try:
        peer.process.wait(timeout=max(0.0, limit - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise Failure(f"still there {LONGEST_S:.0f} s after the end: {peer.tail()}") from None
    return time.monotonic()


def outcome(peer, state, members_left_at, end):
    code = peer.process.returncode
    words = words_of(peer)
    if code == 0:
        summary = peer.finish(1.0)
        expect(summary["status"] == "finished", f"{summary}")
        expect(summary["state_hash"] == state, f"another state: {summary['state_hash']}, {state}")
        expect(list(peer.out.glob("checkpoints/*.safetensors")), "no checkpoint was written")
        return FINAL
    if code == 6 and any(plain in words for plain in PLAIN):
        return TOLD
    if code == 3 and NOBODY in words and end >= members_left_at:
        return NOBODY_THERE
    raise Failure(f"exit code {code}: {peer.tail()}")


def one_try(seed):
    """The outcomes of the newcomers, and the longest wait after the end of the run in seconds."""
    draw = random.Random(seed)
    hidden = draw.choice([32, 32, 512, 2048])
    # Larger models take their time for a round.
    pace, steps = (PACE_S, STEPS) if hidden == 32 else (0.06, 60)
    settings = {**SETTINGS, "model.hidden_units": hidden, "run.steps": steps,
                "run.round_seconds_min": pace, "run.evaluate": draw.choice(["true", "false"]),
                "group.start_members": draw.choice([1, 2])}
    with Group() as group:
        members = [group.found(settings, ARGUMENTS)]
        ticket = members[0].ticket()
        if settings["group.start_members"] == 2:
            members.append(group.join(ticket, ARGUMENTS))
        # In rounds before the last one; a process takes a moment to begin.
        moments = sorted((draw.uniform(0, 3.0 / pace) for _ in range(draw.randint(1, 3))),
                         reverse=True)
        newcomers = []
        for moment in moments:
            members[0].wait_round(max(1, round(steps - moment)), 300.0)
            newcomers.append((time.monotonic(), group.join(ticket, ARGUMENTS)))
        over = members[0].wait_round(steps, 300.0)[0]
        left = max(ended_at(member, over + LONGEST_S) for member in members)
        state = same_hashes([member.finish(1.0) for member in members])
        waits = [left - over]
        outcomes = []
        for begun, newcomer in newcomers:
            end = ended_at(newcomer, max(begun, over) + LONGEST_S)
            waits.append(end - max(begun, over))
            outcomes.append(outcome(newcomer, state, left, end))
        return outcomes, max(waits)


def newcomers_at_the_end():
    seeds = range(OPTIONS.seed, OPTIONS.seed + OPTIONS.tries)
    count = {FINAL: 0, TOLD: 0, NOBODY_THERE: 0}
    longest = 0.0
    faults = []
    with concurrent.futures.ThreadPoolExecutor(OPTIONS.at_once) as pool:
        tries = {pool.submit(one_try, seed): seed for seed in seeds}
        for each in concurrent.futures.as_completed(tries):
            try:
                outcomes, wait = each.result()
            except (Failure, OSError, KeyError, ValueError) as fault:
                faults.append(f"seed {tries[each]}: {fault}")
                print(faults[-1], flush=True)
                continue
            longest = max(longest, wait)
            for one in outcomes:
                count[one] += 1
    expect(not faults, f"{len(faults)} of {OPTIONS.tries} tries: {faults[0] if faults else ''}")
    expect(count[FINAL] > 0, f"none got the final state: {count}")
    shown = ", ".join(f"{number} {name}" for name, number in count.items())
    return f"{OPTIONS.tries} runs: {shown}, 0 others; the longest wait was {longest:.1f} s"


def a_signal_in_the_evaluation_ends_as_finished():
    """Whoever has all steps is finished, interrupted or not."""
    with Group() as group:
        settings = {**SETTINGS, "run.steps": 40, "data.synthetic_samples": 200000,
                    "model.hidden_units": 512}
        peers = group.start(2, settings)
        peers[1].wait_round(40, 60.0)
        peers[1].interrupt()
        summaries = [peer.finish(30.0) for peer in peers]
        expect(all(s["status"] == "finished" and s["steps"] == 40 for s in summaries),
               f"{summaries}")
        same_hashes(summaries)


def all_others_are_killed_in_the_evaluation():
    with Group() as group:
        settings = {**SETTINGS, "run.steps": 40, "data.synthetic_samples": 200000,
                    "model.hidden_units": 512, "group.quorum_timeout_s": 1}
        peers = group.start(3, settings)
        peers[2].wait_round(40, 60.0)
        for peer in peers[:2]:
            peer.kill()
        summary = peers[2].finish(30.0)
        expect(summary["status"] == "finished" and summary["steps"] == 40, f"{summary}")
        return f"test accuracy {summary['test_accuracy']}"


def a_signal_ends_a_newcomer_that_waits_for_an_answer():
    """Its member takes the connection and says nothing, as a suspended process does."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with Group() as group:
            founder = group.found({**SETTINGS, "run.steps": 100000}, ARGUMENTS)
            ticket = founder.ticket()
            founder.pause()
            late = group.join(ticket, ARGUMENTS)
            late.wait_connected()
            expect(late.process.poll() is None, f"it ended before: {late.tail()}")
            begun = time.monotonic()
            os.kill(late.process.pid, number)
            code = late.end(5.0)
            took = time.monotonic() - begun
            expect(code == 130 and took < 1.0, f"exit code {code} after {took:.1f} s")


def a_newcomer_says_that_its_only_member_was_killed():
    with Group() as group:
        founder = group.found({**SETTINGS, "run.steps": 100000, "model.hidden_units": 8192},
                              ARGUMENTS)
        late = group.join(founder.ticket(), ARGUMENTS)
        founder.wait_kind("joiner_syncing", 30.0)
        begun = founder.kill()
        code = late.end(LONGEST_S)
        took = time.monotonic() - begun
        words = words_of(late)
        expect(code == 6 and "the run is gone" in words, f"exit code {code}: {words}")
        return f"after {took:.1f} s"


def a_ticket_of_a_run_that_is_over_is_answered_at_once():
    with Group() as group:
        founder = group.found({**SETTINGS, "run.steps": 5}, ARGUMENTS)
        ticket = founder.ticket()
        founder.finish()
        begun = time.monotonic()
        late = group.join(ticket, ARGUMENTS)
        code = late.end(LONGEST_S)
        expect(code == 3 and NOBODY in words_of(late), f"exit code {code}: {words_of(late)}")
        return f"after {time.monotonic() - begun:.1f} s"


TESTS = {test.__name__: test for test in (
    a_signal_in_the_evaluation_ends_as_finished,
    all_others_are_killed_in_the_evaluation,
    a_signal_ends_a_newcomer_that_waits_for_an_answer,
    a_newcomer_says_that_its_only_member_was_killed,
    a_ticket_of_a_run_that_is_over_is_answered_at_once,
    newcomers_at_the_end,
)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    OPTIONS, NAMES = parser.parse_known_args()
    sys.argv[1:] = NAMES
    sys.exit(main(TESTS))
