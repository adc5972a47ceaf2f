"""A weft process that writes its events as JSON lines, for the tests and benches beside this folder.

Every wait has a deadline. Python 3 standard library only.
"""
import contextlib
import json
import os
import pathlib
import queue
import signal
import subprocess
import threading
import time


class Failure(AssertionError):
    """A claim that did not hold, with what was seen instead."""


class WeftProcess:
    """`command` with --json in a folder of its own; `lines` are (time read, event)."""

    def __init__(self, command, out, environment=None):
        self.out = pathlib.Path(out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.errors = open(self.out / "stderr.txt", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [*command, "--out", str(self.out), "--json"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.errors, text=True, start_new_session=True,
            env={**os.environ, **(environment or {})})
        self.lines = []
        self._arrived = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for text in self.process.stdout:
            with contextlib.suppress(json.JSONDecodeError):
                self._arrived.put((time.monotonic(), json.loads(text)))
        self._arrived.put(None)

    def wait_for(self, ready, what, seconds=30.0, begin=0):
        """The first line, old or new, from number `begin` on, that `ready` accepts: (time, event)."""
        deadline = time.monotonic() + seconds
        at = begin
        while True:
            for entry in self.lines[at:]:
                at += 1
                if ready(entry[1]):
                    return entry
            try:
                entry = self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise Failure(f"{what}: not seen in {seconds} s; {self.tail()}") from None
            if entry is None:
                self._arrived.put(None)
                raise Failure(f"{what}: the process ended first; {self.tail()}")
            self.lines.append(entry)

    def wait_round(self, number, seconds=30.0):
        return self.wait_for(lambda e: e.get("kind") == "round" and e["round"] >= number,
                             f"round {number}", seconds)

    def wait_kind(self, kind, seconds=30.0):
        return self.wait_for(lambda e: e.get("kind") == kind, kind, seconds)

    def ticket(self):
        return self.wait_kind("ticket")[1]["ticket"]

    def drain(self):
        with contextlib.suppress(queue.Empty):
            while True:
                entry = self._arrived.get_nowait()
                if entry is None:
                    self._arrived.put(None)
                    return
                self.lines.append(entry)

    def kill(self):
        """SIGKILL, at the returned time."""
        when = time.monotonic()
        os.killpg(self.process.pid, signal.SIGKILL)
        return when

    def stop(self):
        """Ends it whatever it does; it may have ended before."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.errors.close()

    def tail(self):
        self.drain()
        self.errors.flush()
        errors = (self.out / "stderr.txt").read_text(errors="replace")[-1500:]
        shown = [json.dumps(e)[:200] for _, e in self.lines[-4:]]
        return f"last lines {shown}, errors: {errors!r}"
