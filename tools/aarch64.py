"""The stage aarch64 of tools/check.py: Weft is cross-compiled for aarch64, and its tests run in an
emulator. That is so slow that of the tables of operations, and of graphs, it runs a part."""
import time

from ctest_runs import ctests, run_ctest
from tally import run

PRESET = "aarch64"
SYSROOT = "build/aarch64-sysroot"
EMULATOR = ["qemu-aarch64", "-cpu", "max,sve=off", "-L", SYSROOT]  # as cmake/aarch64.cmake has it


def slice_of(parts):
    """The environment in which a GoogleTest program runs every so many-th of its cases."""
    return {"GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": "0"}


# {ctest: (its target, its environment)}
TESTS = {
    "same_bits/best": ("same_bits", {}),
    # The emulator itself fails when a forked child starts a thread.
    "base": ("base_test", {"GTEST_FILTER": "-ParallelFor.WorksInAForkedChild"}),
    "array": ("array_test", {}),
    "codec": ("codec_test", {}),
    "optim": ("optim_test", {}),
    # Three of its four minutes are convolutions of hundreds of channels.
    "kernel": ("kernel_test", {"GTEST_FILTER": "-ConvSweep.ManyChannels*"}),
    "op": ("op_test", slice_of(4)),
    "graph": ("graph_test", slice_of(8)),
}


def prepare(tally):
    """Installs the compiler and the emulator, unpacks the libraries, configures; False if one fails."""
    for command in (["tools/install_deps.sh", "cross"], ["tools/aarch64_sysroot.sh", SYSROOT],
                    ["cmake", "--preset", PRESET, "-DWEFT_TESTS=ON"]):
        ran = run(command)
        if ran.returncode != 0:
            tally.add(f"{PRESET}: {' '.join(command[:2])}", 0, 1, 0, ran.stdout)
            return False
    return True


def run_program(tally):
    """The whole program starts there."""
    start = time.monotonic()
    ran = run([*EMULATOR, f"build/{PRESET}/weft", "--version"])
    works = ran.returncode == 0 and ran.stdout.startswith("weft ")
    tally.add(f"{PRESET}: weft --version", int(works), int(not works), time.monotonic() - start,
              ran.stdout)


def targets():
    return ["weft", *(target for target, _environment in TESTS.values())]


def run_tests(tally):
    known = ctests(PRESET)
    for name, (_target, environment) in TESTS.items():
        if name not in known:
            tally.add(f"{PRESET}: {name}", 0, 1, 0, "there is no such test")
        else:
            run_ctest(tally, PRESET, name, environment)
    run_program(tally)
