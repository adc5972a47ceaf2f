#!/usr/bin/env python3
"""Addresses: either family, several of them of which some are dead, and those that a person names.

usage: reach_test.py [NAME ...]
"""
import contextlib
import json
import socket

from harness import RECIPE, Group, Peer, expect, main, run_weft, same_hashes
from strangers import free_port
from ticket_line import Ticket

SHORT = {"run.steps": 40, "group.start_members": 2}
# Nobody is there.
REFUSED, REFUSED_V6 = "127.0.0.1:1", "[::1]:1"


def has_ipv6():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


def joiner(group, ticket, listen):
    peer = Peer(["join", ticket, "--listen", listen], group.path / "joiner")
    group.peers.append(peer)
    return peer


def links(peer):
    lines = (peer.out / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [e for e in map(json.loads, lines) if e["kind"] == "link_up"]


def peers_meet_over_ipv6():
    if not has_ipv6():
        return "left out: no IPv6 here"
    with Group() as group:
        founder = group.found({**SHORT, "group.discovery": "off"}, listen="[::1]:0")
        ticket = founder.ticket()
        addresses = Ticket(ticket).members[0][1]
        expect(all(a.startswith("[::1]:") for a in addresses), f"expected ::1, got {addresses}")
        peers = [founder, joiner(group, ticket, "[::1]:0")]
        same_hashes([peer.finish() for peer in peers])
        seen = [e["endpoint"] for e in links(peers[1])]
        expect(seen and all(e.startswith("[::1]:") for e in seen), f"expected ::1, got {seen}")
    return ""


def every_address_is_listened_on_unless_one_is_named():
    with Group() as group:
        founder = group.found({"run.steps": 20000}, listen="*:0")
        port = int(Ticket(founder.ticket()).members[0][1][-1].rsplit(":", 1)[1])
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            if family == socket.AF_INET6 and not has_ipv6():
                continue
            with socket.socket(family) as caller:
                caller.settimeout(5)
                caller.connect((host, port))
    return ""


def dead_addresses_are_passed_over():
    # The first one takes connections and never says a word.
    with socket.create_server(("127.0.0.1", 0)) as deaf, Group() as group:
        port = free_port()
        silent = f"127.0.0.1:{deaf.getsockname()[1]}"
        dead = [f"--advertise={address}" for address in (silent, REFUSED, REFUSED_V6)]
        founder = group.found({**SHORT, "group.discovery": "off"}, dead,
                              listen=f"127.0.0.1:{port}")
        ticket = founder.ticket()
        addresses = Ticket(ticket).members[0][1]
        expect(addresses == [silent, REFUSED, REFUSED_V6, f"127.0.0.1:{port}"],
               f"expected the dead ones first, got {addresses}")
        peers = [founder, joiner(group, ticket, "127.0.0.1:0")]
        same_hashes([peer.finish() for peer in peers])
        link = next(e for e in links(peers[1]) if not e["inbound"])
        expect(link["path"] == "direct" and "answered after" in link["reason"] and
               REFUSED in link["reason"], f"expected what failed before, got {link}")
        return link["reason"]


def an_address_that_cannot_be_dialled_is_no_address():
    for wrong in ("nonsense", "127.0.0.1:0"):
        with Group() as group:
            code, _, errors = run_weft("run", RECIPE, "--advertise", wrong,
                                       "--out", str(group.path))
            expect(code == 2 and wrong in errors, f"got {code}: {errors}")


if __name__ == "__main__":
    raise SystemExit(main({test.__name__: test for test in (
        peers_meet_over_ipv6,
        every_address_is_listened_on_unless_one_is_named,
        dead_addresses_are_passed_over,
        an_address_that_cannot_be_dialled_is_no_address,
    )}))
