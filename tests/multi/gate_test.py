#!/usr/bin/env python3
"""What strangers, who have proved a key and nothing else, get of a member: next to nothing.

usage (as root, or where network namespaces may be made): gate_test.py [NAME ...]

The member runs in a network namespace of its own, the strangers in another one, joined by a cable.
"""
import contextlib
import json
import os
import pathlib
import resource
import secrets
import select
import socket
import ssl
import struct
import subprocess
import sys
import time

import harness
import namespaces
from harness import Group, Peer, expect, main
from namespaces import sh
from strangers import Key, Link, frame, hello
from ticket_line import Ticket

SKIPPED = 77
MEBIBYTE = 1 << 20
PORT = 7420
MEMBER = "10.99.0.1"
# The strangers' own, one after the other.
STRANGERS = [f"10.99.0.{number}" for number in range(2, 66)]
INTRODUCE, INTRODUCTION, RELAY_OFFER = 4, 5, 6
SETTINGS = {"run.steps": 1000000, "run.round_seconds_min": 0.05, "group.discovery": "off",
            "group.result_log_bytes": 8 * MEBIBYTE}
PROGRAM = harness.WEFT


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def relay_offer(attempt, peer, endpoints):
    """Two tokens that a line protocol would take for orders."""
    token = b"\r\nFLUSHALL\r\n".ljust(32, b" ")
    names = struct.pack("<I", len(endpoints)) + b"".join(text(one) for one in endpoints)
    return frame(RELAY_OFFER, attempt + peer + b"\0" + token + token + names)


def introduction(attempt, peer, endpoint):
    return frame(INTRODUCTION, attempt + peer + b"\0" + text(endpoint) + text(endpoint))


class Listener:
    """A service on loopback, and on the member's other address, inside of its namespace: a process
    that writes down whoever connects and whatever they say."""

    SCRIPT = """
import select, socket, sys
ears = [socket.create_server((host, int(sys.argv[1])), backlog=1024) for host in sys.argv[2:]]
print("ready", flush=True)
streams = []
while True:
    for one in select.select(ears + streams, [], [])[0]:
        if one in ears:
            stream, who = one.accept()
            streams.append(stream)
            print("connected", who, flush=True)
            continue
        said = one.recv(4096)
        print("said", said, flush=True)
        if not said:
            streams.remove(one)
"""

    def __init__(self, inside, path, port, *hosts):
        self.out = path / "listener.txt"
        self._log = open(self.out, "w", encoding="utf-8")
        self.process = subprocess.Popen([*inside, sys.executable, "-c", self.SCRIPT, str(port),
                                         *hosts], stdout=self._log)
        deadline = time.monotonic() + 10
        while "ready" not in self.lines():
            expect(time.monotonic() < deadline, "the listener did not begin")
            select.select([], [], [], 0.05)

    def lines(self):
        return self.out.read_text(encoding="utf-8").splitlines()

    def close(self):
        self.process.kill()
        self.process.wait()
        self._log.close()


class Town:
    """The member's namespace, and the strangers'; a founder runs in the first one."""

    def __enter__(self):
        tag = f"wgate{os.getpid() % 100000}"
        self.home, self.street = tag + "h", tag + "s"
        self.group = Group().__enter__()
        self.made = []
        try:
            for name in (self.home, self.street):
                sh("ip", "netns", "add", name)
                self.made.append(name)
                sh("ip", "-n", name, "link", "set", "lo", "up")
            sh("ip", "-n", self.home, "link", "add", "wire", "type", "veth", "peer", "name",
               "wire", "netns", self.street)
            for name, addresses in ((self.home, [MEMBER]), (self.street, STRANGERS)):
                for address in addresses:
                    sh("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "wire")
                sh("ip", "-n", name, "link", "set", "wire", "up")
            harness.WEFT = "ip"
            settings = [f"--set={key}={value}" for key, value in SETTINGS.items()]
            self.founder = self.start(self.home, "founder", "run", harness.RECIPE, "--listen",
                                      f"{MEMBER}:{PORT}", *settings)
            self.line = self.founder.ticket()
            self.peer = Ticket(self.line).members[0][0]
            self.founder.wait_round(3)
            self.pid = self._pid_of_founder()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        harness.WEFT = PROGRAM
        self.group.__exit__(None, None, None)
        for name in self.made:
            sh("ip", "netns", "del", name, check=False)

    def start(self, where, name, *arguments):
        peer = Peer(["netns", "exec", where, PROGRAM, *arguments], self.group.path / name)
        self.group.peers.append(peer)
        return peer

    def _pid_of_founder(self):
        """`ip netns exec` becomes the program it runs."""
        return self.founder.process.pid

    def strangers(self, act, *arguments, seconds=60):
        """Runs the function of this file called `act` on the street; what it returned."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.street, sys.executable, __file__, "--act", act,
             json.dumps([str(self.group.path), self.peer.hex(), *arguments])],
            check=False, capture_output=True, text=True, timeout=seconds)
        expect(done.returncode == 0, f"{act}: {done.stderr[-2000:]}")
        return json.loads(done.stdout)

    def memory(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        line = next(one for one in status.splitlines() if one.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def round_seconds(self, rounds=40):
        begin = self.founder.last_round()
        at = time.monotonic()
        self.founder.wait_round(begin + rounds, 60)
        return (time.monotonic() - at) / rounds


# --- On the street.

def say_where_others_are(folder, peer, port):
    """A full link, and every frame by which a peer could be sent somewhere."""
    folder, peer = pathlib.Path(folder), bytes.fromhex(peer)
    places = [f"127.0.0.1:{port}", f"[::ffff:127.0.0.1]:{port}", f"[::ffff:0.0.0.0]:{port}",
              f"0.0.0.0:{port}", f"{MEMBER}:{port}", f"[::1]:{port}", f"127.1.2.3:{port}",
              f"{STRANGERS[0]}:{port}"]
    own = socket.create_server((STRANGERS[0], port), backlog=1024)
    own.setblocking(False)
    answered = 0
    for number, place in enumerate(places):
        key = Key(folder, f"liar{number}")
        link = Link(PORT, key, peer, MEMBER, STRANGERS[0])
        link.lanes[0].setblocking(False)
        with contextlib.suppress(OSError):
            drain(link.lanes[0])  # the rest of the answer to the hello
        for kind in range(4):
            link.send(relay_offer(secrets.token_bytes(16), secrets.token_bytes(32), [place]))
            link.send(introduction(secrets.token_bytes(16), secrets.token_bytes(32), place))
            link.send(frame(INTRODUCE, secrets.token_bytes(16) + key.peer + bytes([kind % 2])))
        select.select([], [], [], 0.3)
        answered += len(drain(link.lanes[0]))
        link.close()
    try:
        visitor = own.accept()[1]
    except BlockingIOError:
        visitor = None
    return {"answered": answered, "visitor": visitor}


def drain(stream):
    got = b""
    with contextlib.suppress(ssl.SSLWantReadError, BlockingIOError):
        while part := stream.recv(65536):
            got += part
    return got


def crowd(folder, peer, count, addresses, seconds):
    """`count` strangers from so many addresses, of every kind, who hold on to what they have."""
    folder, peer = pathlib.Path(folder), bytes.fromhex(peer)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    keys = [Key(folder, f"crowd{number}") for number in range(min(count, 96))]
    contexts = [key.client() for key in keys]
    held, links, failed = [], 0, 0
    end = time.monotonic() + seconds
    number = 0
    while number < count or time.monotonic() < end:
        source = STRANGERS[number % addresses]
        key = number % len(keys)
        kind = number % 5
        number += 1
        try:
            plain = socket.create_connection((MEMBER, PORT), 2.0, (source, 0))
            held.append(plain)
            if kind == 0:
                continue  # silent
            if kind == 1:
                plain.sendall(secrets.token_bytes(300))
                continue
            stream = contexts[key].wrap_socket(plain)
            held.append(stream)
            if kind == 2:
                continue  # no hello
            stream.sendall(hello(0, keys[key].peer, peer))
            stream.recv(16)
            if kind == 3:
                continue  # no second lane
            second = contexts[key].wrap_socket(
                socket.create_connection((MEMBER, PORT), 2.0, (source, 0)))
            held.append(second)
            second.sendall(hello(1, keys[key].peer, peer))
            second.recv(16)
            links += 1
            # Valid, and as long as they may be; not all of it comes.
            stream.sendall(frame(0x53, b"")[:-1] + b"\0" + frame(0x24, bytes(1000))[:600])
        except (OSError, ssl.SSLError):
            failed += 1
        if len(held) > 3000:
            for stream in held[:500]:
                stream.close()
            del held[:500]
    return {"made": number, "links": links, "failed": failed}


ACTS = {act.__name__: act for act in (say_where_others_are, crowd)}


# --- The tests.

def nobody_is_dialled_for_a_stranger():
    with Town() as town:
        port = 6379
        inside = ["ip", "netns", "exec", town.home]
        listener = Listener(inside, town.group.path, port, "127.0.0.1", MEMBER)
        try:
            seen = town.strangers("say_where_others_are", port)
        finally:
            listener.close()
        heard = [line for line in listener.lines() if line != "ready"]
        expect(not heard, f"the listener was visited: {heard[:3]}")
        expect(seen["visitor"] is None, f"the member came to {seen['visitor']}")
        expect(seen["answered"] == 0, f"strangers were answered {seen['answered']} bytes")
        town.founder.wait_round(town.founder.last_round() + 5)
        town.founder.drain()
        ups = [e for _, e in town.founder.lines if e.get("kind") == "link_up"]
        expect(not ups, f"strangers' links are in the log: {ups[:2]}")


def crowded(count, addresses):
    with Town() as town:
        calm = town.round_seconds()
        memory, descriptors = town.memory(), town.descriptors()
        most, more = memory, descriptors
        seconds = 12
        crowd_now = subprocess.Popen(
            ["ip", "netns", "exec", town.street, sys.executable, __file__, "--act", "crowd",
             json.dumps([str(town.group.path), town.peer.hex(), count, addresses, seconds])],
            stdout=subprocess.PIPE, text=True)
        try:
            begin, joined, busy = time.monotonic(), None, None
            while crowd_now.poll() is None:
                most, more = max(most, town.memory()), max(more, town.descriptors())
                if joined is None and time.monotonic() > begin + 5:
                    busy = town.round_seconds(20)
                    at = time.monotonic()
                    # On the street, so that its own address is one of the strangers'.
                    newcomer = town.start(town.street, "newcomer", "join", town.line)
                    newcomer.wait_round(1, 30)
                    joined = time.monotonic() - at
                select.select([], [], [], 0.02)
            told = json.loads(crowd_now.communicate()[0])
        finally:
            crowd_now.kill()
            crowd_now.wait()
        grown = most - memory
        said = (f"{told}: {grown / MEBIBYTE:.1f} MiB and {more - descriptors} descriptors more, a "
                f"newcomer was in after {joined:.1f} s, rounds took {calm * 1e3:.0f} ms and then "
                f"{busy * 1e3:.0f} ms")
        expect(grown < 64 * MEBIBYTE, said)
        expect(more - descriptors <= 520, said)
        return said


def many_strangers_of_one_address_hold_little():
    return crowded(320, 1)


def many_strangers_of_many_addresses_hold_little():
    return crowded(640, len(STRANGERS))


TESTS = {test.__name__: test for test in (
    nobody_is_dialled_for_a_stranger,
    many_strangers_of_one_address_hold_little,
    many_strangers_of_many_addresses_hold_little,
)}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--act"]:
        print(json.dumps(ACTS[sys.argv[2]](*json.loads(sys.argv[3]))))
        sys.exit(0)
    reason = namespaces.forbidden((["ip", "-V"],), ())
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    sys.exit(main(TESTS))
