#!/usr/bin/env python3
"""What a group of real peers promises: the same mathematics, the same bits, and no hang.

usage: group_test.py [NAME ...] [--kills N]     (default 3 kills; 20 for the long run)
"""
import random
import sys
import time

from harness import (Group, expect, main, newest_checkpoint, read_floats,
                     relative_difference, run_weft, same_hashes)

KILLS = next((int(a.split("=")[1]) for a in sys.argv if a.startswith("--kills=")), 3)
SEED = next((int(a.split("=")[1]) for a in sys.argv if a.startswith("--seed=")), 1)
# Slow enough that a kill lands inside the run, on any machine.
PACED = {"run.round_seconds_min": 0.02}


def finish_all(peers, seconds=60):
    return [peer.finish(seconds) for peer in peers]


def same_mathematics_for_one_to_four_peers():
    results = {}
    for count in (1, 2, 3, 4):
        with Group() as group:
            peers = group.start(count, {"run.steps": 50})
            same_hashes(finish_all(peers))
            results[count] = read_floats(newest_checkpoint(peers[0].out))
    worst = max(relative_difference(results[n], results[1]) for n in (2, 3, 4))
    expect(worst < 1e-5, f"expected a relative difference below 1e-5, got {worst:.2e}")
    return f"worst relative difference {worst:.1e}"


def values_that_travel_short_give_equal_states_near_those_of_f32():
    """A member dies and another joins meanwhile: residuals are no part of the state."""
    with Group() as group:
        exact = group.found({"run.steps": 200}).finish()
    notes = []
    for wire in ("bf16", "f16", "int8"):
        with Group() as group:
            peers = group.start(3, {"run.steps": 200, "group.wire": f'"{wire}"', **PACED})
            peers[0].wait_round(30)
            peers[2].kill()
            late = group.join(peers[0].ticket())
            summaries = finish_all([*peers[:2], late], 150)
            same_hashes(summaries)
            change = abs(summaries[0]["final_loss"] - exact["final_loss"])
            expect(change < 0.02, f"{wire}: the loss differs by {change:.4f} from f32's")
            notes.append(f"{wire} {change:.1e}")
    return "loss against f32's: " + ", ".join(notes)


def encoded_gradients_give_equal_states():
    """A member dies and another joins meanwhile."""
    for wire in ("topk:ratio=0.05", "ef_sign"):
        with Group() as group:
            peers = group.start(3, {"run.steps": 100, "group.wire": f'"{wire}"', **PACED})
            peers[0].wait_round(30)
            peers[2].kill()
            late = group.join(peers[0].ticket())
            same_hashes(finish_all([*peers[:2], late], 150))


def encoded_gradients_take_fewer_bytes():
    """Without newcomers, which fetch sums that nobody encodes."""
    sent = {}
    for wire in ("f32", "topk:ratio=0.05", "ef_sign"):
        with Group() as group:
            settings = {"run.steps": 60, "run.evaluate": "false", "group.wire": f'"{wire}"'}
            summaries = [peer.finish(60) for peer in group.start(3, settings)]
            same_hashes(summaries)
            sent[wire] = min(summary["bytes_sent"] for summary in summaries)
    for wire, least in (("topk:ratio=0.05", 3), ("ef_sign", 5)):
        ratio = sent["f32"] / sent[wire]
        expect(ratio > least, f"{wire}: expected {least} times fewer bytes, got {ratio:.1f}")
    return "bytes sent: " + ", ".join(f"{wire} {count}" for wire, count in sent.items())


def same_bits_for_any_thread_count():
    with Group() as group:
        founder = group.found({"group.start_members": 3, "run.steps": 50}, ["--threads", "1"])
        ticket = founder.ticket()
        others = [group.join(ticket, ["--threads", str(n)]) for n in (2, 3)]
        same_hashes(finish_all([founder, *others]))


def survivors_go_on_when_one_is_killed():
    """Kills a random peer, the founder too, right after a random round of a random peer; the rest
    must make a round of three within 3 s, and end with equal hashes."""
    rng = random.Random(SEED)
    worst = 0.0
    for kill in range(KILLS):
        with Group() as group:
            peers = group.start(4, {"run.steps": 1500})
            rng.choice(peers).wait_round(rng.randrange(1, 400))
            victim = 0 if kill == 0 else rng.randrange(4)
            killed_at = time.monotonic()
            peers[victim].kill()
            survivors = [p for i, p in enumerate(peers) if i != victim]
            for peer in survivors:
                seen_at, _ = peer.wait_for(
                    lambda e: e.get("kind") == "round" and e["members"] == 3,
                    "a round of the three that are left", 10.0)
                expect(seen_at > killed_at, "a round of three was seen before the kill")
                worst = max(worst, seen_at - killed_at)
            same_hashes(finish_all(survivors))
    expect(worst < 3.0, f"expected the next round within 3 s, took {worst:.2f} s")
    return f"{KILLS} kills, slowest next round {worst:.2f} s after the kill (seed {SEED})"


def a_newcomer_gets_the_state_while_the_others_go_on():
    with Group() as group:
        peers = group.start(2, {"run.steps": 200, **PACED})
        peers[0].wait_round(30)
        late = group.join(peers[0].ticket())
        summaries = finish_all([*peers, late])
        same_hashes(summaries)
        expect(summaries[0]["rounds_rerun"] <= 1, f"joining reran rounds: {summaries[0]}")


def a_killed_founder_is_replaced_by_a_newcomer():
    with Group() as group:
        peers = group.start(3, {"run.steps": 250, **PACED})
        ticket = peers[0].ticket()
        peers[2].wait_round(20)
        # The founder's ticket names further members only if it was made after they joined.
        fresh = peers[1].ticket() if any(
            e.get("kind") == "ticket" for _, e in peers[1].lines) else ticket
        late = group.join(fresh)
        late.wait_round(30)
        peers[0].kill()
        same_hashes(finish_all([*peers[1:], late]))


def two_of_five_left_explain_that_the_quorum_is_lost():
    with Group() as group:
        peers = group.start(5, {"run.steps": 100000, "group.quorum_timeout_s": 2,
                                "group.on_quorum_lost": '"exit"', **PACED})
        for peer in peers:
            peer.wait_round(5)
        for peer in peers[:3]:
            peer.kill()
        for peer in peers[3:]:
            _, event = peer.wait_kind("quorum_lost", 15.0)
            # The first of the two to give up is missing for the other.
            expect(len(event["missing"]) in (3, 4), f"expected three missing, got {event}")
            expect("What to do" in event["text"], f"no remedy in {event}")
            code = peer.end(20.0)
            expect(code == 5, f"expected exit code 5 for a lost quorum, got {code}")
            newest_checkpoint(peer.out)


def two_of_five_left_wait_when_told_to():
    with Group() as group:
        peers = group.start(5, {"run.steps": 100000, "group.quorum_timeout_s": 2,
                                "group.on_quorum_lost": '"wait"', **PACED})
        for peer in peers:
            peer.wait_round(5)
        for peer in peers[:3]:
            peer.kill()
        for peer in peers[3:]:
            peer.wait_kind("quorum_lost", 15.0)
        stopped_at = peers[3].last_round()
        expect(peers[3].process.poll() is None, "expected the peer to wait, it ended")
        expect(peers[3].last_round() <= stopped_at + 1, "rounds went on without a quorum")
        for peer in peers[3:]:
            peer.interrupt()
        for peer in peers[3:]:
            peer.end(15.0)


def one_interrupt_leaves_politely():
    with Group() as group:
        peers = group.start(3, {"run.steps": 250, **PACED})
        peers[1].wait_round(10)
        peers[1].interrupt()
        code = peers[1].end(10.0)
        expect(code == 130, f"expected exit code 130, got {code}")
        _, event = peers[0].wait_kind("peer_left", 5.0)
        expect(event.get("seconds_lost", 0) < 1.5, f"a polite leave cost too much: {event}")
        same_hashes(finish_all([peers[0], peers[2]]))


def two_interrupts_leave_at_once():
    """While the other member stands still a polite leave has to wait; the second Ctrl-C does not."""
    with Group() as group:
        still, peer = group.start(2, {"run.steps": 100000, **PACED})
        peer.wait_round(1)
        still.pause()
        peer.interrupt()
        peer.wait_signals_taken(2.0)
        peer.interrupt()
        code = peer.end(2.0)
        expect(code == 130, f"expected exit code 130, got {code}")
        expect(not (peer.out / "summary.json").exists(), "it ended politely, not at once")


def resume_gives_the_same_bits():
    with Group() as group:
        whole = group.found({"run.steps": 60}, name="whole").finish()
        first = group.found({"run.steps": 60, **PACED}, name="parts")
        first.wait_round(20)
        first.interrupt()
        first.end(10.0)
        second = group.found({"run.steps": 60}, ["--resume"], name="parts").finish()
        expect(second["state_hash"] == whole["state_hash"],
               f"resumed {second['state_hash']}, uninterrupted {whole['state_hash']}")


def bad_tickets_are_refused_and_others_unaffected():
    with Group() as group:
        founder = group.found({"run.steps": 400, **PACED})
        ticket = founder.ticket()
        middle = len(ticket) // 2
        altered = ticket[:middle] + ("a" if ticket[middle] != "a" else "b") + ticket[middle + 1:]
        for bad in (altered, ticket[:-3], "weft2-", "nonsense", ticket + ticket):
            code, _, errors = run_weft("join", bad, "--out", str(group.path / "bad"), "--json")
            expect(code != 0 and code < 128, f"expected a refusal, got exit code {code}")
            expect("ticket" in errors, f"expected the error to speak of the ticket, got {errors!r}")
        good = group.join(ticket)
        good.wait_round(founder.last_round() + 2)
        founder.stop()
        expect(good.process.poll() is None, "the other peer was affected")


def peers_option_starts_local_peers():
    with Group() as group:
        founder = group.found({"run.steps": 100}, ["--peers", "3"])
        summary = founder.finish()
        left = [e for _, e in founder.lines if e.get("kind") == "peer_joined"]
        expect(len(left) >= 2, f"expected two peers to join, saw {left}")
        expect(summary["steps"] == 100, f"expected 100 steps, got {summary}")


TESTS = {test.__name__: test for test in (
    same_mathematics_for_one_to_four_peers,
    values_that_travel_short_give_equal_states_near_those_of_f32,
    encoded_gradients_give_equal_states,
    encoded_gradients_take_fewer_bytes,
    same_bits_for_any_thread_count,
    survivors_go_on_when_one_is_killed,
    a_newcomer_gets_the_state_while_the_others_go_on,
    a_killed_founder_is_replaced_by_a_newcomer,
    two_of_five_left_explain_that_the_quorum_is_lost,
    two_of_five_left_wait_when_told_to,
    one_interrupt_leaves_politely,
    two_interrupts_leave_at_once,
    resume_gives_the_same_bits,
    bad_tickets_are_refused_and_others_unaffected,
    peers_option_starts_local_peers,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
