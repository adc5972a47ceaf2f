#!/usr/bin/env python3
"""Two peers behind routers and one in the open form a swarm, whatever the routers do.

usage (as root, or where network namespaces may be made): nat_test.py [--all | NAME ...]

Without names a slice of the tests is run. Each machine is a network namespace; the routers masquerade with nftables. What the event logs say
about the link of the two is the claim: which path it took, by whom, and why.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multi"))
import harness  # noqa: E402
import namespaces  # noqa: E402
from harness import Group, Peer, expect, main  # noqa: E402
from namespaces import sh  # noqa: E402

# The internet of the test, cut off from the real one: private addresses would count as one network,
# and miniupnpd refuses those for documentation.
OPEN, FIRST, SECOND = "11.0.0.10", "11.0.0.20", "11.0.0.30"
# The same with IPv6 only: nothing is translated, every machine has an address of the world.
OPEN_V6, FIRST_V6, SECOND_V6 = "2600:77::10", "2600:77::20", "2600:77::30"
PROGRAM = harness.WEFT
# What ctest takes for a skipped test.
SKIPPED = 77
PACED = {"run.round_seconds_min": 0.05, "run.steps": 60, "group.start_members": 3,
         "group.suspicion_timeout_ms": 5000}


def rules(masquerade, uninvited):
    """Of a router that translates by `masquerade` and does `uninvited` to new guests."""
    return f"""
table ip translate {{
  chain out {{
    type nat hook postrouting priority 100
    oifname "wan" {masquerade}
  }}
}}
table ip guard {{
  chain here {{
    type filter hook input priority 0
    iifname "wan" meta l4proto tcp ct state new {uninvited}
  }}
  chain through {{
    type filter hook forward priority 0
    iifname "wan" ct state new drop
  }}
}}
"""


# Ports are kept where they are free, and nobody comes in uninvited.
CONE = rules("masquerade", "drop")
# Every connection gets a port of its own.
SYMMETRIC = rules("masquerade fully-random", "drop")
# And who comes uninvited hears so at once.
REFUSING = rules("masquerade fully-random", "reject with tcp reset")

# A home line with IPv6: no translation, and a firewall that lets nobody in uninvited.
FIREWALL = """
table inet guard {
  chain through {
    type filter hook forward priority 0
    iifname "wan" meta l4proto tcp ct state new drop
  }
}
"""

# A router that opens ports when it is asked to; miniupnpd fills the empty chains.
OPENING = """
table inet filter {
  chain forward {
    type filter hook forward priority 0
    jump miniupnpd
    iifname "wan" ct state new drop
  }
  chain miniupnpd { }
  chain before {
    type nat hook prerouting priority -100
    jump prerouting_miniupnpd
  }
  chain after {
    type nat hook postrouting priority 100
    jump postrouting_miniupnpd
    oifname "wan" masquerade fully-random
  }
  chain prerouting_miniupnpd { }
  chain postrouting_miniupnpd { }
}
"""
DAEMON = """
ext_ifname=wan
listening_ip=lan
enable_natpmp={natpmp}
enable_upnp={upnp}
secure_mode=yes
uuid=00000000-0000-0000-0000-000000000001
upnp_table_name=filter
upnp_nat_table_name=filter
upnp_forward_chain=miniupnpd
upnp_nat_chain=prerouting_miniupnpd
upnp_nat_postrouting_chain=postrouting_miniupnpd
allow 1024-65535 0.0.0.0/0 1024-65535
"""


def forbidden():
    """Why this machine cannot run the tests; empty if it can."""
    return namespaces.forbidden((["nft", "--version"], ["ip", "-V"]),
                                ((["nft", "-f", "-"], CONE),))


class Internet:
    """A bridge, an open machine on it, and two machines behind a router each."""

    def __init__(self, first, second, v6=False):
        self.v6 = v6
        self.open = f"[{OPEN_V6}]" if v6 else OPEN
        self.tag = f"weft{os.getpid() % 100000}"
        self.made = []
        self.rules = {"r1": first, "r2": second}
        self.daemons = []

    def __enter__(self):
        try:
            self._build()
        except RuntimeError as fault:
            self.__exit__()
            raise harness.Failure(str(fault)) from None
        return self

    def __exit__(self, *_):
        for daemon in self.daemons:
            daemon.kill()
            daemon.wait()
        for name in self.made:
            sh("ip", "netns", "del", name, check=False)

    def name(self, machine):
        return f"{self.tag}-{machine}"

    def inside(self, machine, *command, text=None):
        return sh("ip", "netns", "exec", self.name(machine), *command, text=text)

    def _machine(self, machine):
        sh("ip", "netns", "add", self.name(machine))
        self.made.append(self.name(machine))
        self.inside(machine, "ip", "link", "set", "lo", "up")

    def _wire(self, machine, device, address, other, port):
        """A cable from `device` of one machine to `port` of another."""
        sh("ip", "-n", self.name(machine), "link", "add", device, "type", "veth", "peer", "name",
           port, "netns", self.name(other))
        if address:
            self._address(machine, device, address)
        self.inside(machine, "ip", "link", "set", device, "up")
        self.inside(other, "ip", "link", "set", port, "up")

    def _address(self, machine, device, address):
        # Without a look whether somebody else has the address, which takes seconds.
        plain = (f"{address}/64", "dev", device, "nodad") if ":" in address else (
            f"{address}/24", "dev", device)
        self.inside(machine, "ip", "addr", "add", *plain)

    def _build(self):
        for machine in ("net", "open", "r1", "r2", "m1", "m2"):
            self._machine(machine)
        self.inside("net", "ip", "link", "add", "bridge", "type", "bridge")
        self.inside("net", "ip", "link", "set", "bridge", "up")
        wide = (OPEN_V6, FIRST_V6, SECOND_V6) if self.v6 else (OPEN, FIRST, SECOND)
        for machine, address in zip(("open", "r1", "r2"), wide):
            self._wire(machine, "wan", address, "net", f"to-{machine}")
            self.inside("net", "ip", "link", "set", f"to-{machine}", "master", "bridge")
        for number, router in ((1, "r1"), (2, "r2")):
            machine = f"m{number}"
            near = f"2600:77:{number}::" if self.v6 else f"192.168.{number}."
            self._wire(machine, "lan", near + "2", router, "lan")
            self._address(router, "lan", near + "1")
            self.inside(machine, "ip", "route", "add", "default", "via", near + "1")
            self.inside(router, "sysctl", "-qw", "net.ipv4.ip_forward=1",
                        "net.ipv6.conf.all.forwarding=1")
            self.inside(router, "nft", "-f", "-", text=self.rules[router])
            if self.v6:
                for elsewhere in {"open", "r1", "r2"} - {router}:
                    self.inside(elsewhere, "ip", "route", "add", f"{near}/64", "via",
                                wide[number])

    def open_ports(self, router, folder, **protocols):
        """Starts the daemon that opens ports of `router`."""
        config = pathlib.Path(folder) / f"{router}.conf"
        config.write_text(DAEMON.format(**protocols), encoding="utf-8")
        log = open(config.with_suffix(".log"), "w", encoding="utf-8")
        self.daemons.append(subprocess.Popen(
            ["ip", "netns", "exec", self.name(router), "miniupnpd", "-d", "-f", str(config), "-P",
             str(config.with_suffix(".pid"))],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def start(self, group, machine, *arguments):
        peer = Peer(["netns", "exec", self.name(machine), PROGRAM, *arguments],
                    group.path / machine)
        group.peers.append(peer)
        return peer


def links(peer, other):
    """The link_up events that `peer` logged about `other`, as dicts."""
    name = other.wait_kind("started")[1]["peer"]
    lines = (peer.out / "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    return [e for e in events if e["kind"] == "link_up" and e["peer"] == name]


def swarm_behind(first, second, path, v6=False):
    """Runs the three to the end; the link of the two hidden ones took `path`."""
    harness.WEFT = "ip"
    try:
        with Internet(first, second, v6) as net, Group() as group:
            sets = [f"--set={key}={value}" for key, value in PACED.items()]
            opened = net.start(group, "open", "run", harness.RECIPE, "--listen",
                               f"{net.open}:7420", *sets)
            ticket = opened.ticket()
            hidden = [net.start(group, machine, "join", ticket) for machine in ("m1", "m2")]
            opened.wait_for(lambda e: e.get("kind") == "view_changed" and len(e["members"]) == 3,
                            "a view of three", 40)
            summaries = [peer.finish(90) for peer in (opened, *hidden)]
            harness.same_hashes(summaries)
            seen = links(hidden[0], hidden[1]) + links(hidden[1], hidden[0])
            expect(seen, "no link between the hidden two was logged")
            helper = opened.wait_kind("started")[1]["peer"]
            for event in seen:
                expect(event["path"] == path, f"expected the path {path}, got {event}")
                expect(event["via"] == helper, f"expected the help of {helper}, got {event}")
                expect(event["reason"], f"expected a reason, got {event}")
            for peer in hidden:
                direct = links(peer, opened)
                expect(all(e["path"] == "direct" for e in direct), f"expected direct: {direct}")
            dialled = next(e for e in seen if not e["inbound"])
            views = summaries[0]["view_changes"]
            expect(views <= 4, f"expected at most 4 view changes, got {views}")
            return f"{path}: {dialled['reason'][:120]}"
    finally:
        harness.WEFT = PROGRAM


def opened_port(protocol):
    """The first hidden peer's router opens its port; the second dials it like any other."""
    if shutil.which("miniupnpd") is None:
        return "skipped: miniupnpd is missing"
    harness.WEFT = "ip"
    try:
        with Internet(OPENING, SYMMETRIC) as net, Group() as group:
            net.open_ports("r1", group.path, upnp="yes" if protocol == "UPnP" else "no",
                           natpmp="yes" if protocol == "NAT-PMP" else "no")
            sets = [f"--set={key}={value}" for key, value in PACED.items()]
            opened = net.start(group, "open", "run", harness.RECIPE, "--listen", f"{OPEN}:7420",
                               *sets)
            ticket = opened.ticket()
            first = net.start(group, "m1", "join", ticket, "--map-port")
            # A member, so that the second one knows its addresses when it comes.
            opened.wait_for(lambda e: e.get("kind") == "view_changed" and len(e["members"]) == 2,
                            "a view of two", 40)
            second = net.start(group, "m2", "join", ticket)
            harness.same_hashes([peer.finish(90) for peer in (opened, first, second)])
            seen = links(first, second)
            expect(seen, "no link between the hidden two was logged")
            expect(all(e["path"] == "mapped" and e["inbound"] for e in seen),
                   f"expected an inbound mapped link, got {seen}")
            expect(protocol in seen[0]["reason"], f"expected {protocol}, got {seen[0]}")
            return seen[0]["reason"]
    finally:
        harness.WEFT = PROGRAM


def port_opened_by_upnp():
    return opened_port("UPnP")


def port_opened_by_nat_pmp():
    return opened_port("NAT-PMP")


def cone_and_cone():
    return swarm_behind(CONE, CONE, "punched")


def symmetric_and_cone():
    return swarm_behind(SYMMETRIC, CONE, "relayed")


def symmetric_and_symmetric():
    return swarm_behind(SYMMETRIC, SYMMETRIC, "relayed")


def firewalls_and_ipv6():
    return swarm_behind(FIREWALL, FIREWALL, "punched", v6=True)


def symmetric_and_refusing():
    return swarm_behind(SYMMETRIC, REFUSING, "relayed")


if __name__ == "__main__":
    reason = forbidden()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    tests = [cone_and_cone, symmetric_and_cone, firewalls_and_ipv6]
    if len(sys.argv) > 1:
        tests += [symmetric_and_symmetric, symmetric_and_refusing, port_opened_by_upnp,
                  port_opened_by_nat_pmp]
    sys.exit(main({test.__name__: test for test in tests}))
