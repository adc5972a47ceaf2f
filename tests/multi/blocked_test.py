#!/usr/bin/env python3
"""Peers that stand still in part: nobody reads their output, their training thread hangs, their disk
is full, their model is ruined. The others go on, and everybody is told.

usage: blocked_test.py [NAME ...] [--peers=N]     (default 3 peers)
"""
import ctypes
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from harness import Failure, Group, RECIPE, WEFT, expect, main, run_weft, same_hashes

PEERS = next((int(a.split("=")[1]) for a in sys.argv if a.startswith("--peers=")), 3)
# What the others may lose by a peer that is blocked.
SECONDS_LOST_MAX = 15.0
PACED = {"run.round_seconds_min": 0.02}
F_SETPIPE_SZ = 1031
PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207
WALL = 0x40000000
# The system's numbers of clock_nanosleep, restart_syscall and futex.
SLEEP, SLEEP_ON, FUTEX = {"x86_64": (230, 219, 202), "aarch64": (115, 128, 98)}[os.uname().machine]


def events_of(out):
    """Every whole line of OUT/events.jsonl; a line that is none fails the test."""
    path = pathlib.Path(out) / "events.jsonl"
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def wait_event(out, ready, what, seconds=30.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = next((e for e in events_of(out) if ready(e)), None)
        if found is not None:
            return found
        time.sleep(0.05)  # tidy: allow sleep: the log of another process is read
    raise Failure(f"{what}: not in {out}/events.jsonl after {seconds} s")


class Unread:
    """A peer whose standard output is a small pipe that nobody reads; its events are in its log."""

    def __init__(self, arguments, out):
        self.out = pathlib.Path(out)
        self.out.mkdir(parents=True)
        self.reading, writing = os.pipe()
        fcntl.fcntl(writing, F_SETPIPE_SZ, 4096)
        with open(self.out / "stderr.txt", "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen([WEFT, *arguments, "--out", str(self.out)],
                                            stdin=subprocess.DEVNULL, stdout=writing,
                                            stderr=errors, start_new_session=True)
        os.close(writing)

    def ticket(self):
        return wait_event(self.out, lambda e: e["kind"] == "ticket", "a ticket")["ticket"]

    def wait_round(self, number, seconds=60.0):
        wait_event(self.out, lambda e: e["kind"] == "round" and e["round"] >= number,
                   f"round {number}", seconds)

    def finish(self, seconds=120.0):
        code = self.process.wait(timeout=seconds)
        expect(code == 0, f"the unread peer: expected exit code 0, got {code}")
        return json.loads((self.out / "summary.json").read_text(encoding="utf-8"))

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.reading)


def longest_gap(out):
    times = [e["t"] for e in events_of(out) if e["kind"] == "round"]
    return max(b - a for a, b in zip(times, times[1:]))


def group_with_an_unread_one(group, unread_is_founder, mode, steps):
    """PEERS peers of which one is not read: (it, the others)."""
    sets = [f"--set=group.start_members={PEERS}", f"--set=run.steps={steps}"]
    if unread_is_founder:
        unread = Unread(["run", RECIPE, "--listen", "127.0.0.1:0", *sets, *mode],
                        group.path / "unread")
        group.peers.append(unread)
        others = [group.join(unread.ticket()) for _ in range(PEERS - 1)]
    else:
        founder = group.found({"group.start_members": PEERS, "run.steps": steps})
        unread = Unread(["join", founder.ticket(), *mode], group.path / "unread")
        group.peers.append(unread)
        others = [founder] + [group.join(founder.ticket()) for _ in range(PEERS - 2)]
    return unread, others


def output_that_nobody_reads_costs_nobody_anything():
    worst = 0.0
    for is_founder, mode in ((True, []), (False, []), (True, ["--json"]), (False, ["--json"])):
        with Group() as group:
            unread, others = group_with_an_unread_one(group, is_founder, mode, 600)
            summaries = [peer.finish(120) for peer in others] + [unread.finish()]
            same_hashes(summaries)
            worst = max([worst] + [longest_gap(peer.out) for peer in others])
    expect(worst < SECONDS_LOST_MAX, f"the others stood still for {worst:.1f} s")
    return f"{PEERS} peers, longest gap between two rounds {worst:.2f} s"


def one_ctrl_c_ends_a_peer_that_nobody_reads():
    with Group() as group:
        unread, others = group_with_an_unread_one(group, False, ["--json"], 100000)
        unread.wait_round(200)
        begun = time.monotonic()
        os.kill(unread.process.pid, signal.SIGINT)
        code = unread.process.wait(timeout=30)
        took = time.monotonic() - begun
        expect(code == 130, f"expected exit code 130, got {code}")
        expect((unread.out / "summary.json").exists(), "it wrote no summary")
        expect(list((unread.out / "checkpoints").iterdir()), "it wrote no checkpoint")
        others[0].wait_for(lambda e: e.get("kind") == "round" and e["members"] == PEERS - 1,
                           "a round without it", 15.0)
        return f"ended after {took:.1f} s"


def ptrace(request, thread, what):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), what)


def waits_with_a_deadline(thread):
    """Whether a stopped thread was in a sleep or a timed wait, neither of which holds a lock."""
    number, *arguments = pathlib.Path(f"/proc/{thread}/syscall").read_text(encoding="utf-8").split()
    if int(number) in (SLEEP, SLEEP_ON):
        return True
    return int(number) == FUTEX and int(arguments[3], 16) != 0


def stop_between_rounds(thread):
    """Stops a thread where the others of its process can do without it.

    A thread that is stopped while it logs an event holds the lock of the log, and no other thread
    can tell anything: that is a stopped process, and not a computation that hangs.
    """
    deadline = time.monotonic() + 30.0
    ptrace(PTRACE_SEIZE, thread, "PTRACE_SEIZE")
    while True:
        ptrace(PTRACE_INTERRUPT, thread, "PTRACE_INTERRUPT")
        os.waitpid(thread, WALL)
        if waits_with_a_deadline(thread):
            return
        expect(time.monotonic() < deadline, f"thread {thread} was never seen to wait")
        ptrace(PTRACE_CONT, thread, "PTRACE_CONT")
        time.sleep(0.003)  # tidy: allow sleep: another process goes on meanwhile


def a_training_thread_that_hangs_is_named_put_out_and_taken_back():
    """As under a debugger: the thread stands still, those for the network run on."""
    with Group() as group:
        peers = group.start(PEERS, {"run.steps": 100000, "group.compute_timeout_s": 8, **PACED})
        peers[0].wait_round(30)
        hung = peers[-1]
        name = hung.wait_kind("started")[1]["peer"]
        thread = hung.process.pid
        try:
            stop_between_rounds(thread)
        except OSError as refused:
            return f"skipped: threads cannot be stopped here ({refused})"
        begun = time.monotonic()
        try:
            seen, event = peers[0].wait_for(
                lambda e: e.get("kind") == "waiting" and e["peers"] == [name], "who is waited for",
                10.0)
            named_after = seen - begun
            expect(named_after < 5.0, f"it was named after {named_after:.1f} s only")
            expect(name in event["text"], f"{event} does not name it")
            code, text, _ = run_weft("status", str(peers[1].out))
            expect(code == 0 and f"waits for {name}" in text, f"weft status says {text!r}")
            code, text, _ = run_weft("status", str(hung.out))
            expect(code == 0 and "is awaited by" in text, f"weft status says {text!r}")
            hung.wait_for(lambda e: e.get("kind") == "awaited", "that the others wait", 10.0)
            peers[0].wait_for(lambda e: e.get("kind") == "overdue", "the warning", 10.0)
            seen, without = peers[0].wait_for(
                lambda e: e.get("kind") == "round" and e["members"] == PEERS - 1,
                "a round without it", SECONDS_LOST_MAX)
            lost = seen - begun
            left = peers[0].wait_kind("peer_left")[1]
            expect(left["peer"] == name and "computing for" in left["reason"], f"{left}")
        finally:
            ptrace(PTRACE_DETACH, thread, "PTRACE_DETACH")
        # The round in which it stood still may have been committed by the others: it tells of that
        # one first, with the members and the share of before.
        _, back = hung.wait_for(lambda e: e.get("kind") == "round" and e["members"] == PEERS
                                and e["round"] > without["round"], "a round with it again", 30.0)
        _, own = peers[0].wait_for(
            lambda e: e.get("kind") == "round" and e["round"] >= back["round"], "the same round")
        expect(own["share"] > 1.5 * back["share"],
               f"expected half of the share of {own['share']}, got {back['share']}")
        for peer in peers:
            peer.interrupt()
        for peer in peers:
            expect(peer.end(30) in (130, 5), "a peer did not end by Ctrl-C")
        return f"named after {named_after:.1f} s, next round after {lost:.1f} s"


def a_full_disk_leaves_whole_lines_and_is_taken_up_again():
    with Group() as group:
        disk = group.path / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            return "skipped: no disk can be mounted here"
        try:
            peers = group.start(2, {"run.steps": 400, "checkpoint.every_steps": 0, **PACED})
            poor = group.join(peers[0].ticket(), ["--tensorboard"], name="disk/out")
            poor.wait_round(20)
            filler = disk / "filler"
            with open(filler, "wb") as file:
                try:
                    for size in (65536, 4096, 512, 16):
                        while True:
                            file.write(b"x" * size)
                            file.flush()
                except OSError:
                    pass
            poor.wait_for(lambda e: "No space left" in str(e.get("text")), "that the disk is full",
                          20.0)
            at = poor.last_round() + 20
            poor.wait_round(at)
            filler.unlink()
            poor.wait_for(lambda e: "is written again" in str(e.get("text")),
                          "that the log goes on", 20.0)
            summaries = [peer.finish(90) for peer in peers]
            code = poor.end(90)
            errors = (poor.out / "stderr.txt").read_text()
            expect(code == 3 and "lines are missing" in errors, f"exit code {code}: {errors}")
            summaries.append(json.loads((poor.out / "summary.json").read_text()))
            same_hashes(summaries)
            text = (poor.out / "events.jsonl").read_text(encoding="utf-8")
            expect(text.endswith("\n"), "the log ends within a line")
            events = [json.loads(line) for line in text.splitlines()]
            lost = [e for e in events if e["kind"] == "lost_lines"]
            lines = sum(e["lines"] for e in lost)
            expect(lines >= 15, f"expected gaps of 15 lines and more, got {lost}")
            after = events[events.index(lost[-1]):]
            expect(any(e["kind"] == "round" and e["round"] > at for e in after),
                   "no round was logged once there was room")
            expect(events[-1]["kind"] == "summary", f"the last event is {events[-1]}")
            return f"{lines} lines were left out"
        finally:
            for peer in group.peers:
                peer.stop()
            subprocess.run(["umount", "-l", str(disk)], check=False)


def ruined_run(policy):
    with Group() as group:
        peers = group.start(3, {"run.steps": 60, "optimizer.learning_rate": 1000,
                                "optimizer.clip_norm": 0, "checkpoint.every_steps": 1,
                                "checkpoint.keep": 2, "run.on_not_finite": policy})
        for peer in peers:
            code = peer.end(60)
            expect(code == 7, f"expected exit code 7, got {code}")
            events = events_of(peer.out)
            told = [e for e in events if e["kind"] == "not_finite"]
            expect(len(told) == 1, f"expected to be told once, got {told}")
            first = next(e["round"] for e in events if e["kind"] == "round" and e["loss"] is None)
            expect(told[0]["round"] == first, f"told of {told[0]}, it was round {first}")
            kept = sorted(int(path.stem.split("-")[1])
                          for path in (peer.out / "checkpoints").glob("*.safetensors"))
            expect(kept and kept[-1] < first, f"checkpoints {kept}, the first bad round is {first}")
            summary = json.loads((peer.out / "summary.json").read_text(encoding="utf-8"))
            expect(summary["not_finite_round"] == first, f"{summary}")
            steps, status = (first, "stopped") if policy == "stop" else (60, "finished")
            expect(summary["steps"] == steps and summary["status"] == status, f"{summary}")
            errors = (peer.out / "stderr.txt").read_text()
            expect(f"weft: the loss of round {first} is not a number" in errors, errors)


def a_loss_that_is_no_number_stops_all_members_at_its_round():
    ruined_run("stop")


def a_loss_that_is_no_number_is_told_once_and_by_the_exit_code():
    ruined_run("go_on")


TESTS = {test.__name__: test for test in (
    output_that_nobody_reads_costs_nobody_anything,
    one_ctrl_c_ends_a_peer_that_nobody_reads,
    a_training_thread_that_hangs_is_named_put_out_and_taken_back,
    a_full_disk_leaves_whole_lines_and_is_taken_up_again,
    a_loss_that_is_no_number_stops_all_members_at_its_round,
    a_loss_that_is_no_number_is_told_once_and_by_the_exit_code,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
