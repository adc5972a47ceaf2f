#!/usr/bin/env python3
"""Checks with clang that what threads share is touched under its lock, or by the thread that owns it.

usage: tools/thread_safety.py [--build DIR] [--jobs N] [--batch N] [FILE ...]
Runs clang's thread-safety analysis (src/weft/base/thread_safety.h has its words) over the sources
of FOLDERS that a configured build compiles, or over the given ones. Sources that the build puts
into batches are read in batches here, too, so that clang goes through the headers once for many.
Prints what clang finds, then "N passed, N failed", a check a source or batch.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

import compile_flags
from layers import place_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("base", "net", "collective", "gossip")
CLANGS = ("clang++", *(f"clang++-{version}" for version in range(14, 31)))
# Other warnings are g++'s business; of its flags clang need not know all.
FLAGS = ("-fsyntax-only", "-Wno-everything", "-Werror=thread-safety", "-Werror=thread-safety-beta",
         "-fno-color-diagnostics", "-ferror-limit=0")


def find_clang():
    """The name of a clang++ that is installed, or None."""
    return next((name for name in CLANGS if shutil.which(name)), None)


def findings(clang, batch):
    """What clang says against sources that have the same flags, "" if nothing."""
    text = "".join(f'#include "{source.path}"\n' for source in batch)
    ran = subprocess.run([clang, *batch[0].flags, *FLAGS, "-x", "c++", "-"], cwd=ROOT, input=text,
                         text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if ran.returncode == 0:
        return ""
    return ran.stdout.strip() or f"{batch[0].path}: {clang} ended with exit code {ran.returncode}"


def wanted(sources, files):
    """The sources of the given files, else those of FOLDERS."""
    if files:
        return [source for source in sources if source.path in files]
    return [source for source in sources if source.path.suffix == ".cpp"
            and place_of(source.path.relative_to(ROOT))[0] in FOLDERS]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--batch", type=int, default=20, help="sources read together, at most")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args(arguments)
    clang = find_clang()
    if clang is None or not (options.build / "compile_commands.json").exists():
        print(f"{options.build} is not configured: build first" if clang else "there is no clang++")
        print("0 passed, 1 failed")
        return 1
    sources = wanted(compile_flags.sources(options.build),
                     {path.resolve() for path in options.files})
    # The longest first, so that no core waits for it in the end.
    batches = sorted(compile_flags.batches(sources, options.batch), key=len, reverse=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        said = [text for text in pool.map(lambda batch: findings(clang, batch), batches) if text]
    # A header's fault is found by every batch that includes it.
    print("\n".join(dict.fromkeys(said)), end="\n" * bool(said))
    print(f"{len(batches) - len(said)} passed, {len(said)} failed")
    return 1 if said or not batches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
