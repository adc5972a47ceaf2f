#!/usr/bin/env python3
"""Writes docs/python_names.md: which of PyTorch's public names there are in Weft.

usage: PYTHONPATH=build/release/python bindings/python/tests/names_page.py [--record]
  --record  asks PyTorch, which has to be installed, for its names, and keeps them in recorded/

Names of sparse, quantised and complex tensors, of other devices and of compilers count like others.
"""
import importlib
import inspect
import pathlib
import sys

import records
import weft

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python_names.md"
# Section: what has the names, below `torch` and `weft` alike.
PLACES = ("", "Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "optim",
          "optim.lr_scheduler", "autograd", "autograd.functional", "linalg", "special",
          "distributions", "utils.data", "random")
# Names that have less than PyTorch's do, and what they lack.
PARTLY = {
    ".as_strided": "gives a copy", ".svd_lowrank": "computes all singular values",
    ".pca_lowrank": "computes all singular values",
    ".igamma": "no gradient for the first argument",
    ".igammac": "no gradient for the first argument",
    "Tensor.view": "copies where the memory does not allow a view",
    "Tensor.as_strided": "gives a copy", "Tensor.to": "the CPU only",
    "Tensor.storage": "address and size only",
    "nn.Embedding": "`sparse=True` gives dense gradients",
    "nn.EmbeddingBag": "`sparse=True` gives dense gradients",
    "nn.functional.grid_sample": "no volumes",
}
HEAD = """# PyTorch's names

Which public names of PyTorch {version} Weft has, by place; `import weft as torch` makes them `torch.NAME`. A name that is
*partly* there lacks what its line says. [torch_differences.md](torch_differences.md) lists other values. This page is written by
`bindings/python/tests/names_page.py`, and a test compares it with the package.

| place | names | there | partly | absent |
|---|---|---|---|---|
"""


def owner_in(library, place):
    """The module or class of that name, or None."""
    try:
        return importlib.import_module(f"{library.__name__}.{place}" if place
                                       else library.__name__)
    except ImportError:
        pass
    owner = library
    for name in place.split("."):
        owner = getattr(owner, name, None)
    return owner


def names_of(owner):
    """Public names that are no modules and no imports of the standard library, sorted."""
    found = []
    for name in dir(owner):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(owner, name)
        module = getattr(value, "__module__", None) or ""
        if not inspect.ismodule(value) and not module.startswith(("typing", "collections", "math")):
            found.append(name)
    return found


def record():
    import torch

    records.write("names", {"torch": torch.__version__.split("a")[0],
                            **{place: names_of(owner_in(torch, place)) for place in PLACES}})


def state_of(place, name):
    owner = owner_in(weft, place)
    if owner is None or not hasattr(owner, name):
        return "absent"
    return "partly" if f"{place}.{name}" in PARTLY else "there"


def page():
    """The text of the page."""
    known = records.read("names")
    rows, parts = [], []
    for place in PLACES:
        states = {name: state_of(place, name) for name in known[place]}
        of = {state: [name for name in states if states[name] == state]
              for state in ("there", "partly", "absent")}
        title = f"torch.{place}" if place else "torch"
        rows.append(f"| `{title}` | {len(states)} | {len(of['there'])} | {len(of['partly'])} | "
                    f"{len(of['absent'])} |")
        parts.append(f"\n## {title}\n")
        parts += [f"* `{name}`: {PARTLY[f'{place}.{name}']}" for name in of["partly"]]
        for state in ("there", "absent"):
            if of[state]:
                parts.append(f"\n{state.capitalize()}:\n")
                parts += wrapped(of[state])
    return HEAD.format(version=known["torch"]) + "\n".join(rows) + "\n" + "\n".join(parts) + "\n"


def wrapped(names):
    """Lines of at most 118 characters."""
    lines = [""]
    for name in names:
        text = f"`{name}`"
        if lines[-1] and len(lines[-1]) + len(text) > 116:
            lines.append("")
        lines[-1] += text if not lines[-1] else " " + text
    return lines


if __name__ == "__main__":
    if "--record" in sys.argv[1:]:
        record()
    PAGE.write_text(page())
