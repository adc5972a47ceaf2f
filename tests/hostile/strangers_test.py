#!/usr/bin/env python3
"""Crowds of strangers at a member's port: newcomers still get in, and training hardly notices.

usage (as root, or where network namespaces may be made):
  strangers_test.py [--counts 32,320] [--addresses 1,64] [--kinds mixed] [--all] [--timed]
                    [--together] [--seconds S]

The members stand in one network namespace; strangers, and a newcomer with a ticket, in another.
--all: 32, 320 and 3200 strangers from one and from 64 addresses, of each kind alone. While they are
there the newcomer must be in, and no member may hold 64 MiB more. With --timed, and with --all,
the newcomer must be in within 5 s, and the median round may take 10 % longer than before and after.

Where there are two processors or more, the members have processors of their own and the strangers
and the newcomer have the others, as they would have on other machines: otherwise half of what is
measured is the strangers' own work. With two, both members share the first; a member busy for all
of its processor's time is slowed by a share s of it that strangers take in the same way, to
1 / (1 - s). --together lets the system place them. What other work of the machine takes from the
members' processors is not kept away; so the members' own processor time for a round is told beside
the round's length, the founder's, at whose port the strangers call, and for comparison the other's;
strangers took what the founder's has grown by at most, and what it has beyond the other's at least.
Two seconds pass between the arrival of the strangers and the measurement: the first burst is let
in, costs the founder what "arrival" tells, once, and is not what goes on.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/multi"))
import harness  # noqa: E402
import namespaces  # noqa: E402
from harness import RECIPE, Failure, Group, Peer, expect  # noqa: E402
from namespaces import sh  # noqa: E402

PROGRAM = os.environ.get("WEFT_HOSTILE_CROWD",
                         str(ROOT / "build/release/tests/hostile/hostile_crowd"))
WEFT = harness.WEFT
# What ctest takes for a skipped test.
SKIPPED = 77
KINDS = ("silent", "garbage", "half", "frames")
# Cut off from the world, and no private addresses: those would count as one network.
HOME, NEWCOMER, FIRST_STRANGER = "11.0.0.1", "11.0.0.2", "11.0.1.1"
STRANGERS = 64
PORT = 7420
# A member has one core and keeps it busy, so that what strangers take is seen in its rounds.
SETTINGS = {"run.steps": 1000000, "model.hidden_units": 1024, "run.global_batch": 512,
            "group.discovery": '"off"', "group.result_log_bytes": 64 << 20,
            "checkpoint.every_steps": 0}
NEWCOMER_SECONDS_MAX = 5.0
SLOWER_MAX = 1.10
MEASUREMENTS = 3
ARRIVAL_SECONDS = 2.0
MEBIBYTE = 1 << 20
MEMORY_MORE = 64 * MEBIBYTE


def processors(role, together=False):
    """The command that keeps a program on the processors of "founder", "member" or "world"."""
    mine = sorted(os.sched_getaffinity(0))
    if together or len(mine) < 2:
        return []
    founder, member, world = (0, 1, 2) if len(mine) > 2 else (0, 0, 1)
    chosen = {"founder": mine[founder:founder + 1], "member": mine[member:member + 1],
              "world": mine[world:]}[role]
    return ["taskset", "-c", ",".join(str(number) for number in chosen)]


class Network:
    """Two namespaces with a line between them; use as a context manager."""

    def __init__(self):
        self.home, self.world = (f"weft-{name}-{os.getpid()}" for name in ("home", "world"))

    def __enter__(self):
        for name in (self.home, self.world):
            sh("ip", "netns", "add", name)
            sh("ip", "-n", name, "link", "set", "lo", "up")
        sh("ip", "-n", self.home, "link", "add", "line", "type", "veth", "peer", "name", "line",
           "netns", self.world)
        self._address(self.home, HOME)
        self._address(self.world, NEWCOMER)
        for number in range(STRANGERS):
            self._address(self.world, self.stranger(number))
        return self

    def __exit__(self, *exception):
        for name in (self.home, self.world):
            sh("ip", "netns", "del", name, check=False)

    @staticmethod
    def _address(name, address):
        sh("ip", "-n", name, "address", "add", f"{address}/16", "dev", "line")
        sh("ip", "-n", name, "link", "set", "line", "up")

    @staticmethod
    def stranger(number):
        return f"11.0.1.{1 + number}"

    @staticmethod
    def inside(name):
        return ["ip", "netns", "exec", name]


class Crowd:
    """Strangers that stay until this ends."""

    def __init__(self, network, run, count, addresses, kind):
        # Their own work is not to be taken for what they cost the members.
        command = [*network.inside(network.world), *run.processors("world"), "nice", "-n", "19",
                   PROGRAM, "--target",
                   f"{HOME}:{PORT}", "--peer", run.founder_id, "--count", str(count), "--kind", kind,
                   "--from", FIRST_STRANGER, "--addresses", str(addresses)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)
        self.figures = {}
        self._there = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            if line.startswith("{"):
                self.figures = json.loads(line)
            else:
                self._there.set()

    def __enter__(self):
        expect(self._there.wait(60.0), "the strangers did not all come in 60 s")
        return self

    def __exit__(self, *exception):
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()


class Window:
    """What the members did in some seconds: the median round, and their processor time."""

    def __init__(self, times, seconds, used):
        self.round = statistics.median(times)
        # Processor seconds per round, of the founder and of the member.
        self.used = [each / len(times) for each in used]
        self.cores = used[0] / seconds


class Run:
    """A founder at whose port strangers call, and a member; both in the home namespace."""

    def __init__(self, network, group, together):
        self._network, self._group, self._together = network, group, together
        harness.WEFT = "ip"
        sets = [f"--set={key}={value}" for key, value in SETTINGS.items()]
        self.founder = self._start("founder", ["run", RECIPE, *sets, "--listen", f"{HOME}:{PORT}"])
        self.ticket = self.founder.ticket()
        self.member = self._start("member", ["join", self.ticket, "--listen", f"{HOME}:0"])
        self.member.wait_round(5, 60.0)
        started = [peer.wait_kind("started")[1] for peer in (self.founder, self.member)]
        self.founder_id = started[0]["peer_id"]
        self._names = {event["peer"] for event in started}
        # Until the log of results has its size.
        self.window(3.0)
        self._newcomers = 0

    def processors(self, role):
        return processors(role, self._together)

    def _start(self, role, arguments, name=None):
        network = self._network
        inside = network.inside(network.world if role == "world" else network.home)
        command = [*inside[1:], *self.processors(role), WEFT, *arguments, "--threads", "1"]
        peer = Peer(command, self._group.path / (name or role))
        self._group.peers.append(peer)
        return peer

    def used(self):
        """Processor seconds of the founder and of the member so far."""
        sums = []
        for peer in (self.founder, self.member):
            text = pathlib.Path(f"/proc/{peer.process.pid}/stat").read_text()
            sums.append(sum(int(ticks) for ticks in text.rsplit(")")[1].split()[11:13]))
        return [ticks / os.sysconf("SC_CLK_TCK") for ticks in sums]

    def window(self, seconds):
        self.unharmed()
        self.founder.lines.clear()
        begin, before = time.monotonic(), self.used()
        try:
            self.founder.wait_for(lambda e: False, "", seconds)
        except Failure:
            pass
        used = [end - start for end, start in zip(self.used(), before)]
        took = time.monotonic() - begin
        times = [e["round_seconds"] for _, e in self.founder.lines
                 if e.get("kind") == "round" and e["members"] == 2]
        expect(len(times) >= 10, f"{len(times)} rounds in {seconds} s; {self.founder.tail()}")
        return Window(times, took, used)

    def newcomer(self):
        """Seconds from the start of a newcomer to its first round; then it goes."""
        self._newcomers += 1
        peer = self._start("world", ["join", self.ticket, "--listen", f"{NEWCOMER}:0"],
                           f"newcomer{self._newcomers}")
        seconds = peer.wait_kind("first_step", 60.0)[1]["seconds"]
        peer.wait_kind("round", 30.0)
        peer.interrupt()
        peer.end(30.0)
        self.member.drain()
        begin = len(self.member.lines)
        self.member.wait_for(lambda e: e.get("kind") == "round" and e["members"] == 2,
                             "a round without the newcomer", 30.0, begin)
        return seconds

    def memory(self):
        return [int(re.search(r"^VmRSS:\s+(\d+)",
                              pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1]) * 1024
                for pid in (self.founder.process.pid, self.member.process.pid)]

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.founder.process.pid}/fd").iterdir()))

    def unharmed(self):
        for peer in (self.founder, self.member):
            peer.drain()
            bad = [e for _, e in peer.lines
                   if e.get("kind") in ("state_mismatch", "quorum_lost")
                   or (e.get("kind") == "peer_left" and e["peer"] in self._names)]
            expect(not bad, f"the group was harmed: {bad[:1]}")


class Cost:
    """What strangers cost a group, and what a newcomer meets, measured once."""

    def __init__(self, network, run, seconds, case):
        count, addresses, kind = case
        memory, descriptors = run.memory(), run.descriptors()
        before = run.window(seconds)
        with Crowd(network, run, count, addresses, kind) as crowd:
            arrival = run.window(ARRIVAL_SECONDS)
            during = run.window(seconds)
            self.grown = max(held - had for held, had in zip(run.memory(), memory))
            more = run.descriptors() - descriptors
            self.arrived = run.newcomer()
            figures = dict(crowd.figures)
        after = run.window(seconds)
        run.unharmed()
        self.slower = during.round / (0.5 * (before.round + after.round))
        founder, member = (during.used[i] / (0.5 * (before.used[i] + after.used[i]))
                           for i in range(2))
        # What else the machine does slows the other, too; so does waiting for the founder.
        least, most = (max(0.0, during.cores * (1 - other / founder)) for other in (member, 1.0))
        milliseconds = " -> ".join(f"{w.round * 1e3:.1f}" for w in (before, during, after))
        used = " -> ".join(f"{w.used[0] * 1e3:.1f}" for w in (before, during, after))
        self.told = (f"{count} {kind} from {addresses}: newcomer in after {self.arrived:.1f} s, "
                     f"rounds {milliseconds} ms ({self.slower - 1:+.1%}), processor time a round: "
                     f"founder {used} ms ({founder - 1:+.1%}), the other {member - 1:+.1%}; "
                     f"strangers take {least:.3f} to {most:.3f} cores, which alone makes rounds "
                     f"{least / (1 - least):+.1%} to {most / (1 - most):+.1%}; "
                     f"founder {before.cores:.2f} -> "
                     f"arrival {arrival.cores:.2f} -> {during.cores:.2f} cores, {self.grown / MEBIBYTE:+.1f} MiB, {more:+d} descriptors; {figures}")


def visit(network, run, options, case):
    """What strangers of one kind cost, in words; Failure where that is too much."""
    for _ in range(MEASUREMENTS):
        cost = Cost(network, run, options.seconds, case)
        expect(cost.grown < MEMORY_MORE, f"too much memory: {cost.told}")
        if not options.timed:
            return cost.told
        expect(cost.arrived <= NEWCOMER_SECONDS_MAX, f"the newcomer took too long: {cost.told}")
        # Other work of the machine comes and goes; what strangers cost is there each time.
        if cost.slower < SLOWER_MAX:
            return cost.told
    raise Failure(f"the rounds are slower, {MEASUREMENTS} times: {cost.told}")


def try_case(network, options, case):
    with Group() as group:
        run = Run(network, group, options.together)
        return visit(network, run, options, case)


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default="32,320")
    parser.add_argument("--addresses", default="1,64")
    parser.add_argument("--kinds", default="mixed")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--timed", action="store_true")
    parser.add_argument("--together", action="store_true")
    options = parser.parse_args()
    if options.all:
        options.timed = True
        options.counts, options.kinds = "32,320,3200", ",".join(KINDS)
    why = namespaces.forbidden([["ip", "-V"]], [])
    if why:
        print(f"skipped: {why}")
        return SKIPPED
    cases = [(int(count), int(addresses), kind) for kind in options.kinds.split(",")
             for count in options.counts.split(",") for addresses in options.addresses.split(",")]
    failed = 0
    with Network() as network:
        for case in cases:
            try:
                print(f"ok      {try_case(network, options, case)}", flush=True)
            except (Failure, OSError, RuntimeError) as fault:
                failed += 1
                print(f"FAILED  {case}: {str(fault)[:1500]}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
