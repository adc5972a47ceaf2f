#!/usr/bin/env python3
"""Calls every function and method of the native module with arguments drawn at random, most of them
wrong; each must return or raise one of the errors that callers know. A crash ends the process,
which is why this is a program of its own; the call it was at stands in the trace.

usage: storm.py SEED CALLS [TRACE_FILE]
"""
import random
import resource
import sys

import numpy as np

import weft
from weft import _core

MEMORY_BYTES_MAX = 6 << 30
SHAPES = [(), (1,), (3,), (2, 3), (3, 3), (0,), (2, 0, 3), (1, 2, 4, 4), (2, 2, 3)]
TYPES = [weft.float32] * 6 + [weft.float64, weft.int64, weft.int64, weft.int32, weft.uint8,
                              weft.bool, weft.bfloat16, weft.float16, weft.int8]
NUMBERS = [0, 1, 2, -1, -2, 3, 5, 7, 100, -100, 2**31, 2**62, -2**63, 2**64, 0.0, 0.5, -1.0, 1e30,
           float("inf"), float("nan"), True, False]
OTHERS = [None, "mean", "sum", "none", "x", "ij,jk->ik", "constant", "reflect", b"x", weft.float32,
          weft.int64, weft.bool, object(), {}, slice(1, 2), np.ones((2, 3), np.float32),
          np.float32(1)]
KNOWN = (TypeError, ValueError, IndexError, OverflowError, MemoryError, BufferError,
         AttributeError, weft.Error)
# Files and models are tested elsewhere; the last one puts something between Python and all others.
LEFT_OUT = {"_save", "_load", "_open_dataset", "_open_dataset_in", "_set_batched_calls"}


class Storm:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        weft.manual_seed(seed)
        self.functions = [
            (name, value) for name, value in sorted(vars(_core).items())
            if callable(value) and not isinstance(value, type) and name not in LEFT_OUT]
        self.methods = [name for name, value in sorted(vars(weft.Tensor).items())
                        if callable(value) and name not in ("__new__",)]

    def tensor(self):
        rng = self.rng
        x = (weft.randn(*rng.choice(SHAPES)) * 2).to(rng.choice(TYPES))
        if x.is_floating_point() and rng.random() < 0.3:
            x.requires_grad_()
        if rng.random() < 0.2:
            x = x * 1
        if rng.random() < 0.1 and x.ndim == 2:
            x = x.T
        if rng.random() < 0.1:
            x = x.expand(2, *x.shape)
        return x

    def value(self, depth=0):
        rng, kind = self.rng, self.rng.random()
        if kind < 0.55:
            return self.tensor()
        if kind < 0.83:
            return rng.choice(NUMBERS)
        if kind < 0.92 or depth > 1:
            return rng.choice(OTHERS)
        count = rng.randint(0, 4)
        plain = rng.random() < 0.6
        items = [rng.choice([0, 1, 2, 3, -1]) if plain else self.value(depth + 1)
                 for _ in range(count)]
        return items if rng.random() < 0.5 else tuple(items)

    def call(self, note):
        rng = self.rng
        arguments = [self.value() for _ in range(rng.randint(0, 5))]
        if rng.random() < 0.5:
            name, function = rng.choice(self.functions)
        else:
            name = rng.choice(self.methods)
            function = getattr(self.tensor(), name)
        note(name, arguments)
        result = function(*arguments)
        if isinstance(result, weft.Tensor) and result.requires_grad and rng.random() < 0.3:
            result.backward(weft.ones_like(result))


def describe(value):
    if isinstance(value, weft.Tensor):
        return f"<{tuple(value.shape)} {value.dtype} {value.requires_grad}>"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(describe, value)) + "]"
    return repr(value)


def main(seed, calls, trace=None):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    storm, returned, wrong = Storm(seed), 0, []
    file = open(trace, "w") if trace else None

    def note(name, arguments):
        if file:
            file.seek(0)
            file.truncate()
            file.write(f"{name}{describe(arguments)}")
            file.flush()

    for _ in range(calls):
        try:
            storm.call(note)
            returned += 1
        except KNOWN:
            pass
        except Exception as error:  # reported below
            wrong.append(repr(error))
    print(f"{returned} of {calls} calls returned")
    for error in wrong[:10]:
        print("unknown error:", error)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
