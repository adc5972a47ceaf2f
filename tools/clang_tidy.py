#!/usr/bin/env python3
"""Runs clang-tidy over the sources, two at a time, and stops at a time limit.

usage: tools/clang_tidy.py [--minutes M] [--build DIR] [FILE ...]
Files that changed last come first; a file whose text, headers and configuration are those of an
earlier clean run is not run again (build/clang-tidy-clean remembers them). Prints the findings,
then, where time ran out, how many files were left, then "N passed, N failed".
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Flags that g++ knows and clang does not, and the reverse, are no findings.
EXTRA = ["--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-Wno-ignored-optimization-argument"]
INCLUDE = re.compile(r'^\s*#\s*include\s*"(weft/[^"]+)"', re.MULTILINE)


def compiled_sources(build):
    """The sources of this repository that the build compiles, the last changed first."""
    entries = json.loads((build / "compile_commands.json").read_text())
    files = {pathlib.Path(entry["directory"], entry["file"]).resolve() for entry in entries}
    ours = [path for path in files if path.is_relative_to(ROOT) and path.exists()
            and not path.is_relative_to(ROOT / "build")]
    return sorted(ours, key=lambda path: (-path.stat().st_mtime, path))


def fingerprint(path):
    """Hash of a source, of all headers of ours below it, and of the configuration."""
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    seen, waiting = set(), [path]
    while waiting:
        current = waiting.pop()
        if current in seen or not current.exists():
            continue
        seen.add(current)
        text = current.read_text(errors="replace")
        waiting += [ROOT / "src" / name for name in INCLUDE.findall(text)]
    for current in sorted(seen):
        digest.update(str(current).encode() + b"\0" + current.read_bytes())
    return digest.hexdigest()


def check(path, build, deadline, clean):
    """Findings of one file as text, "" if clean, None if the time was over before it began."""
    mark = clean / fingerprint(path)
    if mark.exists():
        return ""
    if time.monotonic() > deadline:
        return None
    command = ["clang-tidy-14", "--quiet", "-p", str(build), *EXTRA, str(path)]
    ran = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=False)
    if ran.returncode == 0:
        mark.touch()
        return ""
    return ran.stdout.strip() or f"{path}: clang-tidy ended with exit code {ran.returncode}"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if not (options.build / "compile_commands.json").exists():
        print(f"{options.build} is not configured: build first")
        print("0 passed, 1 failed")
        return 1
    clean = ROOT / "build" / "clang-tidy-clean"
    clean.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 60 * options.minutes
    files = [path.resolve() for path in options.files] or compiled_sources(options.build)
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for text in pool.map(lambda path: check(path, options.build, deadline, clean), files):
            results.append(text)
            if text:
                print(text, flush=True)
    left = results.count(None)
    failed = sum(1 for text in results if text)
    if left:
        print(f"time is over: {left} of {len(files)} files were not looked at")
    print(f"{len(files) - failed - left} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
