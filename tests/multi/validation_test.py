#!/usr/bin/env python3
"""Measurements on the test set in the midst of a run: all members know the same, and stop alike.

usage: validation_test.py [NAME ...]
"""
import json
import pathlib
import sys

from harness import Group, expect, main, read_floats, run_weft

# Nothing gets better: the first measurement stays the best, whatever the machine does.
STILL = {"optimizer.learning_rate": 1e-30, "run.evaluate_every_steps": 10, "run.steps": 100000,
         "run.round_seconds_min": 0.01, "group.discovery": "off", "checkpoint.keep_best": "true"}


def measured(peer):
    return {event["step"]: (event["loss"], event["best"]) for _, event in peer.lines
            if event.get("kind") == "validation"}


def all_members_and_a_newcomer_stop_at_the_same_step():
    with Group() as group:
        peers = group.start(2, {**STILL, "run.early_stop_patience": 20})
        peers[0].wait_round(45)
        peers.append(group.join(peers[0].ticket()))
        steps, bests = set(), set()
        for peer in peers:
            code = peer.end(60)
            expect(code == 0, f"exit code {code}: {peer.tail()}")
            peer.drain()
            summary = json.loads((peer.out / "summary.json").read_text())
            expect(summary["status"] == "stopped", f"{summary}")
            steps.add(summary["steps"])
            bests.add((summary["best_step"], summary["best_loss"]))
        expect(len(steps) == 1 and len(bests) == 1, f"stopped after {steps}, best {bests}")
        expect(bests.pop()[0] == 10 and steps == {211}, f"{steps}")
        known = [measured(peer) for peer in peers]
        shared = set(known[0]) & set(known[2])
        expect(shared and all(one[step] == known[0][step] for one in known[1:] for step in shared),
               f"they have measured differently: {known}")
        return f"{len(shared)} measurements shared with the newcomer"


def the_best_state_is_kept_by_each_member():
    with Group() as group:
        peers = group.start(2, {"run.steps": 60, "run.evaluate_every_steps": 5,
                                "checkpoint.keep_best": "true", "group.discovery": "off",
                                "optimizer.learning_rate": 1})
        kept = []
        for peer in peers:
            summary = peer.finish()
            best = peer.out / "checkpoints/best.safetensors"
            expect(not pathlib.Path(f"{best}.candidate").exists(), "a candidate was left")
            code, output, errors = run_weft("eval", str(best), "--json")
            expect(code == 0, errors)
            told = json.loads(output)
            expect(told["steps"] == summary["best_step"], f"{told} {summary}")
            expect(abs(told["loss"] / summary["best_loss"] - 1) < 1e-4, f"{told} {summary}")
            expect(summary["best_loss"] <= summary["test_loss"] * (1 + 1e-6), f"{summary}")
            kept.append(read_floats(best))
        expect(kept[0] == kept[1], "the members' best states differ")


TESTS = {test.__name__: test for test in (
    all_members_and_a_newcomer_stop_at_the_same_step,
    the_best_state_is_kept_by_each_member,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
