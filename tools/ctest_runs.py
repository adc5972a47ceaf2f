"""Runs the ctests of a preset that is built, and counts the cases of each."""
import concurrent.futures
import json
import os
import re
import time
import xml.etree.ElementTree

from tally import ROOT, last_counts, run

FUZZED = re.compile(r"^(\d+) seeds and (\d+) mutations\b.*none broke it", re.MULTILINE)
# Programs for people, which count nothing: exit code 1 says that what they computed is wrong.
EXAMPLES = re.compile(r"^examples/")
# Labels of tests that no other program beside them makes wrong: they wait for nothing, or count in
# virtual time.
SIDE_BY_SIDE = {"fast", "slow", "isa"}
# Begun first, so that no core waits for them in the end.
LONG_TESTS = ("collective", "python/calls", "python/cases", "op", "train", "net", "attack", "sim/memberships")


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


def run_ctest(tally, preset, name, more=None):
    """Runs one, with `more` in its environment, and counts its cases."""
    start = time.monotonic()
    report = ROOT / "build" / preset / "reports" / (name.replace("/", "_") + ".xml")
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    # Threads that wait for work must not spin: several programs share the cores here.
    environment = {"GTEST_OUTPUT": f"xml:{report}", "OMP_WAIT_POLICY": "passive",
                   **(more or {})}
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


class Begun:
    """Begins no further program once the minutes are over; 0 is no limit."""

    def __init__(self, minutes):
        self.end = time.monotonic() + 60.0 * minutes if minutes else None
        self.left_out = []

    def may_begin(self, name):
        if self.end is None or time.monotonic() < self.end:
            return True
        self.left_out.append(name)
        return False

    def say(self, tally, preset):
        if self.left_out:
            tally.skip(f"{preset}: {len(self.left_out)} programs",
                       f"not begun before the time was over: {', '.join(sorted(self.left_out))}")


def run_ctests(tally, tests, chosen, part, ahead=None, minutes=0):
    """Runs what `part`, a Slice, has of the chosen ones of {name: labels}: those that may run side by
    side, then those labelled quiet, each with the machine for itself, then the others one by one while
    `ahead` builds. None begins once the minutes are over."""
    begun = Begun(minutes)

    def run_one(name):
        if begun.may_begin(name):
            run_ctest(tally, part.preset, name, part.environment(name))
    chosen = part.programs(chosen)
    together = [name for name in chosen if tests[name] & SIDE_BY_SIDE and "serial" not in tests[name]]
    together.sort(key=lambda name: name not in LONG_TESTS)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(run_one, together))
    alone = [name for name in chosen if name not in together]
    for name in sorted(alone, key=lambda name: "quiet" not in tests[name]):
        if ahead is not None and "quiet" not in tests[name]:
            ahead.start()
        run_one(name)
    begun.say(tally, part.preset)
