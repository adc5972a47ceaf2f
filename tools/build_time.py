#!/usr/bin/env python3
"""Says where the time of a build went, or holds it to a bound.

usage: tools/build_time.py [--build DIR] [--top N] [--check] [--since T] [--trace FILE]
By default: the seconds of every folder and of the slowest steps, from ninja's log of DIR (by default
build/release). Steps that ran side by side count in full, so the sum is about processor time.
  --check  fails if one step took more than SHARE_MAX of the build. Nothing is said of a build whose
           larger part was compiled before T (--since, seconds since 1970), or by ccache.
  --trace  compiles FILE (a source, or a batch below DIR) with clang++-14 -ftime-trace instead, and
           says which headers it read and which templates it made for how long
Ends with "N passed, N failed" where something is checked.
"""
import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import compile_flags

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A step that takes more of the build's processor time than this keeps other cores waiting at its end.
SHARE_MAX = 0.06
# A build of fewer steps was not a whole one.
STEPS_MIN = 100


def steps(build):
    """{output: (seconds, when it was written)} of the last time that each step ran."""
    found = {}
    for line in (build / ".ninja_log").read_text().splitlines():
        if line.startswith("#"):
            continue
        begin, end, written, output, _ = line.split("\t")
        if output.endswith((".o", ".gch")):
            found[output] = ((int(end) - int(begin)) / 1000, int(written) / 1e9)
    return found


def folder_of(output):
    parts = pathlib.PurePath(output).parts
    return parts[2] if parts[:2] == ("src", "weft") else parts[0]


def report(build, top):
    taken = {output: seconds for output, (seconds, _) in steps(build).items()}
    folders = collections.Counter()
    for output, seconds in taken.items():
        folders[folder_of(output)] += seconds
    total = sum(taken.values()) or 1
    print(f"{total:8.1f} s  {len(taken)} steps")
    for folder, seconds in folders.most_common():
        count = sum(1 for output in taken if folder_of(output) == folder)
        print(f"{seconds:8.1f} s  {folder} ({count} steps, {100 * seconds / total:.0f} %)")
    print("the slowest:")
    for output, seconds in sorted(taken.items(), key=lambda pair: -pair[1])[:top]:
        print(f"{seconds:8.1f} s  {output} ({100 * seconds / total:.1f} %)")
    return 0


def check(build, since):
    taken = steps(build)
    fresh = {output: seconds for output, (seconds, written) in taken.items() if written >= since}
    if shutil.which("ccache") or len(fresh) < max(STEPS_MIN, len(taken) // 2):
        print("not looked at: most of the build was there already, or came out of a cache")
        print("1 passed, 0 failed")
        return 0
    total = sum(fresh.values())
    slow = {output: seconds for output, seconds in fresh.items() if seconds > SHARE_MAX * total}
    for output, seconds in sorted(slow.items(), key=lambda pair: -pair[1]):
        print(f"{output}: {seconds:.1f} s are {100 * seconds / total:.1f} % of the build, "
              f"limit {100 * SHARE_MAX:.0f} %: divide the source, or keep a library out of it")
    print(f"{len(fresh) - len(slow)} passed, {len(slow)} failed")
    return 1 if slow else 0


def trace(build, file):
    flags = next((source.flags for source in compile_flags.sources(build)
                  if source.path == file.resolve() or f'"{source.path}"' in file.read_text()), None)
    if flags is None:
        raise SystemExit(f"{file}: expected a source or batch that {build} compiles")
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out.o"
        ran = subprocess.run(["clang++-14", "-O1", "-w", "-ftime-trace", *flags, "-c", str(file),
                              "-o", str(out)], check=False)
        if ran.returncode != 0:
            return ran.returncode
        events = json.loads(out.with_suffix(".json").read_text())["traceEvents"]
    for name, what in (("Source", "headers, with what they include"),
                       ("InstantiateFunction", "functions made of templates"),
                       ("InstantiateClass", "classes made of templates")):
        sums = collections.Counter()
        for event in events:
            if event["name"] == name:
                detail = event["args"]["detail"]
                sums[detail if name == "Source" else detail.split("<")[0]] += event["dur"] / 1e6
        print(f"{what}:")
        for detail, seconds in sums.most_common(20):
            print(f"{seconds:8.2f} s  {detail}")
    return 0


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--since", type=float, default=0.0)
    parser.add_argument("--trace", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if options.trace:
        return trace(options.build, options.trace)
    if not (options.build / ".ninja_log").exists():
        print(f"{options.build} has no log of ninja: build first")
        print("0 passed, 1 failed")
        return 1
    return check(options.build, options.since) if options.check else report(options.build,
                                                                            options.top)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
