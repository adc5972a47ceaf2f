#!/usr/bin/env python3
"""Installs Weft to a folder of its own and builds examples/embed and examples/swarm there, by CMake
and by pkg-config.

usage: install_test.py BUILD_FOLDER
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EMBED = ROOT / "examples/embed"
MEMBER = ROOT / "examples/swarm"
# What is not optimised compiles in half the time, and nothing is measured here.
FLAGS = "-O0 -Wall -Wextra -Werror"


def run(*command, folder=None, variables=None):
    ran = subprocess.run([str(word) for word in command], cwd=folder, text=True, check=False,
                         env={**os.environ, **(variables or {})}, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    if ran.returncode != 0:
        raise AssertionError(f"{command}: exit code {ran.returncode}\n{ran.stdout[-3000:]}")
    return ran.stdout


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def check_program(program, folder):
    printed = run(program, folder / "spiral.safetensors", folder=folder)
    expect("read back from" in printed, printed)


def installed_files_are_whole(prefix, _):
    expect((prefix / "include/weft/weft.h").is_file(), "no weft/weft.h")
    strangers = [path for path in (prefix / "include").rglob("*")
                 if path.is_file() and (path.suffix != ".h" or path.name.startswith("test_"))]
    expect(not strangers, f"no headers for others: {strangers}")
    # Installed is what a public header reaches, and nothing else.
    reached = []
    waiting = ["weft/weft.h", "weft/swarm.h", "weft/autograd/format.h"]
    while waiting:
        reached.append(waiting.pop())
        header = prefix / "include" / reached[-1]
        expect(header.is_file(), f"{reached[-1]} is not installed")
        waiting += {*re.findall(r'#include "(weft/[^"]+)"', header.read_text())} - {*reached, *waiting}
    unreached = {str(path.relative_to(prefix / "include"))
                 for path in (prefix / "include").rglob("*.h")} - {*reached}
    expect(not unreached, f"no public header needs {sorted(unreached)}")
    expect("weft" in run(prefix / "bin/weft", "version"), "the program does not run")
    for path in prefix.rglob("*.cmake"):
        for line in path.read_text().splitlines():
            expect(str(ROOT) not in line, f"{path.name}: a path of the source tree: {line}")
            # The prefix may be moved to another machine, whose libraries lie elsewhere.
            expect(not re.search(r"/lib\w+\.(so|a)\b", line.replace("${_IMPORT_PREFIX}/lib/lib", "")),
                   f"{path.name}: a library by its path: {line}")


def check_members(program):
    """Two processes of `program`, the second with the ticket that the first prints."""
    first = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    try:
        words = first.stdout.readline().split()
        expect(len(words) == 2 and words[0] == "ticket", f"expected a ticket, got {words}")
        joined = run(program, words[1])
        printed = first.communicate(timeout=120)[0]
    finally:
        first.kill()
        first.wait()
    expect(first.returncode == 0, f"the founder's exit code is {first.returncode}: {printed}")
    states = [re.findall(r"^state (\w{32})$", text, re.MULTILINE) for text in (printed, joined)]
    expect(len(states[0]) == 1 and states[0] == states[1], f"states {states}")
    expect("2 members" in printed, printed)


def cmake_finds_it(prefix, folder):
    build = folder / "cmake"
    run("cmake", "-S", EMBED, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_FLAGS={FLAGS}")
    run("cmake", "--build", build)
    check_program(build / "embed", folder)
    # Another minor version is another interface.
    wanted = folder / "wanted"
    wanted.mkdir()
    (wanted / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(wanted LANGUAGES CXX)\n"
        "find_package(weft 99.0)\nif(weft_FOUND)\n  message(FATAL_ERROR found)\nendif()\n")
    run("cmake", "-S", wanted, "-B", wanted / "build", f"-DCMAKE_PREFIX_PATH={prefix}")


def pkg_config_finds_it(prefix, folder):
    places = {str(path.parent) for path in prefix.rglob("weft.pc")}
    expect(len(places) == 1, f"weft.pc in {places}")
    place = {"PKG_CONFIG_PATH": min(places)}
    # No public header needs another library's, so its macros are nobody's business.
    flags = run("pkg-config", "--cflags", "--static", "weft", variables=place).split()
    expect(len(flags) == 1 and flags[0].startswith("-I"), f"flags {flags}")
    wanted = run("pkg-config", "--cflags", "--static", "weft-swarm", variables=place).split()
    expect(wanted == flags, f"flags of weft-swarm: {wanted}")
    number = run("pkg-config", "--modversion", "weft", variables=place).strip()
    expect(run(prefix / "bin/weft", "version").strip() == f"weft {number}", f"version {number}")
    copy = folder / "make"
    copy.mkdir()
    for name in ("main.cpp", "Makefile"):
        shutil.copy(EMBED / name, copy)
    run("make", folder=copy, variables={**place, "CXXFLAGS": FLAGS})
    check_program(copy / "embed", folder)


def cmake_builds_members(prefix, folder):
    build = folder / "members"
    run("cmake", "-S", MEMBER, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_FLAGS={FLAGS}")
    run("cmake", "--build", build)
    check_members(build / "member")


def pkg_config_builds_members(prefix, folder):
    copy = folder / "make-members"
    copy.mkdir()
    for name in ("main.cpp", "Makefile"):
        shutil.copy(MEMBER / name, copy)
    place = str(next(prefix.rglob("weft-swarm.pc")).parent)
    run("make", folder=copy, variables={"PKG_CONFIG_PATH": place, "CXXFLAGS": FLAGS})
    check_members(copy / "member")


def main(build):
    failed = 0
    tests = (installed_files_are_whole, cmake_finds_it, pkg_config_finds_it, cmake_builds_members,
             pkg_config_builds_members)
    with tempfile.TemporaryDirectory(prefix="weft-install-") as name:
        folder = pathlib.Path(name)
        run("cmake", "--install", build, "--prefix", folder / "prefix")
        for test in tests:
            try:
                test(folder / "prefix", folder)
                print(f"ok   {test.__name__}", flush=True)
            except AssertionError as problem:
                failed += 1
                print(f"FAIL {test.__name__}: {problem}", flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
