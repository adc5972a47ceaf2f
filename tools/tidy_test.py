#!/usr/bin/env python3
"""Plants one violation of each rule of tidy.py in a small tree and sees it found, and only it.

Runs the cases of layers_test.py, prose_rules_test.py and test_rules_test.py, too."""
import contextlib
import io
import unittest.mock

import folder_sizes
import layers_test
import prose_rules_test
import test_rules_test
import tidy
from tidy_tree import HEADER, OWN_FUNCTION, SOURCE, Tree, main


class Heavy(Tree):
    def test_a_heavy_header_of_a_library_stays_in_its_folder(self):
        self.write("src/weft/a/low.h", HEADER + "#include <asio/ip/tcp.hpp>\n")
        self.write("src/weft/b/thing.h", HEADER + '#include "weft/a/low.h"\n')
        self.expect('thing.h:5: include "weft/a/low.h": it includes <asio/ip/tcp.hpp>')

    def test_through_another_header(self):
        self.write("src/weft/a/deep.h", HEADER + "#include <nlohmann/json.hpp>\n")
        self.write("src/weft/a/low.h", HEADER + '#include "weft/a/deep.h"\n')
        self.write("src/weft/b/thing.cpp", SOURCE + '#include "weft/a/low.h"\n')
        self.expect('thing.cpp:4: include "weft/a/low.h": it includes <nlohmann/json.hpp>')

    def test_fmt_stays_out_of_headers_that_headers_include(self):
        self.write("src/weft/b/log.h", HEADER + "#include <fmt/format.h>\n")
        self.expect_no_fault('#include "weft/b/log.h"')
        self.write("src/weft/b/thing.h", HEADER + '#include "weft/b/log.h"\n')
        self.expect('thing.h:5: include "weft/b/log.h": it includes <fmt/format.h>')

    def test_a_source_may_include_it(self):
        self.expect_no_fault("#include <nlohmann/json.hpp>")


class Json(Tree):
    def test_by_a_format_where_the_library_is(self):
        self.write("src/weft/b/other.cpp", "#include <nlohmann/json.hpp>\n")
        self.expect_line('auto text = format("{{\\"a\\":{}}}", 1);', "thing.cpp:4: json: not by hand")

    def test_elsewhere_and_in_sentences(self):
        self.expect_no_fault('auto text = format("{{\\"a\\":{}}}", 1);')
        self.write("src/weft/b/other.cpp", "#include <nlohmann/json.hpp>\n")
        self.expect_no_fault('auto text = "none without \\"stream\\": true";')
        self.expect_no_fault('auto text = "{\\"a\\":[";  // tidy: allow json: a reason')


class Status(Tree):
    def test_a_header_that_uses_it_includes_it(self):
        self.write("src/weft/b/thing.h", HEADER + "Result<int> other();\n")
        self.expect('thing.h:5: Result: include "weft/base/status.h" here')

    def test_of_base_and_of_what_only_looks_alike(self):
        self.write("layers.txt", "base:\na:\nb: a base\nc:\n")
        self.write("src/weft/base/status.h", "// Status.\n#pragma once\nclass Status;\n")
        self.write("src/weft/base/a_test.cpp", "")
        self.write("src/weft/b/thing.h",
                   HEADER + "struct SwarmStatus; // Status\nstruct StatusLine;\n")
        self.assertEqual(self.faults(), [])


class Sizes(Tree):
    def test_long_file(self):
        self.write("src/weft/b/thing.cpp", "int a;\n" * (tidy.FILE_LINES_MAX + 1))
        self.expect("limit 500")
        self.write("src/weft/b/thing.cpp", "int a;\n" * tidy.FILE_LINES_MAX)
        self.assertEqual(self.faults(), [])

    def test_long_line(self):
        self.expect_line("// " + "x" * 98, "101 characters")

    def function(self, lines, head):
        body = "  if (a) { b(); }\n" * (lines - 2)
        if "TEST" in head:
            body = body.replace("b();", "EXPECT_TRUE(b);", 1)
        self.write("src/weft/b/thing.cpp", head + "{\n" + body + "}\n")

    def test_long_functions_of_every_form(self):
        for head in ["void f() ", "int A::f(int x) const noexcept ", "A::A() : b_(1) ",
                     "TEST(A, B) ", "auto f(int a) -> int ", "template <class T>\nT f(T t) ",
                     "namespace a {\nvoid f() "]:
            with self.subTest(head=head):
                self.function(tidy.FUNCTION_LINES_MAX + 1, head)
                self.expect("function of 71 lines")
                self.function(tidy.FUNCTION_LINES_MAX, head)
                self.assertEqual(self.faults(), [])

    def test_long_classes_and_namespaces_are_no_functions(self):
        for head in ["namespace a ", "class A : public B ", "struct A ", "enum class A "]:
            with self.subTest(head=head):
                self.function(100, head)
                self.assertEqual(self.faults(), [])


class OwnFunctions(Tree):
    def test_two_sources_with_one_name(self):
        self.write("src/weft/b/thing.cpp", SOURCE + OWN_FUNCTION)
        self.write("src/weft/b/use.cpp", "static long helper(long x) { return x; }\n")
        self.expect("use.cpp:1: thing.cpp has a function helper of its own, too")

    def test_functions_of_others_and_of_other_folders(self):
        self.write("src/weft/b/thing.cpp", SOURCE + OWN_FUNCTION)
        self.write("src/weft/b/use.cpp", "int helper(int x) { return x; }\n")
        self.write("src/weft/a/use.cpp", OWN_FUNCTION)
        self.assertEqual(self.faults(), [])


class Headers(Tree):
    def test_a_header_that_leans_on_its_includer(self):
        self.assertEqual([f for faults in tidy.check_headers(self.root) for f in faults], [])
        leaning = "// Thing.\n#pragma once\nstd::string thing();\n"
        self.write("src/weft/b/thing.h", leaning)  # compile_sources.py tells: thing.cpp begins with it
        self.write("src/weft/b/other.h", leaning)
        self.write("src/weft/b/late.h", leaning)
        self.write("src/weft/b/late.cpp", "#include <string>\n#include \"weft/b/late.h\"\n")
        found = sorted(fault for faults in tidy.check_headers(self.root) for fault in faults)
        self.assertEqual(len(found), 3)
        self.assertIn("src/weft/b/late.h:1: not self-contained", found[0])
        self.assertIn("src/weft/b/other.h:1: not self-contained", found[1])
        self.assertIn("do not compile together", found[2])

    def test_where_time_is_over_the_headers_are_still_compiled_together(self):
        self.write("src/weft/b/other.h", "// Thing.\n#pragma once\nstd::string thing();\n")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            found = [fault for faults in tidy.check_headers(self.root, 0) for fault in faults]
        self.assertIn("0 of 2 headers were compiled alone", out.getvalue())
        self.assertEqual(len(found), 1)
        self.assertIn("do not compile together", found[0])

    def test_two_classes_of_one_name_that_no_source_brings_together(self):
        self.write("src/weft/a/key.h", "// A key.\n#pragma once\nstruct Identity { int key; };\n")
        self.write("src/weft/b/layer.h", "// A layer.\n#pragma once\nclass Identity {};\n")
        found = [fault for faults in tidy.check_headers(self.root) for fault in faults]
        self.assertEqual(len(found), 1)
        self.assertIn("the headers of all folders do not compile together", found[0])
        self.assertIn("Identity", found[0])


class Program(Tree):
    def test_exit_code_and_counts(self):
        out = io.StringIO()
        none = unittest.mock.patch.object(folder_sizes, "LARGER", {})
        with contextlib.redirect_stdout(out), none:
            self.assertEqual(tidy.main(["--root", str(self.root)]), 0)
            self.write("src/weft/b/thing.h", "int thing();\n")
            self.assertEqual(tidy.main(["--root", str(self.root)]), 1)
        self.assertIn("1 failed", out.getvalue())


def load_tests(loader, tests, _pattern):
    """This file's cases and those of the others."""
    tests.addTests(loader.loadTestsFromModule(module)
                   for module in (layers_test, prose_rules_test, test_rules_test))
    return tests



if __name__ == "__main__":
    main()
