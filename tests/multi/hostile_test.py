#!/usr/bin/env python3
"""A run goes on, and says why, while strangers send it everything but what it asked for.

usage: hostile_test.py [NAME ...] [--seed=N]
"""
import contextlib
import random
import socket
import ssl
import struct
import subprocess
import sys

from harness import Group, expect, main

SEED = next((int(a.split("=")[1]) for a in sys.argv if a.startswith("--seed=")), 1)
PACED = {"run.round_seconds_min": 0.02}
TIMEOUT = 3.0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificate(folder, kind):
    """A fresh self-signed certificate; (certificate file, key file)."""
    key, certificate = folder / f"{kind}.key", folder / f"{kind}.crt"
    algorithm = {"ed25519": ["-newkey", "ed25519"],
                 "p256": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]}[kind]
    subprocess.run(["openssl", "req", "-x509", *algorithm, "-nodes", "-keyout", key, "-out",
                    certificate, "-subj", "/CN=stranger", "-days", "2"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return certificate, key


def tls_socket(port, certificate=None, protocol="weft/1"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if protocol:
        context.set_alpn_protocols([protocol])
    if certificate:
        context.load_cert_chain(*certificate)
    plain = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
    return context.wrap_socket(plain)


def read_to_end(stream):
    """Waits until the other side ends the connection, at most TIMEOUT."""
    stream.settimeout(TIMEOUT)
    while stream.recv(65536):
        pass


def throw_bytes(port, data):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port),
                                                                timeout=TIMEOUT) as stream:
        stream.sendall(data)
        stream.shutdown(socket.SHUT_WR)
        read_to_end(stream)


def throw_over_tls(port, certificate, data, protocol="weft/1"):
    with contextlib.suppress(OSError), tls_socket(port, certificate, protocol) as stream:
        stream.sendall(data)
        read_to_end(stream)


def frame(kind, head=b"", body=b""):
    return struct.pack("<IIB3x", len(head), len(body), kind) + head + body


class Run:
    """A founder on a known port and one member; `check` ends the run and its claims."""

    def __enter__(self):
        self.group = Group().__enter__()
        self.port = free_port()
        self.founder = self.group.found({"run.steps": 100000, **PACED},
                                        listen=f"127.0.0.1:{self.port}")
        self.member = self.group.join(self.founder.ticket())
        self.member.wait_round(3)
        return self

    def __exit__(self, *exception):
        self.group.__exit__(*exception)

    def check(self):
        """The two go on, a third can still join, and nobody lost a round or a member."""
        self.founder.wait_round(self.founder.last_round() + 3, 10.0)
        third = self.group.join(self.founder.ticket())
        third.wait_round(self.founder.last_round() + 1, 20.0)
        for peer in (self.founder, self.member):
            peer.drain()
            left = [e for _, e in peer.lines if e.get("kind") == "peer_left"]
            expect(not left, f"a member was lost: {left}")
        for peer in (third, self.member, self.founder):
            peer.interrupt()
        for peer in (third, self.member, self.founder):
            code = peer.end(15.0)
            expect(code in (0, 130), f"expected a polite end, got exit code {code}")

    def refusals(self):
        self.founder.drain()
        return [e["reason"] for _, e in self.founder.lines
                if e.get("kind") in ("link_refused", "join_refused")]


def random_bytes_instead_of_tls():
    rng = random.Random(SEED)
    with Run() as run:
        for size in [0, 1, 5, 17] + [rng.randrange(1, 20000) for _ in range(30)]:
            throw_bytes(run.port, rng.randbytes(size))
        # What begins like TLS and then does not go on like it.
        for _ in range(20):
            throw_bytes(run.port, b"\x16\x03\x01" + rng.randbytes(rng.randrange(2, 600)))
        throw_bytes(run.port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        run.check()


def strangers_without_a_proper_certificate():
    with Run() as run:
        other_kind = make_certificate(run.group.path, "p256")
        for _ in range(5):
            throw_over_tls(run.port, None, b"hello")
            throw_over_tls(run.port, other_kind, b"hello")
        run.founder.wait_for(lambda e: e.get("kind") == "link_refused", "a refusal", 10.0)
        run.check()


def wrong_application_protocol():
    with Run() as run:
        certificate = make_certificate(run.group.path, "ed25519")
        for protocol in (None, "h2", "weft/999"):
            throw_over_tls(run.port, certificate, b"hello", protocol)
        run.check()


def garbage_behind_a_proper_handshake():
    rng = random.Random(SEED + 1)
    with Run() as run:
        certificate = make_certificate(run.group.path, "ed25519")
        for _ in range(20):
            throw_over_tls(run.port, certificate, rng.randbytes(rng.randrange(1, 3000)))
        # Frames with every kind of lie in their header.
        for header in (struct.pack("<IIB3x", 0xffffffff, 0, 1), struct.pack("<IIB3x", 0, 0xffffffff, 1),
                       struct.pack("<IIBBH", 4, 0, 1, 9, 9), frame(0x7f, b"x" * 100),
                       frame(0x10, b"y" * 50), frame(0x30, b"", b"z" * 1000),
                       frame(1, b"q" * 70), frame(1)[:5]):
            throw_over_tls(run.port, certificate, header + rng.randbytes(64))
        run.founder.wait_for(lambda e: e.get("kind") == "link_refused", "a refusal", 10.0)
        expect(all(run.refusals()), "a refusal without a reason")
        run.check()


def connections_that_say_nothing():
    with Run() as run:
        silent = [socket.create_connection(("127.0.0.1", run.port)) for _ in range(100)]
        certificate = make_certificate(run.group.path, "ed25519")
        for _ in range(10):
            with contextlib.suppress(OSError):
                silent.append(tls_socket(run.port, certificate))
        run.check()
        for stream in silent:
            stream.close()


TESTS = {test.__name__: test for test in (
    random_bytes_instead_of_tls,
    strangers_without_a_proper_certificate,
    wrong_application_protocol,
    garbage_behind_a_proper_handshake,
    connections_that_say_nothing,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
