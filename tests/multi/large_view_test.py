#!/usr/bin/env python3
"""Real peers in a group of more members than keep connections with each other.

usage: large_view_test.py [NAME ...]
"""
import sys
import time

from harness import Group, established, expect, main, same_hashes

MEMBERS = 20
# The distances 1, 2, 4, 8 and those of three observers, both ways.
NEIGHBOURS_MAX = 2 * 4 + 2 * 3
SETTINGS = {"group.mesh_members": 6, "group.joins_at_once": 8, "run.steps": 280,
            "run.round_seconds_min": 0.25, "group.suspicion_timeout_ms": 4000,
            "group.linger_s": 2}


def partners(peer):
    """How many others the process has TCP connections with: two for each."""
    return established(peer.process.pid) / 2


def wait_for_few_connections(peers, seconds):
    deadline = time.monotonic() + seconds
    while True:
        most = max(partners(peer) for peer in peers)
        if most <= NEIGHBOURS_MAX:
            return most
        expect(time.monotonic() < deadline,
               f"after {seconds} s a member still has connections with {most} others")
        peers[0].wait_round(peers[0].last_round() + 1)


def members_keep_few_connections_and_survive_kills():
    with Group() as group:
        peers = group.start(MEMBERS, SETTINGS, ["--threads", "1"])
        peers[0].wait_round(2, 120)
        before = wait_for_few_connections(peers, 60)
        for victim in (peers.pop(11), peers.pop(5)):
            victim.kill()
        late = group.join(peers[0].ticket(), ["--threads", "1"])
        peers[0].wait_round(peers[0].last_round() + 8, 60)
        peers.append(late)
        after = wait_for_few_connections(peers, 60)
        same_hashes([peer.finish(120) for peer in peers])
        return (f"{MEMBERS} members, each connected with at most {before:.0f} others, "
                f"after two kills and a join {after:.0f}")


TESTS = {"connections": members_keep_few_connections_and_survive_kills}

if __name__ == "__main__":
    sys.exit(main(TESTS))
