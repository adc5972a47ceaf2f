"""One recipe over sockets and in `weft sim`, for the tests that compare the two.

Python 3 standard library only.
"""
import json
import os
import subprocess

from harness import RECIPE, WEFT, Group, expect, run_weft, same_hashes

# Sums have the bits of their order: the members keep the order in which they came, whatever their
# lines carry, and those of one host are no smaller group, since each virtual peer is a host.
PINNED = {"run.steps": 30, "run.evaluate": "true", "group.ring": '"fixed"', "group.hosts": '"apart"'}
# Heartbeats follow the time that a run takes, and each process counts until it ends.
BYTES_APART = 0.02


def flags(settings):
    return [f"--set={key}={value}" for key, value in settings.items()]


def simulate(*arguments, environment=None):
    """The events of a simulation; the last one is its result."""
    done = subprocess.run([WEFT, "sim", RECIPE, "--json", *arguments], capture_output=True,
                          text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(environment or {})})
    expect(done.returncode == 0, f"weft sim: exit code {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def exact_rounds_agree(settings, count=3):
    """(state hash, note) of `count` members whose rounds are exact: the state, the loss and, nearly,
    the bytes sent are those of the simulation."""
    settings = {**PINNED, **settings}
    result = simulate("--peers", str(count), *flags(settings))[-1]
    with Group() as group:
        summaries = [peer.finish(60) for peer in group.start(count, settings)]
        on_sockets = same_hashes(summaries)
        losses = {summary["final_loss"] for summary in summaries}
        sent = sum(summary["bytes_sent"] for summary in summaries)
    expect(result["finished"] == count, f"expected {count} peers at the end: {result}")
    expect(result["state_hash"] == on_sockets,
           f"expected the state {on_sockets}, as on sockets, got {result['state_hash']}")
    expect(losses == {result["loss"]}, f"expected the loss {losses}, got {result['loss']}")
    expect(abs(result["bytes_sent"] - sent) < BYTES_APART * sent,
           f"expected about {sent} bytes, as on sockets, got {result['bytes_sent']}")
    return on_sockets, (f"state {on_sockets[:16]}, {sent} bytes on sockets and "
                        f"{result['bytes_sent']} simulated")


def peer_ids(outs):
    ids = []
    for out in outs:
        code, text, errors = run_weft("id", out)
        expect(code == 0, errors)
        ids.append(text.strip())
    return ids


def nobody_was_left_out(peer, summary):
    peer.drain()
    alone = [(e["round"], e["members"], e["neighbours"], e["mixed"]) for _, e in peer.lines
             if e.get("kind") == "round" and e["mixed"] < e["neighbours"]]
    expect(not alone and summary["rounds_left_out"] == 0,
           f"{summary['rounds_left_out']} rounds were left out; rounds with members, "
           f"neighbours and mixed: {alone}")


def gossip_agrees(settings, count=6):
    """(state hashes, note) of `count` members that gossip, with pinned ids, so with the same
    neighbours and samples. All begin with one topology, and nobody misses a deadline: rounds have
    no other freedom."""
    settings = {"run.steps": 40, "run.evaluate": "false", "group.exchange": '"gossip"',
                "gossip.deadline_ms": 60000, **settings}
    with Group() as group:
        outs = [str(group.path / f"peer{number}") for number in range(count)]
        ids = peer_ids(outs)
        identities = [word for out in outs for word in ("--identity", out)]
        result = simulate("--peers", str(count), *identities, *flags(settings))[-1]
        peers = group.start(count, settings)
        summaries = [peer.finish(60) for peer in peers]
        for peer, summary in zip(peers, summaries):
            nobody_was_left_out(peer, summary)
    expect(result["peer_ids"] == ids, f"expected the peers {ids}, got {result['peer_ids']}")
    simulated = dict(zip(result["peer_ids"], result["peer_states"]))
    for summary in summaries:
        expect(summary["state_hash"] == simulated[summary["peer_id"]],
               f"peer {summary['peer_id'][:8]}: {summary['state_hash'][:16]} on sockets, "
               f"{simulated[summary['peer_id']][:16]} simulated")
    states = set(simulated.values())
    return states, f"{len(states)} states, the first one {summaries[0]['state_hash'][:16]}"


def mix_agrees(settings, count):
    """(state hashes, note) of `count` members of a method of loose exchange, none of which is lost:
    one common model, or one of each member."""
    settings = {"run.evaluate": "true", "group.exchange": '"mix"', **settings}
    result = simulate("--peers", str(count), *flags(settings))[-1]
    with Group() as group:
        summaries = [peer.finish(90) for peer in group.start(count, settings)]
    expect(result["finished"] == count, f"expected {count} peers at the end: {result}")
    on_sockets = sorted(summary["state_hash"] for summary in summaries)
    simulated = sorted(result.get("peer_states") or count * [result["state_hash"]])
    expect(on_sockets == simulated,
           f"expected the states {[state[:16] for state in simulated]}, as in the simulation, got "
           f"{[state[:16] for state in on_sockets]}")
    for summary in summaries:
        expect(summary["status"] == "finished" and summary["test_accuracy"] is not None,
               f"expected a measured end: {summary}")
    states = set(on_sockets)
    return states, f"{len(states)} states, the first one {on_sockets[0][:16]}"
