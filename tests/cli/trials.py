#!/usr/bin/env python3
"""All trials of a newcomer at the command line: the tests of this folder, and those of other folders
that repeat the rest. Prints a line for each, and at the end how many passed.

usage: tests/cli/trials.py [SUITE ...]

A suite is a script of this folder, such as words for trials_words_test.py, or a name of the table
below; all by default, which takes two to three minutes.
Python 3 standard library only.
"""
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Longer than any suite takes on a busy machine.
SECONDS_MAX = 900

# Suite: (script, the tests of it; none: all). Every script of this folder is one.
SUITES = {
    **{path.stem.removesuffix("_test").removeprefix("trials_"): (path.relative_to(ROOT), ())
       for path in sorted(pathlib.Path(__file__).resolve().parent.glob("*_test.py"))},
    "own": ("tests/own/own_data_test.py", ("--quick",)),
    "alone": ("tests/models/alone_test.py", ()),
    "files": ("tests/multi/files_test.py", (
        "an_altered_byte_is_refused_by_every_command", "the_only_checkpoint_is_damaged",
        "not_a_number_is_neither_offered_nor_gone_on_from",
        "whose_data_differ_is_told_and_changes_nothing")),
    "group": ("tests/multi/group_test.py", (
        "same_bits_for_any_thread_count", "one_interrupt_leaves_politely",
        "two_interrupts_leave_at_once", "bad_tickets_are_refused_and_others_unaffected")),
    "doctor": ("tests/multi/doctor_test.py", (
        "a_ticket_that_was_cut_or_is_over", "a_member_of_another_version",
        "a_ticket_that_was_revoked")),
    "serve": ("tests/serve/serve_test.py", ()),
}


def lines_of(script, names):
    """The lines of a suite's tests, as they come."""
    process = subprocess.Popen([sys.executable, str(ROOT / script), *names], text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    seen = []
    for line in process.stdout:
        seen.append(line)
        if re.match(r"(ok|FAIL(ED)?)\b", line):
            yield line.rstrip()
    process.wait(SECONDS_MAX)
    if not (seen and re.match(r"\d+ passed, \d+ failed", seen[-1])):
        yield f"FAILED  {script} ended with {process.returncode}: {' '.join(seen[-3:])[-500:]}"


def main(wanted):
    unknown = [name for name in wanted if name not in SUITES]
    if unknown:
        print(f"no such suite: {unknown}; there are {', '.join(SUITES)}")
        return 2
    begin = time.monotonic()
    passed, failures, left_out = 0, [], []
    for name in wanted or SUITES:
        for line in lines_of(*SUITES[name]):
            verdict, rest = line.split(None, 1)
            good = verdict.rstrip(":") == "ok"
            print(f"{'ok  ' if good else 'FAIL'} {name}: {rest}", flush=True)
            passed += good
            if not good:
                failures.append(f"{name}: {rest}")
            if re.search(r"\b(skipped|left out):", rest):
                left_out.append(f"{name}: {rest}")
    for title, lines in (("left out here, at least in part:", left_out), ("failed:", failures)):
        if lines:
            print("\n  ".join([title, *lines]))
    print(f"{passed} passed, {len(failures)} failed, in {time.monotonic() - begin:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
