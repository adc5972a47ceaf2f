#!/usr/bin/env python3
"""The attacks of SECURITY.md's table against running peers, one test each.

usage: security_test.py [NAME ...] [--seed=N]
"""
import contextlib
import pathlib
import random
import resource
import socket
import ssl
import stat
import struct
import sys
import time

from harness import Group, expect, main, run_weft
from strangers import Key, Link, Proxy, Server, frame, free_port, hello
from ticket_line import Ticket

SEED = next((int(a.split("=")[1]) for a in sys.argv if a.startswith("--seed=")), 1)
# A joiner that is led astray must not find its way by the local network.
PACED = {"run.round_seconds_min": 0.02, "group.discovery": "off"}
MEBIBYTE = 1 << 20


class Run:
    """A founder on a known port and one member; `check` says that both go on unharmed."""

    def __init__(self, settings=None):
        # A small log of results: what a founder keeps of its rounds is no stranger's doing.
        self.settings = {"run.steps": 100000, "group.result_log_bytes": 8 * MEBIBYTE, **PACED,
                         **(settings or {})}

    def __enter__(self):
        self.group = Group().__enter__()
        self.port = free_port()
        self.founder = self.group.found(self.settings, listen=f"127.0.0.1:{self.port}")
        self.ticket = self.founder.ticket()
        self.peer = Ticket(self.ticket).members[0][0]
        self.member = self.group.join(self.ticket)
        self.member.wait_round(3)
        return self

    def __exit__(self, *exception):
        self.group.__exit__(*exception)

    def check(self):
        self.founder.wait_round(self.founder.last_round() + 3, 10.0)
        self.member.wait_round(self.founder.last_round(), 10.0)
        for peer in (self.founder, self.member):
            peer.drain()
            bad = [e for _, e in peer.lines if e.get("kind") in ("peer_left", "state_mismatch")]
            expect(not bad, f"the group was harmed: {bad}")

    def status(self, field):
        """Memory of the founder in bytes, such as VmRSS."""
        text = pathlib.Path(f"/proc/{self.founder.process.pid}/status").read_text()
        line = next(one for one in text.splitlines() if one.startswith(field + ":"))
        return int(line.split()[1]) * 1024

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.founder.process.pid}/fd").iterdir()))

    def members(self):
        self.founder.drain()
        views = [e for _, e in self.founder.lines if e.get("kind") == "view_changed"]
        return len(views[-1]["members"])


def a_man_in_the_middle_with_his_own_certificate():
    heard = []
    with Run() as run:
        key = Key(run.group.path)

        def handle(stream):
            with key.server().wrap_socket(stream, server_side=True) as inside:
                inside.settimeout(2.0)
                heard.append(inside.recv(4096))

        server = Server(handle)
        joiner = run.group.join(Ticket(run.ticket).through(server.port))
        expect(joiner.end(60.0) != 0, "a joiner took another key for the member's")
        server.close()
        expect(not any(heard), f"the joiner spoke to a stranger: {heard[:1]}")
        run.check()


def altered_records():
    rng = random.Random(SEED)

    def change(_, number, data):
        if number < 2:
            return data  # the handshake; whoever asks for anything does so after it
        altered = bytearray(data)
        altered[rng.randrange(len(altered))] ^= 1 << rng.randrange(8)
        return bytes(altered)

    with Run() as run:
        proxy = Proxy(run.port, change)
        joiner = run.group.join(Ticket(run.ticket).through(proxy.port))
        expect(joiner.end(60.0) != 0, "a joiner came in although every record was altered")
        proxy.close()
        expect(run.members() == 2, "a stranger is a member")
        run.check()


def a_replayed_handshake():
    with Run() as run:
        proxy = Proxy(run.port)
        joiner = run.group.join(Ticket(run.ticket).through(proxy.port))
        joiner.wait_round(1)
        joiner.interrupt()
        joiner.end(20.0)
        proxy.close()
        expect(any(proxy.said), "nothing was recorded")
        members = run.members()
        for said in [bytes(one) for one in proxy.said if one]:
            for _ in range(3):
                with contextlib.suppress(OSError), socket.create_connection(
                        ("127.0.0.1", run.port), timeout=3.0) as stream:
                    stream.sendall(said)
                    stream.shutdown(socket.SHUT_WR)
                    while stream.recv(65536):
                        pass
        expect(run.members() <= members, "a replay became a member")
        run.founder.wait_round(run.founder.last_round() + 3, 10.0)


def a_replayed_ticket():
    """A ticket that was used, then revoked; one that has expired; one with a moved expiry."""
    with Run() as run:
        out = str(run.founder.out)
        code, line, told = run_weft("ticket", out, "--valid-h", "1")
        expect(code == 0, f"weft ticket: {told}")
        first = run.group.join(line.strip())
        first.wait_round(1)
        first.interrupt()
        first.end(20.0)
        code, _, told = run_weft("revoke", out, line.strip())
        expect(code == 0, f"weft revoke: {told}")
        run.member.wait_kind("ticket_revoked", 10.0)
        for port in (run.port, None):
            ticket = Ticket(line.strip())
            again = run.group.join(ticket.through(port) if port else line.strip())
            expect(again.end(60.0) != 0, "a revoked ticket let somebody in")
            errors = (again.out / "stderr.txt").read_text()
            expect("revoked" in errors, f"the reason is not told: {errors!r}")
        moved = Ticket(run.ticket)
        moved.expiry += 3600
        forged = run.group.join(moved.line())
        expect(forged.end(60.0) != 0, "a ticket with a moved expiry let somebody in")
        expired = Ticket(run.ticket)
        expired.expiry = int(time.time()) - 60
        late = run.group.join(expired.line())
        expect(late.end(30.0) != 0, "an expired ticket let somebody in")


def slow_lorises():
    """Each byte comes in time for the next; none may hold a place for long."""
    with Run() as run:
        key = Key(run.group.path)
        whole = hello(0, key.peer, run.peer)
        plain, slow = [], []
        for _ in range(40):
            plain.append(socket.create_connection(("127.0.0.1", run.port)))
        for _ in range(10):
            slow.append(key.client().wrap_socket(
                socket.create_connection(("127.0.0.1", run.port), timeout=3.0)))
        begin = time.monotonic()
        for at in range(len(whole) - 1):
            for stream in plain + slow:
                with contextlib.suppress(OSError):
                    stream.send(whole[at:at + 1])
            late = begin + at * 0.1 - time.monotonic()
            time.sleep(max(0.0, late))  # tidy: allow sleep: that each byte comes late is the attack
        third = run.group.join(run.ticket)
        third.wait_round(1)
        ended = 0
        for stream in plain + slow:
            stream.settimeout(0.2)
            with contextlib.suppress(OSError):
                ended += not stream.recv(1)
            stream.close()
        run.check()
        return f"{ended} of 50 were ended"


def ten_thousand_half_open_connections():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = hard if hard != resource.RLIM_INFINITY else 1 << 20
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(room, 12000), hard))
    held = max(100, min(10000, min(room, 12000) - 500))
    with Run() as run:
        memory, descriptors = run.status("VmRSS"), run.descriptors()
        streams, refused = [], 0
        for number in range(10000):
            stream = socket.socket()
            # Many addresses, so that not one address's bound alone is at work.
            stream.bind((f"127.0.{1 + number % 40}.{1 + number % 5}", 0))
            stream.settimeout(2.0)
            try:
                stream.connect(("127.0.0.1", run.port))
                streams.append(stream)
            except OSError:
                refused += 1
                stream.close()
            if len(streams) > held:
                streams.pop(0).close()
        grown = run.status("VmRSS") - memory
        more = run.descriptors() - descriptors
        expect(grown < 64 * MEBIBYTE, f"memory grew by {grown >> 20} MiB")
        expect(more <= 200, f"{more} more descriptors")
        third = run.group.join(run.ticket)
        third.wait_round(1, 40.0)
        run.check()
        for stream in streams:
            stream.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return f"{more} descriptors and {grown >> 20} MiB more; {refused} refused by the system"


def memory_bombs_by_length_fields():
    """Every length says the most; nothing follows it."""
    with Run() as run:
        key = Key(run.group.path)
        memory = run.status("VmRSS")
        bombs = [struct.pack("<IIB3x", head, body, kind)
                 for head in (0xffffffff, 1 << 18, 1024) for body in (0xffffffff, 1 << 20, 0)
                 for kind in (0x01, 0x10, 0x22, 0x30, 0x51)]
        streams = []
        for bomb in bombs:
            stream = key.client().wrap_socket(
                socket.create_connection(("127.0.0.1", run.port), timeout=3.0))
            with contextlib.suppress(OSError):
                stream.sendall(bomb)
            streams.append(stream)
        # The same behind a link in good order, where longer frames are allowed.
        for bomb in bombs[-15:]:
            with contextlib.suppress(OSError, ssl.SSLError):
                link = Link(run.port, key, run.peer)
                link.send(bomb, lane=1)
                link.send(bomb)
                streams.append(link)
        grown = run.status("VmRSS") - memory
        expect(grown < 64 * MEBIBYTE, f"memory grew by {grown >> 20} MiB")
        run.check()
        for stream in streams:
            stream.close()
        return f"{grown >> 20} MiB more"


def oversized_views():
    with Run() as run:
        view = struct.pack("<Q", 1 << 40) + bytes(32)
        members = b"".join(struct.pack("<I", n) + bytes(28) + struct.pack("<QI", 1, 0)
                           for n in range(5000))
        for count in (257, 5000, 0xffffffff):
            key = Key(run.group.path, f"view{count}")
            link = Link(run.port, key, run.peer)
            value = struct.pack("<QI", 0, count) + members + struct.pack("<I", 0)
            # All of it is more than a stranger may say at once; its beginning is none.
            with contextlib.suppress(OSError):  # it may end before all is sent
                link.send(frame(0x17, view + view + b"\1" + (value if count == 257 else value[:2000])))
            expect(link.ended(), f"a view of {count} members did not end the link")
            link.close()
        expect(run.members() == 2, "a stranger's view was believed")
        run.founder.wait_kind("misconduct", 10.0)
        run.check()


def no_secret_leaves_the_owner():
    with Run() as run:
        code, line, _ = run_weft("ticket", str(run.founder.out))
        expect(code == 0, "weft ticket")
        secrets = [Ticket(run.ticket).secret, Ticket(line.strip()).secret]
        for peer in (run.founder, run.member):
            for name in ("identity", "events.jsonl"):
                mode = stat.S_IMODE((peer.out / name).stat().st_mode)
                expect(mode == 0o600, f"{name} has mode {mode:o}")
            control = (peer.out / "control.sock").stat()
            expect(stat.S_ISSOCK(control.st_mode), "control.sock is no socket")
            expect(stat.S_IMODE(control.st_mode) == 0o600, "control.sock is open to others")
            key = (peer.out / "identity").read_text()
            secret_lines = [one for one in key.splitlines() if "PRIVATE" not in one]
            errors = (peer.out / "stderr.txt").read_bytes()
            for other in peer.out.rglob("*"):
                if not other.is_file() or other.name == "identity":
                    continue
                data = other.read_bytes()
                expect(not any(one.encode() in data for one in secret_lines if one),
                       f"{other.name} holds the private key")
                for secret in secrets:
                    found = secret in data or secret.hex().encode() in data
                    expect(not found, f"{other.name} holds a ticket's secret in the clear")
            expect(b"weft2-" not in errors, "the log holds a ticket")


TESTS = {test.__name__: test for test in (
    a_man_in_the_middle_with_his_own_certificate,
    altered_records,
    a_replayed_handshake,
    a_replayed_ticket,
    slow_lorises,
    ten_thousand_half_open_connections,
    memory_bombs_by_length_fields,
    oversized_views,
    no_secret_leaves_the_owner,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
