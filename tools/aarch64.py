"""The stage aarch64 of tools/check.py: Weft is cross-compiled for aarch64, and its tests run in an
emulator, which is ten to thirty times as slow as a processor. So of the tables of operations it
runs a slice, and of the tests with seeds and long loops none."""
import time

from ctest_runs import ctests, run_ctest
from tally import ROOT, run

PRESET = "aarch64"
SYSROOT = "build/aarch64-sysroot"
# {ctest: (its target, which of its cases in GoogleTest's words)}
TESTS = {
    "same_bits/best": ("same_bits", "*"),
    "base": ("base_test", "*"),
    "array": ("array_test", "*"),
    "codec": ("codec_test", "*"),
    "optim": ("optim_test", "*"),
    "kernel": ("kernel_test", "*"),
    "op": ("op_test", "*"),
    "graph": ("graph_test", "*"),
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
    ran = run(["qemu-aarch64", "-L", SYSROOT, f"build/{PRESET}/weft", "--version"])
    works = ran.returncode == 0 and ran.stdout.startswith("weft ")
    tally.add(f"{PRESET}: weft --version", int(works), int(not works), time.monotonic() - start,
              ran.stdout)


def targets():
    return ["weft", *(target for target, _cases in TESTS.values())]


def run_tests(tally):
    (ROOT / "build" / PRESET / "reports").mkdir(exist_ok=True)
    known = ctests(PRESET)
    for name, (_target, cases) in TESTS.items():
        if name not in known:
            tally.add(f"{PRESET}: {name}", 0, 1, 0, "there is no such test")
        else:
            run_ctest(tally, PRESET, name, {"GTEST_FILTER": cases})
    run_program(tally)
