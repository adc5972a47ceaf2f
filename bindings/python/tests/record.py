#!/usr/bin/env python3
"""Writes what PyTorch gives into recorded/, for machines that have no PyTorch.

usage: PYTHONPATH=build/release/python bindings/python/tests/record.py [trainings] [cases]

Run it after a change of trainings/ or of cases/, and commit the files. Both draw with NumPy's
RandomState alone, so that the files change only where the programs do.
"""
import sys

import torch

import records
import trainings


def record_trainings():
    content = {"torch": torch.__version__}
    content.update((name, records.summary(training(torch)))
                   for name, training in trainings.all_trainings().items())
    records.write("trainings", content)


def main(what):
    torch.set_num_threads(1)
    if not what or "trainings" in what:
        record_trainings()


if __name__ == "__main__":
    main(sys.argv[1:])
