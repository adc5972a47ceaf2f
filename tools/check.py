#!/usr/bin/env python3
"""Builds Weft and runs every check; what ./test calls. The last line is "N passed, N failed".

Stages, in this order: layout (tools/tidy.py, its own test and tools/public_headers.py), format,
release (every ctest of the release build), headers and alone (headers and sources compiled with
their own includes only: a part of them, see tools/compile_sources.py), asan and tsan (the ctests
labelled fast, built with sanitizers; which of them: tools/sanitizer_slices.py), clang-tidy (see
tools/clang_tidy.py: the folders that changed, and others until its minutes are over), which
compiles the sources of each folder as one and analyses threads, too. Where it does not look at all
of them, the stages batches (tools/compile_sources.py together) and thread-safety
(tools/thread_safety.py) do that; else they run by --stage only, as does odr (a link in which g++
finds names that two sources define differently).
--quick is for people at work: layout, format, and the unit tests of the folders that changed.
A line is printed for each program: its name, cases passed and failed, seconds; at the end the ten
that took longest. A program that ran
no case, a folder without a test program and a build that fails count as failures. Where
clang-format-14, clang++ or clang-tidy-14 cannot be had, its stage is skipped, and a line says so.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree

import sanitizer_slices
import thread_safety

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
FUZZED = re.compile(r"^(\d+) seeds and (\d+) mutations\b.*none broke it", re.MULTILINE)
OUTPUT_LINES_SHOWN = 60
# Folders of src/weft that clang-tidy's stage does not look at: whoever has cleaned one takes it out.
NOT_YET_CLEAN = ("collective", "train")
SLOWEST_SHOWN = 10
# Programs for people, which count nothing: exit code 1 says that what they computed is wrong.
EXAMPLES = re.compile(r"^examples/")
# Begun first, so that no core waits for them in the end.
LONG_TESTS = ("collective", "python/package", "op", "train", "net", "attack", "sim/memberships")


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


def configure(tally, preset):
    """Configures a preset with its tests; False, and a failure, if that failed."""
    python = python_option(preset)
    if python == ["-DWEFT_PYTHON=OFF"]:
        tally.skip("python/package", "NumPy or pybind11 of /usr/bin/python3 is not installed")
    ran = run(["cmake", "--preset", preset, "-DWEFT_TESTS=ON",
               *sanitizer_slices.cmake_options(preset), *python])
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


class BuildAhead:
    """Builds presets, one after the other, with what processor time tests leave: those that wait for
    each other leave most. The kernel gives an idle process nothing that any other wants."""

    def __init__(self, tally, presets):
        self.tally, self.presets = tally, presets
        self.finished = {}  # {preset: an event} once started

    def start(self):
        if self.finished:
            return
        ready = [preset for preset in self.presets if configure(self.tally, preset)]
        self.finished = {preset: threading.Event() for preset in ready}
        print(f"building {', '.join(ready)} beside the tests that follow ...", flush=True)
        threading.Thread(target=self.build, daemon=True).start()

    def build(self):
        idle = ["chrt", "--idle", "0"] if shutil.which("chrt") else ["nice", "-n", "19"]
        for preset, done in self.finished.items():
            run([*idle, "tools/build.sh", f"build/{preset}", "all"])
            done.set()

    def finish(self, preset):
        """Waits for it; a build that failed fails again, with its words, when it is asked for."""
        if preset in self.finished:
            self.finished[preset].wait()


def build(tally, preset):
    """Configures and builds the whole of a preset; False, and a failure, if that failed."""
    began = time.time()
    if not configure(tally, preset) or not compile_targets(tally, preset, "all"):
        return False
    if preset == "release":
        tally.command("no source takes most of the build", [
            "python3", "tools/build_time.py", "--check", "--since", str(began)])
    return True


def ctests(preset):
    """{name: labels} of the tests that a built preset has."""
    listing = run(["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1"])
    tests = json.loads(listing.stdout[listing.stdout.index("{"):])["tests"]
    properties = {test["name"]: {p["name"]: p["value"] for p in test.get("properties", [])}
                  for test in tests}
    return {name: set(values.get("LABELS", [])) for name, values in properties.items()}


def count_cases(report, output):
    """(passed, failed, skipped) of one program, from its GoogleTest report or its last line."""
    if report.exists():
        root = xml.etree.ElementTree.parse(report).getroot()
        total, failed = int(root.get("tests", 0)), int(root.get("failures", 0))
        skipped = sum(1 for case in root.iter("testcase")
                      if case.get("result") == "skipped" or case.get("status") == "notrun")
        return total - failed - skipped, failed + int(root.get("errors", 0)), skipped
    fuzzed = FUZZED.search(output)
    if fuzzed:
        return int(int(fuzzed.group(1)) + int(fuzzed.group(2)) > 0), 0, 0
    return (*last_counts(output), 0)


def failures(report):
    """What the failed cases of a GoogleTest report say, a line or more each."""
    if not report.exists():
        return ""
    root = xml.etree.ElementTree.parse(report).getroot()
    return "".join(f"{case.get('classname')}.{case.get('name')}: {failure.get('message')}\n"
                   for case in root.iter("testcase") for failure in case.iter("failure"))


def run_ctest(tally, preset, name):
    start = time.monotonic()
    report = ROOT / "build" / preset / "reports" / (name.replace("/", "_") + ".xml")
    report.unlink(missing_ok=True)
    # Threads that wait for work must not spin: several programs share the cores here.
    environment = {"GTEST_OUTPUT": f"xml:{report}", "OMP_WAIT_POLICY": "passive",
                   **sanitizer_slices.environment(preset, name)}
    ran = run(["ctest", "--test-dir", f"build/{preset}", "-R", f"^{re.escape(name)}$", "-V"],
              environment)
    try:
        passed, failed, skipped = count_cases(report, re.sub(r"(?m)^\d+: ", "", ran.stdout))
        output = ran.stdout + failures(report)
    except xml.etree.ElementTree.ParseError:
        passed, failed, skipped, output = 0, 1, 0, ran.stdout
    if "***Skipped" in ran.stdout:
        skipped = 1
    if EXAMPLES.match(name) and ran.returncode == 0:
        passed = 1
    if failed == 0 and (ran.returncode != 0 or passed + skipped == 0):
        failed = 1
    note = f" ({skipped} skipped)" if skipped else ""
    tally.add(f"{preset}: {name}{note}", passed, failed, time.monotonic() - start, output)


def run_ctests(tally, preset, tests, chosen, ahead=None):
    """Runs the chosen ones of {name: labels}: the fast ones side by side, then those labelled
    quiet, each with the machine for itself, then the others one by one while `ahead` builds."""
    (ROOT / "build" / preset / "reports").mkdir(exist_ok=True)
    together = [name for name in chosen if "fast" in tests[name] and "serial" not in tests[name]]
    together.sort(key=lambda name: name not in LONG_TESTS)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(lambda name: run_ctest(tally, preset, name), together))
    alone = [name for name in chosen if name not in together]
    for name in sorted(alone, key=lambda name: "quiet" not in tests[name]):
        if ahead is not None and "quiet" not in tests[name]:
            ahead.start()
        run_ctest(tally, preset, name)


def run_preset(tally, preset, only, labels=None, ahead=None):
    """Builds a preset and runs its tests; `ahead` is a preset to build beside them."""
    if not build(tally, preset):
        return
    tests = ctests(preset)
    chosen = [name for name in tests if (not only or only in name)
              and (not labels or tests[name] & labels)]
    if not chosen:
        tally.add(f"{preset}: no test", 0, 1, 0, "expected at least one test of that name")
    run_ctests(tally, preset, tests, chosen, ahead)
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
        run_ctests(tally, "release", tests, sorted(wanted))


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
    parser.add_argument("--alone-minutes", type=float, default=1.0,
                        help="compiling sources alone stops after so many minutes (default 1), "
                             "headers after half of that")
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
    options.ahead = BuildAhead(tally, ["asan", "tsan"]) if whole else None
    run_preset(tally, "release", options.only, {"fast"} if options.fast else None, options.ahead)


def stage_thread_safety(tally, _options):
    if thread_safety.find_clang() is None:
        tally.skip("thread-safety", "clang++ is not installed")
        return
    tally.command("thread-safety", ["python3", "tools/thread_safety.py"])


def stage_sanitizer(tally, options, preset):
    if options.ahead is not None:
        options.ahead.finish(preset)
    run_preset(tally, preset, options.only, {"fast"})


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


def stage_clang_tidy(tally, options):
    if shutil.which("clang-tidy-14") is None:
        tally.skip("clang-tidy", "clang-tidy-14 is not installed")
        return
    folders = [str(path) for path in sorted((ROOT / "src" / "weft").iterdir())
               if path.is_dir() and path.name not in NOT_YET_CLEAN]
    passes = (["--minutes", str(options.tidy_minutes)] if options.tidy_minutes
              else ["--pass", "rules"])
    passes += ["--rules-minutes", str(options.rules_minutes)]
    tally.command("clang-tidy", ["python3", "tools/clang_tidy.py", *passes, *folders])


STAGES = {
    "layout": stage_layout,
    "format": lambda tally, options: check_format(tally),
    "release": stage_release,
    "headers": lambda tally, options: tally.command(
        "headers compile alone", ["python3", "tools/tidy.py", "--headers", "--minutes",
                                  str(options.alone_minutes / 2)]),
    "batches": lambda tally, options: tally.command(
        "sources compile in any batch", ["python3", "tools/compile_sources.py", "together"]),
    "alone": lambda tally, options: tally.command(
        "sources compile alone", ["python3", "tools/compile_sources.py", "alone", "--minutes",
                                  str(options.alone_minutes)]),
    "thread-safety": stage_thread_safety,
    "odr": stage_odr,
    "asan": lambda tally, options: stage_sanitizer(tally, options, "asan"),
    "tsan": lambda tally, options: stage_sanitizer(tally, options, "tsan"),
    "clang-tidy": stage_clang_tidy,
}
# Six minutes from nothing: by --stage only.
BY_HAND = {"odr"}
# What clang-tidy's stage does in passing where it looks at every folder.
IN_CLANG_TIDY = {"batches", "thread-safety"}


def main(arguments):
    options = parse(arguments)
    options.ahead = None  # what builds ASan's tree beside the release tests
    covered = (shutil.which("clang-tidy-14") and not NOT_YET_CLEAN
               and options.rules_minutes == 0)
    left_out = BY_HAND | (IN_CLANG_TIDY if covered else set())
    stages = options.stage or [name for name in STAGES if name not in left_out]
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
    for stage in stages:
        STAGES[stage](tally, options)
    if options.quick:
        run_quick(tally, options)
    print(f"what took longest:\n{tally.slowest()}")
    skipped = f"; stages skipped: {', '.join(tally.skipped)}" if tally.skipped else ""
    print(f"{time.monotonic() - start:.0f} s in all{skipped}")
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed or tally.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
