#!/usr/bin/env python3
"""Makes C++ of the snippets of documentation pages, and checks what they print.

usage: tools/snippets.py make PAGE.md SOURCE.cpp
       tools/snippets.py file PAGE.md SOURCE.cpp
       tools/snippets.py main SOURCE.cpp PAGE.md...
       tools/snippets.py check PAGE.md PROGRAM

The page's ```cpp blocks, in order, are the body of one function; their #include lines come first,
then the blocks marked ```cpp global (functions, classes). All of it stands in a namespace of the
page's own. `main` writes the main() of a program of several pages, which runs the page it is given.
A block marked ```cpp file is a whole source, which `file` writes as it is. A comment
`// prints: TEXT` in a block says that the program prints this line next; `check` runs the program and compares all of them, and
the number of lines, with what it printed. Ends with "N passed, N failed", one check a line.
"""
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```cpp( global)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```cpp file\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTS = re.compile(r"// prints: ?(.*)$", re.MULTILINE)
SECONDS_MAX = 120


def blocks(page):
    """[(whether at namespace scope, text, line number of the text)]."""
    text = pathlib.Path(page).read_text(encoding="utf-8")
    return [(bool(found[1]), found[2], text.count("\n", 0, found.start(2)) + 1)
            for found in BLOCK.finditer(text)]


def name_of(page):
    return pathlib.Path(page).stem


def make(page, source_file):
    includes = ["#include <iostream>"]
    scopes = {True: [], False: []}
    for is_global, text, line in blocks(page):
        kept = []
        for source in text.splitlines():
            if source.startswith("#include"):
                includes.append(source)
                source = ""
            kept.append(source)
        scopes[is_global].append(f'#line {line} "{page}"\n' + "\n".join(kept))
    if not scopes[False]:
        raise SystemExit(f"{page}: expected at least one ```cpp block, found none")
    lines = [*dict.fromkeys(includes), f"namespace page_{name_of(page)} {{", "using namespace weft;",
             "namespace {", *scopes[True], "}  // namespace", "void run() {", *scopes[False], "}",
             "}  // namespace", ""]
    pathlib.Path(source_file).write_text("\n".join(lines), encoding="utf-8")
    return 0


def make_file(page, source_file):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    found = FILE.findall(text)
    if len(found) != 1:
        raise SystemExit(f"{page}: expected one ```cpp file block, found {len(found)}")
    line = text.count("\n", 0, text.index(found[0])) + 1
    pathlib.Path(source_file).write_text(f'#line {line} "{page}"\n{found[0]}', encoding="utf-8")
    return 0


def make_main(source_file, *pages):
    names = [name_of(page) for page in pages]
    lines = ["#include <cstdio>", "#include <cstring>",
             *(f"namespace page_{name} {{ void run(); }}" for name in names),
             "int main(int count, char** words) {",
             "  const char* const page = count == 2 ? words[1] : \"\";",
             *(f'  if (std::strcmp(page, "{name}") == 0) return page_{name}::run(), 0;'
               for name in names),
             f'  std::fprintf(stderr, "expected one of {" ".join(names)}, got \'%s\'\\n", page);',
             "  return 2;", "}", ""]
    pathlib.Path(source_file).write_text("\n".join(lines), encoding="utf-8")
    return 0


def check(page, program):
    wanted = [line.rstrip() for _, text, _ in blocks(page) for line in PRINTS.findall(text)]
    ran = subprocess.run([program, name_of(page)], text=True, check=False, timeout=SECONDS_MAX,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    got = [line.rstrip() for line in ran.stdout.splitlines()]
    failures = []
    if ran.returncode != 0:
        failures.append(f"exit code {ran.returncode}; printed {got[-5:]}")
    for number in range(max(len(wanted), len(got))):
        want = wanted[number] if number < len(wanted) else "(nothing more)"
        have = got[number] if number < len(got) else "(nothing more)"
        if want != have:
            failures.append(f"line {number + 1}: the page says {want!r}, the program {have!r}")
    for failure in failures:
        print(f"{page}: {failure}")
    print(f"{len(wanted) + 1 - min(len(failures), len(wanted) + 1)} passed, {len(failures)} failed")
    return 1 if failures or not wanted else 0


def main(arguments):
    verbs = {"make": make, "file": make_file, "main": make_main, "check": check}
    if len(arguments) < 3 or arguments[0] not in verbs:
        print(__doc__)
        return 2
    return verbs[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
