#!/usr/bin/env python3
"""Writes what PyTorch gives into recorded/, for machines that have no PyTorch.

usage: PYTHONPATH=build/release/python bindings/python/tests/record.py [trainings] [cases]

Run it after a change of trainings/ or of cases/, and commit the files. Both draw with NumPy's
RandomState alone, so that the files change only where the programs do.
"""
import sys

import torch

import cases
import records
import test_random_cases
import trainings
import weft


def record_trainings():
    content = {"torch": torch.__version__}
    content.update((name, records.summary(training(torch)))
                   for name, training in trainings.all_trainings().items())
    records.write("trainings", content)


def record_cases():
    """Those in which the two agree: what else there is the test beside PyTorch holds."""
    content = {"torch": torch.__version__}
    for key, part, how, numbers in test_random_cases.recorded_numbers():
        content[key] = {}
        for number in numbers:
            case = cases.draw(part, cases.all_parts()[part], test_random_cases.SEED, number)
            kind, _ = cases.compare(case, weft, torch, how)
            if kind == "same":
                content[key][number] = cases.summary(cases.attempt(how, torch, case))
    records.write("cases", content)


def main(what):
    torch.set_num_threads(1)
    if not what or "trainings" in what:
        record_trainings()
    if not what or "cases" in what:
        record_cases()


if __name__ == "__main__":
    main(sys.argv[1:])
