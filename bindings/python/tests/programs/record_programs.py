#!/usr/bin/env python3
"""Records what PyTorch gives for the programs of test_in_place_programs.py, for machines without it.

usage: record_programs.py > recorded_programs.json

Needs NumPy and PyTorch, not Weft. Left out are programs that PyTorch refuses, whose values grow
large, and in which it reads what it has just written through an overlapping view: the reference of
the tests judges those.
"""
import json
import sys
import warnings

import numpy as np
import torch

import write_reference as reference
from write_programs import Refused, digest, program, run

COUNT = 600


def is_tame(arrays):
    return all(abs(x).max(initial=0) < 1e3 for x in arrays)  # also false of NaN


def record(seed):
    """The last values of all tensors in order and the gradients of the leaves; None if left out."""
    lines, leaves = program(seed)
    try:
        tensors, gradients = run(lines, leaves, torch, "float64")
    except Refused:
        return None
    if not is_tame(tensors.values()) or not is_tame(gradients):
        return None
    try:
        reference.start()
        same, _ = run(lines, leaves, reference, "float64")
    except (reference.Undefined, Refused):
        same = tensors
    if not all(np.allclose(same[name], value) for name, value in tensors.items()):
        return None
    return {"sums": [float(f"{tensors[name].sum():.10g}") for name in sorted(tensors)],
            "gradients": [[float(f"{x:.10g}") for x in g.ravel()] for g in gradients]}


def main():
    warnings.simplefilter("ignore")
    programs = {seed: found for seed in range(COUNT) if (found := record(seed))}
    json.dump({"PyTorch": torch.__version__, "digest": digest(COUNT), "programs": programs}, sys.stdout,
              separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
