#!/usr/bin/env python3
"""Runs the tests of the Python package; the last line is "N passed, N failed".

usage: PYTHONPATH=build/release/python bindings/python/tests/run.py [NAME ...]
  NAME   only the files test_NAME.py

Oracles are NumPy and closed forms; where PyTorch is installed it is one too, elsewhere the tests
that need it are skipped, and a line says how many.
"""
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# The folders with tests, this one first: what they share is here. None of them is a package.
FOLDERS = sorted({HERE, *(path.parent for path in HERE.rglob("test_*.py"))})


class Result(unittest.TextTestResult):
    """Counts what passed; unittest counts only the rest."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        self.passed += err is None


def main(names):
    sys.path[:0] = map(str, FOLDERS)
    patterns = [f"test_{name}.py" for name in names] or ["test_*.py"]
    suite = unittest.TestSuite(
        unittest.TestLoader().discover(str(folder), pattern, str(folder))
        for folder in FOLDERS for pattern in patterns)
    runner = unittest.TextTestRunner(resultclass=Result, verbosity=1, stream=sys.stdout)
    result = runner.run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{len(result.skipped)} skipped")
    print(f"{result.passed} passed, {failed} failed")
    return 1 if failed or result.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
