"""A group of honest members, watched for any harm that a hostile peer does to it."""
import contextlib
import pathlib
import re
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/multi"))
from harness import Failure, Group, expect, run_weft  # noqa: E402
from strangers import free_port  # noqa: E402

MEBIBYTE = 1 << 20
# A small log of results, so that memory stands still after a while.
SETTINGS = {"run.steps": 10000000, "run.round_seconds_min": 0.02, "group.discovery": "off",
            "group.result_log_bytes": 2 * MEBIBYTE}
# How much one member may hold beyond what it had once the group stood.
MEMORY_MORE = 32 * MEBIBYTE
DESCRIPTORS_MORE = 64
# The same after a while without attacks.
DESCRIPTORS_LEFT = 4
QUIET_LIMIT = 15.0
# No member of the group may ever say such a thing.
HARM = ("split", "yielding", "merged")


class Watched:
    """One honest member's process and what it says."""

    def __init__(self, peer):
        self.peer = peer
        self.name = peer.wait_kind("started")[1]["peer"]
        self.id = peer.wait_kind("started")[1]["peer_id"]
        self.round = 0
        self.states = {}
        self.changes = []
        self.harm = []
        self.mismatches = []
        self.members = 0

    def listen(self):
        """Takes in what it has said since the last time."""
        self.peer.drain()
        for _, event in self.peer.lines:
            kind = event.get("kind")
            if kind == "round":
                self.round = event["round"]
                self.states[self.round] = event["state"]
                self.members = event["members"]
            elif kind in HARM:
                self.harm.append(event)
            elif kind == "state_mismatch":
                self.mismatches.append(event)
            elif kind in ("peer_left", "peer_joined", "view_changed", "quorum_lost"):
                self.changes.append(event)
        self.peer.lines.clear()
        for old in list(self.states)[:-1000]:
            del self.states[old]

    def memory(self):
        text = pathlib.Path(f"/proc/{self.peer.process.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+)", text, re.M)[1]) * 1024

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.peer.process.pid}/fd").iterdir()))


class HonestGroup:
    """Members that train on, or a Failure that says what hinders them; use as a context manager."""

    def __init__(self, count=3):
        self._count = count

    def __enter__(self):
        self.group = Group().__enter__()
        try:
            self._start()
        except BaseException:
            self.group.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *exception):
        self.group.__exit__(*exception)

    def _start(self):
        threads = ("--threads", "1")
        self.endpoints = [f"127.0.0.1:{free_port()}" for _ in range(self._count)]
        founder = self.group.found(SETTINGS, threads, listen=self.endpoints[0])
        ticket = founder.ticket()
        peers = [founder] + [self.group.join(ticket, (*threads, "--listen", endpoint))
                             for endpoint in self.endpoints[1:]]
        for peer in peers:
            peer.wait_round(1)
        self.members = [Watched(peer) for peer in peers]
        self.go_on(30.0)
        for member in self.members:
            member.changes.clear()

    def measure(self):
        """From now on members may not take much more than they do."""
        self.baseline = [(member.memory(), member.descriptors()) for member in self.members]

    def ticket(self, *arguments):
        code, line, told = run_weft("ticket", str(self.members[0].peer.out), *arguments)
        expect(code == 0, f"weft ticket: {told}")
        return line.strip()

    def revoke(self, what):
        code, _, told = run_weft("revoke", str(self.members[0].peer.out), what)
        expect(code == 0, f"weft revoke: {told}")

    def newcomer(self):
        """A real peer that has come in just now: (process, its short name)."""
        peer = self.group.join(self.ticket(), ("--threads", "1", "--listen", "127.0.0.1:0"))
        peer.wait_round(1, 30.0)
        return peer, peer.wait_kind("started")[1]["peer"]

    def expel(self, name):
        for member in self.members:
            code, _, told = run_weft("expel", str(member.peer.out), name)
            # The votes of the members before may have expelled it already.
            gone = "no member is called" in told or "names none of the members" in told
            expect(code == 0 or gone, f"weft expel: {told}")

    def go_on(self, limit):
        """All of them train together, in `limit` seconds: how long that took."""
        begin = time.monotonic()
        for member in self.members:
            member.listen()
        goal = max(member.round for member in self.members) + 2
        while True:
            for member in self.members:
                member.listen()
                expect(member.peer.process.poll() is None,
                       f"{member.name} has ended; {member.peer.tail()}")
                expect(not member.harm, f"{member.name} says {member.harm[:1]}")
            seconds = time.monotonic() - begin
            if all(member.round >= goal and member.members == len(self.members)
                   for member in self.members):
                self._compare()
                return seconds
            where = [(member.name, member.round, member.members) for member in self.members]
            expect(seconds < limit, f"no round of all in {limit:.0f} s: {where}")
            with contextlib.suppress(Failure):
                self.members[0].peer.wait_for(lambda e: e.get("kind") == "round", "a round", 0.02)

    def _compare(self):
        first = self.members[0]
        for other in self.members[1:]:
            for number in first.states.keys() & other.states.keys():
                expect(first.states[number] == other.states[number],
                       f"round {number}: the states of {first.name} and {other.name} differ")

    def nobody_lost(self):
        """No honest member was put out in the meantime, or was said to have another state."""
        names = {member.name for member in self.members}
        for member in self.members:
            wrong = [e for e in member.mismatches if e["peer"] in names]
            expect(not wrong, f"{member.name} says that states differ: {wrong[:1]}")
            lost = [e for e in member.changes if e["kind"] == "peer_left" and e["peer"] in names]
            expect(not lost, f"{member.name} lost an honest member: {lost[:1]}")

    def nothing_changed(self):
        self.nobody_lost()
        for member in self.members:
            expect(not member.changes, f"{member.name} has another view: {member.changes[:1]}")

    def forget_changes(self):
        for member in self.members:
            member.changes.clear()
            member.mismatches.clear()

    def within_bounds(self):
        for member, (memory, descriptors) in zip(self.members, self.baseline):
            grown = member.memory() - memory
            expect(grown < MEMORY_MORE, f"{member.name} holds {grown >> 20} MiB more")
            more = member.descriptors() - descriptors
            expect(more < DESCRIPTORS_MORE, f"{member.name} holds {more} more descriptors")

    def comes_to_rest(self):
        """What strangers held is let go of: (bytes, descriptors) more than at first, at most."""
        deadline = time.monotonic() + QUIET_LIMIT
        while True:
            more = max(member.descriptors() - descriptors
                       for member, (_, descriptors) in zip(self.members, self.baseline))
            if more <= DESCRIPTORS_LEFT:
                break
            expect(time.monotonic() < deadline,
                   f"{more} more descriptors than before, {QUIET_LIMIT:.0f} s after the attacks")
            self.go_on(QUIET_LIMIT)
        grown = max(member.memory() - memory
                    for member, (memory, _) in zip(self.members, self.baseline))
        return grown, more

    def status_answers(self):
        code, text, told = run_weft("status", str(self.members[0].peer.out), "--json")
        expect(code == 0 and "members" in text, f"weft status: {told}")
