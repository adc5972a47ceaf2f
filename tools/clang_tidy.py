#!/usr/bin/env python3
"""Runs clang-tidy over the sources in two passes; the second may stop at a time limit.

usage: tools/clang_tidy.py [--rules-minutes M] [--minutes M] [--nodes N] [--build DIR] [--jobs N]
                           [--pass rules|paths] [FILE or FOLDER ...]
  rules   every check of .clang-tidy but clang-analyzer-*: the sources of a target as one, so that
          those that do not compile together are found, too; with the analysis of threads
          (src/weft/base/thread_safety.h)
  paths   clang-analyzer-*, which follows the paths through each function: N nodes of them at most
Either may have an end. Files changed since the last commit, or in it, come first, then the others
in an order drawn from the commit: where time runs out, each commit looks at another part. The rules
look at the folders that have changed files whatever the time.
Sources that the build compiles in batches are read together here, too, so that clang-tidy goes
through the standard library once for many. A file whose text, headers and configuration are
those of an earlier clean run is not run again (build/clang-tidy-clean remembers them).
Prints the findings, then, where time ran out, how many files were left, then
"N passed, N failed", a check a file and pass.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time

import compile_flags
import turns

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGURATION = ROOT / ".clang-tidy"
CLEAN = ROOT / "build" / "clang-tidy-clean"
BATCHES = ROOT / "build" / "clang-tidy-batches"
# Flags that g++ knows and clang does not, and the reverse, are no findings.
EXTRA = ["-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument", "-ferror-limit=0"]
# clang's own warnings that .clang-tidy lets through.
WARNINGS = ["-Wthread-safety", "-Wthread-safety-beta", "-Wreserved-identifier"]
# Files that are read together, at most: all of a target, or few enough to stop in time.
FILES_TOGETHER = {"rules": 1000, "paths": 20}
# clang's own bound for a function is 225,000; a tenth of it takes a fifth of the time.
NODES = 20000
FINDING = re.compile(r"^(/[^:\n]+):\d+:\d+: (?:error|warning): .*\[([^\]]+)\]$", re.MULTILINE)


def pass_words(name, nodes):
    """(value of --checks, flags of the compiler) of a pass."""
    if name == "rules":
        return "-clang-analyzer-*", WARNINGS
    config = ["-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={nodes}"]
    return "-*,clang-analyzer-*,-clang-analyzer-optin.performance.Padding", config


def batch_source(batch):
    """A source that includes those of a batch. clang's analyzer goes through what a source includes
    only if the source's name begins so."""
    name = hashlib.sha256("\n".join(map(str, batch)).encode()).hexdigest()[:16]
    source = BATCHES / f"UnifiedSource_{name}.cpp"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("".join(f'#include "{path}"\n' for path in batch))
    return source


def run_clang_tidy(batch, flags, words):
    """(exit code, findings) of the files of a batch, which have the same flags."""
    checks, config = words
    source = batch_source(batch) if len(batch) > 1 else batch[0]
    if len(batch) > 1:
        checks += ",-bugprone-suspicious-include"
    ran = subprocess.run(["clang-tidy-14", "--quiet", f"--config-file={CONFIGURATION}",
                          f"--checks={checks}", str(source), "--",
                          *(flag for flag in flags if flag != "-Werror"), *EXTRA, *config], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=False)
    return ran.returncode, ran.stdout.strip()


def mark(path, words):
    """The file that says that `path` was clean."""
    digest = hashlib.sha256(repr(words).encode()).hexdigest()[:8]
    return CLEAN / f"{turns.fingerprint(path, CONFIGURATION)}-{digest}"


def look_at(batch, flags, words):
    """{file: its findings, "" if clean} of a batch; marks clean files."""
    code, text = run_clang_tidy(batch, flags, words)
    findings = FINDING.findall(text)
    if len(batch) > 1 and any(check == "clang-diagnostic-error" for _, check in findings):
        result = {}  # what does not compile together is looked at alone
        for path in batch:
            result.update(look_at([path], flags, words))
        if not any(result.values()):
            result[batch[0]] = f"{text}\n{batch[0]}: does not compile with others of its target"
        return result
    if code == 0:
        for path in batch:
            mark(path, words).touch()
        return dict.fromkeys(batch, "")
    guilty = [path for path in batch if str(path) in {path for path, _ in findings}] or batch[:1]
    text = text or f"{batch[0]}: clang-tidy ended with exit code {code}"
    return {path: text if path == guilty[0] else "(above)" if path in guilty else ""
            for path in batch}


def size_of(batch):
    return sum(path.stat().st_size for path in batch)


def run_pass(name, sources, options):
    """(passed, failed, left) files of one pass."""
    words = pass_words(name, options.nodes)
    minutes = options.minutes if name == "paths" else options.rules_minutes
    CLEAN.mkdir(parents=True, exist_ok=True)
    flags = {source.path: source.flags for source in sources}
    unseen = [source for source in sources if not mark(source.path, words).exists()]
    batches = [[source.path for source in batch]
               for batch in compile_flags.batches(unseen, FILES_TOGETHER[name])]
    # Where all are run, the longest come first, so that no core waits for one in the end.
    batches = turns.by_turn(batches) if minutes else sorted(batches, key=size_of, reverse=True)
    deadline = time.monotonic() + 60 * minutes if minutes else float("inf")
    changed = turns.changed_files() if name == "rules" else ()
    always = {turns.folder_of(path) for path in changed}
    failed, left, seen = 0, 0, set()

    def work(batch):
        if time.monotonic() > deadline and not always & set(map(turns.folder_of, batch)):
            return None
        return look_at(batch, flags[batch[0]], words)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for batch, result in zip(batches, pool.map(work, batches)):
            if result is None:
                left += len(batch)
                continue
            texts = [text for text in result.values() if text]
            failed += len(texts)
            for text in texts:
                if text != "(above)" and text not in seen:
                    print(text, flush=True)
                    seen.add(text)
    return len(sources) - failed - left, failed, left


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=0.0, help="of the pass `paths`; 0: no end")
    parser.add_argument("--rules-minutes", type=float, default=0.0,
                        help="of the pass `rules`; 0: no end")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--pass", dest="passes", action="append", choices=("rules", "paths"))
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if not (options.build / "compile_commands.json").exists():
        print(f"{options.build} is not configured: build first")
        print("0 passed, 1 failed")
        return 1
    known = {source.path: source for source in compile_flags.sources(options.build)
             if source.path.suffix == ".cpp"}
    files = {path for given in options.files for path in known
             if path.is_relative_to(given.resolve())} or set(known)
    unknown = [given for given in options.files
               if not any(path.is_relative_to(given.resolve()) for path in known)]
    for path in unknown:
        print(f"{path}: the build compiles nothing of it")
    sources = [source for path, source in known.items() if path in files]
    all_passed, all_failed = 0, len(unknown)
    for name in options.passes or ("rules", "paths"):
        began = time.monotonic()
        passed, failed, left = run_pass(name, sources, options)
        out = f"; time is over: {left} were left" if left else ""
        print(f"{name}: {passed + failed} of {len(sources)} files were looked at in "
              f"{time.monotonic() - began:.0f} s{out}", flush=True)
        all_passed, all_failed = all_passed + passed, all_failed + failed
    print(f"{all_passed} passed, {all_failed} failed")
    return 1 if all_failed or not all_passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
