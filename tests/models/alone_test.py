#!/usr/bin/env python3
"""A model's file, moved alone to an empty folder, its data gone: `weft predict`, `weft serve`,
`weft export` and, where they are there, the Python package and ONNX Runtime, say the same.

    npm install --ignore-scripts --prefix /tmp/ort onnxruntime-node
    WEFT_ONNXRUNTIME_NODE_MODULES=/tmp/ort/node_modules tests/models/alone_test.py [KIND ...]

Without that package, which NODE_PATH may name, too, exported files are only written. Python 3
standard library only.
"""
import http.client
import json
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD", ROOT / "build/release"))
WEFT = os.environ.get("WEFT_PROGRAM", str(BUILD / "weft"))
SECONDS_MAX = 300

RECIPE = """
[model]
name = "{model}"
hidden_units = 32
layers = 1
embedding_width = 32
heads = 2
[data]
{data}
[optimizer]
name = "adamw"
learning_rate = 0.005
[run]
name = "alone"
steps = {steps}
global_batch = 32
[group]
discovery = "off"
"""


class Failure(AssertionError):
    """A claim that did not hold, with what was seen instead."""


def expect(holds, what):
    if not holds:
        raise Failure(what)


def weft(folder, *arguments, code=0):
    """The standard output of the program in `folder`, where nothing else is."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    done = subprocess.run([WEFT, *map(str, arguments)], cwd=folder, env=environment, text=True,
                          capture_output=True, timeout=SECONDS_MAX, check=False)
    expect(done.returncode == code,
           f"weft {arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout if code == 0 else done.stderr


def npy_bytes(values, shape, kind="|u1"):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + bytes(values)


def read_npy(path):
    """The numbers of an array of f4 or i8, one after another."""
    data = path.read_bytes()
    length, = struct.unpack("<H", data[8:10])
    kind = {"<f4": "f", "<i8": "q"}[re.search(r"'descr': '(..?.)'", data[10:].decode("latin-1"))[1]]
    values = data[10 + length:]
    return list(struct.unpack(f"<{len(values) // struct.calcsize('<' + kind)}{kind}", values))


def train(work, model, data, steps):
    """The checkpoint of a run, alone in a folder of its own; what was there before is gone."""
    made = work / "made"
    (made / "recipe.toml").write_text(RECIPE.format(model=model, data=data, steps=steps))
    said = weft(made, "run", "recipe.toml", "--out", "out")
    empty = work / "empty"
    empty.mkdir()
    newest = sorted((made / "out/checkpoints").glob("checkpoint-*.safetensors"))[-1]
    shutil.copy(newest, empty / "model.safetensors")
    shutil.rmtree(made)
    return empty, said


def served(folder, path, body):
    """What a server of the model in `folder` answers."""
    server = subprocess.Popen([WEFT, "serve", "model.safetensors", "--port", "0"], cwd=folder,
                              env={"PATH": os.environ["PATH"], "HOME": str(folder)},
                              stdout=subprocess.PIPE, text=True)
    try:
        port = int(re.search(r"listening on http://127.0.0.1:(\d+)", server.stdout.readline())[1])
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS_MAX)
        link.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = link.getresponse()
        text = answer.read().decode()
        expect(answer.status == 200, f"{answer.status}: {text}")
        return json.loads(text)
    finally:
        server.terminate()
        server.wait(timeout=SECONDS_MAX)


def in_python(folder, program):
    """What `program`, which has the model as `model`, prints; None where the package is not built."""
    package = BUILD / "python"
    if not list((package / "weft").glob("_core*")):
        return None
    done = subprocess.run(
        [sys.executable, "-c",
         "import json, weft\nmodel = weft.models.load('model.safetensors')\n" + program],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(package)}, text=True, capture_output=True,
        timeout=SECONDS_MAX, check=False)
    expect(done.returncode == 0, f"python: {done.stderr}")
    return json.loads(done.stdout)


def in_onnx_runtime(folder, **inputs):
    """The outputs that ONNX Runtime gives for the exported model; None where it is not there. An
    input is (type, dims, numbers)."""
    folders = [os.environ.get("WEFT_ONNXRUNTIME_NODE_MODULES"), os.environ.get("NODE_PATH")]
    environment = {**os.environ, "NODE_PATH": os.pathsep.join(each for each in folders if each)}
    if shutil.which("node") is None or subprocess.run(
            ["node", "-e", "require('onnxruntime-node')"], env=environment, cwd="/",
            capture_output=True, timeout=SECONDS_MAX, check=False).returncode != 0:
        return None
    asked = {"model": str(folder / "m.onnx"),
             "inputs": {name: {"type": kind, "dims": dims, "data": data}
                        for name, (kind, dims, data) in inputs.items()}}
    done = subprocess.run(["node", str(pathlib.Path(__file__).with_name("onnx_runtime.cjs"))],
                          input=json.dumps(asked), env=environment, text=True, capture_output=True,
                          timeout=SECONDS_MAX, check=False)
    expect(done.returncode == 0, f"ONNX Runtime: {done.stderr}")
    outputs = json.loads(done.stdout)
    expect(len(outputs) == 1, f"expected one output, got {list(outputs)}")
    return next(iter(outputs.values()))


def description(path):
    """What the file says of its data, by the format of docs/files.md."""
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    return json.loads(json.loads(data[8:8 + length])["__metadata__"]["data"])


def flat(rows):
    return [value for row in rows for value in row]


def expect_close(got, wanted, what):
    largest = max([1.0, *map(abs, wanted)])
    expect(len(got) == len(wanted) and
           all(abs(a - b) <= 1e-5 * largest for a, b in zip(got, wanted)),
           f"{what}: expected {wanted[:8]}, got {got[:8]}")


def table(classes):
    draw = random.Random(4)
    lines = ["size,kind,age,fate" if classes else "size,kind,age,price"]
    for _ in range(400):
        size, age = draw.gauss(1000, 100), draw.gauss(0, 0.01)
        kind = draw.randrange(3)
        price = 100 + 0.3 * (size - 1000) - 1000 * age + 20 * kind
        given = "" if draw.random() < 0.1 else f"{size:.3f}"
        learned = ("sold" if price > 120 else "kept") if classes else f"{price:.4f}"
        lines.append(f"{given},{['flat', 'house', 'hut'][kind]},{age:.5f},{learned}")
    return "\n".join(lines) + "\n"


def check_table(work, classes):
    (work / "made/t.csv").write_text(table(classes))
    data = f'name = "rows"\npath = "t.csv"\nclassify = {str(classes).lower()}'
    empty, said = train(work, "mlp", data, 200)
    if not classes:
        r2 = float(re.search(r"R2 (-?[\d.]+)", said)[1])
        expect(r2 > 0.7, f"R2 {r2}: a size in ten is missing\n{said}")
    (empty / "asked.csv").write_text("age,kind,note,size\n0.01,hut,x,1100\n-0.02,house,y,\n")
    weft(empty, "predict", "model.safetensors", "asked.csv", "--out", "said.npy")
    wanted = read_npy(empty / "said.npy")
    rows = [[1100, "hut", 0.01], [None, "house", -0.02]]
    answer = served(empty, "/v1/predict", {"inputs": rows})
    expect_close(flat(answer["outputs"]), wanted, "serve")
    expect(("labels" in answer) == classes, f"labels: {answer}")
    got = in_python(empty, f"print(json.dumps(model.predict({rows}).tolist()))")
    if got is not None:
        expect_close(flat(got), wanted, "python")
    weft(empty, "export", "model.safetensors", "--onnx", "m.onnx", "--safetensors", "w.safetensors")
    words = description(empty / "model.safetensors")["columns"][1]["words"]
    got = in_onnx_runtime(empty, input=("float32", [2, 3], [
        1100, words.index("hut"), 0.01, None, words.index("house"), -0.02]))
    if got is not None:
        expect_close(got, wanted, "ONNX Runtime")
    told = weft(empty, "eval", "model.safetensors", code=3)
    expect("--data" in told, told)
    (empty / "other.csv").write_text("size,age\n1,2\n")
    told = weft(empty, "predict", "model.safetensors", "other.csv", code=2)
    expect('"kind"' in told, told)
    return "same outputs everywhere" if got else "same outputs; ONNX Runtime is not there"


def check_classes(work):
    return check_table(work, True)


def check_values(work):
    return check_table(work, False)


def check_text(work):
    (work / "made/t.txt").write_text("the quick brown fox jumps over the lazy dog. " * 100)
    empty, _ = train(work, "char_gpt", 'name = "text"\npath = "t.txt"\ncontext = 32', 60)
    said = weft(empty, "predict", "model.safetensors", "the quick", "--tokens", "20")
    expect(len(said) == len("the quick") + 21, f"20 characters more: {said!r}")
    answer = served(empty, "/v1/completions",
                    {"prompt": "the quick", "max_tokens": 20, "temperature": 0})
    expect("the quick" + answer["choices"][0]["text"] + "\n" == said, f"serve: {answer}")
    got = in_python(empty, "print(json.dumps(model.generate('the quick', 20)))")
    expect(got is None or "the quick" + got + "\n" == said, f"python: {got!r}, not {said!r}")
    weft(empty, "export", "model.safetensors", "--onnx", "m.onnx")
    draw = random.Random(5)
    tokens = [draw.randrange(20) for _ in range(32)]
    (empty / "x.npy").write_bytes(npy_bytes(struct.pack("<32q", *tokens), (1, 32), "<i8"))
    weft(empty, "predict", "model.safetensors", "x.npy", "--out", "said.npy")
    logits = in_onnx_runtime(empty, tokens=("int64", [1, 32], tokens))
    if logits is not None:
        expect_close(logits, read_npy(empty / "said.npy"), "ONNX Runtime")
    return repr(said[:29])


def check_images(work):
    empty, _ = train(work, "cnn", 'name = "synthetic"\nsynthetic_samples = 256', 10)
    pixels = random.Random(3).randbytes(2 * 784)
    (empty / "x.npy").write_bytes(npy_bytes(pixels, (2, 1, 28, 28)))
    weft(empty, "predict", "model.safetensors", "x.npy", "--out", "said.npy")
    wanted = read_npy(empty / "said.npy")
    rows = [list(pixels[:784]), list(pixels[784:])]
    expect_close(flat(served(empty, "/v1/predict", {"inputs": rows})["outputs"]), wanted, "serve")
    got = in_python(empty, f"x = weft.tensor({rows}, dtype=weft.uint8).reshape(2, 1, 28, 28)\n"
                           "print(json.dumps(model.predict(x).tolist()))")
    if got is not None:
        expect_close(flat(got), wanted, "python")
    weft(empty, "export", "model.safetensors", "--onnx", "m.onnx")
    got = in_onnx_runtime(empty, input=("float32", [2, 1, 28, 28], list(pixels)))
    if got is not None:
        expect_close(got, wanted, "ONNX Runtime")
    expect(all(map(math.isfinite, wanted)), wanted)
    return f"{len(wanted)} outputs"


KINDS = {"classes": check_classes, "values": check_values, "text": check_text,
         "images": check_images}


def main():
    failed = 0
    chosen = sys.argv[1:] or list(KINDS)
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="weft-alone-") as folder:
            work = pathlib.Path(folder)
            (work / "made").mkdir()
            try:
                print(f"ok {name}: {KINDS[name](work)}", flush=True)
            except Failure as failure:
                failed += 1
                print(f"FAILED {name}: {failure}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
