"""The small tree in which the tests of the layout's rules plant violations."""
import pathlib
import sys
import tempfile
import unittest

import tidy

HEADER = "// Thing: does a thing.\n#pragma once\n\nint thing();\n"
SOURCE = '#include "weft/b/thing.h"\n\nint thing() { return 1; }\n'
OWN_FUNCTION = "namespace {\nint helper(int x) { return x; }\n}  // namespace\n"


class Tree(unittest.TestCase):
    """A tree of two folders, a below b, that has no fault until a test plants one."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)
        self.write("layers.txt", "# order\na:\nb: a\nc:\n")
        self.write("src/weft/a/low.h", HEADER)
        self.write("src/weft/a/low_test.cpp", '#include "weft/a/low.h"\n')
        self.write("src/weft/b/thing.h", HEADER)
        self.write("src/weft/b/thing.cpp", SOURCE)
        self.write("src/weft/b/thing_test.cpp", '#include "weft/b/thing.h"\n')
        self.write("src/weft/b/CMakeLists.txt", "weft_folder(b SOURCES thing.cpp USES a)\n")

    def tearDown(self):
        self.directory.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def faults(self):
        return [fault for faults in tidy.check_layout(self.root) for fault in faults]

    def expect(self, part):
        found = self.faults()
        self.assertEqual(len(found), 1, found)
        self.assertIn(part, found[0])

    def expect_line(self, line, part):
        self.write("src/weft/b/thing.cpp", SOURCE + line + "\n")
        self.expect(part)

    def expect_no_fault(self, line):
        self.write("src/weft/b/thing.cpp", SOURCE + line + "\n")
        self.assertEqual(self.faults(), [])


def main():
    """Runs the cases of the program's own file; ends with "N passed, N failed"."""
    result = unittest.main(exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"{max(0, result.testsRun - failed)} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
