#!/usr/bin/env python3
"""What `weft sim` promises: the bits of the same run on sockets, and the same events each time.

usage: simulated_test.py [NAME ...]
"""
import json
import os
import subprocess
import sys

from harness import RECIPE, WEFT, Group, expect, main, run_weft, same_hashes

# Sums have the bits of their order: the members keep the order in which they came, whatever their
# lines carry, and those of one host are no smaller group, since each virtual peer is a host.
PINNED = {"run.steps": 30, "run.evaluate": "true", "group.ring": '"fixed"', "group.hosts": '"apart"'}
WORLD = ["--peers", "5", "--speed", "500..5000", "--mbit", "10,100", "--ms", "2..40",
         "--loss", "0,0.001", "--crash", "any@6..9", "--join", "7"]


def flags(settings):
    return [f"--set={key}={value}" for key, value in settings.items()]


def simulate(*arguments, environment=None):
    """The events of a simulation; the last one is its result."""
    done = subprocess.run([WEFT, "sim", RECIPE, "--json", *arguments], capture_output=True,
                          text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(environment or {})})
    expect(done.returncode == 0, f"weft sim: exit code {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def same_state_on_sockets(settings):
    settings = {**PINNED, **settings}
    result = simulate("--peers", "3", *flags(settings))[-1]
    with Group() as group:
        summaries = [peer.finish(60) for peer in group.start(3, settings)]
        on_sockets = same_hashes(summaries)
        losses = {summary["final_loss"] for summary in summaries}
        sent = sum(summary["bytes_sent"] for summary in summaries)
    expect(result["finished"] == 3, f"expected 3 peers at the end: {result}")
    expect(result["state_hash"] == on_sockets,
           f"expected the state {on_sockets}, as on sockets, got {result['state_hash']}")
    expect(losses == {result["loss"]}, f"expected the loss {losses}, got {result['loss']}")
    # Heartbeats follow the time that a run takes, and each process counts until it ends.
    expect(abs(result["bytes_sent"] - sent) < 0.02 * sent,
           f"expected about {sent} bytes, as on sockets, got {result['bytes_sent']}")
    return f"state {on_sockets[:16]}, {sent} bytes on sockets and {result['bytes_sent']} simulated"


def synchronous_rounds_have_the_state_of_sockets():
    return same_state_on_sockets({})


def large_vectors_have_the_state_of_sockets():
    return same_state_on_sockets({"model.hidden_units": 300})


def local_steps_have_the_state_of_sockets():
    return same_state_on_sockets({"local.steps": 6, "optimizer.name": '"adam"'})


def gossip_has_the_states_of_sockets():
    """Six members with pinned ids, so with the same neighbours and samples. All begin with one
    topology, and nobody misses a deadline: rounds have no other freedom."""
    settings = {"run.steps": 40, "run.evaluate": "false", "group.exchange": '"gossip"',
                "gossip.degree": 2, "gossip.deadline_ms": 60000, "optimizer.name": '"adam"'}
    count = 6
    with Group() as group:
        outs = [str(group.path / f"peer{number}") for number in range(count)]
        ids = []
        for out in outs:
            code, text, errors = run_weft("id", out)
            expect(code == 0, errors)
            ids.append(text.strip())
        identities = [word for out in outs for word in ("--identity", out)]
        result = simulate("--peers", str(count), *identities, *flags(settings))[-1]
        peers = group.start(count, settings)
        summaries = [peer.finish(60) for peer in peers]
        for peer, summary in zip(peers, summaries):
            peer.drain()
            alone = [(e["round"], e["members"], e["neighbours"], e["mixed"]) for _, e in peer.lines
                     if e.get("kind") == "round" and e["mixed"] < e["neighbours"]]
            expect(not alone and summary["rounds_left_out"] == 0,
                   f"{summary['rounds_left_out']} rounds were left out; rounds with members, "
                   f"neighbours and mixed: {alone}")
    expect(result["peer_ids"] == ids, f"expected the peers {ids}, got {result['peer_ids']}")
    simulated = dict(zip(result["peer_ids"], result["peer_states"]))
    expect(len(set(simulated.values())) == count, f"expected {count} states: {simulated}")
    for summary in summaries:
        expect(summary["state_hash"] == simulated[summary["peer_id"]],
               f"peer {summary['peer_id'][:8]}: {summary['state_hash'][:16]} on sockets, "
               f"{simulated[summary['peer_id']][:16]} simulated")
    return f"{count} states, the first one {summaries[0]['state_hash'][:16]}"


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


def what_cannot_be_simulated_is_said():
    for arguments, code, words in (
            (["--peers", "0"], 2, 'expected a whole number, 1 to 4096, got "0"'),
            (["--peers", "4000", "--set", "model.hidden_units=60000"], 2, "this machine has"),
            (["--crash", "7@1"], 2, "--crash: expected a peer from 0 to 3, got 7"),
            (["--ms", "fast"], 2, "--ms: expected a number from 0 to 60000"),
            (["--set", 'group.wait="deadline"'], 2, "group.wait: simulated rounds wait"),
            (["--identity", "nowhere"], 2, "`weft id nowhere` makes it"),
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
    what_cannot_be_simulated_is_said,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
