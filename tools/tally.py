"""Runs the commands of the checks, counts their cases and prints a line for each."""
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
OUTPUT_LINES_SHOWN = 60
SLOWEST_SHOWN = 10


class Tally:
    """Counts cases and prints a line for each program."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = []
        self.parts = []

    def took(self, name, seconds):
        """Notes what a part of the run took, for slowest()."""
        self.parts.append((seconds, name))

    def slowest(self):
        """The parts that took longest, a line each. Some of them ran side by side."""
        longest = sorted(self.parts, reverse=True)[:SLOWEST_SHOWN]
        return "\n".join(f"     {seconds:7.1f} s  {name}" for seconds, name in longest)

    def skip(self, name, why):
        self.skipped.append(name)
        print(f"skip {name:<32} {why}", flush=True)

    def add(self, name, passed, failed, seconds, output=""):
        self.passed += passed
        self.failed += failed
        self.took(name, seconds)
        word = "FAIL" if failed else "ok  "
        print(f"{word} {name:<32} {passed:5d} passed {failed:3d} failed {seconds:7.1f} s")
        if failed and output:
            lines = output.strip().splitlines()
            if len(lines) > OUTPUT_LINES_SHOWN:
                print(f"     ({len(lines) - OUTPUT_LINES_SHOWN} earlier lines left out)")
            print("\n".join("     " + line for line in lines[-OUTPUT_LINES_SHOWN:]))
        sys.stdout.flush()

    def command(self, name, command):
        """Runs a command that ends with "N passed, N failed"; its failing counts at least one."""
        start = time.monotonic()
        ran = run(command)
        passed, failed = last_counts(ran.stdout)
        if (ran.returncode != 0 or passed == 0) and failed == 0:
            failed = 1
        self.add(name, passed, failed, time.monotonic() - start, ran.stdout)


def run(command, environment=None):
    """Runs a command with standard error in its output; a missing program is exit code 127."""
    try:
        return subprocess.run(command, cwd=ROOT, text=True, errors="replace", check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    except FileNotFoundError as missing:
        return subprocess.CompletedProcess(command, 127, stdout=str(missing))


def last_counts(output):
    found = COUNTS.findall(output)
    return (int(found[-1][0]), int(found[-1][1])) if found else (0, 0)
