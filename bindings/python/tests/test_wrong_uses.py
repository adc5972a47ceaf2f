"""Wrong uses (wrong_uses/): each raises an error that names the argument or the value, and what to do
instead. They run in a process of their own, which is started anew behind a call that ends it."""
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import unittest

import wrong_uses

CHILD = pathlib.Path(wrong_uses.__file__).resolve().parent / "child.py"
PATIENCE_S = 60.0  # for one call, on a busy machine


def _answers(child, patience_s):
    """The lines of a child as they come; ends where it does, or where it is silent for too long."""
    held = b""
    while True:
        ready, _, _ = select.select([child.stdout], [], [], patience_s)
        part = os.read(child.stdout.fileno(), 1 << 16) if ready else b""
        if not part:
            return
        *lines, held = (held + part).split(b"\n")
        yield from map(json.loads, lines)


def outcomes(texts, folder, patience_s=PATIENCE_S, library="weft"):
    """What becomes of each call; {"died": how} of one that ends its process or does not end."""
    found = []
    while len(found) < len(texts):
        child = subprocess.Popen([sys.executable, CHILD, folder, library], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with child.stdin as pipe:
            pipe.write(json.dumps(texts[len(found):]).encode())
        found += _answers(child, patience_s)
        running = child.poll() is None and len(found) < len(texts)
        child.kill()
        child.wait()
        child.stdout.close()
        if len(found) < len(texts):
            found.append({"died": "it did not end" if running else f"status {child.returncode}"})
    return found


class WrongUses(unittest.TestCase):
    def test_each_raises_and_says_what_is_wrong(self):
        rows = wrong_uses.rows()
        self.assertGreaterEqual(len(rows), 320)
        self.assertEqual(len({row.call for row in rows}), len(rows))
        with tempfile.TemporaryDirectory() as folder:
            found = outcomes([row.call for row in rows], folder)
        for row, outcome in zip(rows, found):
            with self.subTest(row.call):
                self.assertNotIn("died", outcome)
                fault = wrong_uses.fault(row, outcome)
                self.assertIsNone(fault, fault)
        print(f"\n{len(rows)} wrong uses")

    def test_every_row_has_words(self):
        for row in wrong_uses.rows():
            self.assertTrue(row.words, row.call)


class Harness(unittest.TestCase):
    """That a call which ends its process, or does not end, is a fault of its row alone."""

    def test_deaths_and_silence_are_seen(self):
        texts = ["torch.ones(2)", "os.abort()", "torch.ones(2) + 'a'", "os._exit(0)",
                 "open(os.devnull).read(), select() if 0 else __import__('signal').pause()", "3"]
        with tempfile.TemporaryDirectory() as folder:
            found = outcomes(texts, folder, 2.0)
        self.assertEqual([next(iter(each)) for each in found],
                         ["returned", "died", "error", "died", "died", "returned"])
        self.assertEqual(found[4], {"died": "it did not end"})

    def test_faults_are_found(self):
        row = wrong_uses.Row("x + 3 => ValueError: [3] & -1")
        for outcome, what in (({"returned": "3"}, "returned"),
                              ({"error": ["TypeError"], "text": "[3] -1"}, "expected ValueError"),
                              ({"error": ["ValueError"], "text": "[3] -12"}, "misses"),
                              ({"error": ["ValueError"], "text": "[3] -1 f32"}, "the text has")):
            self.assertIn(what, wrong_uses.fault(row, outcome))
        self.assertIsNone(wrong_uses.fault(row, {"error": ["A", "ValueError"], "text": "[3] -1.5"}))


if __name__ == "__main__":
    unittest.main()
