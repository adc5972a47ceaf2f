#!/usr/bin/env python3
"""`weft doctor` names the step that is in the way, and what to do, in each case that people meet.

usage: doctor_test.py [NAME ...]
"""
import contextlib
import json
import os
import pathlib
import secrets
import shutil
import struct
import subprocess
import tempfile
import time

import harness
from harness import Group, expect, main, run_weft
from strangers import Key, Server, frame, free_port
from ticket_line import Ticket

# Outlives its test, which ends it.
LONG = {"run.steps": 20000, "run.round_seconds_min": 0.02}
HOUR = 3600
# A program in front of another; `inside` puts one there.
inside = ()
environment = None


@contextlib.contextmanager
def somewhere(*command, variables=None):
    """Runs the doctor behind `command`, with environment variables of its own."""
    global inside, environment
    inside, environment = command, {**os.environ, **(variables or {})}
    try:
        yield
    finally:
        inside, environment = (), None


def doctor(*arguments):
    """Exit code and {step: finding}."""
    done = subprocess.run([*inside, harness.WEFT, "doctor", "--json", *arguments], timeout=120,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env=environment)
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    expect(findings, f"expected findings, got nothing; {done.stderr}")
    return done.returncode, {finding["step"]: finding for finding in findings}


def expect_failed(steps, step, text, remedy):
    finding = steps[step]
    expect(finding["result"] == "FAILED", f"expected {step} to fail: {finding}")
    expect(text in finding["text"], f"expected \"{text}\": {finding}")
    expect(remedy in finding["remedy"], f"expected the remedy \"{remedy}\": {finding}")


def member_step(steps):
    return next(finding for step, finding in steps.items() if step.startswith("member "))


def permitted(*command):
    with contextlib.suppress(OSError):
        return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    return False


def a_running_group_has_nothing_in_the_way():
    with Group() as group:
        founder = group.found(LONG)
        code, steps = doctor(founder.ticket(), "--out", str(group.path))
        for step in ("ticket", "reach", "handshake", "admission", "data"):
            expect(steps[step]["result"] == "ok", f"{step}: {steps[step]}")
        expect(code == 0, f"expected exit code 0, got {code}: {steps}")


def a_port_that_is_taken():
    with Group() as group:
        port = free_port()
        group.found(LONG, listen=f"127.0.0.1:{port}").ticket()
        code, steps = doctor("--listen", f"127.0.0.1:{port}", "--out", str(group.path))
        expect(code == 3, f"expected exit code 3, got {code}")
        expect_failed(steps, "listen", "already in use", "--listen")


def a_ticket_whose_members_are_gone():
    with Group() as group:
        founder = group.found(LONG)
        ticket = founder.ticket()
        founder.kill()
        founder.process.wait()
        code, steps = doctor(ticket, "--out", str(group.path))
        expect(code == 3, f"expected exit code 3, got {code}")
        expect_failed(steps, "reach", "0 of 1", "newer ticket")
        member = member_step(steps)
        expect("refused" in member["text"] and "ended" in member["remedy"], f"{member}")


def a_ticket_that_was_cut_or_is_over():
    with Group() as group:
        founder = group.found(LONG)
        line = founder.ticket()
        code, steps = doctor(line[:-3], "--out", str(group.path))
        expect(code == 2, f"expected exit code 2, got {code}")
        expect_failed(steps, "ticket", "cut", "copy")
        ticket = Ticket(line)
        ticket.expiry = int(time.time()) - 2 * HOUR
        code, steps = doctor(ticket.line(), "--out", str(group.path))
        expect(code == 2, f"expected exit code 2, got {code}")
        expect_failed(steps, "ticket", "expired", "weft ticket OUT")


def a_ticket_that_was_revoked():
    with Group() as group:
        founder = group.found(LONG)
        ticket = founder.ticket()
        founder.wait_round(1)
        code, _, errors = run_weft("revoke", str(founder.out), ticket)
        expect(code == 0, f"weft revoke: {code}: {errors}")
        code, steps = doctor(ticket, "--out", str(group.path))
        expect(code == 3, f"expected exit code 3, got {code}")
        expect_failed(steps, "admission", "revoked", "ticket")


def a_member_of_another_version():
    """A peer that holds the key of the ticket's member, and refuses the hello's version."""
    with Group() as group:
        key = Key(group.path)
        context = key.server()

        def refuse(stream):
            with context.wrap_socket(stream, server_side=True) as link:
                link.recv(65536)
                text = b"hello.version: expected 9, got 1"
                link.sendall(frame(2, b"\3" + key.peer + struct.pack("<QI", 7, len(text)) + text))
                link.recv(65536)

        server = Server(refuse)
        try:
            ticket = Ticket(group.found(LONG).ticket())
            ticket.members = [(key.peer, [f"127.0.0.1:{server.port}"])]
            code, steps = doctor(ticket.line(), "--out", str(group.path))
        finally:
            server.close()
        expect(code == 3, f"expected exit code 3, got {code}: {steps}")
        expect_failed(steps, "handshake", "version", "same version of Weft")


def another_peer_at_the_address():
    with Group() as group:
        ticket = Ticket(group.found(LONG).ticket())
        ticket.members = [(secrets.token_bytes(32), ticket.members[0][1])]
        code, steps = doctor(ticket.line(), "--out", str(group.path))
        expect(code == 3, f"expected exit code 3, got {code}")
        expect_failed(steps, "handshake", "expected peer", "new ticket")


def no_way_to_the_members():
    command = ("unshare", "-n") if os.geteuid() == 0 else ("unshare", "-rn")
    if not permitted(*command):
        return "left out: no network namespaces here"
    with Group() as group:
        ticket = Ticket(group.found(LONG).ticket())
        ticket.members = [(ticket.members[0][0], ["198.51.100.7:7420"])]
        with somewhere(*command):
            code, steps = doctor(ticket.line(), "--out", str(group.path))
        expect(code == 3, f"expected exit code 3, got {code}")
        expect_failed(steps, "reach", "0 of 1", "steps above")
        member = member_step(steps)
        expect("nreachable" in member["text"] and "no route there" in member["remedy"], f"{member}")
        expect("no network" in steps["addresses"]["text"], f"{steps['addresses']}")
    return ""


def a_disk_that_is_full():
    if os.geteuid() != 0 or not permitted("unshare", "-m"):
        return "left out: nothing may be mounted here"
    with tempfile.TemporaryDirectory(prefix="weft-disk-") as folder:
        mount = f"mount -t tmpfs -o size=1m none {folder} && exec \"$@\""
        with somewhere("unshare", "-m", "sh", "-c", mount, "sh"):
            code, steps = doctor("--out", folder)
        expect(code == 3, f"expected exit code 3, got {code}")
        expect_failed(steps, "disk", "free in", "make room")
    return ""


def a_folder_that_cannot_be_written():
    code, steps = doctor("--out", "/proc/version/x")
    expect(code == 3, f"expected exit code 3, got {code}")
    expect_failed(steps, "disk", "/proc/version", "--out")


CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  int (*real)(clockid_t, struct timespec*) = dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += atoll(getenv("WEFT_TEST_CLOCK_AHEAD_S"));
  return result;
}
"""


def a_clock_that_is_wrong():
    if shutil.which("cc") is None:
        return "left out: no compiler for the clock"
    with Group() as group:
        source, library = group.path / "clock.c", group.path / "clock.so"
        pathlib.Path(source).write_text(CLOCK, encoding="utf-8")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        name = f"run-{secrets.token_hex(4)}"
        ticket = group.found({**LONG, "run.name": name}).ticket()

        def doctor_ahead(seconds):
            variables = {"LD_PRELOAD": str(library), "WEFT_TEST_CLOCK_AHEAD_S": str(seconds)}
            with somewhere(variables=variables):
                return doctor(ticket, "--out", str(group.path))

        code, steps = doctor_ahead(-30 * 365 * 24 * HOUR)
        expect(code == 3, f"expected exit code 3, got {code}")
        expect_failed(steps, "clock", "before 2025", "set it")
        code, steps = doctor_ahead(2 * HOUR)
        if name not in steps["local network"]["text"]:
            return "in part: no multicast here"
        expect(code == 3, f"expected exit code 3, got {code}")
        expect_failed(steps, "clock", "ahead of", "set it")
    return ""


if __name__ == "__main__":
    raise SystemExit(main({test.__name__: test for test in (
        a_running_group_has_nothing_in_the_way,
        a_port_that_is_taken,
        a_ticket_whose_members_are_gone,
        a_ticket_that_was_cut_or_is_over,
        a_ticket_that_was_revoked,
        a_member_of_another_version,
        another_peer_at_the_address,
        no_way_to_the_members,
        a_disk_that_is_full,
        a_folder_that_cannot_be_written,
        a_clock_that_is_wrong,
    )}))
