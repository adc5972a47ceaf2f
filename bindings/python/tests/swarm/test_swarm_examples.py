"""examples/torch_swarm.py: a script of PyTorch that four lines have made a member of a swarm."""
import ast
import difflib
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import threading
import unittest

import weft

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
LIMIT_SECONDS = 120


def code_lines(name):
    """The lines of an example after its docstring."""
    text = (EXAMPLES / name).read_text()
    return text.splitlines()[ast.parse(text).body[0].end_lineno:]


class Examples(unittest.TestCase):
    def start(self, *options, **variables):
        process = subprocess.Popen([sys.executable, "torch_swarm.py", *options], cwd=EXAMPLES,
                                   stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "OMP_NUM_THREADS": "1", **variables,
                                        "PYTHONPATH": str(pathlib.Path(weft.__file__).parents[1])})
        limit = threading.Timer(LIMIT_SECONDS, process.kill)
        limit.start()
        for clean_up in (process.stdout.close, process.wait, process.kill, limit.cancel):
            self.addCleanup(clean_up)
        return process

    def test_the_swarm_takes_four_lines(self):
        changed = [line for line in difflib.ndiff(code_lines("torch_plain.py"),
                                                  code_lines("torch_swarm.py")) if line[0] in "+-"]
        self.assertLessEqual(len(changed), 4, changed)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_a_second_script_joins_the_first_learns_with_it_and_leaves(self):
        first = self.start("--steps", "100000")
        ticket = first.stdout.readline().strip()
        second = self.start("--steps", "40", "--seed", "2", WEFT_TICKET=ticket)
        said = second.communicate()[0].splitlines()
        self.assertEqual(second.returncode, 0)
        self.assertTrue(said[0].startswith("weft2-"))
        losses = [float(line.split()[-1]) for line in said[1:]]
        self.assertEqual(len(losses), 4)
        self.assertLess(losses[-1], 2.0, "less than by guessing, ln 10 = 2.3")
        first.send_signal(signal.SIGTERM)
        self.assertEqual(first.wait(), -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
