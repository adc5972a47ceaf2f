#!/usr/bin/env python3
"""Somebody's own photos, table and text, from `weft new` to a prediction on something new.

usage: tests/own/own_data_test.py [--quick | --drawn]
Data are drawn by examples/data/make_examples.py: 300 photos of three shapes, a table of 1000 rows with
words, decimal commas and a tenth of its values missing, and a text of 200 kB. --quick takes the small
ones of examples/data and a few steps, and asks for no quality. --drawn is what --quick leaves: one of
the three trainings, which the commit draws, to its quality. Prints a line a test, and
"N passed, N failed".
"""
import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/data"
sys.path[:0] = [str(EXAMPLES), str(ROOT / "tools")]
import make_examples  # noqa: E402
import turns  # noqa: E402

WEFT = os.environ.get("WEFT_PROGRAM", str(ROOT / "build/release/weft"))
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


class Failure(Exception):
    """What a test expected, and what it got."""


def expect(condition, text):
    if not condition:
        raise Failure(text)


def weft(*arguments, code=0, seconds=900, folder=None):
    """Runs the program; its standard output, or both outputs where it is to fail."""
    done = subprocess.run([WEFT, *map(str, arguments)], capture_output=True, text=True,
                          timeout=seconds, cwd=folder, check=False)
    expect(done.returncode == code,
           f"weft {' '.join(map(str, arguments))}: expected exit code {code}, got {done.returncode}:"
           f" {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout if code == 0 else done.stdout + done.stderr


class Trained:
    """A recipe from `weft new`, trained."""

    def __init__(self, data, folder, quick, *flags):
        self.folder = pathlib.Path(folder)
        self.recipe = self.folder / "own.toml"
        self.said = weft("new", data, "--out", self.recipe, *flags)
        expect("tried 3 steps" in self.said, f"expected a trial, got {self.said}")
        few = ["--steps", "6"] if quick else []
        weft("run", self.recipe, "--out", self.folder / "out", "--listen", "127.0.0.1:0",
             "--set", "group.discovery=off", *few)
        self.summary = json.loads((self.folder / "out/summary.json").read_text())
        # The model alone, where no data of its run are.
        found = next((self.folder / "out/checkpoints").glob("checkpoint-*.safetensors"))
        self.model = self.folder / "alone" / "model.safetensors"
        self.model.parent.mkdir()
        shutil.copy(found, self.model)

    def evaluation(self):
        return json.loads(weft("eval", self.model, "--json"))


def test_photos(folder, quick):
    """Three shapes are told apart on photos that no training has seen."""
    data = EXAMPLES / "shapes"
    if not quick:
        data = pathlib.Path(folder) / "shapes"
        make_examples.write_photos(data, 300, 64, seed=5)
    trained = Trained(data, folder, quick)
    fresh = pathlib.Path(folder) / "fresh"
    make_examples.write_photos(fresh, 3 if quick else 60, 64, seed=77)
    right, files = 0, sorted(fresh.glob("*/*.png"))
    for file in files:
        said = weft("predict", trained.model, file, "--top", "1")
        expect(re.search(r"circle|square|triangle", said), f"expected the name of a class: {said}")
        right += file.parent.name in said
    accuracy = right / len(files)
    expect(quick or accuracy > 0.95, f"expected more than 95 % of fresh photos right, got {accuracy}")
    tested = 100 * trained.summary["test_accuracy"]
    return f"test {tested:.1f} %, fresh photos {100 * accuracy:.1f} % of {len(files)}"


def predicted_values(checkpoint, table):
    """What the model says of each row of a table."""
    said = weft("predict", checkpoint, table)
    return [float(value) for value in re.findall(r"^\d+:.*?(-?\d+(?:\.\d+)?)", said, re.M)]


def r2(wanted, got):
    mean = sum(wanted) / len(wanted)
    return 1 - (sum((a - b) ** 2 for a, b in zip(wanted, got))
                / sum((a - mean) ** 2 for a in wanted))


def test_table(folder, quick):
    """Rents are told from words and numbers with commas, a tenth of them missing."""
    data = EXAMPLES / "flats.csv"
    if not quick:
        data = pathlib.Path(folder) / "flats.csv"
        data.write_text(make_examples.table(1000, seed=5))
    trained = Trained(data, folder, quick)
    fresh = pathlib.Path(folder) / "fresh.csv"
    fresh.write_text(make_examples.table(200, seed=77))
    rows = [line.split(";") for line in fresh.read_text().splitlines()[1:]]
    got = predicted_values(trained.model, fresh)
    expect(len(got) == len(rows), f"expected {len(rows)} values, got {len(got)}")
    quality = r2([float(row[-1].replace(",", ".")) for row in rows], got)
    expect(quick or quality > 0.95, f"expected R2 above 0.95 on fresh rows, got {quality}")
    return f"R2 {quality:.4f} on {len(rows)} fresh rows"


def test_text(folder, quick):
    """A text is continued, and its perplexity is that of its small grammar."""
    data = EXAMPLES / "story.txt"
    if not quick:
        data = pathlib.Path(folder) / "story.txt"
        data.write_text(make_examples.story(200_000, seed=5))
    trained = Trained(data, folder, quick)
    perplexity = math.exp(trained.evaluation()["loss"])
    expect(quick or perplexity < 1.6, f"expected a perplexity below 1.6, got {perplexity}")
    said = weft("predict", trained.model, "The old captain ", "--tokens", "40",
                "--temperature", "0")
    expect(said.startswith("The old captain "), f"expected the text to go on, got {said!r}")
    expect(quick or any(verb in said for verb in make_examples.DID), f"expected words, got {said!r}")
    return f"perplexity {perplexity:.3f} a character"


def test_run_takes_data(folder, _quick):
    """`weft run` on data writes the recipe into OUT, once."""
    out = pathlib.Path(folder) / "out"
    flags = ["--out", out, "--steps", "3", "--listen", "127.0.0.1:0", "--set", "group.discovery=off"]
    weft("run", EXAMPLES / "shapes", *flags)
    recipe = out / "recipe.toml"
    expect('name = "images"' in recipe.read_text(), "expected a recipe for images in OUT")
    recipe.write_text(recipe.read_text().replace("flip ", ""))
    weft("run", EXAMPLES / "shapes", *flags)
    expect("flip jitter" not in recipe.read_text(), "expected the changed recipe to be kept")


def test_columns_that_name_rows_are_left_out(folder, _quick):
    """A number, a name and a date of each row are no inputs, and a new table needs none of them."""
    rng = random.Random(3)
    rows = []
    for place in range(200):
        size, kind = rng.uniform(20, 200), rng.choice(["flat", "house"])
        price = size * (1200 if kind == "flat" else 1500)
        rows.append([str(place + 1), f"K-{rng.randrange(10**6):06}",
                     f"2024-{place % 12 + 1:02}-{place % 28 + 1:02}", kind, f"{size:.1f}",
                     f"{price:,.0f}"])
    folder = pathlib.Path(folder)
    table = folder / "HOUSES.CSV"
    names = ["", "customer", "sold", "kind", "size", "price"]
    table.write_text(";".join(names) + "\n" + "".join(";".join(row) + "\n" for row in rows))
    trained = Trained(table, folder, quick=True)
    recipe = (folder / "own.toml").read_text()
    expect('columns_ignored = "0, customer, sold"' in recipe, f"expected three columns: {recipe}")
    whole, bare = folder / "whole.csv", folder / "bare.csv"
    whole.write_text(";".join(names) + "\n" + "".join(";".join(row) + "\n" for row in rows[:20]))
    bare.write_text("size;kind\n" + "".join(f"{row[4]};{row[3]}\n" for row in rows[:20]))
    said = predicted_values(trained.model, whole)
    expect(len(said) == 20 and said == predicted_values(trained.model, bare),
           "expected the same of both tables")
    expect(100_000 < statistics.fmean(said) < 200_000, f"expected prices, got {said}")
    said = weft("run", folder / "own.toml", "--out", folder / "out2", "--set",
                "data.columns_ignored=custommer", code=2)
    expect('did you mean "customer"?' in said, f"expected the nearest name, got {said}")


def npy(shape, kind, values):
    """The bytes of a file .npy."""
    header = str({"descr": {"f": "<f4", "q": "<i8"}[kind], "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}{kind}", *values))


def test_arrays_and_tokens(folder, _quick):
    """From a look to a prediction on arrays, and on tokens in a file and in a folder."""
    folder, rng = pathlib.Path(folder), random.Random(2)
    (folder / "xy").mkdir()
    values = [rng.gauss(0, 1) for _ in range(600)]
    (folder / "xy/X.npy").write_bytes(npy((200, 3), "f", values))
    (folder / "xy/y.NPY").write_bytes(npy((200,), "q", [value > 0 for value in values[::3]]))
    trained = Trained(folder / "xy", folder / "xy", quick=True)
    said = weft("predict", trained.model, folder / "xy/X.npy")
    expect(len(said.splitlines()) == 200, f"expected a line a row, got {said[:200]}")
    (folder / "both").mkdir()
    tokens = struct.pack("<4000H", *(place * place % 61 for place in range(4000)))
    for name in ("T.BIN", "both/train.bin", "both/val.bin"):
        (folder / name).write_bytes(tokens)
    (folder / "next.npy").write_bytes(npy((1, 4), "q", [1, 4, 9, 16]))
    for name in ("T.BIN", "both"):
        seen = json.loads(weft("data", "look", folder / name, "--json"))
        expect((seen["kind"], seen["token_bytes"], seen["largest"]) == ("tokens", 2, 60), str(seen))
        out = folder / f"out-{name}"
        weft("run", folder / name, "--out", out, "--steps", "3", "--listen", "127.0.0.1:0",
             "--set", "group.discovery=off")
        said = weft("predict", out, folder / "next.npy")
        expect(re.search(r"^0: token \d+ ", said, re.M), f"expected tokens, got {said}")


def test_new_overwrites_nothing(folder, _quick):
    """Another's file is replaced by --force only."""
    path = pathlib.Path(folder) / "mine.toml"
    path.write_text("precious")
    said = weft("new", EXAMPLES / "flats.csv", "--out", path, code=2)
    expect("--force" in said and path.read_text() == "precious", f"expected a refusal, got {said}")
    weft("new", EXAMPLES / "flats.csv", "--out", path, "--force")
    expect("[model]" in path.read_text(), "expected a recipe")
    own = pathlib.Path(folder) / "own.csv"
    own.write_bytes((EXAMPLES / "flats.csv").read_bytes())
    weft("new", own, "--out", own, "--force", code=2)
    expect(own.read_bytes() == (EXAMPLES / "flats.csv").read_bytes(), "the data were replaced")
    made = json.loads(weft("new", EXAMPLES / "flats.csv", "--out", path, "--force", "--json",
                           "--target", "district"))
    expect(made["model"] == "mlp" and made["recipe"] == str(path), f"expected its facts, got {made}")


def test_look(folder, _quick):
    """Every kind is told, as text and as JSON."""
    for name, kind in (("shapes", "images"), ("flats.csv", "table"), ("story.txt", "text")):
        expect(weft("data", "look", EXAMPLES / name).strip(), "expected a few lines")
        seen = json.loads(weft("data", "look", EXAMPLES / name, "--json"))
        expect(seen["kind"] == kind, f"expected {kind}, got {seen}")
    expect("no folders of images" in weft("data", "look", folder, code=2), "expected a refusal")


def hostile_files(folder):
    """Names and contents that would do something to a terminal, or to a careless reader."""
    rng = random.Random(3)
    evil = pathlib.Path(folder) / "evil\x1b[31m"
    (evil / "a\x07b").mkdir(parents=True)
    (evil / "a\x07b" / "x\x1b]0;title\x07.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\xff" * 200)
    (evil / "c").mkdir()
    (evil / "c" / "bomb.jpg").write_bytes(b"\xff\xd8\xff" + rng.randbytes(5000))
    yield evil
    for index, content in enumerate((
            b"", b"\x00" * 1000, b"a,b\n\x1b[2J,1\n\xff\xfe,2\n", b'"' * 5000, b"," * 70000,
            b"a;b\n" + b"x" * 3_000_000, b"\xff\xfea\x00", rng.randbytes(100_000),
            b"a,b\n" + b"".join(b"\x9b%d,\xc2\x9b%d\n" % (i, i) for i in range(2000)))):
        for ending in ("csv", "tsv", "txt", "txt.gz", "bin"):
            path = pathlib.Path(folder) / f"hostile-{index}.{ending}"
            path.write_bytes(content)
            yield path


def test_hostile_files(folder, _quick):
    """Files of strangers end in words, and nothing of theirs reaches the terminal raw."""
    for path in hostile_files(folder):
        for flags in ([], ["--json"]):
            done = subprocess.run([WEFT, "data", "look", path, *flags], capture_output=True,
                                  timeout=60, check=False)
            said = (done.stdout + done.stderr).decode()
            expect(done.returncode in (0, 2, 3, 4), f"{path!r}: exit code {done.returncode}")
            expect(not CONTROLS.search(said), f"{path!r}: control characters in {said!r}")
    evil = next(hostile_files(tempfile.mkdtemp(dir=folder)))
    done = subprocess.run([WEFT, "new", evil, "--out", f"{folder}/evil.toml"], capture_output=True,
                          timeout=60, check=False)
    said = (done.stdout + done.stderr).decode()
    expect(done.returncode != 0 and not CONTROLS.search(said), f"expected a refusal, got {said!r}")


def test_refusals_before_the_first_step(folder, _quick):
    """What would fail later is refused at once, by its key."""
    recipe = pathlib.Path(folder) / "r.toml"
    weft("new", EXAMPLES / "flats.csv", "--out", recipe)
    for settings, wanted in (
            (["run.global_batch=5000"], "run.global_batch: expected at most the 216 samples"),
            (["data.path=nowhere.csv"], 'data.path: the recipe reads "nowhere.csv"'),
            (["data.header=false"], "set data.header = true"),
            (["data.transforms=flip"], "data.transforms: \"flip\" has no effect"),
            (["data.name=fashion-mnist"], "has no effect with data.name = \"fashion-mnist\""),
            (["data.name=imgaes"], "did you mean \"images\"?")):
        flags = [part for setting in settings for part in ("--set", setting)]
        said = weft("run", recipe, "--out", f"{folder}/out", *flags,
                    code=3 if "nowhere" in settings[0] else 2)
        expect(wanted in said, f"expected {wanted!r}, got {said!r}")


TRAININGS = [test_photos, test_table, test_text]
TESTS = [test_look, test_columns_that_name_rows_are_left_out, test_arrays_and_tokens,
         test_new_overwrites_nothing, test_run_takes_data, test_hostile_files,
         test_refusals_before_the_first_step, *TRAININGS]


def drawn_training():
    """One of the trainings, which the commit draws."""
    commit = turns.git("rev-parse", "HEAD").strip()
    return min(TRAININGS, key=lambda test: turns.drawn(commit, test.__name__))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--drawn", action="store_true")
    parser.add_argument("--only", default="")
    flags = parser.parse_args()
    failed = 0
    chosen = [drawn_training()] if flags.drawn else TESTS
    chosen = [test for test in chosen if flags.only in test.__name__]
    for test in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"ok   {test.__name__} {test(folder, flags.quick) or ''}".rstrip(), flush=True)
            except (Failure, subprocess.TimeoutExpired) as fault:
                failed += 1
                print(f"FAIL {test.__name__}: {fault}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
