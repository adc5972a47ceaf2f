#!/usr/bin/env python3
"""A newcomer's trials of what a run writes and says, and of what it survives.

usage: trials_outputs_test.py [NAME ...]
"""
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys

import command_line
from command_line import (ALONE, RECIPE, ROOT, Running, expect, lines_of_json, main, rows_file,
                          scratch, train, weft)
from small_data import checkpoint, refused, run, summary, trained

ENDLESS = ["--set", "run.steps=1000000", "--set", "run.round_seconds_min=0.02"]


# --- What a run says.

def counts_of_one_are_in_the_singular():
    with scratch() as folder:
        end = run(folder, "synthetic_mlp", steps=1)
        expect("finished after 1 step in" in end.output and "  1 peer  " in end.output, f"{end}")
        end = weft("bench", "train", "--model", "mlp", "--seconds", "0.05", "--threads", 1)
        expect(end.code == 0 and "with 1 thread:" in end.output, f"{end}")
        text = weft("run", RECIPE, "--steps", 3, "--out", folder / "b", *ALONE).output
        for word in re.findall(r"\b1 (peers|steps|threads|members|samples|rounds)\b", text):
            expect(False, f"1 {word}: {text}")


def a_large_loss_is_written_short_and_its_end_is_said():
    with scratch() as folder:
        # After some steps it has twenty digits, and a few later it is no number.
        end = run(folder, "synthetic_mlp", "optimizer.learning_rate=1000", steps=4, out="few")
        losses = re.findall(r"\bloss ([\d.]\S*?)[,\s]", end.output)
        expect(losses and max(map(float, losses)) > 1e10, f"{end}")
        expect(all(len(loss) <= 10 for loss in losses), f"{losses}")
        end = run(folder, "synthetic_mlp", "optimizer.learning_rate=1000", steps=30)
        expect(end.code == 7, f"{end}")
        # As a word: the letters may stand in a ticket.
        expect(not re.search(r"\bnan\b", end.output), f"{end}")
        expect("weft: the loss of round" in end.errors and "learning rate" in end.errors, f"{end}")


def a_second_run_of_the_same_name_says_where_the_first_one_went():
    with scratch() as folder:
        for number in range(2):
            end = weft("run", RECIPE, "--steps", 2, *ALONE, cwd=folder)
            expect(end.code == 0, f"{end}")
            moved = "the checkpoints of the previous run are in weft-runs/synthetic_mlp/checkpoints-1"
            expect((moved in end.output) == (number == 1), f"{end}")
        out = folder / "weft-runs/synthetic_mlp"
        expect(list((out / "checkpoints-1").iterdir()), "the first model is gone")
        kinds = [json.loads(line)["kind"] for line in (out / "events.jsonl").read_text().splitlines()]
        expect(kinds.count("summary") == 2, f"{kinds}")
        page = " ".join((ROOT / "docs/commands.md").read_text().split())
        expect("moves its checkpoints to `checkpoints-1`" in page, "docs/commands.md says otherwise")


def a_folder_in_use_is_left_alone():
    with scratch() as folder:
        with Running(folder, "run", RECIPE, *ALONE, *ENDLESS, prefix=["env", "-C", folder]) as running:
            running.wait_text("round 1/")
            refused(weft("run", RECIPE, "--out", folder / "weft-runs/synthetic_mlp", *ALONE), 3,
                    "another peer is using it", "--out")
            end = weft("run", RECIPE, *ALONE, "--steps", 2, cwd=folder)
            expect(end.code == 0 and "weft-runs/synthetic_mlp-2/" in end.output, f"{end}")
            running.interrupt()
            expect(running.end(30).code == 130, "Ctrl-C")


def files_that_cannot_be_made_are_called_by_their_own_names():
    with scratch() as folder:
        found = train(folder)
        rows = rows_file(folder / "x.npy")
        for command in (["predict", found, rows, "--out", "/nonexist/x.npy"],
                        ["export", found, "--onnx", "/nonexist/x.onnx"]):
            end = weft(*command)
            refused(end, 3, f"weft: {command[-1]}: the folder /nonexist/ is not there")
            expect(".tmp" not in end.errors, f"{end}")


def the_folder_of_another_user_is_said_to_be_closed():
    if os.geteuid() != 0:
        return "skipped: only root can be somebody else"
    with scratch() as folder:
        with Running(folder, "run", RECIPE, "--out", folder / "a", *ALONE, *ENDLESS) as running:
            running.wait_text("round 1/")
            os.chmod(folder, 0o755)
            expect(weft("status", folder / "a").code == 0, "its own user")
            other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            end = weft("status", folder / "a", prefix=other)
            expect(end.code == 3 and "Permission denied" in end.errors
                   and "no peer runs there" not in end.errors, f"{end}")
            expect(running.process.poll() is None, "it ended")
    return ""


# --- Ctrl-C, SIGTERM and SIGKILL.

def signals_are_answered_by_words_and_the_state():
    with scratch() as folder:
        for number, sent in enumerate((signal.SIGINT, signal.SIGTERM)):
            out = folder / str(number)
            with Running(folder, "run", RECIPE, "--out", out, *ALONE, *ENDLESS) as running:
                running.wait_text("round 1/")
                os.kill(running.process.pid, sent)
                end = running.end(30)
                expect(end.code == 130 and "weft: interrupted" in end.errors, f"{sent}: {end}")
            expect(checkpoint(out).exists(), "no state")


def a_run_that_was_killed_goes_on_from_its_checkpoint():
    with scratch() as folder:
        out = folder / "out"
        with Running(folder, "run", RECIPE, "--out", out, *ALONE, *ENDLESS, "--set",
                     "checkpoint.every_steps=2") as running:
            running.wait_text("checkpoint after step 6")
            os.kill(running.process.pid, signal.SIGKILL)
            running.end(30)
        step = int(checkpoint(out).stem.split("-")[1])
        # The lock and the socket that it left are nobody's.
        expect(weft("status", out).code == 3, "a dead peer answers")
        end = run(folder, "synthetic_mlp", "checkpoint.every_steps=2", steps=step + 4,
                  flags=["--resume"])
        expect(end.code == 0 and "(resumed)" in end.output, f"{end}")
        expect(summary(out)["steps"] == step + 4, f"{summary(out)}")


def a_checkpoint_of_another_model_is_not_gone_on_from():
    with scratch() as folder:
        trained(folder, "synthetic_mlp", steps=2)
        end = run(folder, "synthetic_mlp", "model.hidden_units=16", steps=4, flags=["--resume"])
        refused(end, 2, "was trained with another model.hidden_units", "choose another --out")


# --- Surroundings.

def a_run_needs_nothing_of_its_environment():
    few = ["sh", "-c", 'ulimit -v 2000000; ulimit -n 32; exec "$@"', "sh"]
    surroundings = [["env", "-i"], ["env", "-u", "HOME"], ["env", "HOME=/nonexistent", "LANG=C"], few]
    with scratch() as folder:
        states = set()
        for number, prefix in enumerate(surroundings):
            out = folder / f"a {number} ä"
            end = weft("run", RECIPE, "--steps", 3, "--out", out, *ALONE, prefix=prefix)
            expect(end.code == 0, f"{prefix}: {end}")
            states.add(summary(out)["state_hash"])
        expect(len(states) == 1, f"{states}")
        end = weft("run", RECIPE, "--steps", 3, "--peers", 3, "--out", folder / "three", *ALONE,
                   prefix=["sh", "-c", 'ulimit -n 32; exec "$@"', "sh"])
        expect(end.code == 0, f"three peers: {end}")


def identities_that_others_can_read_or_that_are_none_are_refused():
    with scratch() as folder:
        expect(weft("id", folder / "a").code == 0, "no key was made")
        key = folder / "a/identity"
        whole = key.read_bytes()
        for content, mode, words in ((whole, 0o644, ["expected mode 0600, got 0644", "chmod 600"]),
                                     (b"junk\n", 0o600, ["expected an Ed25519 key", "move the file"])):
            key.write_bytes(content)
            key.chmod(mode)
            refused(weft("run", RECIPE, "--steps", 2, "--out", folder / "a", *ALONE), 2, *words)


def on_a_terminal(folder, environment, *flags):
    """What a run shows on a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [command_line.WEFT, "run", RECIPE, "--steps", "5", "--out", str(folder), *ALONE, *flags],
        stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env={**os.environ, **environment})
    os.close(slave)
    shown = b""
    while select.select([master], [], [], 30)[0]:
        try:
            shown += os.read(master, 65536)
        except OSError:  # EIO: the process has ended
            break
    os.close(master)
    expect(process.wait(30) == 0, f"{shown[-500:]}")
    return shown


def escape_codes_reach_only_terminals_that_take_them():
    with scratch() as folder:
        environment = {"TERM": "xterm", "NO_COLOR": ""}
        expect(b"\x1b[" in on_a_terminal(folder / "a", environment), "no block on a terminal")
        plain = on_a_terminal(folder / "b", {"TERM": "dumb"})
        expect(b"\x1b" not in plain, f"TERM=dumb: {plain[:300]}")
        colours = re.findall(rb"\x1b\[[\d;]*m", on_a_terminal(folder / "c", {"TERM": "xterm",
                                                                            "NO_COLOR": "1"}))
        expect(not colours, f"NO_COLOR: {colours[:5]}")
        piped = weft("run", RECIPE, "--steps", 3, "--out", folder / "d", *ALONE)
        help_page = weft("--help")
        expect("\x1b" not in piped.output + piped.errors + help_page.output, "in a pipe")


def json_is_all_that_json_asks_for():
    with scratch() as folder:
        end = weft("run", RECIPE, "--steps", 3, "--peers", 2, "--json", "--out", folder / "a", *ALONE)
        expect(end.code == 0, f"{end}")
        kinds = [line["kind"] for line in lines_of_json(end.output)]
        expect(kinds.count("summary") == 1 and kinds.count("round") == 3, f"{kinds}")
        end = weft("run", RECIPE, "--set", "run.steps=-1", "--json")
        expect(end.code == 2 and not end.output and end.errors, f"{end}")


TESTS = {test.__name__: test for test in (
    counts_of_one_are_in_the_singular,
    a_large_loss_is_written_short_and_its_end_is_said,
    a_second_run_of_the_same_name_says_where_the_first_one_went,
    a_folder_in_use_is_left_alone,
    files_that_cannot_be_made_are_called_by_their_own_names,
    the_folder_of_another_user_is_said_to_be_closed,
    signals_are_answered_by_words_and_the_state,
    a_run_that_was_killed_goes_on_from_its_checkpoint,
    a_checkpoint_of_another_model_is_not_gone_on_from,
    a_run_needs_nothing_of_its_environment,
    identities_that_others_can_read_or_that_are_none_are_refused,
    escape_codes_reach_only_terminals_that_take_them,
    json_is_all_that_json_asks_for,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
