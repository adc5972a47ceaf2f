"""Models to serve, trained in a few steps, and `weft serve` of them as a process."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEFT = os.environ.get("WEFT_PROGRAM", str(ROOT / "build/release/weft"))

IMAGES = """
[model]
name = "mlp"
hidden_units = 32
[data]
name = "synthetic"
synthetic_samples = 512
[optimizer]
learning_rate = 0.05
[run]
name = "images"
steps = 30
global_batch = 64
evaluate = false
[checkpoint]
every_steps = 30
[group]
discovery = "off"
"""
TEXT = """
[model]
name = "char_gpt"
layers = 2
embedding_width = 32
heads = 2
[data]
name = "text"
path = "{path}"
tokenizer = "byte"
context = 256
[optimizer]
name = "adamw"
learning_rate = 0.003
[run]
name = "text"
steps = 20
global_batch = 4
evaluate = false
[checkpoint]
every_steps = 20
[group]
discovery = "off"
"""
ROWS = """
[model]
name = "mlp"
[data]
name = "rows"
path = "{path}"
classify = false
[run]
name = "flats"
steps = 20
global_batch = 32
evaluate = false
[group]
discovery = "off"
"""

JSON = {"Content-Type": "application/json"}


class Failure(AssertionError):
    """A claim that did not hold, with what was seen instead."""


def expect(condition, text):
    if not condition:
        raise Failure(text)


def train(folder, name, recipe):
    path = folder / f"{name}.toml"
    path.write_text(recipe, encoding="utf-8")
    out = folder / name
    ran = subprocess.run([WEFT, "run", str(path), "--out", str(out), "--listen", "127.0.0.1:0"],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                         check=False)
    expect(ran.returncode == 0, f"weft run: {ran.returncode}: {ran.stderr[-1000:]}")
    return str(max((out / "checkpoints").glob("*.safetensors")))


class Server:
    """`weft serve` of a checkpoint at a free port; use as a context manager."""

    def __init__(self, checkpoint, *arguments):
        self.process = subprocess.Popen(
            [WEFT, "serve", checkpoint, "--port", "0", *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.match(r"listening on http://([\d.]+):(\d+) ", line)
        expect(found, f"expected a line \"listening on ...\", got {line!r}")
        self.host, self.port = found[1], int(found[2])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.communicate()

    def connection(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=60)

    def ask(self, method, path, body=None, connection=None):
        """Status and the body, from JSON where it is some."""
        link = connection or self.connection()
        link.request(method, path, json.dumps(body) if isinstance(body, dict) else body, JSON)
        answer = link.getresponse()
        text = answer.read().decode()
        if connection is None:
            link.close()
        kind = answer.getheader("Content-Type")
        return answer.status, json.loads(text) if kind == "application/json" else text

    def terminate(self, seconds=40):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"the server did not end in {seconds} s behind SIGTERM") from None


def row(number):
    return [(number * 31 + i * 7) % 256 for i in range(784)]
