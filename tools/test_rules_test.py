#!/usr/bin/env python3
"""Tests of what tidy.py says about tests that cannot fail and waits that are sleeps."""
from tidy_tree import Tree, main

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
        self.expect_no_fault("void A::rest() { box_.wait_until(end, is_set); }")

    def test_what_a_lambda_changes(self):
        self.expect_no_fault("void f() { on([&] { go->with(set); }); go->wait_until(end, is_set); }")


if __name__ == "__main__":
    main()
