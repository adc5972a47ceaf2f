#!/usr/bin/env python3
"""What `weft sim` promises: the bits of the same run on sockets, and the same events each time.

usage: simulated_test.py [NAME ...]
"""
import sys

from both_worlds import exact_rounds_agree, flags, gossip_agrees, simulate
from harness import RECIPE, expect, main, run_weft

WORLD = ["--peers", "5", "--speed", "500..5000", "--mbit", "10,100", "--ms", "2..40",
         "--loss", "0,0.001", "--crash", "any@6..9", "--join", "7"]


def synchronous_rounds_have_the_state_of_sockets():
    return exact_rounds_agree({})[1]


def large_vectors_have_the_state_of_sockets():
    return exact_rounds_agree({"model.hidden_units": 300})[1]


def local_steps_have_the_state_of_sockets():
    return exact_rounds_agree({"local.steps": 6, "optimizer.name": '"adam"'})[1]


def gossip_has_the_states_of_sockets():
    states, note = gossip_agrees({"gossip.degree": 2, "optimizer.name": '"adam"'})
    expect(len(states) == 6, f"expected 6 states: {states}")
    return note


def the_events_do_not_depend_on_threads():
    runs = [simulate(*WORLD, "--threads", threads, *flags({"run.steps": 60}))
            for threads in ("1", "2")]
    expect(runs[0] == runs[1], "expected the same events with one thread and with two")
    result = runs[0][-1]
    expect(result["crashed"] == 1 and result["finished"] == 5, f"expected 5 of 6 peers: {result}")
    expect(any(event["kind"] == "rerun" or event["kind"] == "peer_left" for event in runs[0]),
           "expected that the others notice the crash")
    other = simulate(*WORLD, "--seed", "2", *flags({"run.steps": 60}))[-1]
    expect(other["event_hash"] != result["event_hash"], "expected other events of another seed")
    return f"events {result['event_hash']}"


def a_robust_rule_learns_among_liars():
    """Two of eight send their gradients the other way round, four times as long: 6 - 2 * 4 < 0."""
    lies = ["--peers", "8", "--attack", "sign_flip:scale=4", "--byzantine", "2"]
    rule = flags({"aggregate.rule": '"nnm trimmed_mean"', "aggregate.liars": 2})
    go_on = flags({"run.steps": 60, "run.on_not_finite": '"go_on"', "group.hosts": '"apart"'})
    mean = simulate(*lies, *go_on)[-1]["test_accuracy"]
    robust = simulate(*lies, *go_on, *rule)[-1]["test_accuracy"]
    honest = simulate("--peers", "8", *go_on)[-1]["test_accuracy"]
    expect(mean < 0.5 and robust > honest - 0.05,
           f"expected that only the mean suffers: {mean}, {robust}, without liars {honest}")
    return f"accuracy {mean:.3f} by the mean, {robust:.3f} by the rule, {honest:.3f} without liars"


def what_cannot_be_simulated_is_said():
    for arguments, code, words in (
            (["--peers", "0"], 2, 'expected a whole number, 1 to 16384, got "0"'),
            (["--peers", "4000", "--set", "model.hidden_units=60000"], 2, "this machine has"),
            (["--crash", "7@1"], 2, "--crash: expected a peer from 0 to 3, got 7"),
            (["--ms", "fast"], 2, "--ms: expected a number from 0 to 60000"),
            (["--set", 'group.wait="deadline"'], 2, "group.wait: simulated rounds wait"),
            (["--identity", "nowhere"], 2, "`weft id nowhere` makes it"),
            (["--byzantine", "1"], 2, "expected --attack with it"),
            (["--attack", "alie", "--byzantine", "4"], 2, "expected 1 to 3 liars of 4 peers"),
            (["--attack", "aile", "--byzantine", "1"], 2, 'got "aile"'),
            (["--lanes", "2"], 2, "unknown flag --lanes")):
        got, _, errors = run_weft("sim", RECIPE, *arguments)
        expect(got == code and words in errors,
               f"{arguments}: expected {code} and '{words}', got {got} and '{errors}'")


TESTS = {test.__name__: test for test in (
    synchronous_rounds_have_the_state_of_sockets,
    large_vectors_have_the_state_of_sockets,
    local_steps_have_the_state_of_sockets,
    gossip_has_the_states_of_sockets,
    the_events_do_not_depend_on_threads,
    a_robust_rule_learns_among_liars,
    what_cannot_be_simulated_is_said,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
