"""Which argument of a call of the native module is wrong: read when a call has failed."""
import re

from weft import _core

_MEANT = {"axis": "dim", "axes": "dim", "keepdims": "keepdim", "correction": "unbiased",
          "other_shape": "shape", "size": "shape"}
_HINTS = {"device": ": tensors are on the CPU, leave it out",
          "out": ": results are new tensors, write them with copy_()"}
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def _pieces(text):
    """`text` split at the commas that are in no brackets."""
    depth, piece = 0, ""
    for letter in text:
        depth += _BRACKETS.get(letter, 0)
        if letter == "," and depth == 0:
            yield piece.strip()
            piece = ""
        else:
            piece += letter
    if piece.strip():
        yield piece.strip()


class _Parameter:
    def __init__(self, text, position):
        name, _, rest = text.partition(":")
        annotation, self.optional, _ = rest.partition(" = ")
        self.name, self.annotation, self.position = name, annotation.strip(), position


def _is_number(value):
    return isinstance(value, (bool, int, float)) or hasattr(value, "__float__")


def _all_are(kind):
    return lambda value: isinstance(value, (list, tuple)) and all(
        _KINDS[kind](each) for each in value)


_KINDS = {
    "weft.Tensor": lambda value: isinstance(value, _core.Tensor),
    "weft.dtype": lambda value: isinstance(value, _core.dtype),
    "str": lambda value: isinstance(value, str),
    "int": lambda value: hasattr(value, "__index__"),
    "float": _is_number,
    "List[weft.Tensor]": _all_are("weft.Tensor"),
    "Sequence[int]": lambda value: hasattr(value, "__index__") or _all_are("int")(value),
}


def _fits(annotation, value):
    """False only where it is plain that the value is of another type."""
    inner = re.fullmatch(r"Optional\[(.*)\]", annotation)
    if inner:
        return value is None or _fits(inner[1], value)
    kinds = annotation.split(" | ")
    return any(kind not in _KINDS or _KINDS[kind](value) for kind in kinds)


def _type(value):
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _wrong_type(name, parameter, value):
    expected = re.sub(r"Optional\[(.*)\]", r"\1 or None", parameter.annotation)
    text = (f"{name}(): argument '{parameter.name}' must be {expected.replace(' | ', ' or ')}, "
            f"got {_type(value)}")
    if "Tensor" in parameter.annotation and hasattr(value, "__array_interface__"):
        text += ": make a tensor of it with weft.from_numpy() or weft.tensor()"
    elif "dtype" in parameter.annotation and isinstance(value, str):
        text += f": write weft.{value}"
    return text


def explain(text, args, keywords, called=""):
    """What is wrong with the call of the function `called`, called(*args, **keywords), to which
    pybind11 answered `text`; None where that is another error, or not plain."""
    if called and text.startswith("expected "):
        return f"{called}(): {text}"  # what the function itself found wrong does not name it
    name, found, rest = text.partition("(): incompatible function arguments")
    signature = re.search(r"\n    1\. \((.*)\) -> ", rest)
    if not found or signature is None or "\n    2. (" in rest:
        return None
    parameters, places, any_count = [], 0, False
    for piece in _pieces(signature[1]):
        if piece.startswith("*"):
            any_count = any_count or piece.startswith("*args")
            places, piece = None, ""
        if piece:
            parameters.append(_Parameter(piece, places))
            places = None if places is None else places + 1
    by_name = {each.name: each for each in parameters}
    shown = [each.name for each in parameters if each.name != "self"]
    for keyword in keywords:
        if keyword not in by_name:
            meant = _MEANT.get(keyword)
            hint = f": did you mean '{meant}'?" if meant in by_name else _HINTS.get(
                keyword, f": it takes {', '.join(shown)}" if shown else "")
            return f"{name}() got an unexpected keyword argument '{keyword}'{hint}"
    positional = [each for each in parameters if each.position is not None]
    if len(args) > len(positional) and not any_count:
        own = "self" in by_name
        most = len(positional) - own
        return (f"{name}() takes at most {most} argument{'s' * (most != 1)} by position "
                f"({', '.join(each.name for each in positional if each.name != 'self')}), "
                f"got {len(args) - own}")
    given = [*zip(positional, args), *((by_name[key], value) for key, value in keywords.items())]
    for parameter, value in given:
        if not _fits(parameter.annotation, value):
            return _wrong_type(name, parameter, value)
    there = {parameter.name for parameter, _ in given}
    missing = [f"'{each.name}'" for each in parameters if not each.optional and
               each.name not in there]
    if missing:
        return f"{name}() misses the argument {' and '.join(missing)}"
    types = ", ".join(_type(value) for _, value in given if value is not args[0] or
                      "self" not in by_name)
    return f"{name}() takes ({signature[1]}), got ({types})"
