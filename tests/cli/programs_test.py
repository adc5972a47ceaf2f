#!/usr/bin/env python3
"""Recipes with [program]: what `weft compare` makes of the programs, and that nothing else starts one.

    tests/cli/programs_test.py [NAME ...]
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from command_line import (ALONE, RECIPE, ROOT, Running, expect, lines_of_json, main, scratch, train,
                          weft)
from checkpoint_files import in_the_old_form, parts  # command_line knows where it is

PACKAGE = pathlib.Path(os.environ.get("WEFT_PROGRAM", ROOT / "build/release/weft")).parent / "python"
SMALL = ["--seeds", "1", "--rounds", "2", "--peers", "2", "--json"]

# A program that measures something in three rounds, and then does what {mode} says.
SCRIPT = """
import json, os, signal, subprocess, sys, time
seed, out, mode, rounds = sys.argv[1:]
results = open(out + "/results.jsonl", "w", buffering=1)
for r in range(1, int(rounds) + 1):
    results.write(json.dumps({"round": r, "seconds": 2 * r, "bytes_sent": 100 * r, "samples": 10 * r,
                              "accuracy": round(0.2 * r + 0.01 * int(seed), 2), "loss": 1 / r}) + "\\n")
    results.write(json.dumps({"kind": "training", "round": r, "seconds": 2 * r,
                              "bytes_sent": 100 * r, "samples": 10 * r, "loss": 2 / r}) + "\\n")
if mode == "half":
    results.write('{"round": 9, "seco')
if mode == "nan":
    results.write('{"round": 9, "seconds": 9, "bytes_sent": 999, "samples": 99, "loss": NaN}\\n')
if mode == "nonsense":
    results.write("\\x1b[31m accuracy 0.5 \\n")
if mode == "nothing":
    os.remove(out + "/results.jsonl")
if mode == "fail":
    for _ in range(20000):
        sys.stderr.write("x" * 1000 + "\\n")
    sys.exit("ValueError: \\x1b[31mno such rate")
if mode == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import signal, time; "
                              "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"])
    with open(out + "/child", "w") as file:
        file.write(str(child.pid))
    print("hangs", flush=True)
    time.sleep(1000)
"""


def program(folder, *more, name="mine"):
    """A recipe of SCRIPT; the path of the recipe."""
    (folder / f"{name}.py").write_text(SCRIPT)
    path = folder / f"{name}.toml"
    path.write_text("\n".join([
        "[program]", f'command = ["{{python}}", "{{recipe}}/{name}.py", "{{seed}}", "{{out}}", '
        '"{mode}", "{rounds}"]', *more, "[program.options]", 'mode = "good"']) + "\n")
    return path


def compare(*arguments, code=0, seconds=120):
    """What `weft compare --json` says: the lines of runs, and the last one."""
    end = weft("compare", *arguments, environment={"WEFT_PYTHON": sys.executable}, seconds=seconds)
    expect(end.code == code, f"expected exit code {code}: {end}")
    lines = lines_of_json(end.output)
    return lines[:-1], lines[-1]


def is_gone(pid, seconds=10):
    """Whether the process ends within so many seconds; a zombie has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)  # tidy: allow sleep: the end of another's child gives no notice
    return False


def a_program_stands_beside_a_recipe_and_is_resumed():
    with scratch() as folder:
        mine = program(folder)
        call = [RECIPE, mine, *SMALL, "--out", folder / "c"]
        runs, last = compare(*call)
        expect([run["contender"] for run in runs] == ["synthetic_mlp", "mine"], f"{runs}")
        row = last["contenders"][1]
        expect(abs(row["test_accuracy"]["mean"] - 0.41) < 1e-9 and row["bytes_sent"]["mean"] == 200
               and row["virtual_seconds"]["mean"] == 4 and row["samples"]["mean"] == 20, f"{row}")
        expect("a program of its own" in row["note"] and row["problem"] == "", f"{row}")
        table = (folder / "c/compare.csv").read_text().splitlines()
        expect([line for line in table if line.startswith("mine")] ==
               ["mine,1,test,1,1,2,100,10,0.21,1", "mine,1,test,2,2,4,200,20,0.41,0.5",
                "mine,1,training,1,1,2,100,10,,2", "mine,1,training,2,2,4,200,20,,1"], f"{table}")
        page = (folder / "c/compare.html").read_text()
        expect("program.options.mode" in page and "a program of its own" in page, "not on the page")
        runs, again = compare(*call)
        expect(all(run["kept"] for run in runs) and again == last, f"{runs}")
        # Another script is another program.
        (folder / "mine.py").write_text(SCRIPT.replace("0.2 * r", "0.3 * r"))
        runs, again = compare(*call)
        expect([run["kept"] for run in runs] == [True, False], f"{runs}")
        expect(abs(again["contenders"][1]["test_accuracy"]["mean"] - 0.61) < 1e-9, f"{again}")


def settings_reach_those_whose_keys_they_are():
    with scratch() as folder:
        mine = program(folder, "rounds = 3")
        runs, last = compare(RECIPE, mine, *SMALL, "--out", folder / "c", "--set",
                             "optimizer.learning_rate=0.2", "--set", "program.timeout_s=50")
        expect(last["contenders"][1]["note"].endswith("; without --set optimizer.learning_rate=0.2"),
               f"{last}")
        runs, last = compare(mine, "--vary", "program.rounds=1,2", "--seeds", "4..5", "--json",
                             "--out", folder / "v")
        expect([(run["contender"], run["seed"], round(run["test_accuracy"], 6)) for run in runs] ==
               [("rounds=1", 4, 0.24), ("rounds=2", 4, 0.44),
                ("rounds=1", 5, 0.25), ("rounds=2", 5, 0.45)], f"{runs}")
        for wrong, words in (("group.wire=bf16", "is no setting of this program"),
                             ("program.options.mod=x", "did you mean"),
                             ("program.command=x", "is no setting"),
                             ("program.timeout_s=0", "from 1 to")):
            end = weft("compare", mine, "--set", wrong, "--out", folder / "w")
            expect(end.code == 2 and words in end.errors, f"{wrong}: {end}")
        end = weft("compare", RECIPE, "--set", "program.rounds=3", "--out", folder / "w")
        expect(end.code == 2 and 'unknown key "program.rounds"' in end.errors, f"{end}")


def a_run_that_fails_says_why_and_is_tried_again():
    reasons = {"half": "results.jsonl:7: expected a JSON object", "nan": "write null",
               "nonsense": "expected a JSON object, got \\x1b[31m", "nothing": "has not written it",
               "fail": "ended with exit code 1; its last line was \"ValueError: \\x1b[31mno such rate"}
    with scratch() as folder:
        mine = program(folder, "rounds = 3")
        for mode, reason in reasons.items():
            for _ in range(2):
                runs, last = compare(RECIPE, mine, "--seeds", "1", "--peers", "2", "--json", "--set",
                                     "run.steps=2", "--set", f"program.options.mode={mode}",
                                     "--out", folder / "c", code=3)
                expect(reason in runs[1]["fault"] and not runs[1]["kept"], f"{mode}: {runs[1]}")
                expect(last["contenders"][0]["problem"] == "", f"{last}")
        sizes = [path.stat().st_size for path in (folder / "c/programs").glob("*/output.txt")]
        expect(len(sizes) == len(reasons) and max(sizes) == 65536, f"{sizes}")


def a_program_that_hangs_is_ended_with_its_children():
    with scratch() as folder:
        mine = program(folder, "timeout_s = 1", "rounds = 1")
        runs, _ = compare(mine, "--seeds", "1", "--json", "--set", "program.options.mode=hang",
                          "--out", folder / "c", code=3)
        expect("longer than program.timeout_s = 1 and was ended" in runs[0]["fault"], f"{runs}")
        child, = (folder / "c/programs").glob("*/child")
        expect(is_gone(child.read_text()), "its child lives on")


def ctrl_c_and_a_kill_end_the_program():
    for kill in (False, True):
        with scratch() as folder:
            mine = program(folder, "rounds = 1")
            environment = dict(os.environ)
            os.environ["WEFT_PYTHON"] = sys.executable
            try:
                running = Running(folder, "compare", RECIPE, mine, "--seeds", "1", "--peers", "2",
                                  "--rounds", "1", "--set", "program.options.mode=hang", "--out",
                                  folder / "c")
            finally:
                os.environ.clear()
                os.environ.update(environment)
            with running:
                deadline = time.monotonic() + 60
                while not list((folder / "c").glob("programs/*/child")):
                    expect(time.monotonic() < deadline, f"it never began: {running.texts()}")
                    time.sleep(0.01)  # tidy: allow sleep: a folder gives no notice of a new file
                child, = (folder / "c").glob("programs/*/child")
                # The name may be there before the number.
                while not child.read_text():
                    time.sleep(0.01)  # tidy: allow sleep: a file gives no notice of a change
                pid = int(child.read_text())
                parent = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
                             .split()[1])
                if kill:
                    running.process.kill()
                    expect(is_gone(parent), "the program lives on without the command")
                    subprocess.run(["kill", "-9", str(pid)], check=False)
                else:
                    running.interrupt()
                    end = running.end(30)
                    expect(end.code == 130, f"{end}")
                    expect(is_gone(parent) and is_gone(pid), "the program lives on")
                    expect("It was interrupted" in (folder / "c/compare.html").read_text(),
                           "no report")


def a_program_that_cannot_begin_does_not_stop_the_others():
    with scratch() as folder:
        wrong = folder / "wrong.toml"
        for command, words in ((["/nowhere/x", "{seed}", "{out}"], "/nowhere/x: cannot be started"),
                               (["sh", "{sed}", "{out}"], "nothing is called {sed}"),
                               (["sh", "{seed}"], "expected {results}"),
                               (["sh", "{seed}", "{out}", "{rounds}"], "set program.rounds")):
            wrong.write_text(f"[program]\ncommand = {json.dumps(command)}\n")
            end = weft("compare", RECIPE, wrong, "--set", "run.steps=2", "--seeds", "2", "--peers",
                       "2", "--out", folder / "c")
            expect(end.code == 2 and words in end.errors, f"{command}: {end}")
            expect("synthetic_mlp, seed 2: accuracy" in end.output, f"{end}")


def touching(mark):
    """A command that makes the file, as TOML."""
    return json.dumps(["sh", "-c", 'touch "$0"', str(mark), "{seed}", "{out}"])


def no_other_command_starts_a_program():
    with scratch() as folder:
        mark = folder / "started"
        text = f'[program]\ncommand = {touching(mark)}\n'
        mine = folder / "mine.toml"
        reason = "only `weft compare` starts one"
        mine.write_text(text)
        for command in (["run", mine, "--out", folder / "r", *ALONE],
                        ["run", mine, "--peers", "2", "--out", folder / "r", *ALONE],
                        ["sim", mine], ["demo", "--recipe", mine, "--out", folder / "d"]):
            end = weft(*command)
            expect(end.code == 2 and reason in end.errors, f"{command[0]}: {end}")
            expect("mine.toml:1: [program]" in end.errors, f"{end}")
        checkpoint = with_recipe(train(folder), text)
        for command in (["eval", checkpoint], ["serve", checkpoint, "--port", "0"],
                        ["export", checkpoint, "--safetensors", folder / "w.safetensors"]):
            end = weft(*command)
            expect(end.code == 2 and reason in end.errors, f"{command[0]}: {end}")
        expect(not mark.exists(), "the program was started")
        end = weft("compare", mine, "--seeds", "1", "--out", folder / "c")
        expect(end.code == 3 and mark.exists(), f"this one starts it: {end}")


# The founder of a group, whose recipe is the text of a file.
FOUNDER = """
import sys
from weft import _swarm
options = _swarm.Options()
options.recipe, options.layout = open(sys.argv[1]).read(), "float32 [1]"
options.listen = "127.0.0.1:0"
peer = _swarm.Peer.start(options)
print(peer.ticket(3600.0), flush=True)
sys.stdin.read()
"""


def a_peer_that_sends_a_program_starts_nothing_at_a_joiner():
    if not has_package():
        return "skipped: no Python package of this build, or no NumPy"
    with scratch() as folder:
        mark = folder / "started"
        (folder / "sent.toml").write_text(
            f'[program]\ncommand = {touching(mark)}\n')
        founder = subprocess.Popen([sys.executable, "-c", FOUNDER, folder / "sent.toml"], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**os.environ, "PYTHONPATH": str(PACKAGE)})
        try:
            ticket = founder.stdout.readline().strip()
            expect(ticket.startswith("weft"), f"no ticket: {ticket!r}")
            end = weft("join", ticket, "--out", folder / "j", "--listen", "127.0.0.1:0")
            expect(end.code == 2 and "only `weft compare` starts one" in end.errors, f"{end}")
            expect(not mark.exists(), "a peer's program was started")
        finally:
            founder.kill()
            founder.communicate()
        return ""


def with_recipe(checkpoint, text):
    """A checkpoint in the form of releases before digests, with `text` in place of the recipe."""
    path = checkpoint.with_name("foreign.safetensors")
    path.write_bytes(checkpoint.read_bytes())
    in_the_old_form(path, lambda data: None)
    header, data = parts(path)
    keys = [key for key, value in header["__metadata__"].items() if "run.steps" in value]
    expect(len(keys) == 1, f"no recipe in {list(header['__metadata__'])}")
    header["__metadata__"][keys[0]] = text
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + data)
    return path


def the_sources_that_start_programs_are_those_of_compare():
    """Whatever reads a peer's recipe cannot reach the code that starts a program."""
    users = {}
    for path in (ROOT / "src").rglob("*"):
        if path.suffix not in (".h", ".cpp") or path.name.endswith("_test.cpp"):
            continue
        for header in re.findall(r'#include "weft/(app/program/\w+|train/recipe/program_recipe)\.h"',
                                 path.read_text()):
            users.setdefault(header, set()).add(path.stem)
    expect(users == {
        "app/program/program_process": {"program_process", "program_run"},
        "app/program/program_results": {"program_results", "program_run"},
        "app/program/program_run": {"program_run", "compare_plan", "compare_command"},
        "train/recipe/program_recipe": {"program_recipe", "program_run"}}, f"{users}")


def has_package():
    done = subprocess.run([sys.executable, "-c", "import numpy, weft._core"], check=False,
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    return (PACKAGE / "weft/__init__.py").exists() and done.returncode == 0


def the_methods_that_are_programs_are_compared():
    if not has_package():
        return "skipped: no Python package of this build, or no NumPy"
    with scratch() as folder:
        names = []
        for path in sorted((ROOT / "recipes/methods").glob("*.toml")):
            text = path.read_text()
            if "[program]" not in text:
                continue
            # Computed data, which every machine has.
            text = text.replace('"--seed",', '"--data", "synthetic", "--seed",')
            text = text.replace("{recipe}", str(path.parent))
            text = text.replace("samples = 2000", "samples = 100")
            (folder / path.name).write_text(text)
            names.append(path.stem)
        expect(len(names) >= 2, f"{names}")
        runs, last = compare(RECIPE, *(folder / f"{name}.toml" for name in names), "--seeds", "2",
                             "--rounds", "2", "--peers", "2", "--json", "--out", folder / "c",
                             seconds=500)
        expect(not any(run["fault"] for run in runs), f"{runs}")
        for row in last["contenders"]:
            expect(row["problem"] == "" and row["test_loss"]["mean"] > 0
                   and row["bytes_sent"]["mean"] > 0 and row["samples"]["mean"] > 0, f"{row}")
        return ", ".join(names)


TESTS = {test.__name__: test for test in (
    a_program_stands_beside_a_recipe_and_is_resumed,
    settings_reach_those_whose_keys_they_are,
    a_run_that_fails_says_why_and_is_tried_again,
    a_program_that_hangs_is_ended_with_its_children,
    ctrl_c_and_a_kill_end_the_program,
    a_program_that_cannot_begin_does_not_stop_the_others,
    no_other_command_starts_a_program,
    a_peer_that_sends_a_program_starts_nothing_at_a_joiner,
    the_sources_that_start_programs_are_those_of_compare,
    the_methods_that_are_programs_are_compared,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
