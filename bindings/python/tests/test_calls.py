"""One-line calls (calls/): what Weft gives against PyTorch, or against what it gave once, which
recorded/calls.json has; record.py calls writes that file anew. What differs on purpose has its row in
the table "Calls" of docs/torch_differences.md."""
import fnmatch
import pathlib
import re
import unittest

import calls
import records
import weft
from oracle import torch

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "torch_differences.md"


def deliberate():
    """The patterns of the first column of the table."""
    section = PAGE.read_text().split("\n## Calls\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \| ", section, re.MULTILINE)
    return [pattern for row in rows for pattern in re.findall(r"`([^`]+)`", row)]


def is_meant(text, patterns):
    """Whether a row speaks of the call; * in it stands for anything."""
    return any(fnmatch.fnmatchcase(text, re.sub(r"([\[\]])", r"[\1]", pattern).replace(
        "?", "[?]")) for pattern in patterns)


def expected():
    """{call: what PyTorch gives, {"error": ...} where it raises}."""
    if torch is None:
        return records.read("calls")
    found = {}
    for text in calls.all_calls():
        try:
            found[text] = calls.run(torch, text)
        except Exception as error:  # whatever it raises is its answer
            found[text] = {"error": type(error).__name__}
    return found


def outcome(text, theirs):
    """(kind, what): equal, both refuse, differs, refused by Weft alone or accepted by it alone."""
    refuses = isinstance(theirs, dict) and "error" in theirs
    try:
        mine = calls.run(weft, text)
    except Exception as error:
        return ("equal", "") if refuses else ("refused", f"{type(error).__name__}: {error}")
    if refuses:
        return "accepted", ""
    what = calls.difference(mine if torch is not None else calls.compact(mine), theirs)
    return ("equal", "") if what is None else ("differs", what)


class Calls(unittest.TestCase):
    def test_every_call(self):
        patterns, counts = deliberate(), {}
        wanted, written = expected(), set(calls.written())
        self.assertGreater(len(wanted), 1700)
        for text, theirs in wanted.items():
            kind, what = outcome(text, theirs)
            if kind != "equal" and is_meant(text, patterns):
                kind = "meant"
            counts[kind] = counts.get(kind, 0) + 1
            if kind in ("differs", "refused") or kind == "accepted" and text in written:
                with self.subTest(text):
                    self.fail(f"{kind}: {what}")
        print(f"\ncalls: {counts.pop('equal')} of {len(wanted)} equal to PyTorch, "
              + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))


if __name__ == "__main__":
    unittest.main()
