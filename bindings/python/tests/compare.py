#!/usr/bin/env python3
"""Random calls (cases/) in Weft and in PyTorch, as many as one likes: what differs, what Weft
refuses and PyTorch computes, and the other way round, each kind with its first case.

usage: PYTHONPATH=build/release/python bindings/python/tests/compare.py [--parts a,b] [--cases N]
       [--seed N] [--second] [--show KINDS] [--only N]
  --second     second derivatives, in float64, instead of values and first ones
  --show a,b   the kinds that are listed (cases/__init__.py, compare(), has them): by default
               different,refused; others are rounding,deliberate,known,accepted
  --only N     the case of that number alone, in full

Exit code 1 if anything differs or is refused for a reason that cases/ does not know.
"""
import argparse
import collections
import re
import sys
import time

import torch

import cases
import weft


def kind_of(case, what):
    """What cases that are likely to have one cause have in common."""
    name = re.split(r"[ (\[]", case.text)[0]
    return name, re.sub(r"[-+]?\d[\d.e+-]*|\[.*?\]|\(.*?\)", "#", what)[:70]


def compare_part(part, generate, options):
    start, counts, first = time.monotonic(), collections.Counter(), {}
    how = cases.second if options.second else cases.run
    numbers = range(options.cases) if options.only is None else [options.only]
    for number in numbers:
        case = cases.draw(part, generate, options.seed, number)
        kind, what = cases.compare(case, weft, torch, how)
        counts[kind] += 1
        if kind in options.show:
            key = (kind, *kind_of(case, what))
            first.setdefault(key, [0, number, case.text, what])[0] += 1
        if options.only is not None:
            print(case.text, kind, what, case.arrays, sep="\n")
    print(f"{part}: " + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())) +
          f" ({time.monotonic() - start:.0f} s)")
    for (kind, *_), (count, number, text, what) in sorted(first.items()):
        print(f"  {kind} {count} times, first --parts {part} --seed {options.seed} --only {number}"
              f"\n    {text[:300]}\n    {what[:300]}")
    sys.stdout.flush()
    return counts["different"] + counts["refused"]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--parts", default=",".join(cases.all_parts()))
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", type=int)
    parser.add_argument("--second", action="store_true")
    parser.add_argument("--show", default="different,refused")
    options = parser.parse_args()
    options.show = options.show.split(",")
    torch.set_num_threads(1)
    print(f"seed {options.seed}, weft {weft.__version__}, torch {torch.__version__}")
    parts = cases.all_parts()
    bad = sum(compare_part(part, parts[part], options) for part in options.parts.split(","))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
