#!/usr/bin/env python3
"""Holds which headers of the learning column are Weft's interface.

usage: tools/public_headers.py [--root DIR]

Public is what src/weft/weft.h names, and what op/ops.h and nn/layers.h name, which it names itself;
and what src/weft/swarm.h names, which is for programs that train among peers.
Every other header of the column's folders is in src/weft/internal_headers.txt, a line a folder, so
whoever adds a header decides. Also: the pages for people who write C++, and the examples, include
public headers only. Prints FILE: what, then "N passed, N failed", a check a header or page.
"""
import argparse
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#include ["<](weft/[^">]+)[">]', re.MULTILINE)
# Headers that are lists of others.
LISTS = ("weft/weft.h", "weft/op/ops.h", "weft/nn/layers.h", "weft/swarm.h")
# Public without weft.h: it needs the headers of a library that programs need not have.
BESIDE = ("weft/autograd/format.h",)
FOLDERS = ("base", "array", "kernel", "autograd", "op", "graph", "data", "nn", "optim", "io", "swarm")
INTERNAL = "weft/internal_headers.txt"


def public_headers(source):
    """What weft.h and swarm.h name, themselves and through the lists that they name."""
    found = {*LISTS, *BESIDE}
    for header in LISTS:
        found.update(INCLUDE.findall((source / header).read_text()))
    return found


def headers_below(source, folder):
    """The paths of a folder's headers that are not for its tests alone."""
    return {str(path.relative_to(source)) for path in (source / "weft" / folder).rglob("*.h")
            if not path.name.startswith("test_")}


def internal_headers(source):
    """The paths that internal_headers.txt lists; "*" stands for all of a folder."""
    found = set()
    for line in (source / INTERNAL).read_text().splitlines():
        folder, _, names = line.partition(":")
        if line.startswith("#") or not names:
            continue
        for name in names.split():
            found.update([f"weft/{folder}/{name}.h"] if name != "*" else
                         headers_below(source, folder))
    return found


def check(root):
    """[what is wrong with each header and page, "" if nothing]."""
    source = root / "src"
    public, internal = public_headers(source), internal_headers(source)
    there = set().union(*(headers_below(source, folder) for folder in FOLDERS))
    # A header of another folder is public, or nobody's business.
    there |= {header for header in public - {*LISTS} if (source / header).is_file()}
    results = []
    for header in sorted(there | internal | (public - set(LISTS))):
        if header not in there:
            results.append(f"src/{header}: no such header, but a list names it")
        elif (header in public) == (header in internal):
            results.append(f"src/{header}: name it in src/weft/weft.h if others may include it, "
                           f"else in src/{INTERNAL}; not in both")
        else:
            results.append("")
    programs = [*sorted((root / "examples").rglob("*.cpp")), *sorted((root / "docs").glob("*.md"))]
    for path in programs:
        strangers = [header for header in INCLUDE.findall(outside_text(path)) if header not in public]
        results.append(f"{path.relative_to(root)}: includes what is not public: "
                       f"{', '.join(strangers)}" if strangers else "")
    return results


def outside_text(path):
    """The text without blocks marked `file`, which are sources of this repository."""
    return re.sub(r"^```cpp file\n.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    results = check(parser.parse_args(arguments).root.resolve())
    for fault in filter(None, results):
        print(fault)
    failed = sum(1 for fault in results if fault)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
