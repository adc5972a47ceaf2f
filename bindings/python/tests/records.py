"""What PyTorch gave, in recorded/: read by the tests where there is no PyTorch, and beside it."""
import json
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent / "recorded"
HOW = "PYTHONPATH=build/release/python bindings/python/tests/record.py"
FULL_STEPS = (0, 9, 24, 49)  # the steps of which a few entries of each gradient are kept
ENTRIES = 3


def read(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def write(name, content):
    """One line for each key, so that a change shows where it is."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
                       for key, value in content.items())
    path = FOLDER / f"{name}.json"
    path.write_text("{\n" + lines + "\n}\n")
    print(f"{path.name}: {path.stat().st_size} bytes")


def rounded(value, digits=7):
    return float(f"{float(value):.{digits}g}")


def norm(array):
    return float(np.linalg.norm(array.astype(np.float64)))


def entries(gradient):
    """The first, a middle and the last entry."""
    flat = gradient.reshape(-1)
    return flat[np.linspace(0, flat.size - 1, ENTRIES).astype(int)]


def summary(steps):
    """Of what a training yields: losses, the norms of all gradients, entries of some."""
    losses, norms, some = [], {}, {}
    for step, (of_step, gradients) in enumerate(steps):
        losses.append([rounded(value, 8) for value in of_step])
        for name, gradient in gradients.items():
            norms.setdefault(name, []).append(rounded(norm(gradient)))
            if step in FULL_STEPS:
                some.setdefault(name, []).append([rounded(each) for each in entries(gradient)])
    return {"losses": losses, "norms": norms, "entries": some}
