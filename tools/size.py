#!/usr/bin/env python3
"""Prints how large each folder is, and each part of one: files, lines of code, comment and test, tokens a line.

usage: tools/size.py
Size is watched, not capped: docs/adr/0009-line-budget.md.
"""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKEN = re.compile(r"\w+|[^\w\s]")


def tracked():
    listing = subprocess.run(["git", "-C", ROOT, "ls-files"], text=True, capture_output=True,
                             check=True)
    return [pathlib.PurePath(name) for name in listing.stdout.splitlines()]


def folder_of(path):
    return str(path.parent) if path.parts[:2] == ("src", "weft") else path.parts[0]


def main():
    rows = {}
    for path in tracked():
        if path.suffix not in (".h", ".cpp", ".py", ".sh", ".cmake") or len(path.parts) < 2:
            continue
        row = rows.setdefault(folder_of(path), dict(files=0, code=0, comment=0, test=0, tokens=0))
        row["files"] += 1
        is_test = path.stem.endswith("_test")
        for line in (ROOT / path).read_text(errors="replace").splitlines():
            text = line.strip()
            if not text:
                continue
            kind = "comment" if text.startswith(("//", "#!", "# ")) else "code"
            row["test" if is_test else kind] += 1
            if not is_test and kind == "code":
                row["tokens"] += len(TOKEN.findall(text))
    print(f"{'folder':<28} {'files':>6} {'code':>7} {'comment':>8} {'test':>7} {'tokens/line':>12}")
    total = dict(files=0, code=0, comment=0, test=0, tokens=0)
    for name, row in sorted(rows.items()):
        for key, value in row.items():
            total[key] += value
        show(name, row)
    show("all", total)


def show(name, row):
    each = row["tokens"] / row["code"] if row["code"] else 0
    print(f"{name:<28} {row['files']:>6} {row['code']:>7} {row['comment']:>8} {row['test']:>7} "
          f"{each:>12.1f}")


if __name__ == "__main__":
    main()
