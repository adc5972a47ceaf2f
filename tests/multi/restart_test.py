#!/usr/bin/env python3
"""Peers that are killed and started again with the --out that they had, over real sockets.

usage: restart_test.py [NAME ...] [--tries N] [--seed N]
--tries repeats each test that draws its moments, with another seed each time. By name only:
eight_newcomers_on_a_large_state, which takes minutes of all cores and 7 GB.
"""
import random
import socket
import sys
import time

from harness import Group, Peer, RECIPE, expect, main, run_weft, same_hashes

PACED = {"run.steps": 500, "run.round_seconds_min": 0.02, "checkpoint.every_steps": 5,
         "checkpoint.keep": 2, "group.discovery": "off", "group.on_quorum_lost": "wait",
         "group.quorum_timeout_s": 2}


def option(name, default):
    if name not in sys.argv:
        return default
    return int(sys.argv[sys.argv.index(name) + 1])


TRIES = option("--tries", 1)
SEED = option("--seed", 1)


def step_of(peer):
    steps = [int(path.stem.split("-")[1]) for path in peer.out.glob("checkpoints/*.safetensors")]
    expect(steps, f"expected a checkpoint in {peer.out}/checkpoints, found none")
    return max(steps)


def free_ports(count):
    """Ports that nobody uses now, all different."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Machines:
    """Peers at fixed addresses: what is started again is found where it was."""

    def __init__(self, group, count, settings):
        self.group = group
        self.settings = settings
        self.listen = [f"127.0.0.1:{port}" for port in free_ports(count)]
        self.tickets = []
        first = group.found({"group.start_members": count, **settings}, listen=self.listen[0])
        self.peers = [first]
        self.ticket = first.ticket()
        for listen in self.listen[1:]:
            self.peers.append(group.join(self.ticket, ["--listen", listen]))

    def kill(self, number):
        self.peers[number].kill()
        self.peers[number].process.wait(20.0)

    def join(self, number, ticket=None):
        """The machine `number` once more, with the command that it had."""
        self._start(number, ["join", ticket or self.ticket, "--listen", self.listen[number]])

    def resume(self, number):
        sets = [f"--set={key}={value}" for key, value in self.settings.items()]
        self._start(number, ["run", RECIPE, "--resume", "--listen", self.listen[number], *sets])

    def _start(self, number, arguments):
        self.peers[number] = Peer(arguments, self.peers[number].out)
        self.group.peers.append(self.peers[number])

    def finish(self, seconds=90.0):
        summaries = [peer.finish(seconds) for peer in self.peers]
        for summary in summaries:
            expect(summary["steps"] == self.settings["run.steps"], f"steps {summary['steps']}")
        return same_hashes(summaries)


def repeated(test):
    """Runs `test` with one random generator after another."""
    def run():
        notes = [test(random.Random(SEED + number)) for number in range(TRIES)]
        return notes[0] if TRIES == 1 else f"{TRIES} tries; the last: {notes[-1]}"
    run.__name__ = test.__name__
    return run


@repeated
def half_of_four_are_killed_and_started_again_while_the_others_wait(rng):
    with Group() as group:
        machines = Machines(group, 4, PACED)
        victims = rng.sample(range(4), 2)
        alive = [i for i in range(4) if i not in victims]
        machines.peers[0].wait_round(rng.randrange(5, 60))
        for victim in victims:
            machines.kill(victim)
        for i in alive:
            machines.peers[i].wait_kind("quorum_lost", 20.0)
        rounds = machines.peers[alive[0]].last_round()
        time.sleep(rng.uniform(0.0, 3.0))  # tidy: allow sleep: a fault at a drawn moment
        begin = time.monotonic()
        for victim in victims:
            machines.join(victim)
        machines.peers[alive[0]].wait_round(rounds + 1, 30.0)
        took = time.monotonic() - begin
        machines.finish()
        return f"went on {took:.1f} s after the restart"


def two_members_and_either_is_started_again():
    notes = []
    for victim in (0, 1):
        with Group() as group:
            machines = Machines(group, 2, PACED)
            other = machines.peers[1 - victim]
            machines.peers[victim].wait_round(20)
            other.drain()
            before = len(other.lines)
            machines.kill(victim)
            parted = other.wait_for(lambda e: e.get("kind") in ("quorum_lost", "view_changed"),
                                    "the other one is gone", 20.0, before)
            waited = parted[1]["kind"] == "quorum_lost"
            machines.join(victim)
            machines.peers[victim].wait_kind("round", 30.0)
            machines.finish()
            notes.append(f"{'founder' if victim == 0 else 'joiner'}: "
                         f"{'the other one waited' if waited else 'the other one went on'}")
    return ", ".join(notes)


def all_die(rng, count):
    with Group() as group:
        machines = Machines(group, count, PACED)
        machines.peers[0].wait_round(rng.randrange(12, 60), 60.0)
        order = rng.sample(range(count), count)
        for number in order:
            machines.kill(number)
            # tidy: allow sleep: faults at drawn moments
            time.sleep(rng.choice([0.0, 0.0, rng.uniform(0.0, 0.6)]))
        steps = {number: step_of(machines.peers[number]) for number in order}
        newest = max(steps.values())
        again = rng.sample(range(count), count)
        founder = rng.randrange(count)
        for number in again:
            if number == founder:
                machines.resume(number)
            else:
                machines.join(number)
            # tidy: allow sleep: they come back at drawn moments
            time.sleep(rng.uniform(0.0, 0.4))
        begin = time.monotonic()
        first = machines.peers[founder].wait_kind("round", 60.0)[1]
        took = time.monotonic() - begin
        expect(first["step"] == newest + 1,
               f"checkpoints {steps}, founder {founder}, went on with {first['step']}")
        machines.finish()
        return (f"checkpoints {sorted(steps.values())}, resumed at number {founder}, first round "
                f"{took:.1f} s after the last start")


@repeated
def four_all_killed_go_on_from_the_newest_state(rng):
    return all_die(rng, 4)


@repeated
def eight_all_killed_go_on_from_the_newest_state(rng):
    return all_die(rng, 8)


def what_another_run_left_is_not_taken():
    with Group() as group:
        settings = {**PACED, "run.steps": 60}
        # A finished run of the same recipe, in the folder by which somebody then joins.
        strange = group.found(settings)
        strange.finish()
        machines = Machines(group, 2, settings)
        machines.peers[1].wait_round(20)
        machines.kill(0)
        machines.kill(1)
        newest = max(step_of(peer) for peer in machines.peers)
        machines.resume(0)
        late = Peer(["join", machines.peers[0].ticket()], strange.out)
        group.peers.append(late)
        machines.join(1)
        first = machines.peers[0].wait_kind("round", 60.0)[1]
        expect(first["step"] == newest + 1, f"newest {newest}, went on with {first['step']}")
        same_hashes([peer.finish() for peer in (*machines.peers, late)])
        late.drain()
        said = [e["text"] for _, e in late.lines if e.get("kind") == "note"]
        expect(any("is not of this run's history" in text for text in said),
               f"nothing said: {said}")
        return f"went on after {newest}"


def newcomers_wait_for_their_turn():
    with Group() as group:
        founder = group.found({**PACED, "run.steps": 1500, "group.joins_at_once": 1})
        ticket = founder.ticket()
        founder.wait_round(5)
        late = [group.join(ticket) for _ in range(5)]
        for peer in late:
            peer.wait_kind("round", 60.0)
        code, _, errors = run_weft("status", str(founder.out))
        expect(code == 0, errors)
        queued = 0
        for peer in late:
            peer.drain()
            queued += any("in the queue" in e.get("text", "") for _, e in peer.lines)
        return f"{queued} of 5 were told their place"


def eight_newcomers_on_a_large_state():
    # 26 million parameters and as much optimizer state.
    # The sums of the rounds that pass while a state is taken are kept: 105 MB each.
    settings = {**PACED, "run.steps": 100000, "run.round_seconds_min": 3.0,
                "group.result_log_bytes": 1500000000,
                "model.hidden_units": 32768, "checkpoint.every_steps": 100000,
                # Nine of them on a few cores may be silent for long.
                "group.heartbeat_interval_ms": 1000, "group.suspicion_timeout_ms": 30000}
    with Group() as group:
        founder = group.found(settings, ["--threads", "1"])
        ticket = founder.ticket()
        founder.wait_round(2, 120.0)
        begin = time.monotonic()
        late = [group.join(ticket, ["--threads", "1"]) for _ in range(8)]
        took = []
        for peer in late:
            took.append(peer.wait_kind("round", 600.0)[0] - begin)
        state = late[0].wait_kind("state_loaded")[1]["bytes"]
        return (f"{state / 1e6:.0f} MB, in after "
                + ", ".join(f"{seconds:.0f}" for seconds in sorted(took)) + " s")


BY_HAND = {test.__name__: test for test in (eight_newcomers_on_a_large_state,)}
TESTS = {test.__name__: test for test in (
    half_of_four_are_killed_and_started_again_while_the_others_wait,
    two_members_and_either_is_started_again,
    four_all_killed_go_on_from_the_newest_state,
    eight_all_killed_go_on_from_the_newest_state,
    what_another_run_left_is_not_taken,
    newcomers_wait_for_their_turn,
)}

if __name__ == "__main__":
    for flag in ("--tries", "--seed"):
        if flag in sys.argv:
            del sys.argv[sys.argv.index(flag):sys.argv.index(flag) + 2]
    sys.exit(main({**TESTS, **{n: t for n, t in BY_HAND.items() if n in sys.argv}}))
