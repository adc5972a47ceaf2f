"""Machines of a test network: a namespace each, all on one bridge, and what can go wrong with it.

Needs the right to make network namespaces. Everything made here is gone after close().
"""
import contextlib
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import namespaces  # noqa: E402
from namespaces import sh  # noqa: E402

# Cut off from any real network; the third number tells two worlds on one machine apart.
ADDRESS = "10.77.0.{}"
FIRST_HOST = 11
# One chain per direction; faults are rules in them, each with a comment that names it.
TABLE = """
table inet chaos {
  chain arriving { type filter hook input priority 0; policy accept; }
  chain leaving { type filter hook output priority 0; policy accept; }
}
"""
# A socket of /proc/net/tcp whose connection stands.
ESTABLISHED = "01"


def forbidden():
    """Why this machine cannot run the tests; empty if it can."""
    shape = ["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1mbit", "burst", "16kb",
             "latency", "50ms"]
    return namespaces.forbidden((["nft", "--version"], ["ip", "-V"], ["tc", "-V"]),
                                ((["nft", "-f", "-"], TABLE), (shape, None)))


class Network:
    """`count` machines with one cable each to a bridge; machines are named by number from 0."""

    def __init__(self, count):
        self.count = count
        self.tag = f"wc{os.getpid() % 100000}"
        self.made = []
        self.rules = 0

    def open(self):
        try:
            self._machine("net")
            self._in("net", "ip", "link", "add", "bridge", "type", "bridge")
            self._in("net", "ip", "link", "set", "bridge", "up")
            for number in range(self.count):
                self._build(number)
        except RuntimeError:
            self.close()
            raise
        return self

    def close(self):
        for name in self.made:
            sh("ip", "netns", "del", name, check=False)
        self.made = []

    def address(self, number):
        return ADDRESS.format(FIRST_HOST + number)

    def command(self, number):
        """What comes before a command that is to run on that machine."""
        return ["ip", "netns", "exec", self._name(number)]

    def _name(self, machine):
        return f"{self.tag}-{machine}"

    def _machine(self, machine):
        sh("ip", "netns", "add", self._name(machine))
        self.made.append(self._name(machine))
        self._in(machine, "ip", "link", "set", "lo", "up")

    def _in(self, machine, *command, text=None):
        return sh(*self.command(machine), *command, text=text)

    def _build(self, number):
        self._machine(number)
        port = f"port{number}"
        sh("ip", "-n", self._name(number), "link", "add", "eth0", "type", "veth", "peer", "name",
           port, "netns", self._name("net"))
        self._in(number, "ip", "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
        self._in(number, "ip", "link", "set", "eth0", "up")
        self._in("net", "ip", "link", "set", port, "up", "master", "bridge")
        self._in(number, "nft", "-f", "-", text=TABLE)

    # --- Faults. Each returns the function that undoes it.

    def cut(self, number):
        """The cable is pulled."""
        port = f"port{number}"
        self._in("net", "ip", "link", "set", port, "down")
        return lambda: self._in("net", "ip", "link", "set", port, "up")

    def deafen(self, number, arriving):
        """Packets of one direction are lost without a word."""
        chain = "arriving" if arriving else "leaving"
        return self._drop(number, [(chain, "meta l4proto tcp drop")])

    def lose(self, number, percent):
        rule = f"meta l4proto tcp numgen random mod 100 < {percent} drop"
        return self._drop(number, [("arriving", rule), ("leaving", rule)])

    def separate(self, one, others):
        """Nothing passes between a machine and those others; both may talk to the rest."""
        rules = []
        for other in others:
            rules += [("arriving", f"ip saddr {self.address(other)} drop"),
                      ("leaving", f"ip daddr {self.address(other)} drop")]
        return self._drop(one, rules)

    def forget(self, number, pid):
        """The connections that stand now carry nothing any more; new ones may be made."""
        rules = []
        for own, address, port in connections(pid):
            rules += [("arriving", f"ip saddr {address} tcp sport {port} tcp dport {own} drop"),
                      ("leaving", f"ip daddr {address} tcp dport {port} tcp sport {own} drop")]
        return self._drop(number, rules)

    def slow(self, number, mbit):
        self._in(number, "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate",
                 f"{mbit}mbit", "burst", "16kb", "latency", "300ms")
        return lambda: self._in(number, "tc", "qdisc", "del", "dev", "eth0", "root")

    def _drop(self, number, rules):
        self.rules += 1
        name = f"fault{self.rules}"
        text = "".join(f'add rule inet chaos {chain} {rule} comment "{name}"\n'
                       for chain, rule in rules)
        if text:
            self._in(number, "nft", "-f", "-", text=text)
        return lambda: self._undo(number, name)

    def _undo(self, number, name):
        listing = self._in(number, "nft", "-a", "list", "table", "inet", "chaos").stdout
        chain, text = "", ""
        for line in listing.splitlines():
            chain = (re.findall(r"^\s*chain (\w+)", line) or [chain])[0]
            if f'"{name}"' in line:
                text += f"delete rule inet chaos {chain} handle {line.rsplit(None, 1)[1]}\n"
        if text:
            self._in(number, "nft", "-f", "-", text=text)


def connections(pid):
    """(own port, other address, other port) of the TCP connections in the namespace of `pid`."""
    found = []
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
            _, own, other, state = line.split()[:4]
            if state != ESTABLISHED:
                continue
            address, port = other.split(":")
            parts = [str(int(address[i:i + 2], 16)) for i in (6, 4, 2, 0)]
            found.append((int(own.split(":")[1], 16), ".".join(parts), int(port, 16)))
    return found
