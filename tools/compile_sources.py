#!/usr/bin/env python3
"""Compiles sources otherwise than the build does, which compiles them in batches (syntax only).

usage: tools/compile_sources.py alone [--minutes M] [--build DIR]
       tools/compile_sources.py together [--minutes M] [--build DIR]
  alone     each source with its own includes and nothing else: whether it has all it needs. Changed
            files come first, then the others in an order drawn from the commit; where the minutes
            run out, each commit looks at another part. A source that was compiled before and has
            not changed, nor a header of ours below it, is not compiled again.
  together  all sources of each target's batches as one: whether two of them give one name to
            different things. If not, every way to divide them into batches compiles. Targets with
            changed files come first, then the others in an order drawn from the commit, until the
            minutes run out. A target is not compiled again while none of its sources changes, nor
            a header of ours below them.
Prints what the compiler says, then "N passed, N failed", a check a source or target.
"""
import argparse
import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import subprocess
import sys
import time

import compile_flags
import turns

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOGETHER = ROOT / "build" / "compiled-together"
LINES_SHOWN = 12


def compile_source(source, flags, text=None):
    """What g++ says of a source ("-": of the text), "" if it compiles."""
    ran = subprocess.run(["g++", "-fsyntax-only", "-fdiagnostics-color=never", *flags, "-x", "c++",
                          source], cwd=ROOT, input=text, text=True, capture_output=True,
                         check=False)
    if ran.returncode == 0:
        return ""
    said = [line for line in ran.stderr.splitlines() if ": error: " in line] or [ran.stderr]
    return "\n".join(said[:LINES_SHOWN])


def compile_together(build, jobs, minutes):
    """[(target, what was wrong)] of the targets with batches there was time for, and how many were
    left out. Tests' are not among them: each of their sources has a namespace of its own."""
    batched = [one for one in compile_flags.sources(build)
               if one.batched and not one.target.endswith("_test")]
    groups = [list(group) for _, group in itertools.groupby(batched, lambda one: one.target)]
    by_path = {group[0].path: group for group in groups}
    deadline = time.monotonic() + 60 * minutes

    def work(paths):
        if time.monotonic() > deadline:
            return None
        return compile_as_one(by_path[paths[0]])
    turn = turns.by_turn([[one.path for one in group] for group in groups])
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        said = list(zip(turn, pool.map(work, turn)))
    done = [(by_path[paths[0]][0].target, words) for paths, words in said if words is not None]
    return done, len(said) - len(done)


def compile_as_one(group):
    """What g++ says of sources of one target, "" if they compile as one, now or before."""
    TOGETHER.mkdir(parents=True, exist_ok=True)
    flags = hashlib.sha256(repr(group[0].flags).encode()).hexdigest()[:8]
    mark = TOGETHER / f"{turns.fingerprint_of_all([one.path for one in group])}-{flags}"
    if mark.exists():
        return ""
    said = compile_source("-", group[0].flags,
                          "".join(f'#include "{one.path}"\n' for one in group))
    if not said:
        mark.touch()
    return said


def compile_alone(build, jobs, minutes):
    """[(source, what was wrong)] of those there was time for, and how many were left out."""
    by_path = {one.path: one for one in compile_flags.sources(build) if one.path.suffix == ".cpp"}
    seen = ROOT / "build" / "compiled-alone"
    seen.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 60 * minutes

    def work(batch):
        path, = batch
        mark = seen / turns.fingerprint(path)
        if mark.exists():
            return ""
        if time.monotonic() > deadline:
            return None
        said = compile_source(path, by_path[path].flags)
        if not said:
            mark.touch()
        return said
    batches = turns.by_turn([[path] for path in by_path])
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        said = list(zip(batches, pool.map(work, batches)))
    done = [(batch[0].relative_to(ROOT), words) for batch, words in said if words is not None]
    return done, len(said) - len(done)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("how", choices=("alone", "together"))
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    if not (options.build / "compile_commands.json").exists():
        print(f"{options.build} is not configured: build first")
        print("0 passed, 1 failed")
        return 1
    compile_some = compile_together if options.how == "together" else compile_alone
    results, left = compile_some(options.build, options.jobs, options.minutes)
    for name, said in results:
        if said:
            print(f"{name}:\n{said}")
    if left:
        what = "targets" if options.how == "together" else "sources"
        print(f"time is over: {len(results)} of {len(results) + left} {what} were compiled")
    failed = sum(1 for _, said in results if said)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
