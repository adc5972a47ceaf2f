#!/usr/bin/env python3
"""Tests of what tidy.py says about documents, comments and words that are not to be used."""
from tidy_tree import HEADER, SOURCE, Tree, main


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
                self.expect_no_fault(line)

    def test_a_reason_lets_a_word_pass_and_an_empty_one_does_not(self):
        self.expect_no_fault("f(new Node());  // tidy: allow new: the graph counts references itself")
        self.expect_line("f(new Node());  // tidy: allow new:", "new: not here")

    def test_the_folder_that_owns_a_word_may_use_it(self):
        self.write("layers.txt", "base:\na:\nb: a\nc:\n")
        self.write("src/weft/base/x_test.cpp", "std::mutex a;\n")
        self.assertEqual(self.faults(), [])

    def test_unfinished_work_and_local_paths(self):
        self.expect_line("// TO" "DO: later", "unfinished")
        self.expect_line("// good enough for " "now", "unfinished")
        self.expect_line('auto a = "/ho' 'me/someone/a";', "one person's machine")


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


if __name__ == "__main__":
    main()
