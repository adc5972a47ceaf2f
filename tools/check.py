#!/usr/bin/env python3
"""Builds Weft and runs every check; what ./test calls. The last line is "N passed, N failed".

Stages, in this order: layout (tools/tidy.py, its own test and tools/public_headers.py), format,
release (every ctest of the release build), headers, batches and alone (headers and sources compiled
with their own includes only: a part of them; and the sources of a target as one, see
tools/compile_sources.py), asan and tsan (the ctests labelled fast, built with sanitizers, first the
one that the commit draws; which tests: tools/sanitizer_slices.py; --whole: all), clang-tidy (see
tools/clang_tidy.py: the folders that changed, and others until its minutes are over), which analyses
threads, too. Where it does not look at all folders, the stage thread-safety
(tools/thread_safety.py) does that; else it runs by --stage only, as do odr (a link in which g++
finds names that two sources define differently) and aarch64 (a build for another processor, tested
in an emulator: tools/aarch64.py).
SLICES are bounded, and in a whole run they begin nothing more once its --minutes are over, so that a
slow machine ends in time; a line names what was left out, which --stage runs.
--quick is for people at work: layout, format, and the unit tests of the folders that changed.
A line is printed for each program: its name, cases passed and failed, seconds; at the end the ten
that took longest. A program that ran
no case, a folder without a test program and a build that fails count as failures. Where
clang-format-14, clang++ or clang-tidy-14 cannot be had, its stage is skipped, and a line says so.
"""
import argparse
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import aarch64
import sanitizer_slices
import thread_safety
from ctest_runs import ctests, run_ctests
from sanitizer_slices import Slice
from tally import ROOT, Tally, run



def sources():
    """Tracked C++ files."""
    listing = run(["git", "ls-files", "-co", "--exclude-standard", "*.h", "*.cpp"])
    return [name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]


def check_format(tally):
    if shutil.which("clang-format-14") is None:
        tally.skip("format", "clang-format-14 is not installed")
        return
    start = time.monotonic()
    files = sources()
    ran = run(["clang-format-14", "--dry-run", "--Werror", *files])
    wrong = {line.split(":")[0] for line in ran.stdout.splitlines() if ": error: " in line}
    failed = len(wrong) if ran.returncode == 0 or wrong else 1
    text = "\n".join(f"not formatted: {name}" for name in sorted(wrong)) or ran.stdout
    tally.add("format", len(files) - len(wrong), failed, time.monotonic() - start, text)


def python_option(preset):
    """Whether this build makes the Python package: release and asan do, where what it needs is."""
    if preset not in ("release", "asan"):
        return []
    found = shutil.which("/usr/bin/python3") and run(
        ["/usr/bin/python3", "-c", "import numpy, pybind11"]).returncode == 0
    return [f"-DWEFT_PYTHON={'ON' if found else 'OFF'}"]


def configure(tally, preset, whole=False):
    """Configures a preset with its tests, or of a sanitizer's with their slice unless `whole`; False,
    and a failure, if that failed."""
    python = python_option(preset)
    if python == ["-DWEFT_PYTHON=OFF"]:
        tally.skip("python", "NumPy or pybind11 of /usr/bin/python3 is not installed")
    ran = run(["cmake", "--preset", preset, "-DWEFT_TESTS=ON",
               *sanitizer_slices.cmake_options(preset, whole), *python])
    if ran.returncode != 0:
        tally.add(f"{preset}: configure", 0, 1, 0, ran.stdout)
    return ran.returncode == 0


def compile_targets(tally, preset, *targets):
    """Builds targets of a configured preset; False, and a failure, if that failed."""
    start = time.monotonic()
    print(f"building {preset} ...", flush=True)
    command = ["tools/build.sh", f"build/{preset}", *targets]
    # A person watches it count; a log gets the compiler's words only if it failed.
    shown = sys.stdout.isatty()
    ran = subprocess.run(command, cwd=ROOT, check=False) if shown else run(command)
    seconds = time.monotonic() - start
    if ran.returncode != 0:
        tally.add(f"{preset}: build", 0, 1, seconds, ran.stdout or "")
        return False
    print(f"built {preset} in {seconds:.0f} s", flush=True)
    tally.took(f"{preset}: build", seconds)
    return True


def start_build(command):
    """Starts a build in a group of processes of its own."""
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)


class BuildAhead:
    """Builds presets, one after the other, with what processor time tests leave: those that wait for
    each other leave most. The kernel gives an idle process nothing that any other wants."""

    def __init__(self, tally, presets):
        self.tally, self.presets = tally, presets
        self.finished = {}  # {preset: an event} once started
        self.thread = self.process = None
        self.stopping = False

    def start(self):
        if self.finished:
            return
        ready = [preset for preset in self.presets if configure(self.tally, preset)]
        self.finished = {preset: threading.Event() for preset in ready}
        print(f"building {', '.join(ready)} beside the tests that follow ...", flush=True)
        self.thread = threading.Thread(target=self.build, daemon=True)
        self.thread.start()

    def build(self):
        idle = ["chrt", "--idle", "0"] if shutil.which("chrt") else ["nice", "-n", "19"]
        for preset, done in self.finished.items():
            if not self.stopping:
                self.process = start_build([*idle, "tools/build.sh", f"build/{preset}", "all"])
                self.process.wait()
            done.set()

    def stop(self):
        """Ends what is still being built: nobody will ask for it."""
        self.stopping = True
        while self.thread is not None and self.thread.is_alive():
            if self.process is not None and self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGTERM)
            self.thread.join(timeout=0.2)

    def finish(self, preset, seconds):
        """Waits for it, at most so long: whether it is over. A build that failed fails again, with
        its words, when it is asked for."""
        return preset not in self.finished or self.finished[preset].wait(seconds)


def build(tally, preset, whole=False):
    """Configures and builds the whole of a preset; False, and a failure, if that failed."""
    began = time.time()
    if not configure(tally, preset, whole) or not compile_targets(tally, preset, "all"):
        return False
    if preset == "release":
        tally.command("no source takes most of the build", [
            "python3", "tools/build_time.py", "--check", "--since", str(began)])
    return True


def run_preset(tally, part, only, labels=None, ahead=None, minutes=0):
    """Builds a preset and runs the part of its tests that a Slice names; `ahead` builds beside them."""
    preset = part.preset
    if not build(tally, preset, part.whole):
        return
    tests = ctests(preset)
    chosen = [name for name in tests if (not only or only in name)
              and (not labels or tests[name] & labels)]
    if not chosen:
        tally.add(f"{preset}: no test", 0, 1, 0, "expected at least one test of that name")
    run_ctests(tally, tests, chosen, part, ahead, minutes)
    if preset == "release" and not only:
        missing = [path.parent.name for path in ROOT.glob("src/weft/*/CMakeLists.txt")
                   if path.parent.name not in tests]
        for folder in missing:
            tally.add(f"{preset}: {folder}", 0, 1, 0, f"src/weft/{folder} has no test program")


def changed_files(since):
    """Names of the files that differ from the commit `since`: by default from the last commit or,
    where nothing does, from the one before it. None where git knows no such commit."""
    def names(commit):
        new = run(["git", "ls-files", "-o", "--exclude-standard"])
        changed = run(["git", "diff", "--name-only", commit, "--"])
        if new.returncode != 0 or changed.returncode != 0:
            return None
        return changed.stdout.splitlines() + new.stdout.splitlines()
    return names(since) if since else names("HEAD") or names("HEAD~1")


def unit_tests_of(files):
    """{ctest: target that it needs} for the changed files."""
    found = {}
    for name in files:
        path = pathlib.PurePath(name)
        if path.parts[:2] == ("src", "weft") and len(path.parts) > 3:
            found[path.parts[2]] = f"{path.parts[2]}_test"
        elif path.parts[0] == "fuzz" and path.stem.endswith("_fuzz"):
            found["fuzz/" + path.stem.removesuffix("_fuzz")] = path.stem
        elif path.parts[:2] == ("tests", "sim"):
            found["sim/memberships"] = "membership_sim_test"
        elif path.parts[0] == "docs" and path.suffix == ".md":
            found["docs/" + path.stem] = "docs_snippets"
    return found


def run_quick(tally, options):
    """The unit tests of what changed; builds nothing else than they need."""
    changed = changed_files(options.since)
    if changed is None:
        tally.add("what has changed", 0, 1, 0, f"expected a commit that git knows, got "
                  f"'{options.since or 'HEAD~1'}': say which with --since COMMIT")
        return
    wanted = unit_tests_of(changed)
    if not configure(tally, "release"):
        return
    tests = ctests("release")
    wanted = {name: target for name, target in wanted.items() if name in tests}
    if not wanted:
        tally.skip("unit tests", "what has changed has none")
        return
    if compile_targets(tally, "release", *sorted(set(wanted.values()))):
        run_ctests(tally, tests, sorted(wanted), Slice("release"))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./test", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true",
                        help="no sanitizers, no clang-tidy, only the ctests labelled fast")
    parser.add_argument("--quick", action="store_true",
                        help="layout, format and the unit tests of the folders that changed since "
                             "the last commit, or in it")
    parser.add_argument("--since", metavar="COMMIT", help="for --quick: what changed since COMMIT")
    parser.add_argument("--only", metavar="NAME",
                        help="only the ctests of the release build whose name contains NAME")
    parser.add_argument("--stage", action="append", choices=list(STAGES),
                        help="only this stage; may be given several times")
    parser.add_argument("--minutes", type=float, default=72.0,
                        help="a whole run begins no further check of slices after so many minutes "
                             "(default 72)")
    parser.add_argument("--whole", action="store_true",
                        help="asan and tsan run all cases of all their tests, which takes an hour")
    parser.add_argument("--sanitizer-minutes", type=float, default=8.0,
                        help="asan and tsan each begin no further program after so many minutes "
                             "(default 8; 0: no limit)")
    parser.add_argument("--alone-minutes", type=float, default=1.0,
                        help="compiling sources alone, and those of a target as one, each stop "
                             "after so many minutes (default 1), headers after half of that")
    parser.add_argument("--rules-minutes", type=float, default=2.0,
                        help="clang-tidy begins with no further target after so many minutes, but "
                             "for those with changed files (default 2; 0: looks at all)")
    parser.add_argument("--tidy-minutes", type=float, default=0.0,
                        help="clang-tidy also follows the paths through functions, for so many "
                             "minutes (default 0: by `make clang-tidy` only)")
    return parser.parse_args(arguments)


def stage_layout(tally, _options):
    tally.command("layout rules find violations", ["python3", "tools/tidy_test.py"])
    tally.command("layout", ["python3", "tools/tidy.py"])
    tally.command("public headers", ["python3", "tools/public_headers.py"])
    tally.command("tools", ["python3", "tools/tools_test.py"])


def stage_release(tally, options):
    """The release build and its tests, and where those with sanitizers follow, their builds beside
    the last of them."""
    whole = not (options.only or options.fast or options.stage)
    options.ahead = BuildAhead(tally, sanitizer_slices.presets_by_turn()) if whole else None
    run_preset(tally, Slice("release"), options.only, {"fast"} if options.fast else None,
               options.ahead)


def stage_thread_safety(tally, _options):
    if thread_safety.find_clang() is None:
        tally.skip("thread-safety", "clang++ is not installed")
        return
    tally.command("thread-safety", ["python3", "tools/thread_safety.py"])


def stage_sanitizer(tally, options, preset):
    if options.ahead is not None and not options.ahead.finish(preset, 60 * options.left()):
        tally.skip(preset, f"not built when {options.minutes:.0f} minutes were over; "
                           f"./test --stage {preset} runs it")
        return
    minutes = 0 if options.whole else min(options.sanitizer_minutes, options.left())
    run_preset(tally, Slice(preset, options.whole), options.only, {"fast"}, minutes=minutes)


def stage_odr(tally, _options):
    """Links the program and the Python module so that g++ compares what their sources define."""
    start = time.monotonic()
    python = python_option("release") == ["-DWEFT_PYTHON=ON"]
    targets = ["weft", "weft_python", "weft_python_swarm"][:3 if python else 1]
    ran = run(["cmake", "--preset", "odr", f"-DWEFT_PYTHON={'ON' if python else 'OFF'}"])
    if ran.returncode != 0:
        tally.add("odr: configure", 0, 1, 0, ran.stdout)
    elif compile_targets(tally, "odr", *targets):
        tally.add("odr: one name is one entity", len(targets), 0, time.monotonic() - start)


def stage_aarch64(tally, _options):
    if aarch64.prepare(tally) and compile_targets(tally, aarch64.PRESET, *aarch64.targets()):
        aarch64.run_tests(tally)


def stage_clang_tidy(tally, options):
    if shutil.which("clang-tidy-14") is None:
        tally.skip("clang-tidy", "clang-tidy-14 is not installed")
        return
    passes = (["--minutes", str(options.tidy_minutes)] if options.tidy_minutes
              else ["--pass", "rules"])
    passes += ["--rules-minutes", str(options.rules_minutes)]
    tally.command("clang-tidy", ["python3", "tools/clang_tidy.py", *passes, "src/weft"])


STAGES = {
    "layout": stage_layout,
    "format": lambda tally, options: check_format(tally),
    "release": stage_release,
    "headers": lambda tally, options: tally.command(
        "headers compile alone", ["python3", "tools/tidy.py", "--headers", "--minutes",
                                  str(options.alone_minutes / 2)]),
    "batches": lambda tally, options: tally.command(
        "sources compile in any batch", ["python3", "tools/compile_sources.py", "together",
                                         "--minutes", str(options.alone_minutes)]),
    "alone": lambda tally, options: tally.command(
        "sources compile alone", ["python3", "tools/compile_sources.py", "alone", "--minutes",
                                  str(options.alone_minutes)]),
    "thread-safety": stage_thread_safety,
    "odr": stage_odr,
    "aarch64": stage_aarch64,
    "asan": lambda tally, options: stage_sanitizer(tally, options, "asan"),
    "tsan": lambda tally, options: stage_sanitizer(tally, options, "tsan"),
    "clang-tidy": stage_clang_tidy,
}
# What looks at a part, which the commit draws.
SLICES = {"headers", "batches", "alone", "thread-safety", "asan", "tsan", "clang-tidy"}
# Many minutes from nothing: by --stage only.
BY_HAND = {"odr", "aarch64"}
# What clang-tidy's stage does in passing where it looks at every folder.
IN_CLANG_TIDY = {"thread-safety"}


def minutes_left(options, start):
    """How many minutes a whole run has left for slices; at least a little, where one has begun."""
    if options.stage:
        return math.inf
    return max(0.1, options.minutes - (time.monotonic() - start) / 60)


def by_turn(stages):
    """The stages, those with sanitizers in the order that the commit draws."""
    order = iter(sanitizer_slices.presets_by_turn())
    return [next(order) if stage in sanitizer_slices.PRESETS else stage for stage in stages]


def run_stages(tally, options, stages, start):
    for stage in stages:
        over = not options.stage and time.monotonic() - start > 60 * options.minutes
        if over and stage in SLICES:
            tally.skip(stage, f"not begun: {options.minutes:.0f} minutes are over; "
                              f"./test --stage {stage} runs it")
        else:
            STAGES[stage](tally, options)


def main(arguments):
    options = parse(arguments)
    options.ahead = None  # what builds ASan's tree beside the release tests
    covered = shutil.which("clang-tidy-14") and options.rules_minutes == 0
    left_out = BY_HAND | (IN_CLANG_TIDY if covered else set())
    stages = options.stage or by_turn([name for name in STAGES if name not in left_out])
    if not options.stage and options.only:
        stages = ["release"]
    elif not options.stage and options.fast:
        stages = ["layout", "format", "release"]
    elif not options.stage and options.quick:
        stages = ["layout", "format"]
    tally = Tally()
    start = time.monotonic()
    for tool in ("cmake", "ctest", "ninja"):
        if shutil.which(tool) is None:
            tally.add(tool, 0, 1, 0, f"{tool} is not installed: run tools/install_deps.sh test")
    options.left = lambda: minutes_left(options, start)
    try:
        run_stages(tally, options, stages, start)
    finally:
        if options.ahead is not None:
            options.ahead.stop()
    if options.quick:
        run_quick(tally, options)
    print(f"what took longest:\n{tally.slowest()}")
    skipped = f"; stages skipped: {', '.join(tally.skipped)}" if tally.skipped else ""
    print(f"{time.monotonic() - start:.0f} s in all{skipped}")
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed or tally.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
