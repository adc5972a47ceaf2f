"""Networks of namespaces and veth pairs, and weft processes in them, for benches of this folder.

Root only. Every namespace goes when its `with` block ends; every wait has a deadline.
"""
import itertools
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/common"))
from namespaces import sh  # noqa: E402
from weft_process import WeftProcess  # noqa: E402

# The share of a shaped rate, which counts Ethernet frames, that is left for data at an MTU of 1500:
# each has 14 bytes of Ethernet, 20 of IPv4 and 32 of TCP with its timestamps.
GOODPUT = (1500 - 20 - 32) / (1500 + 14)


def inside(name, *command):
    return ["ip", "netns", "exec", name, *command]


def shape(name, device, rate_mbit):
    """What leaves by `device`; with no name, one of this machine itself."""
    # The burst is what passes at once; the kernel wants at least a tick's worth of the rate.
    burst_kb = max(16, int(rate_mbit * 1000 / 8 / 250 * 2))
    command = ["tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{rate_mbit}mbit",
               "burst", f"{burst_kb}kb", "latency", "100ms"]
    sh(*(inside(name, *command) if name else command))


_LETTERS = itertools.cycle("abcdefghijklmnopqrstuvwxyz")


class Lab:
    """Namespaces `names`, one for each member, with an address each; use as a context manager."""

    def __init__(self, members):
        # Another name for each: lines go a while after their namespaces do.
        self.tag = f"w{os.getpid() % 100000}{next(_LETTERS)}"
        self.names = [f"{self.tag}n{i}" for i in range(members)]
        self.links = []

    def __enter__(self):
        for name in self.names:
            sh("ip", "netns", "add", name)
            sh(*inside(name, "ip", "link", "set", "lo", "up"))
        return self

    def __exit__(self, *_):
        for name in self.names:
            sh("ip", "netns", "del", name, check=False)
        for link in self.links:
            sh("ip", "link", "del", link, check=False)

    @staticmethod
    def address(member):
        return f"10.77.0.{member + 1}"


class Lan(Lab):
    """All members at one bridge; `uplinks_mbit`: what each may send, None for no limit; with
    `both_ways` also what it gets."""

    def __init__(self, uplinks_mbit, both_ways=False):
        super().__init__(len(uplinks_mbit))
        self.uplinks = uplinks_mbit
        self.both_ways = both_ways

    def __enter__(self):
        super().__enter__()
        bridge = f"{self.tag}b"
        self.links.append(bridge)
        sh("ip", "link", "add", bridge, "type", "bridge")
        sh("ip", "link", "set", bridge, "up")
        for i, name in enumerate(self.names):
            sh("ip", "link", "add", f"{self.tag}v{i}", "type", "veth", "peer", "name", "line",
               "netns", name)
            sh("ip", "link", "set", f"{self.tag}v{i}", "master", bridge, "up")
            sh(*inside(name, "ip", "addr", "add", f"{self.address(i)}/24", "dev", "line"))
            sh(*inside(name, "ip", "link", "set", "line", "up"))
            if self.uplinks[i] is not None:
                shape(name, "line", self.uplinks[i])
                if self.both_ways:
                    shape(None, f"{self.tag}v{i}", self.uplinks[i])
        return self


class Mesh(Lab):
    """A line of its own between any two members; `rate_of(a, b)` in Mbit/s, both ways."""

    def __init__(self, members, rate_of):
        super().__init__(members)
        self.rate_of = rate_of

    def __enter__(self):
        super().__enter__()
        for a, first in enumerate(self.names):
            for b in range(a + 1, len(self.names)):
                second = self.names[b]
                sh("ip", "link", "add", f"to{b}", "netns", first, "type", "veth", "peer", "name",
                   f"to{a}", "netns", second)
                for name, own, other in ((first, a, b), (second, b, a)):
                    sh(*inside(name, "ip", "addr", "add", f"{self.address(own)}/32", "dev",
                               f"to{other}"))
                    sh(*inside(name, "ip", "link", "set", f"to{other}", "up"))
                    sh(*inside(name, "ip", "route", "add", f"{self.address(other)}/32", "dev",
                               f"to{other}", "src", self.address(own)))
                    shape(name, f"to{other}", self.rate_of(a, b))
        return self


def start(weft, name, arguments, out):
    """A weft process in that namespace."""
    return WeftProcess(inside(name, weft, *arguments), out)


def start_group(weft, lab, recipe, settings, folder, members=None):
    """The founder in the first namespace, a joiner in each other one; or in the first `members`."""
    members = members or len(lab.names)
    given = [word for key, value in {**settings, "group.start_members": members}.items()
             for word in ("--set", f"{key}={value}")]
    listen = [f"{lab.address(i)}:0" for i in range(len(lab.names))]
    peers = [start(weft, lab.names[0], ["run", recipe, "--listen", listen[0], "--threads", "1",
                                        *given], f"{folder}/0")]
    try:
        ticket = peers[0].ticket()
        for i, name in enumerate(lab.names[1:members], 1):
            peers.append(join(weft, name, ticket, listen[i], f"{folder}/{i}"))
    except BaseException:
        for peer in peers:
            peer.stop()
        raise
    return peers


def join(weft, name, ticket, listen, out):
    return start(weft, name, ["join", ticket, "--listen", listen, "--threads", "1"], out)
