#!/usr/bin/env python3
"""Tests of the tools that decide what is built and checked. Ends with "N passed, N failed"."""
import contextlib
import io
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
import unittest.mock

import build_time
import check
import clang_tidy
import compile_flags
import compile_sources
import ctest_runs
import layers
import public_headers
import sanitizer_slices
import thread_safety
import turns
from sanitizer_slices import Slice
from tally import Tally


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
        wanted = check.unit_tests_of(["src/weft/op/activation/relu_op.cpp", "src/weft/op/loss.h", "README.md",
                                      "fuzz/csv_fuzz.cpp", "tests/sim/scale.cpp", "docs/nn.md"])
        self.assertEqual(wanted, {"op": "op_test", "fuzz/csv": "csv_fuzz", "sim/memberships": "membership_sim_test",
                                  "docs/nn": "docs_snippets"})


class BuildsAhead(unittest.TestCase):
    def ahead(self, start_build):
        """A builder of ASan, TSan and one that cannot be configured."""
        patches = [unittest.mock.patch.object(check, "configure", lambda _, preset: preset != "odd"),
                   unittest.mock.patch.object(check, "start_build", start_build)]
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        return check.BuildAhead(None, ["asan", "odd", "tsan"])

    def test_come_one_after_the_other_and_each_is_waited_for(self):
        ran = []
        ahead = self.ahead(lambda words: ran.append(words[-2]) or unittest.mock.Mock())
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertTrue(ahead.finish("asan", 0))  # not begun: whoever asks for it builds it
            self.assertEqual(ran, [])
            ahead.start()
            ahead.start()
            for preset in ("tsan", "odd", "asan"):
                self.assertTrue(ahead.finish(preset, 60))
            ahead.stop()
        self.assertEqual(ran, ["build/asan", "build/tsan"])

    def test_none_goes_on_when_the_run_is_over(self):
        started, real = [], check.start_build

        def start_build(_words):
            started.append(real(["sleep", "600"]))
            return started[-1]
        ahead = self.ahead(start_build)
        with contextlib.redirect_stdout(io.StringIO()):
            ahead.start()
            self.assertFalse(ahead.finish("asan", 0))
            ahead.stop()
            self.assertTrue(ahead.finish("tsan", 0))
        self.assertLessEqual(len(started), 1)
        for process in started:
            self.assertIsNotNone(process.poll())


class Minutes(unittest.TestCase):
    def begun(self, arguments, after):
        """(the stages that a run begins `after` so many minutes, what it leaves out)"""
        tally, ran, options = Tally(), [], check.parse(arguments)
        stages = {name: lambda *_, name=name: ran.append(name) for name in check.STAGES}
        with unittest.mock.patch.object(check, "STAGES", stages), \
                contextlib.redirect_stdout(io.StringIO()):
            check.run_stages(tally, options, ["release", "asan", "clang-tidy"],
                             check.time.monotonic() - 60 * after)
        return ran, tally.skipped

    def test_slices_are_left_out_once_they_are_over(self):
        everything = ["release", "asan", "clang-tidy"]
        self.assertEqual(self.begun([], 1), (everything, []))
        self.assertEqual(self.begun([], 75), (["release"], ["asan", "clang-tidy"]))
        self.assertEqual(self.begun(["--minutes", "80"], 75), (everything, []))
        self.assertEqual(self.begun(["--stage", "asan"], 75), (everything, []))

    def test_a_sanitizer_has_what_is_left(self):
        start = check.time.monotonic() - 60 * 69
        self.assertAlmostEqual(check.minutes_left(check.parse([]), start), 3, places=1)
        self.assertEqual(check.minutes_left(check.parse(["--minutes", "1"]), start), 0.1)
        self.assertEqual(check.minutes_left(check.parse(["--stage", "tsan"]), start), check.math.inf)


class SanitizerSlices(unittest.TestCase):
    def test_thread_sanitizer_builds_the_tests_that_can_start_threads(self):
        tests = sanitizer_slices.threaded_tests()
        for name in ("base/file/background_writer_test.cpp",  # includes thread.h itself
                     "collective/swarm/lent_state_test.cpp",  # by a header
                     "collective/engine/bench_all_reduce_test.cpp",  # by the source of its header
                     "net/transport/hostile_test.cpp", "gossip/gossip_member_test.cpp",
                     "net/transport/transport_contract_test.cpp"):
            self.assertIn(f"src/weft/{name}", tests)
        for name in ("collective/scenario/swarm_core_test.cpp", "peer/membership/membership_test.cpp",
                     "gossip/gossip_churn_test.cpp", "wire/membership/join_message_test.cpp"):
            self.assertTrue((check.ROOT / "src" / "weft" / name).exists())
            self.assertNotIn(f"src/weft/{name}", tests)

    def test_every_test_that_names_a_thread_is_among_them(self):
        tests = set(sanitizer_slices.threaded_tests())
        thread = re.compile(r"\bThread\b[ ({]|std::vector<Thread>|\bEventLoop\b|\bparallel_for\b")
        for folder in sanitizer_slices.THREADED_FOLDERS:
            for path in (check.ROOT / "src" / "weft" / folder).rglob("*_test.cpp"):
                if thread.search(path.read_text()):
                    self.assertIn(path.relative_to(check.ROOT).as_posix(), tests)

    def test_address_sanitizer_builds_the_tests_of_a_third_of_the_folders(self):
        folders = sanitizer_slices.drawn_folders()
        count = len(list(sanitizer_slices.LIBRARY.glob("*/CMakeLists.txt")))
        self.assertEqual(len(folders), (count + 2) // 3)
        tests = sanitizer_slices.cmake_options("asan")[1].split("=", 1)[1].split(";")
        self.assertEqual({name.split("/")[2] for name in tests}, set(folders))
        for name in tests:
            self.assertTrue((check.ROOT / name).exists())
        self.assertEqual(sanitizer_slices.cmake_options("asan", whole=True)[1],
                         "-DWEFT_TEST_FILES=")
        self.assertEqual(sanitizer_slices.cmake_options("release"),
                         ["-DWEFT_FOLDERS=", "-DWEFT_TEST_FILES="])

    def test_what_a_program_gets(self):
        self.assertEqual(Slice("release").environment("gossip"), {})
        found = Slice("asan").environment("gossip")
        self.assertIn("GossipChurn.AThird*", found["GTEST_FILTER"])
        self.assertRegex(found["WEFT_SEED_SLICE"], r"^\d+:[0-9a-f]{40}$")
        self.assertIn("TSAN_OPTIONS", Slice("tsan").environment("wire"))
        self.assertEqual(Slice("asan", whole=True).environment("gossip"), sanitizer_slices.OPTIONS)

    def test_a_long_program_runs_a_part_of_its_cases(self):
        found = Slice("asan").environment("collective")
        parts, part = int(found["GTEST_TOTAL_SHARDS"]), int(found["GTEST_SHARD_INDEX"])
        self.assertEqual(parts, sanitizer_slices.PARTS["asan", "collective"])
        self.assertLess(part, parts)
        self.assertNotIn("GTEST_TOTAL_SHARDS", Slice("asan").environment("wire"))

    def test_one_of_the_tests_that_differ_in_their_environment(self):
        names = ["op", "same_bits/best", "net", "same_bits/avx2"]
        with unittest.mock.patch.object(turns, "git", lambda *_: "0" * 40):
            chosen = Slice("asan").programs(names)
            self.assertEqual(Slice("asan").programs(names[::-1]), chosen)
        self.assertEqual(len(chosen), 3)
        self.assertLessEqual({"op", "net"}, set(chosen))
        self.assertEqual(Slice("asan", whole=True).programs(names), names)
        self.assertEqual(Slice("release").programs(names), names)
        self.assertEqual(Slice("tsan").programs([]), [])

    def test_no_program_begins_once_the_minutes_are_over(self):
        tally, ran = Tally(), []
        with unittest.mock.patch.object(ctest_runs, "run_ctest", lambda *words: ran.append(words[2])), \
                contextlib.redirect_stdout(io.StringIO()):
            tests = {name: {"fast"} for name in ("base", "wire")}
            ctest_runs.run_ctests(tally, tests, list(tests), Slice("asan"), minutes=1e-9)
            self.assertEqual((ran, tally.skipped), ([], ["asan: 2 programs"]))
            ctest_runs.run_ctests(tally, tests, list(tests), Slice("asan"))
        self.assertEqual(sorted(ran), ["base", "wire"])

    def test_a_case_that_is_left_out_exists(self):
        for (_, program), cases in sanitizer_slices.LEFT_OUT_CASES.items():
            folder = program.split("/")[0]
            texts = "".join(path.read_text() for path in sorted(
                [*(check.ROOT / "src" / "weft" / folder).rglob("*_test.cpp"),
                 *(check.ROOT / "tests" / folder).rglob("*_test.cpp")]))
            for case in cases.split(":"):
                suite, name = (part.split("/") for part in case.split("."))
                self.assertRegex(texts, rf"TEST(_F|_P)?\({suite[-1]}, {name[0].rstrip('*')}", case)


class ThreadSafetyFolders(unittest.TestCase):
    def test_take_the_sources_of_their_parts_too(self):
        here = thread_safety.ROOT / "src" / "weft"
        sources = [compile_flags.Source(here / name, "", (), True) for name in (
            "net/a.cpp", "net/tls/b.cpp", "op/core/c.cpp", "net/tls/b.cu")]
        found = [one.path.name for one in thread_safety.wanted(sources, set())]
        self.assertEqual(found, ["a.cpp", "b.cpp"])


class Places(unittest.TestCase):
    def test_of_files_and_includes(self):
        for path, place in [("weft/op/core/sample.h", ("op", "op/core")),
                            ("src/weft/op/core/sample.h", ("op", "op/core")),
                            ("weft/op/ops.h", ("op", "")), ("weft/weft.h", ("", "")),
                            ("tests/net/x_test.cpp", ("", "")), ("op_table.inc", ("", ""))]:
            with self.subTest(path=path):
                self.assertEqual(layers.place_of(path), place)


class PublicHeaders(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)
        for path, text in {
                "src/weft/weft.h": '#include "weft/array/array.h"\n#include "weft/op/ops.h"\n'
                                   '#include "weft/nn/layers.h"\n',
                "src/weft/op/ops.h": '#include "weft/op/sum.h"\n', "src/weft/nn/layers.h": "", "src/weft/swarm.h": "",
                "src/weft/op/sum.h": "", "src/weft/array/array.h": "",
                "src/weft/autograd/format.h": "", "src/weft/array/walk.h": "",
                "src/weft/internal_headers.txt": "# a list\narray: walk\n",
                "docs/page.md": '```cpp\n#include "weft/op/sum.h"\n```\n'}.items():
            self.write(path, text)

    def tearDown(self):
        self.directory.cleanup()

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def faults(self):
        return [fault for fault in public_headers.check(self.root) if fault]

    def test_each_header_is_in_one_list(self):
        self.assertEqual(self.faults(), [])

    def test_a_new_header_is_in_none(self):
        self.write("src/weft/array/new.h", "")
        self.assertIn("src/weft/array/new.h: name it in src/weft/weft.h", self.faults()[0])

    def test_a_header_of_a_part(self):
        self.write("src/weft/array/deep/new.h", "")
        self.assertIn("src/weft/array/deep/new.h: name it in", self.faults()[0])
        self.write("src/weft/internal_headers.txt", "array: walk\narray/deep: new\n")
        self.assertEqual(self.faults(), [])

    def test_a_header_is_in_both_and_one_is_gone(self):
        self.write("src/weft/internal_headers.txt", "array: walk gone\nop: *\n")
        self.assertEqual([fault.split(":")[0] for fault in self.faults()],
                         ["src/weft/array/gone.h", "src/weft/op/ops.h", "src/weft/op/sum.h"])

    def test_a_page_and_an_example_include_what_is_internal(self):
        self.write("docs/page.md", '```cpp\n#include "weft/array/walk.h"\n```\n')
        self.write("examples/one.cpp", "#include <weft/array/walk.h>\n")
        self.assertEqual(self.faults(), [
            "examples/one.cpp: includes what is not public: weft/array/walk.h",
            "docs/page.md: includes what is not public: weft/array/walk.h"])


class Version(unittest.TestCase):
    """The package for Python has the number of base/version.h, where pip and CMake may not look."""

    def test_of_the_package_is_that_of_the_library(self):
        root = pathlib.Path(__file__).resolve().parent.parent
        header = (root / "src/weft/base/version.h").read_text()
        number = ".".join(re.findall(r"^#define WEFT_VERSION_[A-Z]+ (\d+)$", header, re.MULTILINE))
        self.assertIn(f'\nversion = "{number}"\n', (root / "pyproject.toml").read_text())
        self.assertIn(f'\n__version__ = "{number}"\n',
                      (root / "bindings/python/weft/__init__.py").read_text())


class Flags(unittest.TestCase):
    def test_of_a_batch_with_a_precompiled_header(self):
        command = ("/x/launch_compiler /usr/bin/c++ -DA=1 -I/x/src -isystem /usr/include/p -O2 -fPIC "
                   "-fpch-preprocess -Wall -std=c++20 -include /b/cmake_pch.hxx -o a.o -c a.cpp")
        self.assertEqual(compile_flags.kept_flags(command),
                         ("-DA=1", "-I/x/src", "-isystem", "/usr/include/p", "-Wall", "-std=c++20"))


class ThreadSafety(unittest.TestCase):
    """Small classes with one member that is guarded, by a lock or by a thread's role."""
    CLASSES = """
        #include <functional>
        #include "weft/base/bounded_queue.h"
        #include "weft/base/thread_role.h"
        class Counter {
         public:
          int value() { LOCK return value_; }
          void add_one() WEFT_REQUIRES(mutex_) { ++value_; }
         private:
          weft::Mutex mutex_;
          int value_ WEFT_GUARDED_BY(mutex_) = 0;
        };
        class Listener {
         public:
          void on_frame() { ROLE ++frames_; }
          std::function<void()> later() { return [this]() HELD { ++frames_; }; }
         private:
          weft::ThreadRole loop_thread_;
          int frames_ WEFT_GUARDED_BY(loop_thread_) = 0;
        };
        """
    RIGHT = {"LOCK": "const weft::MutexLock lock(mutex_);", "ROLE": "loop_thread_.assert_here();",
             "HELD": "WEFT_REQUIRES(loop_thread_)"}

    def said(self, **words):
        """What clang says if these stand for the right words."""
        clang = thread_safety.find_clang()
        if clang is None:
            self.skipTest("clang++ is not installed")
        text = self.CLASSES
        for name, right in self.RIGHT.items():
            text = text.replace(name, words.get(name, right))
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "classes.cpp"
            path.write_text(text)
            flags = (f"-I{thread_safety.ROOT / 'src'}", "-std=c++20")
            return thread_safety.findings(clang, [compile_flags.Source(path, "", flags, False)])

    def test_what_is_held_may_be_touched(self):
        self.assertEqual(self.said(), "")

    def test_a_member_that_is_read_without_its_lock(self):
        self.assertIn("reading variable 'value_' requires holding mutex 'mutex_'",
                      self.said(LOCK=""))

    def test_a_function_that_is_called_without_the_lock(self):
        self.assertIn("calling function 'add_one' requires holding mutex 'mutex_'",
                      self.said(LOCK="add_one();"))

    def test_a_lock_that_is_taken_twice(self):
        lock = "const weft::MutexLock lock(mutex_); const weft::MutexLock again(mutex_);"
        self.assertIn("acquiring mutex 'mutex_' that is already held", self.said(LOCK=lock))

    def test_a_handler_that_does_not_say_which_thread_it_runs_on(self):
        self.assertIn("writing variable 'frames_' requires holding role 'loop_thread_'",
                      self.said(ROLE=""))

    def test_a_lambda_for_any_thread_that_reaches_into_the_state_of_one(self):
        self.assertIn("writing variable 'frames_' requires holding role 'loop_thread_'",
                      self.said(HELD=""))


class Turns(unittest.TestCase):
    def test_changed_files_come_first_and_the_rest_by_the_commit(self):
        files = [turns.ROOT / "src" / "weft" / "op" / f"{number}.cpp" for number in range(40)]
        batches = [[path] for path in files]
        answers = {"diff": "src/weft/op/7.cpp\n", "ls-files": "", "rev-parse": "aaaa"}
        with unittest.mock.patch.object(turns, "git", lambda *words: answers[words[0]]):
            first = turns.by_turn(batches)
            answers["rev-parse"] = "bbbb"
            second = turns.by_turn(batches)
        self.assertEqual(first[0], [files[7]])
        self.assertEqual(second[0], [files[7]])
        self.assertNotEqual(first, second)
        self.assertEqual(sorted(first), sorted(second))

    def test_where_nothing_differs_the_last_commit_counts(self):
        answers = {("diff", "HEAD"): "", ("diff", "HEAD~1"): "tools/turns.py\n"}
        with unittest.mock.patch.object(
                turns, "git", lambda *words: answers.get((words[0], words[-1]), "")):
            self.assertEqual(turns.changed_files(), {turns.ROOT / "tools" / "turns.py"})

    def test_folders_of_files(self):
        for name, folder in (("src/weft/op/norm/a.cpp", ("src", "weft", "op")),
                             ("tests/sim/a.cpp", ("tests",))):
            self.assertEqual(turns.folder_of(turns.ROOT / name), folder)


class RulesPass(unittest.TestCase):
    def test_whose_time_is_over_looks_at_changed_folders_only(self):
        seen = []
        sources = [compile_flags.Source(clang_tidy.ROOT / "src" / "weft" / name, name, (), False)
                   for name in ("op/a.cpp", "net/b.cpp", "nn/c.cpp")]
        options = unittest.mock.Mock(rules_minutes=1e-9, minutes=0, nodes=1, jobs=1)
        changed = {clang_tidy.ROOT / "src" / "weft" / "net" / "link" / "other.h"}
        with unittest.mock.patch.multiple(
                clang_tidy, mark=lambda *_: pathlib.Path("/nowhere"),
                look_at=lambda batch, *_: seen.append(batch) or dict.fromkeys(batch, "")), \
                unittest.mock.patch.object(turns, "changed_files", lambda: changed), \
                tempfile.TemporaryDirectory() as clean, \
                unittest.mock.patch.object(clang_tidy, "CLEAN", pathlib.Path(clean)):
            counts = clang_tidy.run_pass("rules", sources, options)
        self.assertEqual(seen, [[sources[1].path]])
        self.assertEqual(counts, (1, 0, 2))


@unittest.skipIf(shutil.which("clang-tidy-14") is None, "clang-tidy-14 is not installed")
class ClangTidy(unittest.TestCase):
    """What clang-tidy finds in two sources that it reads as one."""
    FLAGS = (f"-I{clang_tidy.ROOT / 'src'}", "-std=c++20")
    NULL = "namespace weft {\nint f(int* p, bool b) {\n  int* q = nullptr;\n" \
           "  if (b) q = p;\n  return *q;\n}\n}  // namespace weft\n"
    UNLOCKED = '#include "weft/base/thread.h"\nnamespace weft {\nstruct Box {\n  Mutex mutex;\n' \
               "  int value WEFT_GUARDED_BY(mutex) = 0;\n};\n" \
               "int g(Box& box) { return box.value; }\n}  // namespace weft\n"
    CLEAN = "namespace weft {\nint h() { return 1; }\n}  // namespace weft\n"

    def said(self, name, *texts):
        """What a pass says of sources with these texts, in their order; "" of clean ones."""
        clang_tidy.CLEAN.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as directory:
            folder = pathlib.Path(directory) / "src" / "weft" / "x"
            folder.mkdir(parents=True)
            paths = [folder / f"{number}.cpp" for number in range(len(texts))]
            for path, text in zip(paths, texts):
                path.write_text(text)
            result = clang_tidy.look_at(paths, self.FLAGS, clang_tidy.pass_words(name, 20000))
            return [result[path] for path in paths]

    def test_paths_are_followed_through_the_sources_of_a_batch(self):
        clean, found = self.said("paths", self.CLEAN, self.NULL)
        self.assertEqual(clean, "")
        self.assertIn("core.NullDereference", found)

    def test_the_rules_see_what_is_read_without_its_lock(self):
        found, clean = self.said("rules", self.UNLOCKED, self.CLEAN)
        self.assertIn("clang-diagnostic-thread-safety", found)
        self.assertEqual(clean, "")

    def test_the_rules_see_reserved_names(self):
        reserved = self.CLEAN.replace("h()", "_H()")
        self.assertIn("reserved", self.said("rules", reserved, self.CLEAN)[0])

    def test_two_sources_with_one_name_for_two_things(self):
        own = "namespace weft {\nnamespace {\nint own() { return 1; }\n}  // namespace\n" \
              "int NAME() { return own(); }\n}  // namespace weft\n"
        found = self.said("rules", own.replace("NAME", "a"), own.replace("NAME", "b"))
        self.assertIn("does not compile with others of its target", found[0])


class Batches(unittest.TestCase):
    def test_hold_sources_of_one_target_and_single_ones_alone(self):
        def source(name, target, batched):
            return compile_flags.Source(pathlib.Path(name), target, ("-DA",), batched)
        sources = [source("a.cpp", "x", True), source("b.cpp", "x", False),
                   source("c.cpp", "x", True), source("d.cpp", "y", True),
                   source("e.cpp", "x", True)]
        batches = compile_flags.batches(sources, 2)
        self.assertEqual([[str(one.path) for one in batch] for batch in batches],
                         [["a.cpp", "c.cpp"], ["e.cpp"], ["b.cpp"], ["d.cpp"]])


class Together(unittest.TestCase):
    def test_a_target_is_compiled_again_once_a_source_changes(self):
        with tempfile.TemporaryDirectory() as directory:
            folder = pathlib.Path(directory)
            group = [compile_flags.Source(folder / name, "x", ("-std=c++20",), True)
                     for name in ("a.cpp", "b.cpp")]
            group[0].path.write_text("namespace {\nint own() { return 1; }\n}\n")
            group[1].path.write_text("namespace {\nint other() { return 2; }\n}\n")
            with unittest.mock.patch.object(compile_sources, "TOGETHER", folder / "marks"):
                self.assertEqual(compile_sources.compile_as_one(group), "")
                with unittest.mock.patch.object(compile_sources, "compile_source") as compile_source:
                    self.assertEqual(compile_sources.compile_as_one(group), "")
                    compile_source.assert_not_called()
                group[1].path.write_text(group[0].path.read_text())
                for _ in range(2):  # what does not compile is not remembered
                    self.assertIn("redefinition of", compile_sources.compile_as_one(group))


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    failed = len(program.result.failures) + len(program.result.errors)
    print(f"{program.result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
