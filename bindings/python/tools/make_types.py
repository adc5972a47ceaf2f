#!/usr/bin/env python3
"""Writes weft/_core.pyi, the types of the native module, from what the built module says of itself.

usage: PYTHONPATH=build/release/python bindings/python/tools/make_types.py [--check]
  --check   writes nothing; exit status 1 if a name of the module is missing from the file

pybind11 puts each function's signature into the first line of its documentation; functions without
one are those of one tensor. Run it after a change of bind_*.cpp.
"""
import argparse
import inspect
import pathlib
import re
import sys

from weft import _core

TYPES = pathlib.Path(__file__).resolve().parent.parent / "weft" / "_core.pyi"
HEAD = '''"""Types of the native module; written by tools/make_types.py."""
import builtins
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

_Number = Union[builtins.float, builtins.int, builtins.bool]


class dtype:
    itemsize: builtins.int
    is_floating_point: builtins.bool
    name: builtins.str


_dtype = dtype  # Tensor has a property of that name
'''
OPERATORS = {
    "Tensor": ["add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv",
               "rfloordiv", "mod", "rmod", "pow", "rpow", "matmul", "and", "or", "xor", "lt", "le",
               "gt", "ge", "iadd", "isub", "imul", "itruediv"],
    "none": ["neg", "pos", "abs", "invert"],
}
SPECIAL = [
    "def __new__(cls, data: Tensor, requires_grad: builtins.bool = ...) -> Any: ...",
    "def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]",
    "def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]",
    "def __hash__(self) -> builtins.int: ...",
    "def __getitem__(self, key: Any) -> Tensor: ...",
    "def __setitem__(self, key: Any, value: Any) -> None: ...",
    "def __iter__(self) -> Iterator[Tensor]: ...",
    "def __len__(self) -> builtins.int: ...",
    "def __bool__(self) -> builtins.bool: ...",
    "def __float__(self) -> builtins.float: ...",
    "def __int__(self) -> builtins.int: ...",
    "def __index__(self) -> builtins.int: ...",
]
PROPERTIES = {"shape": "Tuple[builtins.int, ...]", "ndim": "builtins.int", "dtype": "dtype",
              "requires_grad": "builtins.bool", "is_leaf": "builtins.bool",
              "grad": "Optional[Tensor]", "device": "Any"}


def annotation(text):
    """A type as pybind11 writes it, as one of the file's."""
    text = re.sub(r"\bweft(?:\._core)?\.(?=[A-Za-z_])", "", text)
    text = re.sub(r"Tensor \| float", "Union[Tensor, _Number]", text)
    text = re.sub(r"\b(?:handle|object|function|capsule|args|kwargs)\b(?!:)", "Any", text)
    text = re.sub(r"\btuple\b", "Tuple[Any, ...]", text)
    text = re.sub(r"\b(?:list)\b", "List[Any]", text)
    text = re.sub(r"\b(?:dict)\b", "Dict[Any, Any]", text)
    text = text.replace("Sequence[int]", "Union[int, Sequence[int]]")
    text = re.sub(r"Union\[int, Sequence\[int\]\]", "Union[builtins.int, Sequence[builtins.int]]",
                  text)
    return re.sub(r"(?<![\w.])(int|float|bool|str)\b", r"builtins.\1", text)


def split_arguments(text):
    """At commas outside of brackets."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return parts + [current.strip()] if current.strip() else parts


def argument(text):
    if text.startswith("*"):
        return text if text in ("*", "**kwargs") else text.split(":")[0] + ": Any"
    name, _, rest = text.partition(":")
    kind, equals, _ = rest.partition("=")
    return f"{name}: {annotation(kind.strip())}" + (" = ..." if equals else "")


def signature(name, function, of_class):
    """A `def` line of what pybind11 documents; None where it documents nothing."""
    line = (function.__doc__ or "").splitlines()[:1]
    found = re.match(rf"{re.escape(name)}\((.*)\) -> (.*)$", line[0]) if line else None
    if not found:
        return None
    arguments = [argument(text) for text in split_arguments(found.group(1))]
    arguments = [re.sub(r"^from:", "from_:", text) for text in arguments]
    if of_class:
        arguments = ["self", *arguments[1:]]
    if "*args: Any" in arguments and "*" in arguments:
        arguments.remove("*")
    # An argument without a default behind one with: pybind11 allows it, Python does not.
    result = annotation(found.group(2))
    return f"def {name}({', '.join(arguments)}) -> {result}: ..."


def python_method(name, function):
    parts = []
    for parameter in inspect.signature(function).parameters.values():
        text = str(parameter.replace(annotation=inspect.Parameter.empty))
        parts.append(re.sub(r"=.*", "=...", text))
    if any(p.kind is p.KEYWORD_ONLY for p in inspect.signature(function).parameters.values()) and \
            not any(part.startswith("*") for part in parts):
        first = next(i for i, p in enumerate(inspect.signature(function).parameters.values())
                     if p.kind is p.KEYWORD_ONLY)
        parts.insert(first, "*")
    return f"def {name}({', '.join(parts)}) -> Any: ..."


def tensor_lines():
    lines = list(SPECIAL)
    lines += [f"def __{name}__(self, other: Any) -> Tensor: ..." for name in OPERATORS["Tensor"]]
    lines += [f"def __{name}__(self) -> Tensor: ..." for name in OPERATORS["none"]]
    for name, value in sorted(vars(_core.Tensor).items()):
        if name.startswith("__") and name not in ("__array__", "__dlpack__", "__dlpack_device__"):
            continue
        if isinstance(value, property) or inspect.isgetsetdescriptor(value):
            lines.append(f"{name}: {PROPERTIES.get(name, 'Tensor')}")
        elif inspect.isfunction(getattr(value, "__wrapped__", value)):
            lines.append(python_method(name, getattr(value, "__wrapped__", value)))
        elif not callable(value) or inspect.isclass(value):
            continue
        else:
            lines.append(signature(name, value, True)
                         or f"def {name}(self, *args: Any, **kwargs: Any) -> Tensor: ...")
    return lines


def class_lines(cls):
    lines = []
    for name, value in sorted(vars(cls).items()):
        if name.startswith("__") and name != "__init__" or not callable(value):
            continue
        result = "None" if name == "__init__" else "Any"
        lines.append(signature(name, value, True)
                     or f"def {name}(self, *args: Any) -> {result}: ...")
    return lines or ["..."]


def outer_dtype(line):
    """A line of Tensor, where `dtype` as a type is the module's."""
    return re.sub(r"(?<=[\[ ])dtype(?=\]| =|,|\)|$)", "_dtype", line)


def types_text():
    lines, classes, constants = [], [], []
    for name, value in sorted(vars(_core).items()):
        if name.startswith("__") or value is _core.dtype:
            continue
        if isinstance(value, _core.dtype):
            constants.append(f"{name}: dtype")
        elif value is _core.Tensor:
            classes.append("\n\nclass Tensor:\n" + "".join(
                f"    {outer_dtype(x)}\n" for x in tensor_lines()))
        elif inspect.isclass(value):
            bases = ", ".join(("builtins." if base.__module__ == "builtins" else "")
                              + base.__name__ for base in value.__bases__
                              if base.__name__ != "pybind11_object")
            body = "    ...\n" if issubclass(value, Exception) else "".join(
                f"    {x}\n" for x in class_lines(value))
            classes.append(f"\n\nclass {name}({bases}):\n{body}")
        elif callable(value):
            lines.append(signature(name, value, False)
                         or f"def {name}(input: Tensor, /) -> Tensor: ...")
        else:
            constants.append(f"{name}: {type(value).__name__}")
    return HEAD + "".join(classes) + "\n\n" + "\n".join(constants) + "\n\n" + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        TYPES.write_text(types_text())
        return 0
    text = TYPES.read_text()
    missing = [name for name in vars(_core) if not name.startswith("__")
               and not re.search(rf"^(?:def |class )?{re.escape(name)}\b", text, re.MULTILINE)]
    missing += [f"Tensor.{name}" for name in vars(_core.Tensor) if not name.startswith("__")
                and not re.search(rf"^    (?:def )?{re.escape(name)}\b", text, re.MULTILINE)]
    print("missing:", missing) if missing else print("every name is there")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
