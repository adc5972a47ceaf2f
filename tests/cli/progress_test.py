#!/usr/bin/env python3
"""What a person sees while a command works: on a terminal a line that moves, in a pipe few lines.

usage: progress_test.py [NAME ...]
"""
import contextlib
import os
import pathlib
import pty
import re
import select
import signal
import sys
import time

import command_line
from command_line import (ALONE, RECIPE, ROOT, Running, expect, main, rows_file, scratch, train,
                          weft)

sys.path.insert(0, str(ROOT / "tests/multi"))
from harness import Group  # noqa: E402

# So many samples take some seconds to draw.
SLOW_DATA = ["--set", "data.synthetic_samples=524288"]
ENDLESS = {"run.steps": 1000000, "run.round_seconds_min": 0.02, "group.discovery": "off"}
LIMIT = 60.0
ANSWER_S = 0.5


class OnTerminal:
    """A command at work on a terminal of its own."""

    def __init__(self, *arguments, **environment):
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.execve(command_line.WEFT, ["weft", *map(str, arguments)],
                      {**os.environ, "TERM": "xterm", **environment})
        self.shown, self.code = b"", None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        os.close(self.terminal)

    def read(self, deadline):
        """False at the end."""
        if not select.select([self.terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return True
        with contextlib.suppress(OSError):  # EIO: the process has ended
            more = os.read(self.terminal, 65536)
            self.shown += more
            return bool(more)
        return False

    def wait_text(self, words, seconds=LIMIT):
        """Until `words`, a regular expression, are shown; the seconds that it took."""
        begin = time.monotonic()
        while not re.search(words, self.shown):
            expect(self.read(begin + seconds), f"{words}: it ended first: {self.shown[-600:]}")
            expect(time.monotonic() < begin + seconds, f"{words}: not seen: {self.shown[-600:]}")
        return time.monotonic() - begin

    def interrupt(self):
        os.kill(self.child, signal.SIGINT)

    def end(self, seconds=LIMIT):
        deadline = time.monotonic() + seconds
        while self.read(deadline):
            expect(time.monotonic() < deadline, f"it did not end: {self.shown[-600:]}")
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        return self.code


PREPARING = rb"\r\x1b\[Kweft: reading synthetic and making the model \(\d+ s\)"


def data_that_take_long_are_shown_on_a_terminal_and_the_line_is_gone_at_the_end():
    with scratch() as folder:
        with OnTerminal("run", RECIPE, "--steps", "3", "--out", folder / "a", *ALONE,
                        *SLOW_DATA) as run:
            run.wait_text(PREPARING)
            code = run.end()
        expect(code == 0, f"exit code {code}: {run.shown[-600:]}")
        expect(len(re.findall(PREPARING, run.shown)) >= 2, f"it does not move: {run.shown[:600]}")
        expect(re.search(rb"s\)\r\x1b\[Kothers join", run.shown), f"left: {run.shown[:900]}")


def a_newcomer_that_reads_its_data_says_so():
    with scratch() as folder, Group() as group:
        founder = group.found({**ENDLESS, "data.synthetic_samples": 524288})
        ticket = founder.ticket()
        with OnTerminal("join", ticket, "--out", folder / "late", "--yes") as late:
            late.wait_text(PREPARING)
            late.wait_text(rb"\(joiner\)")


def a_pipe_gets_one_line_of_what_takes_long():
    with scratch() as folder:
        end = weft("run", RECIPE, "--steps", "3", "--out", folder / "a", *ALONE, "--set",
                   "data.synthetic_samples=1048576", "--set", "run.evaluate=false")
        expect(end.code == 0 and "\x1b" not in end.errors, f"{end}")
        said = end.errors.count("weft: reading synthetic and making the model (")
        expect(said == 1 or (said == 0 and end.seconds < 6), f"said {said} times: {end}")


def a_long_measurement_moves_on_a_terminal():
    with scratch() as folder:
        wide = ["--set", "data.synthetic_samples=262144", "--set", "model.hidden_units=1024",
                "--threads", "1"]
        # The loops that any processor has, so that fast ones, too, take long.
        with OnTerminal("run", RECIPE, "--steps", "2", "--out", folder / "a", *ALONE, *wide,
                        WEFT_ISA="generic") as run:
            run.wait_text(rb"measuring the test set: \d+ of 65536 samples, \d+ s")
            code = run.end()
        expect(code == 0 and b"test set: accuracy" in run.shown, f"{code}: {run.shown[-600:]}")


def rounds_do_not_drown_the_ticket_in_a_pipe():
    with scratch() as folder:
        end = weft("run", RECIPE, "--steps", "3000", "--out", folder / "a", *ALONE)
        lines = end.output.splitlines()
        rounds = [line for line in lines if line.startswith("round ")]
        expect(end.code == 0 and 2 <= len(rounds) <= 3 + end.seconds, f"{len(rounds)}: {end}")
        expect(rounds[0].startswith("round 1/3000 ") and rounds[-1].startswith("round 3000/3000 "),
               f"{rounds}")
        place = [number for number, line in enumerate(lines) if "weft join weft2-" in line]
        expect(place and place[0] < 10, f"the ticket is in line {place}")
        for words in ("test set: accuracy", "checkpoint after step", "finished after 3000 steps"):
            expect(words in end.output, f"{words!r}: {end}")
        told = (folder / "a/events.jsonl").read_text().count('"kind":"round"')
        expect(told == 3000, f"events.jsonl has {told} rounds")
        end = weft("run", RECIPE, "--steps", "300", "--out", folder / "b", *ALONE, "--json")
        expect(end.output.count('"kind":"round"') == 300, "--json leaves rounds out")


def an_interrupted_run_shows_its_last_round_in_a_pipe():
    with scratch() as folder:
        with Running(folder, "run", RECIPE, "--out", folder / "a", *ALONE, "--set",
                     "run.steps=1000000", "--set", "run.round_seconds_min=0.02") as running:
            running.wait_text("round 1/")
            running.wait_text("weft join")
            running.interrupt()
            end = running.end(30)
        steps = re.search(r"after (\d+) step", end.output).group(1)
        expect(f"round {steps}/1000000 " in end.output, f"{end}")


def ctrl_c_is_answered_below_the_line_that_stands():
    """In words, on a line of their own, within half a second, whatever the command is busy with."""
    with scratch() as folder:
        large = train(folder, "--set", "model.hidden_units=4096", "--set", "run.evaluate=false",
                      steps=1, name="large")
        many = train(folder, "--set", "data.synthetic_samples=524288", "--set",
                     "run.evaluate=false", steps=1, name="many")
        table = folder / "t.csv"
        table.write_text("a,b,kind\n" + "".join(f"{i / 7},{i / 3},{'xy'[i % 2]}\n"
                                                for i in range(20000)) * 60)
        commands = [
            ["data", "look", table], ["new", table, "--out", folder / "t.toml"],
            ["predict", large, rows_file(folder / "x.npy", rows=40000)], ["eval", many],
            ["bench", "train", "--model", "resnet9", "--seconds", "20"],
            ["join", "--run", "nothing", "--out", folder / "late"],
        ]
        for command in commands:
            with OnTerminal(*command) as running:
                running.wait_text(rb"\x1b\[Kweft: [^\r\n]+ \(\d+ s[^)]*\)")
                running.interrupt()
                running.wait_text(rb"\nweft: interrupted\r\n", ANSWER_S)
                code = running.end()
            expect(code == 130, f"{command}: {code}, {running.shown[-300:]}")
        return f"{len(commands)} commands"


def answers_signals(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"SigCgt:\t(\w+)", status).group(1), 16) >> (signal.SIGINT - 1) & 1


def ctrl_c_in_a_bench_of_several_processes_is_answered_once():
    with OnTerminal("bench", "allreduce", "--peers", "3", "--bytes", "50000000",
                    "--repetitions", "10000") as bench:
        children = pathlib.Path(f"/proc/{bench.child}/task/{bench.child}/children")
        deadline = time.monotonic() + LIMIT
        while True:
            ranks = children.read_text().split()
            if len(ranks) == 2 and not any(answers_signals(rank) for rank in ranks):
                break
            expect(time.monotonic() < deadline, f"ranks {ranks}: {bench.shown[-300:]}")
        os.write(bench.terminal, b"\x03")  # which reaches all of them
        code = bench.end()
    expect(code == 130 and bench.shown.count(b"interrupted") == 1, f"{code}: {bench.shown[-300:]}")


def a_newcomer_that_is_refused_is_named_once():
    with scratch() as folder:
        out = folder / "a"
        with Running(folder, "run", RECIPE, "--out", out, *ALONE,
                     *[f"--set={key}={value}" for key, value in ENDLESS.items()]) as founder:
            founder.wait_text("round 1/")
            ticket = re.search(r"weft2-\w+", founder.texts()[0]).group(0)
            expect(weft("revoke", out, "all").code == 0, "revoke")
            for number in (1, 2):
                end = weft("join", ticket, "--out", folder / "late", "--yes")
                expect(end.code == 2 and "revoked" in end.errors, f"{end}")
                founder.wait_text("refused ")
                # A line of a later moment, after everything that is said of the newcomer.
                expect(weft("revoke", out, "0" * 31 + str(number)).code == 0, "revoke")
                founder.wait_text("has revoked the ticket " + "0" * 31 + str(number))
                said = [line for line in founder.texts()[0].splitlines()
                        if "not made by a member of this run" in line]
                expect(len(said) == number, f"after {number} attempts: {said}")


TESTS = {test.__name__: test for test in (
    data_that_take_long_are_shown_on_a_terminal_and_the_line_is_gone_at_the_end,
    a_newcomer_that_reads_its_data_says_so,
    a_pipe_gets_one_line_of_what_takes_long,
    a_long_measurement_moves_on_a_terminal,
    rounds_do_not_drown_the_ticket_in_a_pipe,
    an_interrupted_run_shows_its_last_round_in_a_pipe,
    ctrl_c_is_answered_below_the_line_that_stands,
    ctrl_c_in_a_bench_of_several_processes_is_answered_once,
    a_newcomer_that_is_refused_is_named_once,
)}

if __name__ == "__main__":
    sys.exit(main(TESTS))
