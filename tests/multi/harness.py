"""Drives real weft processes over real sockets, for the tests in this folder.

Every wait has a deadline; every process is killed when its test ends. Python 3 standard library only.
"""
import array
import contextlib
import glob
import json
import math
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/common"))
from named_tests import main  # noqa: E402, F401
from process_sockets import established  # noqa: E402
from weft_process import Failure, WeftProcess  # noqa: E402

WEFT = os.environ.get("WEFT_PROGRAM", str(ROOT / "build/release/weft"))
RECIPE = str(ROOT / "recipes/synthetic_mlp.toml")


def expect(condition, text):
    if not condition:
        raise Failure(text)


class Peer(WeftProcess):
    """One weft process, with what a test asks of it."""

    def __init__(self, arguments, out, environment=None):
        super().__init__([WEFT, *arguments], out, environment)

    def last_round(self):
        self.drain()
        rounds = [e["round"] for _, e in self.lines if e.get("kind") == "round"]
        return rounds[-1] if rounds else 0

    def end(self, seconds=60.0):
        """Waits for the process and returns its exit code."""
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"peer did not end in {seconds} s; {self.tail()}") from None
        return code

    def finish(self, seconds=60.0):
        """Waits for a good end and returns the summary."""
        code = self.end(seconds)
        expect(code == 0, f"expected exit code 0, got {code}; {self.tail()}")
        return json.loads((self.out / "summary.json").read_text())

    def interrupt(self):
        os.kill(self.process.pid, signal.SIGINT)

    def pause(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def wait_connected(self, seconds=10.0):
        """Until a TCP connection of the process stands."""
        deadline = time.monotonic() + seconds
        while not established(self.process.pid):
            expect(time.monotonic() < deadline, f"no connection in {seconds} s; {self.tail()}")
            time.sleep(0.01)  # tidy: allow sleep: the system tells of no such event

    def wait_signals_taken(self, seconds):
        """Until no signal sent to the process waits to be handled."""
        deadline = time.monotonic() + seconds
        status = pathlib.Path(f"/proc/{self.process.pid}/status")
        while not re.search(r"^ShdPnd:\s*0+$", status.read_text(), re.M):
            expect(time.monotonic() < deadline, f"a signal was not handled in {seconds} s")


class Group:
    """A scratch folder and the peers started in it; use as a context manager."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="weft-multi-")
        self.path = pathlib.Path(self._folder.name)
        self.peers = []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for peer in self.peers:
            peer.stop()
        self._folder.cleanup()

    def found(self, settings=None, arguments=(), recipe=RECIPE, name=None, environment=None,
              listen="127.0.0.1:0"):
        sets = [f"--set={key}={value}" for key, value in (settings or {}).items()]
        return self._start(["run", recipe, "--listen", listen, *sets, *arguments], name,
                           environment)

    def join(self, ticket, arguments=(), name=None):
        return self._start(["join", ticket, *arguments], name)

    def start(self, count, settings=None, arguments=()):
        """A founder and count - 1 joiners; round 1 starts when all are there."""
        founder = self.found({"group.start_members": count, **(settings or {})}, arguments)
        ticket = founder.ticket()
        return [founder] + [self.join(ticket) for _ in range(count - 1)]

    def _start(self, arguments, name, environment=None):
        out = self.path / (name or f"peer{len(self.peers)}")
        peer = Peer(arguments, out, environment)
        self.peers.append(peer)
        return peer


class Slow:
    """A process that may run only for a part of each period; use as a context manager."""

    def __init__(self, process, part, period=0.04):
        self.pid, self.part, self.period = process.pid, part, period
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        with contextlib.suppress(ProcessLookupError):
            while not self.over.wait(self.period * self.part):
                os.kill(self.pid, signal.SIGSTOP)
                self.over.wait(self.period * (1 - self.part))
                os.kill(self.pid, signal.SIGCONT)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.over.set()
        self.thread.join()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)


def same_hashes(summaries):
    hashes = {s["state_hash"] for s in summaries}
    expect(len(hashes) == 1, f"expected one state hash, got {hashes}")
    return hashes.pop()


def newest_checkpoint(out):
    found = sorted(glob.glob(str(pathlib.Path(out) / "checkpoints" / "*.safetensors")))
    expect(found, f"expected a checkpoint in {out}/checkpoints, found none")
    return found[-1]


def read_floats(path):
    """{name: array of f32} of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        values = array.array("f")
        values.frombytes(data[8 + size + begin:8 + size + end])
        tensors[name] = values
    return tensors


def relative_difference(left, right):
    """The largest, over the tensors, of |a - b| / |b| in the Euclidean norm."""
    expect(left.keys() == right.keys(), f"different tensors: {left.keys() ^ right.keys()}")
    worst = 0.0
    for name, a in left.items():
        b = right[name]
        expect(len(a) == len(b), f"{name}: {len(a)} and {len(b)} elements")
        norm = math.sqrt(sum(y * y for y in b))
        difference = math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)))
        worst = max(worst, difference / norm if norm > 0 else difference)
    return worst


def run_weft(*arguments, seconds=60):
    """Runs one command to its end: (exit code, output, errors)."""
    done = subprocess.run([WEFT, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=seconds, check=False)
    return done.returncode, done.stdout, done.stderr
