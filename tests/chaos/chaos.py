#!/usr/bin/env python3
"""Peers of one run in a network of their own, and everything that can go wrong, from a seed.

usage (as root, or where network namespaces may be made):
  chaos.py [--seconds N] [--seed S] [--peers 8] [--every 10] [--data rows|fashion-mnist]
           [--halves K] [--late 3] [--out DIR] [--json]

Checked all the time: every round ends within its bound; every sum is the sum of what exactly its
members gave; all hold the same state after every round; whoever is in reach comes back. And at the
end: all peers there, one state, the accuracy of an undisturbed run. docs/chaos.md says more.
Exit code 77: this machine does not permit it. The last line is "N passed, N failed".
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from network import Network, forbidden  # noqa: E402
from recipe import ChaosRecipe  # noqa: E402
from report import compare, figures, text  # noqa: E402
from run import Run  # noqa: E402
from schedule import make_schedule  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What ctest takes for a skipped test.
SKIPPED = 77
# Undisturbed rounds at the end, in which the last ones come back.
SETTLE_SECONDS = 20
ALONE_SECONDS = 900


def options_of(arguments):
    parser = argparse.ArgumentParser(description="disturbs a run of real peers")
    parser.add_argument("--seconds", type=float, default=60, help="for how long faults happen")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", type=int, default=8)
    parser.add_argument("--every", type=float, default=10, help="mean seconds between two faults")
    parser.add_argument("--data", default="rows", help="rows (made here) or a dataset's name")
    parser.add_argument("--halves", type=int, default=0,
                        help="how often the group is cut into halves, so that there is no majority")
    parser.add_argument("--late", type=int, default=3,
                        help="how many more peers join when the run ends")
    parser.add_argument("--weft", default=os.environ.get("WEFT_PROGRAM",
                                                         str(ROOT / "build/release/weft")))
    parser.add_argument("--out", default="", help="keep all logs and result.json here")
    parser.add_argument("--tell", type=float, default=0, help="seconds between lines of progress")
    options = parser.parse_args(arguments)
    if not 3 <= options.peers <= 64:
        parser.error("--peers: expected 3 to 64")
    if options.tell <= 0:
        options.tell = 1 if sys.stdout.isatty() else 10
    return options


def say(line, progress=False):
    if progress and sys.stdout.isatty():
        print("\r" + line + "\x1b[K", end="", flush=True)
    else:
        print(("\r\x1b[K" if sys.stdout.isatty() else "") + line, flush=True)


def summary_alone(recipe, program):
    process = recipe.start_alone(program)
    try:
        if process.wait(ALONE_SECONDS) == 0:
            return json.loads((recipe.folder / "alone" / "summary.json").read_text())
    finally:
        process.kill()
        process.wait()
    raise RuntimeError("the undisturbed run failed: " +
                       (recipe.folder / "alone.txt").read_text(errors="replace")[-500:])


def chaos(options, folder):
    steps = int((options.seconds + SETTLE_SECONDS) / ChaosRecipe.pace)
    recipe = ChaosRecipe(folder, options.data, steps, options.peers)
    network = Network(options.peers + options.late).open()
    run = Run(network, options, recipe, folder, say)
    with contextlib.closing(run.log):
        try:
            run.start()
            say(f"{options.peers} peers train; faults for {options.seconds:.0f} s from seed "
                f"{options.seed}")
            run.disturb(make_schedule(options.seed, options.seconds, options.every, options.peers,
                                      options.halves), options.seconds)
            disturbed = run.now()
            say(f"{disturbed:6.0f} s  no more faults; to the last round")
            run.settle()
            end = run.verdict()
        finally:
            run.close()
            network.close()
        alone = summary_alone(recipe, options.weft)
        compare(run, end, alone)
    return figures(run, end, alone, disturbed)


def interrupted(number, _frame):
    raise RuntimeError(f"ended by {signal.Signals(number).name}")


def main():
    # Also where whoever started this has told it to ignore them: namespaces must not stay.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    options = options_of(sys.argv[1:])
    reason = forbidden()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    folder = pathlib.Path(options.out) if options.out else pathlib.Path(
        tempfile.mkdtemp(prefix="weft-chaos-"))
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    try:
        result = chaos(options, folder)
    except RuntimeError as fault:
        print(f"the run could not go on: {fault}\nlogs: {folder}\n0 passed, 1 failed")
        return 1
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(text(result))
    failed = len(result["wrong"])
    if failed or options.out:
        print(f"logs: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{time.monotonic() - begun:.0f} s in all")
    print(f"{0 if failed else 1} passed, {min(failed, 1)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
