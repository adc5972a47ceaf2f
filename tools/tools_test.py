#!/usr/bin/env python3
"""Tests of the tools that decide what is built and checked. Ends with "N passed, N failed"."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import build_time
import check
import compile_flags


class BuildTime(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.build = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def checked(self, seconds, written):
        """(exit code, what it says) of a build whose steps took `seconds` and ended at `written`."""
        lines = ["# ninja log v5"] + [
            f"0\t{int(1000 * took)}\t{int(written * 1e9)}\tsrc/weft/a/{number}.o\tabc"
            for number, took in enumerate(seconds)]
        (self.build / ".ninja_log").write_text("\n".join(lines) + "\n")
        said = io.StringIO()
        no_cache = unittest.mock.patch.object(build_time.shutil, "which", return_value=None)
        with contextlib.redirect_stdout(said), no_cache:
            code = build_time.check(self.build, since=1000.0)
        return code, said.getvalue()

    def test_a_build_of_equal_steps(self):
        code, said = self.checked([1.0] * 200, written=2000)
        self.assertEqual(code, 0)
        self.assertIn("200 passed, 0 failed", said)

    def test_one_step_that_takes_a_tenth(self):
        code, said = self.checked([1.0] * 180 + [20.0], written=2000)
        self.assertEqual(code, 1)
        self.assertIn("src/weft/a/180.o: 20.0 s are 10.0 % of the build, limit 6 %", said)

    def test_nothing_is_said_of_what_was_there_before(self):
        code, said = self.checked([1.0] * 180 + [20.0], written=500)
        self.assertEqual(code, 0)
        self.assertIn("not looked at", said)


class Quick(unittest.TestCase):
    def test_what_a_changed_file_asks_for(self):
        wanted = check.unit_tests_of(["src/weft/op/relu_op.cpp", "src/weft/op/loss.h", "README.md",
                                      "fuzz/csv_fuzz.cpp", "tests/sim/scale.cpp", "docs/nn.md"])
        self.assertEqual(wanted, {"op": "op_test", "fuzz/csv": "csv_fuzz", "sim": "sim_test",
                                  "docs/nn": "docs_snippets"})


class Flags(unittest.TestCase):
    def test_of_a_batch_with_a_precompiled_header(self):
        command = ("/x/launch_compiler /usr/bin/c++ -DA=1 -I/x/src -isystem /usr/include/p -O2 -fPIC "
                   "-fpch-preprocess -Wall -std=c++20 -include /b/cmake_pch.hxx -o a.o -c a.cpp")
        self.assertEqual(compile_flags.kept_flags(command),
                         ("-DA=1", "-I/x/src", "-isystem", "/usr/include/p", "-Wall", "-std=c++20"))


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    failed = len(program.result.failures) + len(program.result.errors)
    print(f"{program.result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
