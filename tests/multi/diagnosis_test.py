#!/usr/bin/env python3
"""`weft doctor --run` on real processes: a healthy run, a slow process, a process that is stopped."""
import json
import os
import signal
import sys
import time

from harness import Group, Slow, expect, main, run_weft

# A process that is stopped stays a member until the test has looked.
PATIENT = {"group.heartbeat_interval_ms": 2000, "group.suspicion_timeout_ms": 60000}
# Rounds of some tens of milliseconds on a busy machine.
SETTINGS = {"run.steps": 100000, "run.global_batch": 512, "model.hidden_units": 1024, **PATIENT}


def doctor(*folders):
    """The findings and the last object that `weft doctor --run` prints."""
    arguments = [f"--run={folder}" for folder in folders]
    code, output, errors = run_weft("doctor", "--json", *arguments)
    expect(code == 0, f"expected exit code 0, got {code}: {errors}")
    objects = [json.loads(line) for line in output.splitlines()]
    return [each for each in objects[:-1] if each["class"] != "lost"], objects[-1]


def until(found, what, seconds=60.0):
    """What `found()` gives once it is not None."""
    deadline = time.monotonic() + seconds
    while True:
        result = found()
        if result is not None:
            return result
        expect(time.monotonic() < deadline, f"{what}: not in {seconds} s")
        time.sleep(0.2)  # tidy: allow sleep: the command reads files, which change without notice


def name_of(peer):
    _, event = peer.wait_kind("started", 30.0)
    return event["peer"]


def a_slow_process_is_named():
    with Group() as group:
        peers = group.start(4, SETTINGS)
        name = name_of(peers[2])
        for peer in peers:
            peer.wait_kind("timings", 60.0)

        def found():
            findings, _ = doctor(peers[0].out)
            slow = [each for each in findings if each["class"] == "slow compute"]
            return slow[0] if [each["peer"] for each in slow] == [name] else None

        with Slow(peers[2].process, 0.05):
            one = until(found, f"peer {name} alone is slow", 120.0)
            expect(one["measured"] > 1.5 * one["usual"] > 0, f"{one}")

            def found_by_all():
                # Each member writes its times in turn: some logs have it later than others.
                findings, last = doctor(*(peer.out for peer in peers))
                expect(last["logs"] == 4 and last["other_logs"] == 0, f"{last}")
                return True if name in [each["peer"] for each in findings] else None

            until(found_by_all, f"peer {name} is named from four logs", 120.0)

            def said():
                # The log of one other member alone may still be short of slow rounds: until then it
                # shows no finding, or only how differently the two ends of a link measure it.
                code, output, _ = run_weft("doctor", "--run", str(peers[1].out))
                expect(code == 0, output)
                waits = [line for line in output.splitlines()
                         if line.startswith(f"peer {name} ") and "wait for" in line]
                return waits[0] if waits else None

            until(said, f"the others wait for peer {name}, from another log", 120.0)
        return f"{one['measured']:.3f} s, the median {one['usual']:.3f} s"


def a_stopped_process_is_named_within_seconds():
    with Group() as group:
        peers = group.start(4, SETTINGS)
        name = name_of(peers[3])
        peers[0].wait_kind("timings", 60.0)
        peers[3].pause()
        stopped = time.monotonic()

        def found():
            # One log may name a pair; those of all others leave one member.
            findings, _ = doctor(*(peer.out for peer in peers[:3]))
            hangs = [each for each in findings if each["class"].endswith("hang")]
            return hangs if len(hangs) == 1 and "other" not in hangs[0] else None

        hangs = until(found, "one member that hangs", 30.0)
        took = time.monotonic() - stopped
        expect(hangs[0]["peer"] == name and hangs[0]["measured"] >= 2, f"not {name}: {hangs}")
        os.kill(peers[3].process.pid, signal.SIGCONT)
        return f"{hangs[0]['class']}, after {took:.1f} s"


def logs_that_are_none_are_refused():
    with Group() as group:
        folder = group.path / "none"
        code, _, errors = run_weft("doctor", "--run", str(folder))
        expect(code == 2 and "expected the folder OUT of a run" in errors, f"{code}: {errors}")
        folder.mkdir()
        log = folder / "events.jsonl"
        for text, want, part in ((b"", 3, "has no event timings"), (b"\x00\xff\n", 4, "line 1"),
                                 (b"[" * 100000 + b"\n", 4, "line 1"),
                                 (b'{"kind":"timings","peers":["a","a"]}\n', 4, "names that differ")):
            log.write_bytes(text)
            code, output, errors = run_weft("doctor", "--json", "--run", str(folder))
            expect(code == want and part in errors and not output, f"{text[:20]}: {code}: {errors}")
    return "exit codes 2, 3, 4"


TESTS = {test.__name__: test for test in (
    a_slow_process_is_named,
    a_stopped_process_is_named_within_seconds,
    logs_that_are_none_are_refused,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
