"""Random programs of views and writes in place: right, or refused by a rule of docs/autograd.md.

What is right say a reference that needs no graph (write_reference.py) and PyTorch where it is
installed; elsewhere what PyTorch 1.13 gave for some of the programs, as recorded by
record_programs.py. By hand, for other programs than the tests':

    PYTHONPATH=... python3 test_in_place_programs.py FIRST COUNT float64
"""
import collections
import json
import pathlib
import re
import sys
import unittest
import warnings

import numpy as np

import weft
import write_reference as reference
from oracle import torch
from write_programs import Refused, digest, program, run

RECORDED = pathlib.Path(__file__).with_name("recorded_programs.json")
TOLERANCE = {"float32": 2e-4, "float64": 1e-9}
TAME = {"float32": 20, "float64": 1e3}
# What docs/autograd.md says of refusals, by the words of the error.
RULES = {
    "leaf": "a leaf that requires grad cannot be written",
    "alias": "memory that no other tensor shows",
    "overlap": "memory of their own|one that repeats elements",
    "saved": r"\[backward\] expected the values that",
}


def rule_of(error):
    """The rule that an error follows; None if it follows none."""
    return next((rule for rule, words in RULES.items() if re.search(words, str(error))), None)


def without_refused(lines, leaves, dtype):
    """The program without the lines that Weft refuses, what it gives, and the rules."""
    rules, gone = [], set()
    while True:
        try:
            return lines, run(lines, leaves, weft, dtype), rules
        except Refused as refusal:
            rule = rule_of(refusal.error)
            missing = re.match(r"name '(\w+)' is not defined", str(refusal.error))
            if rule is None and not (missing and missing[1] in gone):
                raise AssertionError(f"no rule says: {type(refusal.error).__name__}: "
                                     f"{refusal.error}") from None
            if refusal.line == len(lines):
                return lines, None, rules + [rule]
            line = lines[refusal.line]
            made = re.match(r"(?:with T.no_grad\(\): )?(\w+) = ", line)
            if made:
                gone.add(made[1])
            if missing is None:
                rules.append(rule)
            if made and made[1] == "loss":
                return lines, None, rules
            lines = lines[:refusal.line] + lines[refusal.line + 1:]


def difference(got, want, tolerance):
    """None, or where two results of run() differ."""
    for name, value in want[0].items():
        scale = 1 + np.abs(value).max(initial=0)
        if got[0][name].shape != value.shape or not np.allclose(got[0][name], value, 0, tolerance * scale):
            return f"{name} is {got[0][name].tolist()}, not {value.tolist()}"
    for number, (mine, other) in enumerate(zip(got[1], want[1])):
        if not np.allclose(mine, other, 0, tolerance * (1 + np.abs(other).max(initial=0))):
            return f"gradient {number} is {mine.tolist()}, not {other.tolist()}"
    return None


def is_tame(result, dtype):
    """Whether rounding alone makes no difference that matters, in exp() and in the loss's sin()."""
    return all(np.isfinite(x).all() and np.abs(x).max(initial=0) < TAME[dtype]
               for part in (result[0].values(), result[1]) for x in part)


def accepts(library, lines, leaves, dtype):
    try:
        return library is not None and run(lines, leaves, library, dtype) is not None
    except Refused:
        return False


def check(seed, dtype):
    """What came of the program: a set of words. Raises AssertionError if Weft is wrong."""
    lines, leaves = program(seed)
    lines, mine, rules = without_refused(lines, leaves, dtype)
    words = {"refused: " + rule for rule in rules}
    if mine is None:
        return words | {"refused", "refused, PyTorch gives a gradient"
                        if accepts(torch, lines, leaves, dtype) else "refused by both"}
    words |= {"partly refused"} if rules else {"whole"}
    oracles = []
    try:
        reference.start()
        oracles.append(("reference", run(lines, leaves, reference, dtype)))
    except (reference.Undefined, Refused):
        words.add("no reference")
    if torch is not None:
        try:
            oracles.append(("PyTorch", run(lines, leaves, torch, dtype)))
        except Refused as refusal:
            words.add("PyTorch refuses")
    for name, want in oracles:
        if not is_tame(want, dtype):
            words.add("wild")
            continue
        wrong = difference(mine, want, TOLERANCE[dtype])
        if wrong and oracles[0][0] == "reference" and name == "PyTorch":
            # PyTorch reads what it has just written where the two overlap.
            words.add("PyTorch differs")
        elif wrong:
            raise AssertionError(f"{name}: {wrong}; PyTorch: {'PyTorch refuses' not in words}")
    return words


def listing(seed):
    return "\n".join(program(seed)[0])


class Programs(unittest.TestCase):
    def test_are_right_or_refused_by_a_rule(self):
        for dtype in TOLERANCE:
            for seed in range(300):
                try:
                    check(seed, dtype)
                except AssertionError as wrong:
                    self.fail(f"seed {seed}, {dtype}: {wrong}\n{listing(seed)}")

    def test_give_what_pytorch_gave(self):
        recorded = json.loads(RECORDED.read_text())
        self.assertEqual(recorded["digest"], digest(600), "other programs: run record_programs.py")
        compared = 0
        for seed, want in recorded["programs"].items():
            lines, leaves = program(int(seed))
            _, mine, rules = without_refused(lines, leaves, "float64")
            if mine is None or rules:
                continue
            compared += 1
            sums = [mine[0][name].sum() for name in sorted(mine[0])]
            for got, expected in zip([sums, *mine[1]], [want["sums"], *want["gradients"]]):
                np.testing.assert_allclose(np.ravel(got), expected, 1e-8, 1e-7,
                                           f"seed {seed}:\n{listing(int(seed))}")
        self.assertGreater(compared, 0.8 * len(recorded["programs"]))


def main(first, count, dtype):
    warnings.simplefilter("ignore")
    words, bad = collections.Counter(), collections.Counter()
    for seed in range(first, first + count):
        try:
            words.update(check(seed, dtype))
        except AssertionError as wrong:
            kind = re.sub(r"[\d.e+-]+", "#", str(wrong))[:60]
            bad[kind] += 1
            if bad[kind] <= 3 and len(bad) < 12:
                print(f"--- seed {seed}: {str(wrong)[:400]}\n{listing(seed)}")
    print(count, "programs:", dict(sorted(words.items())))
    print(sum(bad.values()), "wrong:", bad.most_common(12))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
