#!/usr/bin/env python3
"""The rendezvous: a joiner whose ticket is dead finds members by OpenDHT.

usage: rendezvous_test.py [NAME ...]

The network of OpenDHT is a node of its own on this machine. Exit code 77 where the program was built
without OpenDHT.
"""
import contextlib
import os
import subprocess
import sys

import harness
from harness import Group, expect, main, run_weft

NODE = os.environ.get("WEFT_DHT_NODE", str(harness.ROOT / "build/release/tests/dht_node"))
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


if __name__ == "__main__":
    if not has_opendht():
        print("skipped: built without OpenDHT")
        sys.exit(SKIPPED)
    sys.exit(main({test.__name__: test for test in (
        a_dead_ticket_leads_to_members_that_left_their_addresses,)}))
