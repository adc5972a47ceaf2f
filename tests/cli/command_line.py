"""Runs single weft commands and looks at how they end, for the tests in this folder.

Every command has a deadline; every process is ended. Python 3 standard library only.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/common"))
from named_tests import main  # noqa: E402, F401
from weft_process import Failure  # noqa: E402

WEFT = os.environ.get("WEFT_PROGRAM", str(ROOT / "build/release/weft"))
RECIPE = str(ROOT / "recipes/synthetic_mlp.toml")
ALONE = ["--listen", "127.0.0.1:0", "--set", "group.discovery=off"]


def expect(condition, text):
    if not condition:
        raise Failure(text)


class Ended:
    """How a command ended: its exit code, output and errors, and the seconds it took."""

    def __init__(self, code, output, errors, seconds):
        self.code, self.output, self.errors, self.seconds = code, output, errors, seconds

    def __str__(self):
        return f"exit code {self.code}, output {self.output[-500:]!r}, errors {self.errors[-500:]!r}"


def weft(*arguments, seconds=60, prefix=(), environment=None, output=subprocess.PIPE, cwd=None):
    """Runs one command to its end. `prefix`: what it is started by, as `unshare -m`."""
    begin = time.monotonic()
    done = subprocess.run([*prefix, WEFT, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          stdout=output, stderr=subprocess.PIPE, timeout=seconds, check=False,
                          cwd=cwd, env={**os.environ, **(environment or {})})
    return Ended(done.returncode, (done.stdout or b"").decode(errors="replace"),
                 done.stderr.decode(errors="replace"), time.monotonic() - begin)


class Running:
    """A command at work, whose errors can be waited for."""

    def __init__(self, folder, *arguments, prefix=()):
        self.output = pathlib.Path(folder) / "output.txt"
        self.errors = pathlib.Path(folder) / "errors.txt"
        with open(self.output, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([*prefix, WEFT, *map(str, arguments)],
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                            start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def texts(self):
        return self.output.read_text(errors="replace"), self.errors.read_text(errors="replace")

    def wait_text(self, words, seconds=30.0):
        """Until output or errors have `words`; the seconds that it took."""
        begin = time.monotonic()
        while not any(words in text for text in self.texts()):
            expect(self.process.poll() is None or any(words in text for text in self.texts()),
                   f"{words!r}: it ended first: {self.texts()}")
            expect(time.monotonic() < begin + seconds, f"{words!r}: not seen: {self.texts()}")
            time.sleep(0.005)  # tidy: allow sleep: a file gives no notice of a change
        return time.monotonic() - begin

    def wait_handlers(self, seconds=20.0):
        """Until the process answers SIGINT by itself."""
        deadline = time.monotonic() + seconds
        status = pathlib.Path(f"/proc/{self.process.pid}/status")
        while True:
            caught = [line.split()[1] for line in status.read_text().splitlines()
                      if line.startswith("SigCgt:")]
            if caught and int(caught[0], 16) >> (signal.SIGINT - 1) & 1:
                return
            expect(time.monotonic() < deadline, "it never began to answer signals")

    def interrupt(self):
        os.kill(self.process.pid, signal.SIGINT)

    def end(self, seconds=60.0):
        begin = time.monotonic()
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"did not end in {seconds} s: {self.texts()}") from None
        return Ended(code, *self.texts(), time.monotonic() - begin)


@contextlib.contextmanager
def scratch():
    with tempfile.TemporaryDirectory(prefix="weft-cli-") as folder:
        yield pathlib.Path(folder)


def train(folder, *arguments, steps=5, name="trained"):
    """A small run in `folder`; its newest checkpoint."""
    out = folder / name
    done = weft("run", RECIPE, "--steps", steps, "--out", out, *ALONE, *arguments)
    expect(done.code == 0, f"training: {done}")
    return out / f"checkpoints/checkpoint-{steps}.safetensors"


def rows_file(path, rows=1):
    """A .npy file of zeros that the small model takes."""
    head = (f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 1, 28, 28), }}"
            .ljust(117) + "\n").encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
                     + bytes(4 * rows * 784))
    return path


def lines_of_json(text):
    """Every line of `text`, each of which must be a JSON object."""
    lines = [json.loads(line) for line in text.splitlines()]
    expect(lines and all(isinstance(line, dict) for line in lines), f"no objects: {text[:300]}")
    return lines
