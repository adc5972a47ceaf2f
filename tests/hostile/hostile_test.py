#!/usr/bin/env python3
"""A hostile peer tries every message in every role; the group must not care.

usage: hostile_test.py [--tries N | --seconds S] [--seed N] [--roles A,B] [--types A,B]
                       [--contents A,B] [--size N] [--batch K] [--go-on] [--isolate] [--verbose]

Tries come in small batches of one role, drawn from the seed. After each batch the members must
train on together with equal states, and hold no more memory and descriptors than before, within
the bounds in group.py. README.md beside this file says more.
"""
import argparse
import collections
import random
import sys
import time

from attacker import Attacker, Trap
from group import Failure, HonestGroup, expect
from types_of_frames import frame_types

CONTENTS = ("right", "wrong", "old", "huge", "truncated", "replayed", "flood")
# (role, tries a batch, batches in a turn)
ROLES = {"stranger": (16, 3), "revoked": (8, 1), "former": (8, 1), "banned": (8, 1),
         "joiner": (12, 2), "member": (26, 1)}
UNPROVED = ("stranger", "revoked", "former", "banned")
# What nobody gets who has proved nothing.
SECRETS = {"kRecipe", "kJoinAccepted", "kIntroduction", "kRelayOffer", "kStateOffer", "kBlock",
           "kBlockMissing", "kResult", "kResultMissing", "kStateReceived", "kSegment", "kReady",
           "kDone", "kReport", "kStateHash", "kHeldState", "kRevocation", "kLineReport", "kProbe"}
# Frames in answer to all that one unproved link says; four each quarter of a second to one that was
# a member, for as long as its ticket stands.
ANSWERS_MAX = {"stranger": 2, "revoked": 2, "former": 8, "banned": 2}
TRAP_MARK = b"WEFTTRAP"
# Until all train together again, in seconds: strangers may not be noticed at all; a joiner or
# member may cost a change of view, or a stalled round.
UNDISTURBED = 3.0
RECOVERED = 30.0

# A base round that some voters must refuse and others cannot makes all wait for a quorum
# (SECURITY.md, "Lying members").
TRUSTED = {("member", "kAccept", content) for content in ("right", "wrong", "huge", "flood")}

Try = collections.namedtuple("Try", "number type content")
Batch = collections.namedtuple("Batch", "number role tries")


def all_batches(seed, roles, types, contents, size_wanted):
    """Batches without end; every type of frame comes once in a role before any comes twice."""
    def draws(role):
        rng = random.Random(f"{seed}:{role}")
        orders = {name: rng.sample(contents, len(contents)) for name in types}
        turn = 0
        while True:
            for name in rng.sample(types, len(types)):
                content = orders[name][turn % len(contents)]
                if (role, name, content) not in TRUSTED:
                    yield name, content
            turn += 1

    drawn = {role: draws(role) for role in roles}
    number = batch = 0
    while True:
        for role in roles:
            size, times = ROLES[role]
            size = size_wanted or size
            for _ in range(times):
                tries = [Try(number + i, *next(drawn[role])) for i in range(size)]
                number += size
                yield Batch(batch, role, tries)
                batch += 1


class World:
    """A group, a hostile peer with keys and tickets for its roles, and a trap."""

    def __init__(self, seed, roles):
        self._seed = seed
        self._roles = roles
        self.outcomes = collections.Counter()

    def __enter__(self):
        self.group = HonestGroup().__enter__()
        self.attacker = Attacker(self._seed).__enter__()
        self.trap = Trap()
        try:
            self._prepare()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *exception):
        self.trap.close()
        self.attacker.__exit__(*exception)
        self.group.__exit__(*exception)

    def _prepare(self):
        for member, endpoint in zip(self.group.members, self.group.endpoints):
            self.attacker.tell("target", endpoint, member.id)
        self.attacker.tell("trap", self.trap.endpoint)
        self.attacker.tell("ticket", self.group.ticket())
        self.attacker.tell("learn")
        if "former" in self._roles:
            former, _ = self.group.newcomer()
            former.interrupt()
            former.end(30.0)
            self.attacker.tell("key", "former", former.out / "identity")
        if "banned" in self._roles:
            banned, name = self.group.newcomer()
            self.group.expel(name)
            self.group.go_on(RECOVERED)
            banned.stop()
            self.attacker.tell("key", "banned", banned.out / "identity")
        # Whoever was let in so far came by a ticket that is void.
        revoked = self.group.ticket()
        self.group.revoke("all")
        self.attacker.tell("revoked", revoked)
        self.attacker.tell("ticket", self.group.ticket())
        self.group.go_on(RECOVERED)
        self.group.forget_changes()
        self.group.measure()

    def run(self, batch, verbose=False):
        """All tries of one batch; seconds until the group trained on."""
        self.group.forget_changes()
        calls = self.trap.calls
        if batch.role in ("joiner", "member"):
            # An earlier member may have made the ticket void, as members may.
            self.attacker.tell("ticket", self.group.ticket())
        victim = self._take_member() if batch.role == "member" else None
        for one in batch.tries:
            outcome = self.attacker.ask("try", one.number, batch.role, one.type, one.content)
            if verbose:
                print(f"    {batch.role} {one.type} {one.content}: {outcome}", flush=True)
            expect(outcome["ok"], f"{one}: {outcome}")
            self._count(batch.role, outcome)
            if batch.role in UNPROVED:
                self._check_answers(one, outcome, ANSWERS_MAX[batch.role])
        if batch.role in UNPROVED:
            seconds = self.group.go_on(UNDISTURBED)
            self.group.nothing_changed()
            expect(self.trap.calls == calls, "a member called an address that a stranger named")
        else:
            self.attacker.tell("rest")
            seconds = self.group.go_on(RECOVERED)
            self.group.nobody_lost()
        expect(not self.trap.heard(TRAP_MARK), "a member said bytes that others had chosen")
        self.group.within_bounds()
        if victim is not None:
            victim.stop()
            self.attacker.tell("key", "former", victim.out / "identity")
        return seconds

    def _take_member(self):
        """A member's process is gone at once, and the hostile peer has its key."""
        victim, _ = self.group.newcomer()
        victim.kill()
        self.attacker.tell("key", "member", victim.out / "identity")
        return victim

    def _count(self, role, outcome):
        if outcome["begun"]:
            self.outcomes[role, "ended" if outcome["ended"] else "stands"] += 1
        else:
            self.outcomes[role, "not begun"] += 1

    @staticmethod
    def _check_answers(one, outcome, most):
        answers = outcome["answers"]
        leaked = SECRETS & answers.keys()
        expect(not leaked, f"{one}: answered with {sorted(leaked)}")
        more = outcome["widened"]
        expect(more == 0, f"{one}: {more} more connections for a link without a proof")
        count = sum(answers.values())
        expect(count <= most, f"{one}: {count} answers to a peer without a proof: {answers}")


def isolate(options, roles, batch):
    """Which tries of a batch do the harm when each meets a new group."""
    for one in batch.tries:
        try:
            with World(options.seed, roles) as world:
                world.run(Batch(batch.number, batch.role, [one]))
        except Failure as fault:
            print(f"  alone: {batch.role} {one.type} {one.content}: {str(fault)[:300]}", flush=True)


class Report:
    """What came of the batches."""

    def __init__(self):
        self.tries = 0
        self.faults = 0
        self.begin = time.monotonic()
        self.slowest = 0.0

    def fault(self, batch, fault):
        self.faults += 1
        kinds = ", ".join(f"{one.type} {one.content}" for one in batch.tries)
        print(f"FAILED  batch {batch.number}, {batch.role}: {fault}\n  it tried {kinds}",
              flush=True)

    def finish(self, world):
        seconds = time.monotonic() - self.begin
        for (role, what), count in sorted(world.outcomes.items()):
            print(f"  {role}: {count} {what}")
        print(f"{self.tries} tries in {seconds:.0f} s, {self.tries / seconds * 60:.0f} a minute; the "
              f"group was back after {self.slowest:.1f} s at most")


def run_batches(options, roles, batches, report):
    """Goes through `batches` in one world; a new one after a fault. False: enough faults."""
    with World(options.seed, roles) as world:
        for batch in batches:
            try:
                report.slowest = max(report.slowest, world.run(batch, options.verbose))
                report.tries += len(batch.tries)
            except Failure as fault:
                report.fault(batch, fault)
                if options.isolate:
                    isolate(options, roles, batch)
                return options.go_on
        grown, more = world.group.comes_to_rest()
        world.group.status_answers()
        report.finish(world)
        print(f"  at the end {grown / (1 << 20):.1f} MiB and {more} descriptors more")
    return False


def bounded(batches, options):
    """As many as were asked for."""
    begin, tries = time.monotonic(), 0
    for batch in batches:
        if options.batch is not None:
            if batch.number == options.batch:
                yield batch
                return
            continue
        if tries >= options.tries or time.monotonic() - begin > options.seconds:
            return
        tries += len(batch.tries)
        yield batch


def names_of(text, known, what):
    names = [name for name in text.split(",") if name] or list(known)
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"no such {what}: {sorted(unknown)}; there are {list(known)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=45.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--size", type=int)
    for name in ("roles", "types", "contents"):
        parser.add_argument(f"--{name}", default="")
    for name in ("go-on", "isolate", "verbose"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    if options.tries < 10**9:
        options.seconds = 10**9
    roles = names_of(options.roles, ROLES, "role")
    batches = bounded(all_batches(options.seed, roles,
                                  names_of(options.types, frame_types(), "type"),
                                  names_of(options.contents, CONTENTS, "content"),
                                  options.size), options)
    report = Report()
    while run_batches(options, roles, batches, report):
        pass
    print(f"1 passed, {report.faults} failed" if not report.faults
          else f"0 passed, {report.faults} failed")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
