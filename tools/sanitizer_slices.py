"""What ./test builds and runs under each sanitizer: less than the release build, which runs all.

./test --whole runs everything but what `threads` leaves out. Else these are left out, each for its
reason:
  threads   ThreadSanitizer finds something only where threads of ours meet. Its build has only the
            folders THREADED_FOLDERS and, of their test files, only those that can start a thread
            (threaded_tests()); all others run in one thread, most of them in virtual time.
  folders   AddressSanitizer's build has the unit tests of a third of the folders, which the commit draws.
            To build and run those of all takes longer than everything else together.
  cases     LEFT_OUT_CASES: single cases that take minutes and no code that smaller ones do not have.
  parts     a program of PARTS takes minutes: its cases are dealt out to so many parts, of which one
            runs, which the commit draws.
  settings  ONE_OF: one program is several tests, each in another environment: one of them, drawn too.
  seeds     a test that does one thing over many seeds runs SEEDS of them, which the commit draws
            (src/weft/base/testing/test_seeds.h).
"""
import pathlib
import re

import turns

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "src" / "weft"
INCLUDE = re.compile(r'^\s*#\s*include\s*"(weft/[^"]+)"', re.MULTILINE)
PRESETS = ("asan", "tsan")
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}
SEEDS = 4
# Where threads of ours meet. Elsewhere there are OpenMP's only, whose barriers ThreadSanitizer does
# not know: its build computes with one thread.
THREADED_FOLDERS = ("base", "array", "aggregate", "data", "wire", "net", "peer", "codec",
                    "collective", "gossip")
# What code includes that starts threads or is called from several.
THREAD_HEADERS = ("weft/base/thread.h", "weft/base/parallel.h", "weft/net/event_loop.h")
# Its worlds, which have threads, are made where its cases are instantiated.
MORE_THREADED_TESTS = ("src/weft/net/transport/transport_contract_test.cpp",)
# By preset and program. The largest simulations, and trainings of many steps, add minutes under
# AddressSanitizer and no code that smaller ones do not have. ThreadSanitizer leaves out the cases
# of its test files that count in one thread, and the one whose threads are OpenDHT's, a library
# that is not instrumented.
LEFT_OUT_CASES = {
    ("asan", "sim/memberships"): "Simulation.SixtyFourPeers",
    ("asan", "nn"): "Training.EveryModelOfTheZooLowersTheLossOnAFewImages",
    ("asan", "train"): "Models/CapturedZoo.*/resnet18",
    ("asan", "attack"): "RobustTraining.ARule*",
    ("asan", "collective"): "JoinTest.*:SwarmSplit.ANewcomer*:SwarmSplit.Whatever*:"
                            "SwarmStateTest.RoundsThatFill*:SwarmLinksTest.IsMuchFaster*:"
                            "PartsOfARound/JoinPhaseTest.*/After30Percent:"
                            "PartsOfARound/JoinPhaseTest.*/After70Percent:"
                            "SwarmCatchUp.LinksBreak*:SwarmCatchUp.ANewcomerThat*",
    ("asan", "gossip"): "GossipChurn.AThird*:GossipChurn.GoesOn*:GossipChurn.TheSameSeed*:"
                        "GossipAveraging.FallsAtTheSpectralGapRateOnARandom*:"
                        "GossipAveraging.AHub*:GossipDisruption.WhereTheHub*",
    ("tsan", "data"): "MarkovText.*:GaussianImages.*",
    ("tsan", "net"): "Rendezvous.NodesOfOpenDhtOnThisMachineCarryARecord",
}

# By preset and program: how many parts, so that none takes much more than a minute on two cores.
PARTS = {
    ("asan", "collective"): 6, ("asan", "train"): 3, ("asan", "attack"): 2, ("asan", "graph"): 2,
    ("asan", "net"): 2, ("asan", "peer"): 2, ("asan", "kernel"): 2, ("asan", "op"): 2,
    ("asan", "gossip"): 2, ("asan", "mix"): 2,
    ("tsan", "collective"): 3, ("tsan", "net"): 3,
}
ONE_OF = ("same_bits/",)


def included(path):
    return [ROOT / "src" / name for name in INCLUDE.findall(path.read_text(errors="replace"))]


def sources_of(header):
    """The sources that define what a header of ours declares: those of its folder with its name."""
    if not header.is_relative_to(LIBRARY):
        return []
    folder = LIBRARY / header.relative_to(LIBRARY).parts[0]
    return sorted(folder.rglob(f"{header.stem}.cpp"))


def starts_threads(test):
    """Whether a test file can: it, a header below it, or a source of a header that it includes
    itself (of the headers below those it has the declarations only) includes what does."""
    seen, waiting = set(), [test]
    for header in included(test):
        waiting += sources_of(header)
    while waiting:
        current = waiting.pop()
        if current in seen or not current.exists():
            continue
        seen.add(current)
        waiting += included(current)
    return any(ROOT / "src" / name in seen for name in THREAD_HEADERS)


def threaded_tests():
    """The test files of THREADED_FOLDERS that ThreadSanitizer's build has, relative to the root."""
    files = [path for folder in THREADED_FOLDERS
             for path in sorted((LIBRARY / folder).rglob("*_test.cpp"))]
    names = [path.relative_to(ROOT).as_posix() for path in files if starts_threads(path)]
    return names + [name for name in MORE_THREADED_TESTS if name not in names]


def drawn(text):
    """A number that the commit draws for a text."""
    return int(turns.drawn(turns.git("rev-parse", "HEAD").strip(), text), 16)


def presets_by_turn():
    """Both presets, first the one that the commit draws: a slow machine has no time for the other."""
    return sorted(PRESETS, key=drawn)


def drawn_folders():
    """A third of the folders of the library, which the commit draws."""
    folders = sorted(path.parent.name for path in LIBRARY.glob("*/CMakeLists.txt"))
    return sorted(sorted(folders, key=drawn)[:(len(folders) + 2) // 3])


def drawn_tests():
    """The test files of these folders, relative to the root."""
    return [path.relative_to(ROOT).as_posix() for folder in drawn_folders()
            for path in sorted((LIBRARY / folder).rglob("*_test.cpp"))]


def cmake_options(preset, whole=False):
    """What a preset is configured with, so that an earlier choice is undone, too."""
    folders = ";".join(THREADED_FOLDERS) if preset == "tsan" else ""
    tests = threaded_tests() if preset == "tsan" else []
    if preset == "asan" and not whole:
        tests = drawn_tests()
    return [f"-DWEFT_FOLDERS={folders}", f"-DWEFT_TEST_FILES={';'.join(tests)}"]


class Slice:
    """What a preset runs of its tests: all in other builds than those of sanitizers, or if `whole`."""

    def __init__(self, preset, whole=False):
        self.preset = preset
        self.sanitizer = preset in PRESETS
        self.whole = whole or not self.sanitizer

    def programs(self, names):
        """The tests of these names that run, in an order that the commit draws: of those that differ
        only in their environment, one."""
        if self.whole:
            return list(names)
        chosen = [name for name in names if not name.startswith(ONE_OF)]
        for prefix in ONE_OF:
            alike = sorted(name for name in names if name.startswith(prefix))
            chosen += alike[drawn(prefix) % len(alike):][:1] if alike else []
        return sorted(chosen, key=drawn)

    def environment(self, program):
        """What a test program gets."""
        found = dict(OPTIONS) if self.sanitizer else {}
        if self.whole:
            return found
        key = (self.preset, program)
        found["WEFT_SEED_SLICE"] = f"{SEEDS}:{turns.git('rev-parse', 'HEAD').strip()}"
        if key in LEFT_OUT_CASES:
            found["GTEST_FILTER"] = "-" + LEFT_OUT_CASES[key]
        if key in PARTS:
            found["GTEST_TOTAL_SHARDS"] = str(PARTS[key])
            found["GTEST_SHARD_INDEX"] = str(drawn(program) % PARTS[key])
        return found
