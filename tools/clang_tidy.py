#!/usr/bin/env python3
"""Runs clang-tidy over the sources, several sources at once, and stops at a time limit.

usage: tools/clang_tidy.py [--minutes M] [--build DIR] [--jobs N] [--batch N] [FILE ...]
Sources with the same flags are included into one batch, so that clang-tidy goes through the
standard library once for all of them; what two of them define is renamed, and sources that do not
compile together even so are looked at alone.
Files changed since the last commit come first, then the others in an order drawn from the commit:
where time runs out, each commit looks at another part. A file whose text, headers and
configuration are those of an earlier clean run is not run again (build/clang-tidy-clean remembers
them). Prints the findings, then, where time ran out, how many files were left, then
"N passed, N failed".
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
import layers
import turns

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Flags that g++ knows and clang does not, and the reverse, are no findings.
EXTRA = ["-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument", "-ferror-limit=0"]
HEADER = re.compile(r'^#include (?:<[^>]+>|"[^"]+\.h")$', re.MULTILINE)
FINDING = re.compile(r"^(/[^:\n]+):\d+:\d+: (?:error|warning): .*\[([^\]]+)\]$", re.MULTILINE)
# What a source defines at the margin, where our format puts the contents of namespaces.
TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)")
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union|using)\s+(\w+)\s*(?:[{:=]|final)")
VALUE = re.compile(r"^(?:static |inline |constexpr |const )+.*?\b(\w+)(?:\[[^=]*\])?\s*(?:=|\{|;)")
FUNCTION = re.compile(r"^\w[^(=]*?([\w:~]+)\(")
MACRO = re.compile(r"^\s*#\s*define\s+(\w+)")


def defined_names(path):
    """(names that may be renamed, names that may not) of what a source defines."""
    free, fixed = set(), set()
    for line in path.read_text(errors="replace").splitlines():
        test, macro = TEST.match(line), MACRO.match(line)
        if test or macro:
            fixed.add(".".join((test or macro).groups()))
            continue
        found = TYPE.match(line) or VALUE.match(line) or FUNCTION.match(line)
        if found and "::" not in found.group(1):
            free.add(found.group(1))
    return free, fixed


def make_batches(files, flags, size):
    """Lists of files of one folder, with one set of flags and no fixed name defined twice."""
    batches = []  # (folder and flags, fixed names, files)
    for path in files:
        folder = layers.place_of(path.relative_to(ROOT))[0] or path.parent
        kind, (_, fixed) = (folder, flags[path]), defined_names(path)
        for of_kind, taken, batch in batches:
            if of_kind == kind and len(batch) < size and not taken & fixed:
                batch.append(path)
                taken |= fixed
                break
        else:
            batches.append((kind, fixed, [path]))
    return [batch for _, _, batch in batches]


def batch_text(batch):
    """One source that includes the headers of all, then each with names of its own."""
    headers = {line for path in batch for line in HEADER.findall(path.read_text(errors="replace"))}
    lines, taken = sorted(headers), set()
    for number, path in enumerate(batch):
        free, _ = defined_names(path)
        again = sorted(free & taken)
        taken |= free
        # Renamed in the case that the configuration wants of it.
        lines += [f"#define {name} {name}{'Z' if name[0].isupper() else '_z'}{number}"
                  for name in again]
        lines += [f'#include "{path}"', *(f"#undef {name}" for name in again)]
    return "\n".join(lines) + "\n"


def run_clang_tidy(batch, flags):
    """(exit code, findings) of the files of a batch, which have the same flags."""
    source, checks = batch[0], []
    if len(batch) > 1:
        name = hashlib.sha256("\n".join(map(str, batch)).encode()).hexdigest()[:16]
        source = ROOT / "build" / "clang-tidy-batches" / f"{name}.cpp"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(batch_text(batch))
        checks = ["--checks=-bugprone-suspicious-include"]
    ran = subprocess.run(["clang-tidy-14", "--quiet", *checks, str(source), "--", *flags, *EXTRA],
                         cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=False)
    return ran.returncode, ran.stdout.strip()


def look_at(batch, flags, clean):
    """{file: its findings, "" if clean} of a batch; marks clean files in the folder `clean`."""
    code, text = run_clang_tidy(batch, flags)
    findings = FINDING.findall(text)
    if len(batch) > 1:
        broken = {pathlib.Path(path) for path, check in findings
                  if check == "clang-diagnostic-error"}
        if broken:
            alone = [path for path in batch if path in broken] or batch
            together = [path for path in batch if path not in alone]
            result = look_at(together, flags, clean) if together else {}
            for path in alone:
                result.update(look_at([path], flags, clean))
            return result
    if code == 0:
        for path in batch:
            (clean / turns.fingerprint(path, ROOT / ".clang-tidy")).touch()
        return dict.fromkeys(batch, "")
    guilty = [path for path in batch if str(path) in {path for path, _ in findings}] or batch[:1]
    text = text or f"{batch[0]}: clang-tidy ended with exit code {code}"
    return {path: text if path == guilty[0] else "(above)" if path in guilty else ""
            for path in batch}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--batch", type=int, default=12, help="files looked at together, at most")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if not (options.build / "compile_commands.json").exists():
        print(f"{options.build} is not configured: build first")
        print("0 passed, 1 failed")
        return 1
    flags = {source.path: source.flags for source in compile_flags.sources(options.build)}
    files = [path.resolve() for path in options.files] or sorted(flags)
    unknown = [path for path in files if path not in flags]
    for path in unknown:
        print(f"{path}: the build does not compile it")
    clean = ROOT / "build" / "clang-tidy-clean"
    clean.mkdir(parents=True, exist_ok=True)
    unseen = [path for path in files if path in flags and not (clean / turns.fingerprint(path, ROOT / ".clang-tidy")).exists()]
    deadline = time.monotonic() + 60 * options.minutes
    left, failed = 0, len(unknown)

    def work(batch):
        if time.monotonic() > deadline:
            return None
        return look_at(batch, flags[batch[0]], clean)
    batches = turns.by_turn(make_batches(unseen, flags, options.batch))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for batch, result in zip(batches, pool.map(work, batches)):
            if result is None:
                left += len(batch)
                continue
            texts = [text for text in result.values() if text]
            failed += len(texts)
            print("\n".join(text for text in texts if text != "(above)"), end="\n" * bool(texts),
                  flush=True)
    if left:
        print(f"time is over: {len(files) - left} of {len(files)} files were looked at")
    print(f"{len(files) - failed - left} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
