#!/usr/bin/env python3
"""What real peers of unequal speed promise: shares that follow it, rounds that do not wait.

usage: unequal_test.py [NAME ...]
"""
import os
import signal
import sys
import time

from harness import Group, Slow, expect, main, same_hashes

# Long enough that a pause of two seconds is no reason to put a member out.
PATIENT = {"group.heartbeat_interval_ms": 1000, "group.suspicion_timeout_ms": 10000}


def events(peer, kind):
    peer.drain()
    return [e for _, e in peer.lines if e.get("kind") == kind]


def a_pause_of_two_seconds_costs_no_member_its_place():
    with Group() as group:
        peers = group.start(2, {"run.steps": 400, "run.round_seconds_min": 0.01,
                                "group.wait": '"deadline"', "group.deadline_ms": 100, **PATIENT})
        peers[0].wait_round(100)
        peers[1].pause()
        time.sleep(2.0)  # tidy: allow sleep: the pause is what is tested
        os.kill(peers[1].process.pid, signal.SIGCONT)
        summaries = [peer.finish(60) for peer in peers]
        same_hashes(summaries)
        for peer, summary in zip(peers, summaries):
            expect(not events(peer, "peer_left"), f"a member was put out: {events(peer, 'peer_left')}")
            expect(summary["view_changes"] <= 2, f"views changed: {summary}")
            expect(summary["test_accuracy"] > 0.95, f"accuracy {summary['test_accuracy']}")
        return f"accuracy {summaries[0]['test_accuracy']:.3f}"


def late_gradients_are_carried_between_processes():
    """One process is stopped and started all the time: it is late now and then, and both end with
    the same bits, whatever the gate makes of its gradients."""
    accuracies = []
    for gate in ("carry", "polynomial", "delay_compensation"):
        with Group() as group:
            peers = group.start(2, {"run.steps": 300, "run.round_seconds_min": 0.005,
                                    "group.wait": '"deadline"', "group.deadline_ms": 20,
                                    "group.late": f'"{gate}"', **PATIENT})
            with Slow(peers[1].process, 0.25, 0.2):
                peers[0].wait_round(250, 60)
            summaries = [peer.finish(60) for peer in peers]
            same_hashes(summaries)
            accuracy = summaries[0]["test_accuracy"]
            expect(accuracy > 0.95, f"{gate}: accuracy {accuracy}")
            accuracies.append(f"{gate} {accuracy:.3f}")
    return ", ".join(accuracies)


def shares_follow_the_speed_of_processes():
    settings = {"run.steps": 100000, "run.global_batch": 512, "model.hidden_units": 2048,
                "group.shares": '"speed"', **PATIENT}
    with Group() as group:
        peers = group.start(2, settings, ["--threads", "1"])
        with Slow(peers[1].process, 0.2):
            _, event = peers[0].wait_for(
                lambda e: e.get("kind") == "round" and e["share"] >= 300, "a larger share", 60.0)
            _, other = peers[1].wait_for(
                lambda e: e.get("kind") == "round" and e["round"] == event["round"],
                "the same round at the other one", 30.0)
            expect(event["share"] + other["share"] == 512, f"shares {event} {other}")
        return f"shares {event['share']} and {other['share']}"


TESTS = {test.__name__: test for test in (
    a_pause_of_two_seconds_costs_no_member_its_place,
    late_gradients_are_carried_between_processes,
    shares_follow_the_speed_of_processes,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
