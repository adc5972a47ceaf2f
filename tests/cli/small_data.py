"""Small tables and texts, runs on them, and servers of their models, for the trials of this folder.

Python 3 standard library only.
"""
import contextlib
import http.client
import json
import random
import re
import select
import struct
import subprocess

from command_line import ALONE, ROOT, WEFT, expect, weft

TEXT = "the quick brown fox jumps over the lazy dog. " * 100
# A model of texts that learns a little in less than a second.
SMALL_TEXT = ["data.name=text", "data.context=32", "model.layers=1", "model.embedding_width=32",
              "model.heads=2"]


def sets(*settings):
    return [word for setting in settings for word in ("--set", setting)]


def run(folder, recipe, *settings, steps=None, out="out", flags=()):
    """`weft run` of a recipe of recipes/, in `folder`, alone."""
    length = [] if steps is None else ["--steps", steps]
    return weft("run", ROOT / f"recipes/{recipe}.toml", "--out", out, *ALONE, *length,
                *sets(*settings), *flags, cwd=folder)


def trained(folder, recipe, *settings, steps=None, out="out"):
    """The folder of such a run, which must end well."""
    end = run(folder, recipe, *settings, steps=steps, out=out)
    expect(end.code == 0, f"training: {end}")
    return folder / out


def summary(out):
    return json.loads((out / "summary.json").read_text())


def checkpoint(out):
    """The newest checkpoint of a run's folder."""
    return max((out / "checkpoints").glob("checkpoint-*.safetensors"),
               key=lambda path: int(path.stem.split("-")[1]))


def refused(end, code, *words):
    """It ended with `code`, in words on standard error, and nothing was trained."""
    expect(end.code == code, f"expected exit code {code}: {end}")
    for word in words:
        expect(word in end.errors, f"{word!r} is not said: {end}")
    expect("round 1/" not in end.output, f"it trained before: {end}")
    return end


def table(path, rows, header=("a", "b", "kind"), separator=","):
    """Writes rows of fields as a file .csv."""
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in (header, *rows)))
    return path


def two_classes(path, rows=300, seed=1):
    """A table whose columns have very different sizes; the classes of its rows."""
    draw = random.Random(seed)
    points = [(draw.gauss(1000, 100), draw.gauss(-5, 0.01)) for _ in range(rows)]
    kinds = ["pos" if (a - 1000) / 100 + (b + 5) / 0.01 > 0 else "neg" for a, b in points]
    table(path, [(f"{a:.5f}", f"{b:.6f}", kind) for (a, b), kind in zip(points, kinds)])
    return kinds


def npy(path, values, shape, kind="f"):
    """Writes an array of f4, or of i8 where `kind` is "q"."""
    head = (f"{{'descr': '{'<f4' if kind == 'f' else '<i8'}', 'fortran_order': False, "
            f"'shape': {tuple(shape)}, }}").ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                     + struct.pack(f"<{len(values)}{kind}", *values))
    return path


class Server:
    """`weft serve` of a model at a free port; use as a context manager."""

    def __init__(self, model, prefix=(), flags=()):
        self.process = subprocess.Popen([*prefix, WEFT, "serve", model, "--port", "0", *flags],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = ""
        if select.select([self.process.stdout], [], [], 30)[0]:
            line = self.process.stdout.readline()
        found = re.match(r"listening on http://127\.0\.0\.1:(\d+) ", line)
        if not found:
            self.process.kill()
        expect(found, f"expected \"listening on ...\", got {line!r}")
        self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.communicate()

    def ask(self, method, path, body=None):
        """Status and the body, from JSON where it is some."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            text = body if body is None or isinstance(body, str) else json.dumps(body)
            link.request(method, path, text, {"Content-Type": "application/json"})
            answer = link.getresponse()
            got = answer.read().decode()
            is_json = answer.getheader("Content-Type") == "application/json"
            return answer.status, json.loads(got) if is_json and got else got
        finally:
            link.close()
