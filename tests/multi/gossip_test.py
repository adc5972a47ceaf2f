#!/usr/bin/env python3
"""Members that average with neighbours and agree on nothing (docs/gossip.md), over real sockets.

usage: gossip_test.py [NAME ...] [--kills N] [--seed N]
--kills is how many members are killed in a_third_is_killed_and_nobody_waits; 4 without it, and 50
take about five minutes. Each one that is killed is followed by another that joins.
"""
import random
import sys
import time

from harness import (Group, Peer, RECIPE, expect, main, newest_checkpoint, read_floats,
                     relative_difference, run_weft)

GOSSIP = {"group.exchange": '"gossip"', "group.discovery": '"off"'}
DEADLINE_S = 0.6
PACE_S = 0.05
# What a machine with two cores may need for a round of eight processes that all compute.
SLACK_S = 1.0


def option(name, default):
    if name not in sys.argv:
        return default
    return int(sys.argv[sys.argv.index(name) + 1])


KILLS = option("--kills", 4)
SEED = option("--seed", 1)


def events(peer, kind):
    peer.drain()
    return [event for _, event in peer.lines if event.get("kind") == kind]


def flags(settings):
    return [f"--set={key}={value}" for key, value in settings.items()]


def model_of(peer):
    """The parameters in its newest checkpoint; what its optimizer remembers is its own."""
    tensors = read_floats(newest_checkpoint(peer.out))
    return {name: values for name, values in tensors.items() if not name.startswith("optimizer/")}


def largest_distance(peers):
    """Over all pairs and tensors, of the models in their newest checkpoints."""
    models = [model_of(peer) for peer in peers]
    return max(relative_difference(left, right) for i, left in enumerate(models)
               for right in models[i + 1:])


def distance_without_exchange(group, settings):
    """How far apart two members come that train for as long and never meet."""
    settings = {**settings, "run.round_seconds_min": 0, "group.start_members": 1}
    alone = [group.found(settings, ["--threads", "1"]) for _ in range(2)]
    for peer in alone:
        peer.finish(60.0)
    return largest_distance(alone)


def check_pauses(peer):
    """No round took longer than its pace and the deadline."""
    rounds = events(peer, "round")
    for before, after in zip(rounds, rounds[1:]):
        pause = after["t"] - before["t"]
        expect(pause < PACE_S + DEADLINE_S + SLACK_S,
               f"{pause:.2f} s between rounds {before['round']} and {after['round']}")
    return max((after["t"] - before["t"] for before, after in zip(rounds, rounds[1:])), default=0)


def a_third_is_killed_and_nobody_waits():
    """Six members; one after the other is killed without a word at a drawn moment, in bursts of a
    third of them, and others join. The rest goes on at its pace, with no view and no agreement."""
    rng = random.Random(SEED)
    count = 6
    bursts = max(1, KILLS // 2)
    steps = int((6 + 6 * bursts) / PACE_S)
    settings = {**GOSSIP, "run.steps": steps, "run.round_seconds_min": PACE_S,
                "gossip.deadline_ms": int(DEADLINE_S * 1000), "checkpoint.every_steps": 20}
    with Group() as group:
        alive = group.start(count, settings, ["--threads", "1"])
        killed = []
        alive[0].wait_round(5, 60)
        for _ in range(bursts):
            time.sleep(rng.uniform(0.5, 2.0))  # tidy: allow sleep: faults at drawn moments
            ticket = alive[-1].ticket()
            for victim in rng.sample(alive[:-1], 2):
                victim.kill()
                victim.process.wait(20.0)
                alive.remove(victim)
                killed.append(victim)
                time.sleep(rng.uniform(0.0, 0.3))  # tidy: allow sleep: likewise
            newcomers = [group.join(ticket, ["--threads", "1"]) for _ in range(2)]
            for newcomer in newcomers:
                newcomer.wait_kind("first_step", 30.0)
            alive += newcomers
        summaries = [peer.finish(120.0) for peer in alive]
        expect(len(alive) == count and len(killed) == 2 * bursts, "expected as many as at first")
        longest = max(check_pauses(peer) for peer in alive)
        for peer, summary in zip(alive, summaries):
            expect(not events(peer, "view_changed"), "expected no view")
            expect(summary["rounds"] == steps, f"expected {steps} rounds: {summary}")
            expect(summary["members"] >= count, f"expected {count} members: {summary}")
            expect(summary["test_accuracy"] > 0.95, f"accuracy {summary['test_accuracy']}")
        distance = largest_distance(alive)
        unmixed = distance_without_exchange(group, settings)
        expect(distance < 0.05 * unmixed,
               f"models are {distance:.2g} apart, those that never met {unmixed:.2g}")
        return (f"{len(killed)} killed in {steps} rounds, the longest {longest:.2f} s, models "
                f"{100 * distance:.2g} % apart, those that never met {100 * unmixed:.2g} %")


def progress_says_who_is_there():
    with Group() as group:
        peers = group.start(4, {**GOSSIP, "run.steps": 4000, "run.round_seconds_min": 0.02,
                                "gossip.topology": '"ring"'})
        peers[1].wait_round(20, 30)
        code, text, errors = run_weft("status", str(peers[1].out))
        expect(code == 0 and "member: 4 members known, round " in text, f"{code}: {text}{errors}")
        expect("4 peers, mixed with 2 neighbours, " in text and " % apart" in text, text)
        expect("view" not in text, text)
        last = events(peers[1], "round")[-1]
        expect((last["members"], last["neighbours"], last["mixed"]) == (4, 2, 2), f"{last}")
        expect(0 <= last["distance"] < 0.5, f"{last}")
        for words in (["revoke", str(peers[1].out), "all"], ["expel", str(peers[1].out), "aaaa"]):
            code, text, errors = run_weft(*words)
            expect(code != 0 and errors, f"{words}: expected a refusal, got {code}: {text}")
        peers[1].interrupt()
        expect(peers[1].end(30) == 130, f"expected exit code 130; {peers[1].tail()}")
        before = peers[0].last_round()
        peers[0].wait_round(before + 20, 30)
        expect(events(peers[0], "round")[-1]["members"] == 3, "expected 3 members after one left")


def a_code_of_a_member_lets_another_join():
    with Group() as group:
        settings = {**GOSSIP, "group.discovery": '"lan"', "run.steps": 100, "group.start_members": 2}
        founder = group.found(settings)
        told = founder.wait_kind("ticket")[1]
        if "code" not in told:
            return "left out: no multicast here"
        peers = [founder, group.join(told["code"], ["--listen", "127.0.0.1:0"])]
        for peer in peers:
            expect(peer.finish(60)["members"] == 2, "expected two members")
    return told["code"]


def a_run_whose_members_have_all_died_goes_on_from_a_checkpoint():
    settings = {**GOSSIP, "run.steps": 300, "run.round_seconds_min": 0.02,
                "checkpoint.every_steps": 10}
    with Group() as group:
        peers = group.start(3, settings)
        peers[0].wait_for(lambda e: e.get("kind") == "checkpoint" and e["step"] >= 50,
                          "a checkpoint", 60)
        for peer in peers:
            peer.kill()
            peer.process.wait(20.0)
        kept = int(newest_checkpoint(peers[0].out).rsplit("-", 1)[1].split(".")[0])
        again = Peer(["run", RECIPE, "--resume", "--listen", "127.0.0.1:0",
                      *flags({**settings, "group.start_members": 2})], peers[0].out)
        group.peers.append(again)
        other = group.join(again.ticket())
        for peer in (again, other):
            first = peer.wait_kind("round", 30)[1]
            expect(first["round"] == kept + 1, f"expected round {kept + 1}, got {first}")
            expect(first["members"] == 2 and first["mixed"] == 1, f"{first}")
            summary = peer.finish(60)
            expect(summary["steps"] == 300, f"{summary}")
        first = events(other, "round")[0]
        expect(first["loss"] < 0.5, f"expected the loss of a trained model, got {first['loss']}")
        expect(events(again, "started")[-1]["role"] == "resumed", "expected the role resumed")
        return f"went on after step {kept}"


def what_gossip_has_no_use_for_is_refused():
    for setting, words in (('aggregate.rule="median"', 'aggregate.rule: expected "mean"'),
                           ('group.wire="int8"', 'group.wire: expected "f32"'),
                           ("local.steps=4", "local.steps: expected 1"),
                           ("gossip.degree=3", "gossip.degree: expected an even number"),
                           ('group.on_split="merge"', "group.on_")):
        code, _, errors = run_weft("run", RECIPE, "--set", 'group.exchange="gossip"', "--set",
                                   setting, "--out", "/nonexistent/weft")
        expect(code == 2 and words in errors, f"{setting}: got {code}: {errors}")


TESTS = {test.__name__: test for test in (
    a_third_is_killed_and_nobody_waits,
    progress_says_who_is_there,
    a_code_of_a_member_lets_another_join,
    a_run_whose_members_have_all_died_goes_on_from_a_checkpoint,
    what_gossip_has_no_use_for_is_refused,
)}

if __name__ == "__main__":
    for flag in ("--kills", "--seed"):
        if flag in sys.argv:
            del sys.argv[sys.argv.index(flag):sys.argv.index(flag) + 2]
    sys.exit(main(TESTS))
