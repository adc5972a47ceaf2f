#!/usr/bin/env python3
"""Real processes whose rounds have two exchanges, of the even and of the odd ranks, killed at random
moments, with newcomers in their places. Every state that any of them ever held is compared with a
computation in sequence, by whole numbers in Python, from the log of who took part in which round;
so are the residuals of those that end. A round that counted for one team only would show in both.

usage: team_test.py [NAME...] [--kills=50] [--seed=1]

--kills: of the test `topk`; 4 if it is not given. Python 3 standard library only.
"""
import math
import os
import random
import signal
import sys
import time

import harness
from harness import expect

MEMBER = os.environ.get("WEFT_TEAM_MEMBER", str(harness.ROOT / "build/release/tests/team_member"))
ELEMENTS = 40
MODULUS = 1009
# (first rank, elements) of each exchange: the team is every second rank from there on.
EXCHANGES = [(0, 24), (1, 16)]
MEMBERS = 5
ROUNDS_BETWEEN_KILLS = 12


def option(name, default):
    for word in sys.argv[1:]:
        if word.startswith(f"--{name}="):
            return int(word.split("=")[1])
    return default


class Swarm:
    """The processes of one run, by number; a newcomer has a number of its own."""

    def __init__(self, folder, codec):
        self.folder = folder
        self.codec = codec
        self.members = []
        self.killed = set()

    def start(self, *arguments):
        number = len(self.members)
        member = harness.WeftProcess([MEMBER, *arguments, self.codec],
                                     self.folder / f"member{number}")
        self.members.append(member)
        return member

    def alive(self):
        return [n for n in range(len(self.members)) if n not in self.killed]

    def trains(self, number):
        """Until it takes part: the round of its first turn."""
        return self.members[number].wait_kind("train", 60)[1]["round"]

    def stop(self):
        for member in self.members:
            member.stop()


def top_k(values, ratio):
    """The values of the largest magnitude, ties to the lowest place, zeros left out."""
    count = min(max(math.ceil(ratio * len(values)), 1), len(values))
    places = sorted(range(len(values)), key=lambda i: (-abs(values[i]), i))[:count]
    kept = [0] * len(values)
    for place in places:
        kept[place] = values[place]
    return kept


class Sequence:
    """All rounds in one place: the state after each, and what each encoder has not sent yet."""

    def __init__(self, ratio):
        self.ratio = ratio
        self.state = [0] * ELEMENTS
        self.round = 0
        self.residuals = {}

    def step(self, numbers):
        """The next round, by the members with these numbers, in the order of their ranks."""
        sums = []
        for exchange, (first, elements) in enumerate(EXCHANGES):
            team = numbers[first::2] or [numbers[first % len(numbers)]]
            total = [0] * elements
            for rank, number in enumerate(team):
                values = self._input(exchange, rank, len(team), elements, len(sums))
                total = [a + b for a, b in zip(total, self._sent(number, exchange, values))]
            sums += total
        self.state = [(3 * own + change) % MODULUS for own, change in zip(self.state, sums)]
        self.round += 1

    def _input(self, exchange, rank, size, elements, offset):
        begin = 31 * ((self.round + 1) % MODULUS) + 17 * exchange + 7 * rank + 3 * size
        return [(begin + 13 * i + 5 * self.state[offset + i]) % 201 - 100 for i in range(elements)]

    def _sent(self, number, exchange, values):
        if self.ratio is None:
            return values
        kept = self.residuals.get((number, exchange), [0] * len(values))
        wanted = [a + b for a, b in zip(values, kept)]
        sent = top_k(wanted, self.ratio)
        self.residuals[number, exchange] = [a - b for a, b in zip(wanted, sent)]
        return sent

    def text(self):
        return "".join(f"{value:03x}" for value in self.state)


def read_log(swarm):
    """({round: {view: {rank: number}}}, {round: members' count of the newest view},
    {round: {number: state}}, {number: end})"""
    parts, states, ends = {}, {}, {}
    for number, member in enumerate(swarm.members):
        member.drain()
        for _, event in member.lines:
            kind = event["kind"]
            if kind == "train":
                view = parts.setdefault(event["round"], {}).setdefault(event["view"], {})
                view[event["rank"]] = (number, event["members"])
            elif kind == "round":
                states.setdefault(event["round"], {})[number] = event["state"]
            elif kind == "end":
                ends[number] = event
            else:
                expect(kind == "ticket", f"member {number}: {event}")
    return parts, states, ends


def check_log(swarm, ratio):
    """Every state and residual; a note on what was compared."""
    parts, states, ends = read_log(swarm)
    sequence = Sequence(ratio)
    again = compared = 0
    ends_at = {}
    for number, end in ends.items():
        ends_at.setdefault(end["round"], []).append(number)
    for number in range(1, max(states) + 1):
        # A round is run again in a newer view until it commits: the newest is the one that did.
        view = parts[number][max(parts[number])]
        again += len(parts[number]) - 1
        numbers = [view[rank][0] for rank in sorted(view)]
        expect(len(view) == view[min(view)][1],
               f"round {number}: {len(view)} of {view[min(view)][1]} members logged their part")
        sequence.step(numbers)
        for member, state in states.get(number, {}).items():
            compared += 1
            expect(state == sequence.text(), f"round {number}: member {member} holds {state}, "
                                             f"in sequence it is {sequence.text()}")
        for member in ends_at.get(number, []):
            for exchange, got in enumerate(ends[member]["residuals"]):
                want = sequence.residuals.get((member, exchange), [])
                expect(got == want, f"after round {number}: member {member} kept {got} of exchange "
                                    f"{exchange}, in sequence it is {want}")
    return f"{max(states)} rounds, {again} run again, {compared} states and {len(ends)} ends compared"


def run(codec, ratio, kills, seed):
    rng = random.Random(seed)
    with harness.Group() as group:
        swarm = Swarm(group.path, codec)
        try:
            founder = swarm.start("found", str(MEMBERS))
            for _ in range(MEMBERS - 1):
                swarm.start("join", founder.ticket())
            at = max(swarm.trains(number) for number in swarm.alive())
            for _ in range(kills):
                victim = rng.choice(swarm.alive())
                at += 1 + rng.randrange(ROUNDS_BETWEEN_KILLS)
                swarm.members[victim].wait_round(at, 60)
                # Anywhere in a round, or in the change to another view.
                time.sleep(rng.random() * 0.01)  # tidy: allow sleep: a random moment is wanted
                swarm.members[victim].kill()
                swarm.killed.add(victim)
                sponsor = rng.choice(swarm.alive())
                swarm.start("join", swarm.members[sponsor].ticket())
                at = max(at, swarm.trains(len(swarm.members) - 1))
            swarm.members[-1].wait_round(at + ROUNDS_BETWEEN_KILLS, 60)
            for number in swarm.alive():
                os.kill(swarm.members[number].process.pid, signal.SIGTERM)
            for number in swarm.alive():
                code = swarm.members[number].process.wait(timeout=60)
                expect(code == 0, f"member {number}: exit code {code}; "
                                  f"{swarm.members[number].tail()}")
            return f"{kills} kills, {check_log(swarm, ratio)}"
        finally:
            swarm.stop()


def topk():
    return run("topk:ratio=0.1", 0.1, option("kills", 4), option("seed", 1))


def exact():
    return run("f32", None, min(option("kills", 2), 2), option("seed", 1))


if __name__ == "__main__":
    sys.exit(harness.main({"topk": topk, "exact": exact}))
