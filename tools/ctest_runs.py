"""Runs the ctests of a preset that is built, and counts the cases of each."""
import concurrent.futures
import json
import os
import re
import time
import xml.etree.ElementTree

import sanitizer_slices
from tally import ROOT, last_counts, run

FUZZED = re.compile(r"^(\d+) seeds and (\d+) mutations\b.*none broke it", re.MULTILINE)
# Programs for people, which count nothing: exit code 1 says that what they computed is wrong.
EXAMPLES = re.compile(r"^examples/")
# Begun first, so that no core waits for them in the end.
LONG_TESTS = ("collective", "python/package", "op", "train", "net", "attack", "sim/memberships")


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
    report.unlink(missing_ok=True)
    # Threads that wait for work must not spin: several programs share the cores here.
    environment = {"GTEST_OUTPUT": f"xml:{report}", "OMP_WAIT_POLICY": "passive",
                   **sanitizer_slices.environment(preset, name), **(more or {})}
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
