#!/usr/bin/env python3
"""Methods of loose exchange (docs/methods.md) by processes over real sockets: members that wait for
nobody while one is killed, a server that is lost, newcomers that come too late.

usage: mix_test.py [NAME ...]
"""
import sys

from harness import Group, expect, main, newest_checkpoint, run_weft

MIX = {"group.exchange": '"mix"', "group.discovery": '"off"', "local.steps": 4,
       "run.global_batch": 16, "data.partition": '"dirichlet:alpha=1"',
       "group.suspicion_timeout_ms": 3000, "run.round_seconds_min": 0.03}


def settings(method, rounds, **more):
    return {**MIX, "mix.method": f'"{method}"', "run.steps": 4 * rounds, **more}


def events(peer, kind):
    peer.drain()
    return [event for _, event in peer.lines if event.get("kind") == kind]


def goes_on_without_one(method, **more):
    def test():
        with Group() as group:
            peers = group.start(4, settings(method, 120, **more), ["--threads", "1"])
            peers[0].wait_round(10, 60)
            victim = peers.pop(2)
            victim.kill()
            summaries = [peer.finish(120) for peer in peers]
            for peer, summary in zip(peers, summaries):
                expect(summary["status"] == "finished" and summary["steps"] == 480, f"{summary}")
                expect(summary["test_accuracy"] > 0.9, f"{method}: {summary}")
            # Who has the last version leaves, perhaps before others have it.
            lost = [each for each in events(peers[0], "peer_left")
                    if each["reason"] != "it has left"]
            expect(len(lost) == 1, f"expected one peer to be lost: {lost}")
            return f"accuracy {min(s['test_accuracy'] for s in summaries):.3f}, {lost[0]['reason']}"
    return test


def a_lost_server_ends_the_run_with_a_reason():
    with Group() as group:
        peers = group.start(3, settings("fedavg", 4000, **{"checkpoint.every_steps": 4}))
        peers[1].wait_round(10, 60)
        peers[0].kill()
        for peer in peers[1:]:
            expect(peer.end(30) == 3, f"expected exit code 3; {peer.tail()}")
            failed = events(peer, "failed")
            expect(failed and "member 0" in failed[0]["reason"], f"{failed}; {peer.tail()}")
            newest_checkpoint(peer.out)
        return failed[0]["reason"]


def one_that_leaves_is_not_waited_for():
    with Group() as group:
        peers = group.start(3, settings("fedavg", 60))
        peers[0].wait_round(5, 60)
        peers[1].interrupt()
        expect(peers[1].end(30) == 130, f"expected exit code 130; {peers[1].tail()}")
        hashes = {peer.finish(60)["state_hash"] for peer in (peers[0], peers[2])}
        expect(len(hashes) == 1, f"expected one model, got {hashes}")


def who_comes_late_is_refused():
    with Group() as group:
        peers = group.start(2, settings("dpsgd", 4000))
        peers[0].wait_round(3, 60)
        late = group.join(peers[0].ticket())
        expect(late.end(30) == 2, f"expected exit code 2; {late.tail()}")
        told = " ".join(event["reason"] for event in events(late, "failed"))
        expect("the run has begun with its 2 members" in told, f"{told}; {late.tail()}")
        code, text, errors = run_weft("ticket", str(peers[1].out))
        expect(code != 0 and "founded" in errors, f"{code}: {text}{errors}")


def too_few_end_it():
    with Group() as group:
        founder = group.found(settings("fedavg", 10, **{"group.start_members": 3,
                                                        "group.start_timeout_s": 4}))
        other = group.join(founder.ticket())
        expect(founder.end(30) != 0, f"expected no good end; {founder.tail()}")
        failed = events(founder, "failed")
        expect(failed and "expected 3 members" in failed[0]["reason"], f"{failed}")
        expect(other.end(30) != 0, f"expected no good end; {other.tail()}")
        return failed[0]["reason"]


def instruction_sets_hold_one_model():
    """Their losses have other bits, so the numbers that they send do; the model is one."""
    with Group() as group:
        wanted = settings("spsa_byte", 1000, **{
            "group.start_members": 2, "local.steps": 1, "run.steps": 1000,
            "model.name": '"linear"', "mix.outer": '"plain:rate=0.001"',
            "mix.local": '"spsa:directions=4"',
            "run.round_seconds_min": 0})
        founder = group.found(wanted, ["--threads", "1"], environment={"WEFT_ISA": "generic"})
        other = group.join(founder.ticket())
        summaries = [peer.finish(300) for peer in (founder, other)]
        hashes = {summary["state_hash"] for summary in summaries}
        expect(len(hashes) == 1, f"expected one model, got {hashes}")
        first, last = (events(founder, "round")[at]["loss"] for at in (0, -1))
        expect(last < first, f"expected it to learn, got a loss of {first} and then {last}")
        return f"loss {first:.3f} to {last:.3f}, {summaries[0]['bytes_sent']} bytes"


TESTS = {
    "fedbuff": goes_on_without_one("fedbuff", **{"mix.trigger": '"buffer:size=2"'}),
    "async_sgd": goes_on_without_one("async_sgd"),
    "ad_psgd": goes_on_without_one("ad_psgd"),
    "afa_cd": goes_on_without_one("afa_cd", **{
        "mix.trigger": '"buffer:size=2:staleness=0:by_steps=1"'}),
    "modest": goes_on_without_one("modest", **{"mix.plan": '"sampled:size=3"',
                                               "mix.trigger": '"round:timeout=1"'}),
    "dpsgd": goes_on_without_one("dpsgd"),
    "a_lost_server_ends_the_run_with_a_reason": a_lost_server_ends_the_run_with_a_reason,
    "one_that_leaves_is_not_waited_for": one_that_leaves_is_not_waited_for,
    "who_comes_late_is_refused": who_comes_late_is_refused,
    "too_few_end_it": too_few_end_it,
    "instruction_sets_hold_one_model": instruction_sets_hold_one_model,
}

if __name__ == "__main__":
    sys.exit(main(TESTS))
