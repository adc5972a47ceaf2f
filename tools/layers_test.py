#!/usr/bin/env python3
"""Tests of what tidy.py says about layers, parts, includes and the sizes of folders."""
import folder_sizes
import tidy
from tidy_tree import HEADER, OWN_FUNCTION, SOURCE, Tree, main


class Layers(Tree):
    def test_a_clean_tree_has_no_fault(self):
        self.assertEqual(self.faults(), [])

    def test_an_arrow_that_layers_txt_lacks(self):
        self.write("src/weft/a/low.h", HEADER + '#include "weft/b/thing.h"\n')
        self.expect("low.h:5: a may not include b")

    def test_a_test_may_use_what_stands_above_but_not_below(self):
        self.write("src/weft/c/c_test.cpp", '#include "weft/a/low.h"\n')
        self.assertEqual(self.faults(), [])
        self.write("src/weft/a/low_test.cpp", '#include "weft/b/thing.h"\n')
        self.expect("a may not include b")

    def test_a_name_above_its_own_line(self):
        self.write("layers.txt", "a: b\nb: a\nc:\n")
        self.expect("a names b, which does not stand above it")

    def test_uses_in_cmake(self):
        self.write("src/weft/b/CMakeLists.txt", "weft_folder(b SOURCES thing.cpp\n  USES a c)\n")
        self.expect("USES c")

    def test_a_folder_without_a_line(self):
        self.write("src/weft/d/d_test.cpp", "int d;\n")
        self.expect("folder d has no line")

    def test_a_folder_without_a_test(self):
        self.write("src/weft/c/c.h", HEADER)
        self.expect("no *_test.cpp")


class Parts(Tree):
    """b has the parts low and high; high stands on low, both on b's own files."""

    def setUp(self):
        super().setUp()
        self.write("layers.txt", "a:\nb: a\nb/low:\nb/high: b/low\nc: b/low\nd: b\n")
        for part in ("low", "high"):
            self.write(f"src/weft/b/{part}/{part}.h", HEADER)

    def include(self, where, what):
        self.write(where, f'#include "weft/{what}"\n')

    def test_a_part_stands_on_its_folder_and_on_what_both_lines_name(self):
        self.include("src/weft/b/high/use.cpp", 'b/low/low.h"\n#include "weft/b/thing.h"\n'
                     '#include "weft/a/low.h')
        self.assertEqual(self.faults(), [])

    def test_an_arrow_between_parts_that_no_line_names(self):
        self.include("src/weft/b/low/use.cpp", "b/high/high.h")
        self.expect("use.cpp:1: b/low may not include b/high (layers.txt)")

    def test_included_loops_are_held_too(self):
        self.include("src/weft/b/low/loops.inc", "b/high/high.h")
        self.expect("loops.inc:1: b/low may not include b/high")

    def test_the_own_files_of_a_folder_know_none_of_its_parts(self):
        self.include("src/weft/b/use.cpp", "b/low/low.h")
        self.expect("b may not include b/low")

    def test_a_part_above_the_line_of_its_folder_stands_below_the_folders_own_files(self):
        self.write("layers.txt", "a:\nb/low:\nb/high:\nb: a b/low\nc:\nd:\n")
        self.include("src/weft/b/use.cpp", "b/low/low.h")
        self.include("src/weft/b/low/use.cpp", "a/low.h")
        self.assertEqual(self.faults(), [])
        self.include("src/weft/b/use.cpp", "b/high/high.h")
        self.expect("use.cpp:1: b may not include b/high")
        self.include("src/weft/b/use.cpp", "b/low/low.h")
        self.include("src/weft/b/low/use.cpp", "b/thing.h")
        self.expect("use.cpp:1: b/low may not include b (layers.txt)")

    def test_a_folder_may_name_one_part_of_another_or_the_whole(self):
        self.include("src/weft/d/d_test.cpp", "b/high/high.h")
        self.include("src/weft/d/use.cpp", "b/high/high.h")
        self.include("src/weft/c/c_test.cpp", "b/high/high.h")
        self.include("src/weft/c/use.cpp", "b/low/low.h")
        self.assertEqual(self.faults(), [])
        self.include("src/weft/c/use.cpp", "b/high/high.h")
        self.expect("c may not include b/high")

    def test_a_test_may_use_parts_that_stand_above_its_own_but_not_below(self):
        self.write("layers.txt", "a:\nb: a\nb/low:\nb/high:\n")
        self.include("src/weft/b/high/high_test.cpp", "b/low/low.h")
        self.assertEqual(self.faults(), [])
        self.include("src/weft/b/low/low_test.cpp", "b/high/high.h")
        self.expect("b/low may not include b/high")

    def test_the_tests_of_parts_are_the_folders(self):
        (self.root / "src/weft/b/thing_test.cpp").unlink()
        self.expect("src/weft/b:1: no *_test.cpp")
        self.write("src/weft/b/low/low_test.cpp", "int x;\n")
        self.assertEqual(self.faults(), [])

    def test_uses_in_cmake_names_the_folder_of_a_part(self):
        self.write("src/weft/c/CMakeLists.txt", "weft_folder(c SOURCES c.cpp USES b)\n")
        self.write("src/weft/c/c_test.cpp", "int x;\n")
        self.assertEqual(self.faults(), [])

    def test_lines_that_make_no_sense(self):
        for line, part in [("b/low: a", "a part names parts of its own folder"),
                           ("b/low: b", "a part names parts of its own folder"),
                           ("b/low: b/high", "does not stand above it"),
                           ("c/x:", "c/x is a part of a folder that has no line"),
                           ("c:\nb/x:", "b/x does not stand beside the other lines of b")]:
            with self.subTest(line=line):
                low = "" if line.startswith("b/low") else "b/low:\n"
                self.write("layers.txt", f"a:\nb: a\n{low}b/high:\n{line}\n" if low
                           else f"a:\nb: a\n{line}\nb/high:\n")
                self.expect(part)

    def test_a_part_without_a_line(self):
        self.write("src/weft/b/new/new.h", HEADER)
        self.expect("part b/new has no line")

    def test_two_sources_of_different_parts_with_one_name(self):
        self.write("src/weft/b/low/one.cpp", OWN_FUNCTION)
        self.write("src/weft/b/high/two.cpp", OWN_FUNCTION)
        self.expect("has a function helper of its own, too")


class Includes(Tree):
    def test_dots(self):
        self.expect_line('#include "../a/low.h"', "full path")

    def test_short_path(self):
        self.expect_line('#include "thing.h"', "expected")

    def test_generated_table(self):
        self.expect_no_fault('#include "op_table.inc"')

    def test_header_without_comment(self):
        self.write("src/weft/b/thing.h", "#pragma once\nint thing();\n")
        self.expect("begins with a comment")

    def test_header_with_guard(self):
        self.write("src/weft/b/thing.h", "// Thing.\n#ifndef A\n#define A\n#endif\n")
        self.expect("#pragma once")


class FolderSizes(Tree):
    def fill(self, folder, files):
        for number in range(files):
            self.write(f"{folder}/page{number}.html", "")

    def expect_more(self, more, part):
        found = [fault for faults in tidy.check_layout(self.root, more) for fault in faults]
        self.assertEqual(len(found), 1, found)
        self.assertIn(part, found[0])

    def test_a_folder_and_a_part_with_too_many_files(self):
        there = 4  # of b in setUp()
        self.fill("src/weft/b", folder_sizes.FILES_MAX - there)
        self.assertEqual(self.faults(), [])
        self.write("src/weft/b/x_test.cpp", "int x;\n")
        self.expect("src/weft/b:1: 31 files, limit 30")
        (self.root / "src/weft/b/x_test.cpp").unlink()
        self.fill("src/weft/b/deep", folder_sizes.FILES_MAX + 1)
        self.expect("src/weft/b/deep:1: 31 files, limit 30")

    def test_a_folder_of_the_bindings(self):
        self.fill("bindings/python/tests", folder_sizes.FILES_MAX)
        self.assertEqual(self.faults(), [])
        self.write("bindings/python/tests/one.json", "{}")
        self.expect("bindings/python/tests:1: 31 files, limit 30: give it parts (subfolders)")

    def test_what_is_larger_may_only_shrink(self):
        self.fill("src/weft/a", 40 - 2)
        self.assertEqual([f for faults in tidy.check_layout(self.root, {"src/weft/a": 40}) for f in faults],
                         [])
        self.expect_more({"src/weft/a": 39}, "src/weft/a:1: 40 files, limit 39")
        self.expect_more({"src/weft/a": 41}, "src/weft/a:1: 40 files: lower its number from 41")
        self.expect_more({"src/weft/a": 40, "src/weft/b": 50}, "src/weft/b:1: 4 files: take it out")


if __name__ == "__main__":
    main()
