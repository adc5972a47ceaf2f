#!/usr/bin/env python3
"""Plants one violation of each rule of tidy.py in a small tree and sees it found, and only it."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import folder_sizes
import tidy

HEADER = "// Thing: does a thing.\n#pragma once\n\nint thing();\n"
SOURCE = '#include "weft/b/thing.h"\n\nint thing() { return 1; }\n'


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

    def accept_line(self, line):
        self.write("src/weft/b/thing.cpp", SOURCE + line + "\n")
        self.assertEqual(self.faults(), [])


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
        self.accept_line('#include "weft/b/log.h"')
        self.write("src/weft/b/thing.h", HEADER + '#include "weft/b/log.h"\n')
        self.expect('thing.h:5: include "weft/b/log.h": it includes <fmt/format.h>')

    def test_a_source_may_include_it(self):
        self.accept_line("#include <nlohmann/json.hpp>")


class Json(Tree):
    def test_by_a_format_where_the_library_is(self):
        self.write("src/weft/b/other.cpp", "#include <nlohmann/json.hpp>\n")
        self.expect_line('auto text = format("{{\\"a\\":{}}}", 1);', "thing.cpp:4: json: not by hand")

    def test_elsewhere_and_in_sentences(self):
        self.accept_line('auto text = format("{{\\"a\\":{}}}", 1);')
        self.write("src/weft/b/other.cpp", "#include <nlohmann/json.hpp>\n")
        self.accept_line('auto text = "none without \\"stream\\": true";')
        self.accept_line('auto text = "{\\"a\\":[";  // tidy: allow json: a reason')


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
        self.write("src/weft/b/low/one.cpp", OwnFunctions.OWN)
        self.write("src/weft/b/high/two.cpp", OwnFunctions.OWN)
        self.expect("has a function helper of its own, too")


class Includes(Tree):
    def test_dots(self):
        self.expect_line('#include "../a/low.h"', "full path")

    def test_short_path(self):
        self.expect_line('#include "thing.h"', "expected")

    def test_generated_table(self):
        self.accept_line('#include "op_table.inc"')

    def test_header_without_comment(self):
        self.write("src/weft/b/thing.h", "#pragma once\nint thing();\n")
        self.expect("begins with a comment")

    def test_header_with_guard(self):
        self.write("src/weft/b/thing.h", "// Thing.\n#ifndef A\n#define A\n#endif\n")
        self.expect("#pragma once")


class Words(Tree):
    def test_each_banned_word(self):
        for line, word in [
                ("int a = rand();", "rand"), ("int a = std::rand();", "rand"),
                ("auto a = time(nullptr);", "time"),
                ("auto a = std::chrono::steady_clock::now();", "clock"),
                ("void f() { std::cout << 1; }", "cout"), ("void f() { printf(\"x\"); }", "printf"),
                ("void f() { std::this_thread::sleep_for(t); }", "sleep"),
                ("void f() { usleep(1); }", "sleep"), ("auto a = std::getenv(\"A\");", "getenv"),
                ("void f() { exit(1); }", "exit"), ("void f() { std::_Exit(1); exit(0); }", "exit"),
                ("int* a = new int;", "new"), ("f(new Node());", "new"),
                ("typedef int a;", "typedef"), ("void f() { delete a; }", "delete"), ("std::mutex a;", "thread"),
                ("std::atomic<int> a;", "thread"), ("std::thread a;", "thread")]:
            with self.subTest(line=line):
                self.expect_line(line, f": {word}: not here")

    def test_words_that_only_look_alike(self):
        for line in ["int a = operand(1);", "double t = clock.time();", "int run_time(int);",
                     "// new things; rand() is banned, std::mutex too", 'auto a = "exit(1)";',
                     "a.exit(1);", "int on_exit(int);", "std::unique_ptr<A> a(new A());",
                     "static A& a = *new A();", "A(const A&) = delete;", "snprintf(a, 1, b);",
                     "void* operator new(std::size_t);", "auto x = 1'000'000; int renew;"]:
            with self.subTest(line=line):
                self.accept_line(line)

    def test_a_reason_lets_a_word_pass_and_an_empty_one_does_not(self):
        self.accept_line("f(new Node());  // tidy: allow new: the graph counts references itself")
        self.expect_line("f(new Node());  // tidy: allow new:", "new: not here")

    def test_the_folder_that_owns_a_word_may_use_it(self):
        self.write("layers.txt", "base:\na:\nb: a\nc:\n")
        self.write("src/weft/base/x_test.cpp", "std::mutex a;\n")
        self.assertEqual(self.faults(), [])

    def test_unfinished_work_and_local_paths(self):
        self.expect_line("// TO" "DO: later", "unfinished")
        self.expect_line("// good enough for " "now", "unfinished")
        self.expect_line('auto a = "/ho' 'me/someone/a";', "one person's machine")


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


class FolderSizes(Tree):
    def fill(self, folder, files):
        for number in range(files):
            self.write(f"src/weft/{folder}/page{number}.html", "")

    def expect_more(self, more, part):
        found = [fault for faults in tidy.check_layout(self.root, more) for fault in faults]
        self.assertEqual(len(found), 1, found)
        self.assertIn(part, found[0])

    def test_a_folder_and_a_part_with_too_many_files(self):
        there = 4  # of b in setUp()
        self.fill("b", folder_sizes.FILES_MAX - there)
        self.assertEqual(self.faults(), [])
        self.write("src/weft/b/x_test.cpp", "int x;\n")
        self.expect("src/weft/b:1: 31 files, limit 30")
        (self.root / "src/weft/b/x_test.cpp").unlink()
        self.fill("b/deep", folder_sizes.FILES_MAX + 1)
        self.expect("src/weft/b/deep:1: 31 files, limit 30")

    def test_what_is_larger_may_only_shrink(self):
        self.fill("a", 40 - 2)
        self.assertEqual([f for faults in tidy.check_layout(self.root, {"a": 40}) for f in faults],
                         [])
        self.expect_more({"a": 39}, "src/weft/a:1: 40 files, limit 39")
        self.expect_more({"a": 41}, "src/weft/a:1: 40 files: lower its number from 41")
        self.expect_more({"a": 40, "b": 50}, "src/weft/b:1: 4 files: take it out")


class Documents(Tree):
    def expect_text(self, text, part):
        self.write("docs/page.md", text)
        self.expect(part)

    def test_links_and_paths_that_lead_nowhere(self):
        self.expect_text("[a](other.md)\n", "docs/page.md:1: link to other.md")
        self.expect_text("see `src/weft/b/gone.h`\n", "src/weft/b/gone.h: no such file")
        self.expect_text("see `src/weft/b/NAME_gone.h`\n", "no such file")

    def test_links_and_paths_that_lead_somewhere(self):
        self.write("docs/page.md", "[a](../layers.txt#order) [b](https://example.org/x) [c](#d)\n"
                   "`src/weft/b/thing.h` `src/weft/b/NAME_test.cpp` `src/weft/b/`\n")
        self.assertEqual(self.faults(), [])


class Prose(Tree):
    def expect_comment(self, comment, part, name="src/weft/b/thing.h"):
        self.write(name, HEADER + comment + "\n")
        self.expect(part)

    def accept(self, name, text):
        self.write(name, text)
        self.assertEqual(self.faults(), [])

    def test_sentences_that_begin_with_of(self):
        of = 'prose: a sentence begins with "Of"'
        for comment, line in (("// Of the whole vector.", 5), ("int x;  // Of one round.", 5),
                              ("// A thing. Of others nothing.", 5), ("// A thing. Of\n// others.", 5),
                              ("// A thing.\n// Of others.", 6), ("// Thing:\n//   Of one.", 6)):
            with self.subTest(comment=comment):
                self.expect_comment(comment, f"src/weft/b/thing.h:{line}: {of}")
        self.write("src/weft/b/thing.h", HEADER)
        for name in ("tools/x.py", "bench/x.py"):
            self.write(name, "x = 1  # Of one.\n")
            self.expect(f"{name}:1: {of}")
            (self.root / name).unlink()
        for page in ("Of one.\n", "A b.\nOf one.\n", "* Of one.\n", "| a | Of one |\n"):
            with self.subTest(page=page):
                self.write("docs/page.md", page)
                self.expect(of)

    def test_private_words(self):
        self.expect_comment("// It needs a second voice.", 'thing.h:5: prose: "voice": write vote')
        self.expect_comment("// A peer is told\n// of it. It shall end.", 'thing.h:6: prose: "shall"')
        self.write("src/weft/b/thing.h", HEADER)
        self.write("docs/page.md", "He is told of it.\n")
        self.expect('docs/page.md:1: prose: "told of"')

    def test_what_is_no_such_sentence(self):
        for comment in ("// One\n// Of these words is capital.", "// A thing of others.", "// Office.",
                        "// Game Of Life.", 'const char* s = "// Of one.";', "// OF one.",
                        "// voice  tidy: allow prose: of a person"):
            with self.subTest(comment=comment):
                self.accept("src/weft/b/thing.h", HEADER + comment + "\n")
        self.accept("src/weft/b/thing.cpp", SOURCE + "// shall\n")  # words are for headers and pages
        self.accept("docs/page.md", "`shall` [a](page.md#voices)\n\n```\nOf one.\n```\n\n    Of two.\n")
        self.accept("src/weft/b/data.bin", "Of one.\n")


class OwnFunctions(Tree):
    OWN = "namespace {\nint helper(int x) { return x; }\n}  // namespace\n"

    def test_two_sources_with_one_name(self):
        self.write("src/weft/b/thing.cpp", SOURCE + self.OWN)
        self.write("src/weft/b/use.cpp", "static long helper(long x) { return x; }\n")
        self.expect("use.cpp:1: thing.cpp has a function helper of its own, too")

    def test_functions_of_others_and_of_other_folders(self):
        self.write("src/weft/b/thing.cpp", SOURCE + self.OWN)
        self.write("src/weft/b/use.cpp", "int helper(int x) { return x; }\n")
        self.write("src/weft/a/use.cpp", self.OWN)
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


TESTED = '#include "weft/b/thing.h"\n\n'


class TestsThatCannotFail(Tree):
    def expect_test(self, text, part=None):
        self.write("src/weft/b/thing_test.cpp", TESTED + text)
        if part:
            self.expect(part)
        else:
            self.assertEqual(self.faults(), [])

    def test_one_that_asserts_nothing(self):
        self.expect_test("TEST(Thing, Is) {\n  // EXPECT_EQ\n  thing();\n}\n",
                         "thing_test.cpp:3: Thing.Is claims nothing")

    def test_helpers_may_assert_for_it(self):
        self.expect_test("void same(int a, T b = {}) {\n  EXPECT_EQ(a, b);\n}\n"
                         "void each() { same<int>(1); }\n"
                         "TEST_P(Thing, Is) { each(); }\nTEST(Thing, Z) { same<int>(thing()); }\n")

    def test_helpers_that_assert_nothing(self):
        self.expect_test("void look(int a) {\n  thing();\n}\nTEST(Thing, Is) { look(1); }\n",
                         "thing_test.cpp:6: Thing.Is claims nothing")

    def test_lambdas_and_headers_may_assert_for_it(self):
        self.write("src/weft/b/test_same.h",
                   "// Same.\n#pragma once\ninline void same() { EXPECT_TRUE(true); }\n")
        self.expect_test("TEST(Thing, A) { same(); }\n"
                         "const auto check = [](int x) { ASSERT_GT(x, 0); };\n"
                         "TEST(Thing, B) { check(1); }\n")

    def test_disabled_ones_are_run_by_others(self):
        self.expect_test("TEST(Thing, DISABLED_AsChild) { thing(); }\n")

    def test_python(self):
        self.write("bindings/python/tests/test_a.py",
                   "def same(a):\n    assert a\n\n\ndef test_a():\n    same(1)\n\n\n"
                   "def test_b():\n    print(1)\n")
        self.expect("test_a.py:9: test_b claims nothing")

    def test_one_that_another_hides(self):
        self.write("bindings/python/tests/test_a.py",
                   "def test_a():\n    assert 1\n\n\ndef test_a():\n    assert 2\n")
        self.expect("test_a.py:1: test_a, which another one hides, claims nothing")


class HiddenSleeps(Tree):
    def test_a_wait_for_what_nobody_changes(self):
        self.expect_line("void rest() { Guarded<int> never; never.wait_until(end, is_set); }",
                         "thing.cpp:4: never is never changed")

    def test_of_a_member(self):
        self.expect_line("void A::rest() { never_->wait_until(end, is_set); }",
                         "thing.cpp:4: never_ is never changed")

    def test_what_another_source_changes(self):
        self.write("src/weft/b/other.cpp", "void A::set() { box_.with(change); }\n")
        self.accept_line("void A::rest() { box_.wait_until(end, is_set); }")

    def test_what_a_lambda_changes(self):
        self.accept_line("void f() { on([&] { go->with(set); }); go->wait_until(end, is_set); }")


class Program(Tree):
    def test_exit_code_and_counts(self):
        out = io.StringIO()
        none = unittest.mock.patch.object(folder_sizes, "LARGER", {})
        with contextlib.redirect_stdout(out), none:
            self.assertEqual(tidy.main(["--root", str(self.root)]), 0)
            self.write("src/weft/b/thing.h", "int thing();\n")
            self.assertEqual(tidy.main(["--root", str(self.root)]), 1)
        self.assertIn("1 failed", out.getvalue())


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    failed = len(result.failures) + len(result.errors)
    print(f"{max(0, result.testsRun - failed)} passed, {failed} failed")
    sys.exit(1 if failed or not result.testsRun else 0)
