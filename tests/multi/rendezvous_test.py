#!/usr/bin/env python3
"""The rendezvous: joiners with a dead ticket and members that have moved find the others by OpenDHT.

usage: rendezvous_test.py [--all | NAME ...]

Without names the slice of ./test is run; members that move need half a minute and namespaces.

The network of OpenDHT is a node of its own on this machine. Exit code 77 where the program was built
without OpenDHT.
"""
import contextlib
import os
import subprocess
import sys

import harness
from harness import Failure, Group, Peer, expect, main, run_weft, same_hashes

NODE = os.environ.get("WEFT_DHT_NODE", str(harness.ROOT / "build/release/tests/dht_node"))
PROGRAM = harness.WEFT
SKIPPED = 77
PACED = {"group.discovery": "off", "run.round_seconds_min": 0.02, "group.start_members": 2}


def has_opendht():
    node = subprocess.run([NODE], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return node.returncode != SKIPPED


@contextlib.contextmanager
def table(prefix=(), *arguments):
    """The port of a node that is a whole OpenDHT network."""
    node = subprocess.Popen([*prefix, NODE, *arguments], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    try:
        yield int(node.stdout.readline())
    finally:
        node.stdin.close()
        try:
            node.wait(timeout=10)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()
        node.stdout.close()


def view_of(size):
    return lambda e: e.get("kind") == "view_changed" and len(e["members"]) == size


def a_dead_ticket_leads_to_members_that_left_their_addresses():
    with table() as port, Group() as group:
        where = f"127.0.0.1:{port}"
        founder = group.found({**PACED, "run.steps": 100000, "group.rendezvous": where})
        ticket = founder.ticket()
        second = group.join(ticket, ["--listen", "127.0.0.1:0"])
        second.wait_round(3)
        # Nobody is left where the ticket points to.
        founder.interrupt()
        founder.end()
        second.wait_for(view_of(1), "a view of one")
        code, _, errors = run_weft("join", ticket, "--out", str(group.path / "lost"))
        expect(code == 3, f"without the rendezvous expected exit code 3, got {code}: {errors}")
        third = group.join(ticket, ["--listen", "127.0.0.1:0", "--rendezvous", where])
        second.wait_for(view_of(2), "a view of two", 60)
        third.wait_kind("round", 60)
        code, out, errors = run_weft("doctor", ticket, "--json", "--rendezvous", where, "--out",
                                     str(group.path))
        expect('"step":"rendezvous","result":"ok"' in out, f"got {code}: {out} {errors}")


class Machines:
    """Namespaces on one bridge, whose addresses can be changed; None inside where not permitted."""

    def __init__(self, addresses):
        self.tag = f"weft-move-{os.getpid()}"
        self.addresses = addresses
        self.made = []

    def name(self, machine):
        return f"{self.tag}-{machine}"

    def ip(self, *arguments):
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"ip {' '.join(arguments)}: {done.stderr}")

    def __enter__(self):
        try:
            return self if self._make() else None
        except Failure:
            self.__exit__()
            raise

    def _make(self):
        for machine in ("bridge", *self.addresses):
            made = subprocess.run(["ip", "netns", "add", self.name(machine)], capture_output=True,
                                  check=False)
            if made.returncode != 0:
                return False
            self.made.append(self.name(machine))
        net = self.name("bridge")
        self.ip("-n", net, "link", "add", "bridge", "type", "bridge")
        self.ip("-n", net, "link", "set", "bridge", "up")
        for machine, address in self.addresses.items():
            name = self.name(machine)
            self.ip("-n", name, "link", "add", "cable", "type", "veth", "peer", "name", machine,
                    "netns", net)
            self.ip("-n", net, "link", "set", machine, "master", "bridge", "up")
            self.ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            self.ip("-n", name, "link", "set", "lo", "up")
            self.ip("-n", name, "link", "set", "cable", "up")
        return True

    def move(self, machine, address):
        name = self.name(machine)
        self.ip("-n", name, "addr", "del", f"{self.addresses[machine]}/24", "dev", "cable")
        self.ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")

    def __exit__(self, *_):
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def start(self, group, machine, *arguments):
        harness.WEFT = "ip"
        try:
            peer = Peer(["netns", "exec", self.name(machine), PROGRAM, *arguments],
                        group.path / machine)
        finally:
            harness.WEFT = PROGRAM
        group.peers.append(peer)
        return peer


def members_that_have_all_moved_find_each_other():
    addresses = {"node": "10.77.0.1", "one": "10.77.0.2", "two": "10.77.0.3", "three": "10.77.0.4"}
    with Machines(addresses) as machines:
        if machines is None:
            return "left out: no network namespaces here"
        inside = ["ip", "netns", "exec", machines.name("node")]
        with table(inside, "--all-addresses") as port, Group() as group:
            settings = {**PACED, "run.steps": 500, "group.start_members": 3,
                        "group.rendezvous": f"10.77.0.1:{port}",
                        "group.suspicion_timeout_ms": 2000, "group.on_quorum_lost": "wait"}
            sets = [f"--set={key}={value}" for key, value in settings.items()]
            one = machines.start(group, "one", "run", harness.RECIPE, *sets)
            peers = [one] + [machines.start(group, name, "join", one.ticket())
                             for name in ("two", "three")]
            for peer in peers:
                peer.wait_round(3)
            # No one's addresses hold any more, so nobody can tell anybody its own.
            for number, machine in enumerate(("one", "two", "three"), 12):
                machines.move(machine, f"10.77.0.{number}")
            for peer in peers:
                peer.wait_kind("quorum_lost", 60)
            at = max(peer.last_round() for peer in peers)
            expect(at < 500, "the run was over before they moved")
            for peer in peers:
                peer.wait_round(at + 3, 150)
            same_hashes([peer.finish(120) for peer in peers])
    return ""


if __name__ == "__main__":
    if not has_opendht():
        print("skipped: built without OpenDHT")
        sys.exit(SKIPPED)
    tests = [a_dead_ticket_leads_to_members_that_left_their_addresses]
    if len(sys.argv) > 1:
        tests.append(members_that_have_all_moved_find_each_other)
    sys.exit(main({test.__name__: test for test in tests}))
