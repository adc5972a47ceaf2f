#!/usr/bin/env python3
"""What a former member can do, and a process that has a member's key, with real processes.

usage: evidence_test.py [NAME ...]
"""
import contextlib
import hashlib
import shutil
import socket
import ssl
import struct
import subprocess
import sys

from harness import Failure, Group, expect, main, run_weft, same_hashes
from strangers import CONTROL, TIMEOUT, Key, frame, hello
from ticket_line import Ticket

PACED = {"run.round_seconds_min": 0.02, "group.discovery": "off"}
HEARTBEAT, NOTICE, REMOVED, OUTSIDE, STANDING, PROOF = 0x10, 0x17, 0x18, 0x19, 0x1f, 0x2c


class FormerKey(Key):
    """The key of a peer that ran in `out`, with a certificate of our own making."""

    def __init__(self, folder, out, name):
        self.key, self.certificate = out / "identity", folder / f"{name}.crt"
        subprocess.run(["openssl", "req", "-x509", "-new", "-key", self.key, "-out",
                        self.certificate, "-subj", "/CN=former", "-days", "2"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        der = subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-outform", "DER"],
                             check=True, capture_output=True).stdout
        self.peer = hashlib.sha256(der[-32:]).digest()


class Speaker:
    """A link to a member, over which any frame can be said and heard."""

    def __init__(self, key, address, instance):
        self.to, (host, port) = address
        link_id = hashlib.sha256(struct.pack("<Q", instance) + self.to).digest()[:16]
        self.lanes, self.heard = [], b""
        for lane in (0, 1):
            plain = socket.create_connection((host, port), timeout=TIMEOUT)
            stream = key.client().wrap_socket(plain)
            stream.sendall(hello(lane, key.peer, self.to, link_id, instance))
            self.lanes.append(stream)
            verdict = self.read(lane)
            expect(verdict is not None and verdict[1][:1] == b"\0", "no link with the member")

    def read(self, lane=CONTROL, seconds=TIMEOUT):
        """The next frame as (type, head); None where none comes in time."""
        stream = self.lanes[lane]
        stream.settimeout(seconds)
        data = self.heard if lane == CONTROL else b""
        with contextlib.suppress(OSError):
            while len(data) < 12 or len(data) < 12 + sum(struct.unpack_from("<II", data)):
                more = stream.recv(65536)
                if not more:
                    return None
                data += more
            head, body, kind = struct.unpack_from("<IIB", data)
            if lane == CONTROL:
                self.heard = data[12 + head + body:]
            return kind, data[12:12 + head]
        if lane == CONTROL:
            self.heard = data
        return None

    def say(self, kind, head):
        with contextlib.suppress(OSError):
            self.lanes[CONTROL].sendall(frame(kind, head))

    def close(self):
        for stream in self.lanes:
            with contextlib.suppress(OSError, ssl.SSLError):
                stream.close()


def view(number, hashed=bytes(32)):
    return struct.pack("<Q", number) + hashed


def value(*peers):
    members = b"".join(peer + struct.pack("<QI", 1, 0) for peer in peers)
    return struct.pack("<QI", 0, len(peers)) + members + bytes(12) + bytes(2) + bytes(6)


def notice(run, previous, *peers):
    """A view of `peers` after `previous`, as it has to be: its hash is right."""
    said = value(*peers)
    text = b"weft view"
    hashed = hashlib.sha256(struct.pack("<I", len(text)) + text + run + previous + said).digest()
    (number,) = struct.unpack_from("<Q", previous)
    return previous + view(number + 1, hashed) + b"\1" + said + b"\0"


def removed(of, reason=b"the others went on without it"):
    return of + struct.pack("<QI", 0, len(reason)) + reason


def address_of(peer):
    """The id of a running member, and where it listens."""
    code, line, errors = run_weft("ticket", str(peer.out))
    expect(code == 0, f"weft ticket: {errors!r}")
    who, endpoints = Ticket(line.strip()).members[0]
    host, port = endpoints[0].rsplit(":", 1)
    return who, (host, int(port))


def attack(key, run, address, instance, replayed):
    """Everything by which views are told of, over one link; returns what the member answered."""
    speaker = Speaker(key, address, instance)
    speaker.say(HEARTBEAT, view(0) + struct.pack("<QQQ", 1, 1, 0))
    answers, current = [], view(1)
    for _ in range(3):
        answer = speaker.read(seconds=0.5)
        if answer is None:
            break
        answers.append(answer)
        if answer[0] == REMOVED:
            current = answer[1][:40]
    for previous in (view(1 << 62, b"\7" * 32), current, view(2)):
        speaker.say(NOTICE, notice(run, previous, address[0], key.peer))
        speaker.say(NOTICE, notice(run, previous, key.peer))
        speaker.say(REMOVED, removed(notice(run, previous, key.peer)[40:80]))
    speaker.close()
    # The number of a stranger's frames is small, so each kind gets a link of its own as well.
    for kind, head in [(REMOVED, removed(view(1 << 63, b"\1" * 32))),
                       (REMOVED, removed(view(1))), (OUTSIDE, struct.pack("<Q", 1 << 63)),
                       (PROOF, b"\5" * 32), *replayed]:
        with contextlib.suppress(Failure, OSError):
            again = Speaker(key, address, instance + 1 + kind)
            again.say(kind, head)
            again.close()
    return answers


def a_former_member_with_a_revoked_key():
    with Group() as group:
        peers = group.start(5, {**PACED, "run.steps": 1500})
        former = group.join(peers[0].ticket(), name="former")
        former.wait_round(20)
        run = Ticket(peers[0].ticket()).run
        former.interrupt()
        former.end(20.0)
        for peer in peers:
            peer.wait_kind("peer_left", 10.0)
        code, said, errors = run_weft("revoke", str(peers[0].out), "all")
        expect(code == 0 and "until" not in errors, f"weft revoke: {errors!r}")
        expect("void" in said, f"weft revoke says nothing of what remains: {said!r}")
        for peer in peers:
            peer.wait_kind("ticket_revoked", 10.0)
        key = FormerKey(group.path, former.out, "former")
        begin = [peer.last_round() for peer in peers]
        marks = [len(peer.lines) for peer in peers]
        replayed, tries = [], 0
        addresses = [address_of(peer) for peer in peers]
        for turn in range(2):
            for number, address in enumerate(addresses):
                with contextlib.suppress(Failure, OSError):
                    answers = attack(key, run, address, 1000 * turn + 50 * number, replayed)
                    # What one member says to it, the others hear as its own words.
                    replayed = [a for a in answers if a[0] in (NOTICE, REMOVED, PROOF, STANDING)]
                    tries += 1
        expect(tries >= 5, f"only {tries} links with members came about")
        expect(replayed, "no member's answer was replayed")
        for peer, first in zip(peers, begin):
            peer.wait_round(first + 50, 20.0)
        for peer, mark in zip(peers, marks):
            peer.drain()
            kinds = ("peer_left", "quorum_lost", "view_changed", "state_mismatch", "failed")
            bad = [e for _, e in peer.lines[mark:]
                   if e.get("kind") in kinds or "went on without" in e.get("text", "")]
            expect(not bad, f"the run was disturbed: {bad[:3]}")
        # Its ticket is void as well.
        again = group.join(peers[0].ticket(), name="again")
        expect(again.end(60.0) != 0, "a ticket from before the renewal let somebody in")
        same_hashes([peer.finish(90.0) for peer in peers])
        return f"{tries} attacks"


def a_second_process_with_a_members_key():
    with Group() as group:
        peers = group.start(3, {**PACED, "run.steps": 900})
        for peer in peers:
            peer.wait_round(20)
        original = peers[1]
        copy = group.path / "copy"
        copy.mkdir()
        shutil.copy(original.out / "identity", copy / "identity")
        marks = [len(peer.lines) for peer in peers]
        clone = group.join(peers[0].ticket(), name="copy")
        code = clone.end(20.0)
        expect(code == 2, f"the second process ended with {code}")
        errors = (copy / "stderr.txt").read_text()
        expect("another process uses this peer's identity" in errors, f"it is not told: {errors!r}")
        _, told = original.wait_kind("identity_twin", 10.0)
        expect("uses this peer's identity" in told["text"], f"the original hears: {told}")
        peers[0].wait_kind("identity_twin", 10.0)
        for peer in peers:
            peer.wait_round(peer.last_round() + 20)
        for peer, mark in zip(peers, marks):
            peer.drain()
            bad = [e for _, e in peer.lines[mark:]
                   if e.get("kind") in ("peer_left", "view_changed", "round_rerun")]
            expect(not bad, f"the second process disturbed the group: {bad[:3]}")
        same_hashes([peer.finish(60.0) for peer in peers])


def a_restarted_member_is_let_in_at_once():
    with Group() as group:
        peers = group.start(3, {**PACED, "run.steps": 100000})
        for peer in peers:
            peer.wait_round(20)
        ticket = peers[0].ticket()
        killed = peers[2].kill()
        peers[2].end(10.0)
        again = group.join(ticket, name=peers[2].out.name)
        when, _ = again.wait_kind("round", 20.0)
        expect(not any(e.get("kind") == "identity_twin" for p in peers[:2] for _, e in p.lines),
               "a restart was taken for a second process")
        expect(when - killed < 8.0, f"in after {when - killed:.1f} s")
        return f"in again after {when - killed:.1f} s"


TESTS = {test.__name__: test for test in (
    a_former_member_with_a_revoked_key,
    a_second_process_with_a_members_key,
    a_restarted_member_is_let_in_at_once,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
