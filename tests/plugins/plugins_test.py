#!/usr/bin/env python3
"""A codec, a robust rule, a gate and a code, each added as one file, are in the program without another edit.

usage: plugins_test.py [NAME ...]
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "multi"))
from harness import RECIPE, WEFT, expect, main  # noqa: E402

EXTENDED = os.environ["WEFT_WITH_PLUGINS"]
FILES = sorted(pathlib.Path(__file__).parent.glob("*_*.cpp"))
LINES_MAX = 60
ROBUST = ["--set=aggregate.rule=nnm winsorized_mean", "--set=aggregate.liars=1",
          "--set=group.hosts=apart"]


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120,
                          check=False, stdin=subprocess.DEVNULL)


def simulated(*settings):
    """The result of a short run of seven virtual peers."""
    done = run(EXTENDED, "sim", RECIPE, "--peers", "7", "--rounds", "20", "--json", *settings)
    expect(done.returncode == 0, f"weft sim {settings}: {done.returncode}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def the_pages_of_recipes_have_them():
    page = run(EXTENDED, "recipe").stdout
    for name, summary in (("f24", "The upper three bytes of each value."),
                          ("winsorized_mean", "moved inwards"),
                          ("linear", "count 1 - s / rounds")):
        expect(name in page and summary in page, f"weft recipe does not show {name}")
    expect("f24" not in run(WEFT, "recipe").stdout, "the plain program knows f24, too")
    expect("any one of them suffices" in run(EXTENDED, "methods", "code").stdout,
           "weft methods does not show replicated")
    return "weft recipe shows the codec, the rule and the gate, weft methods the code"


def the_program_without_them_refuses_them():
    for setting in ("group.wire=f24", "aggregate.rule=winsorized_mean", "group.late=linear"):
        done = run(WEFT, "sim", RECIPE, f"--set={setting}")
        name = setting.partition("=")[2]
        expect(done.returncode == 2 and name in done.stderr,
               f"{setting}: {done.returncode}: {done.stderr}")
    return "three refusals"


def a_recipe_trains_by_the_codec():
    plain, encoded = simulated(), simulated("--set=group.wire=f24")
    expect(encoded["finished"] == 7, f"expected 7 peers at the end: {encoded}")
    expect(encoded["state_hash"] != plain["state_hash"], "nothing was encoded")
    expect(abs(encoded["loss"] - plain["loss"]) < 0.01 + 0.05 * plain["loss"],
           f"expected about the loss {plain['loss']}, got {encoded['loss']}")
    return f"loss {encoded['loss']:.4f}, uncoded {plain['loss']:.4f}"


def a_recipe_trains_by_the_rule():
    result = simulated(*ROBUST)
    expect(result["finished"] == 7, f"expected 7 peers at the end: {result}")
    expect(result["loss"] < 1.0, f"expected a loss below 1, got {result['loss']}")
    return f"loss {result['loss']:.4f}"


def a_recipe_takes_the_gate_with_its_option():
    done = run(EXTENDED, "sim", RECIPE, "--peers", "4", "--rounds", "5", "--json",
               "--set=group.late=linear:rounds=4")
    expect(done.returncode == 0, f"weft sim: {done.returncode}: {done.stderr}")
    done = run(EXTENDED, "sim", RECIPE, "--set=group.late=linear:rounds=1")
    expect(done.returncode == 2 and "group.late" in done.stderr,
           f"rounds=1: {done.returncode}: {done.stderr}")
    return "linear:rounds=4 is taken, linear:rounds=1 refused"


def each_is_one_short_file():
    expect(len(FILES) == 4, f"expected four files, got {FILES}")
    for path in FILES:
        lines = len(path.read_text().splitlines())
        expect(lines < LINES_MAX, f"{path.name} has {lines} lines")
    return ", ".join(path.name for path in FILES)


if __name__ == "__main__":
    sys.exit(main({test.__name__: test for test in (
        the_pages_of_recipes_have_them, the_program_without_them_refuses_them,
        a_recipe_trains_by_the_codec, a_recipe_trains_by_the_rule,
        a_recipe_takes_the_gate_with_its_option, each_is_one_short_file)}))
