"""weft.save() and weft.load(): tensors, alone or in dicts and lists, as safetensors files.

A dict of names and tensors (a state_dict) is a plain safetensors file, which other programs read
too. Whatever is nested beyond that is described as JSON in the file's metadata. Nothing is
pickled, so a file from anywhere can be opened: at worst it is refused.
"""
import json
import os

from weft import _core

Tensor = _core.Tensor
_TREE = "weft.tree"
_DEPTH_MAX = 64


def _flat(obj):
    return isinstance(obj, dict) and all(
        isinstance(key, str) and isinstance(value, Tensor) for key, value in obj.items())


def _describe(obj, tensors):
    """`obj` as JSON, with its tensors put into `tensors` and named by their number."""
    if isinstance(obj, Tensor):
        name = f"tensor.{len(tensors)}"
        tensors.append((name, obj.detach()))
        return {"tensor": name}
    if obj is None or isinstance(obj, (bool, str)):
        return {"value": obj}
    if isinstance(obj, (int, float)):
        return {"value": obj if obj == obj and abs(obj) != float("inf") else repr(obj),
                "type": type(obj).__name__}
    if isinstance(obj, (list, tuple)):
        return {type(obj).__name__ if type(obj) in (list, tuple) else "list":
                [_describe(item, tensors) for item in obj]}
    if isinstance(obj, dict):
        return {"dict": [[_describe(key, tensors), _describe(value, tensors)]
                         for key, value in obj.items()]}
    raise TypeError(f"save() writes tensors, numbers, strings, lists and dicts, got {type(obj)}")


def _damaged(what):
    return _core.CorruptError(f"[load] the description of the file's contents: {what}")


def _rebuild(node, tensors, depth=0):
    if not isinstance(node, dict) or depth > _DEPTH_MAX:
        raise _damaged("expected nested objects")
    if "tensor" in node:
        if not isinstance(node["tensor"], str) or node["tensor"] not in tensors:
            raise _damaged(f"no tensor {node['tensor']!r}")
        return tensors[node["tensor"]]
    if "value" in node:
        value = node["value"]
        if isinstance(value, (dict, list)):
            raise _damaged("expected a plain value")
        if node.get("type") == "float" and isinstance(value, (int, float, str)):
            try:
                return float(value)
            except ValueError:
                raise _damaged(f"no number {value!r}") from None
        return value
    for name, kind in (("list", list), ("tuple", tuple)):
        if isinstance(node.get(name), list):
            return kind(_rebuild(item, tensors, depth + 1) for item in node[name])
    if isinstance(node.get("dict"), list):
        result = {}
        for pair in node["dict"]:
            if not isinstance(pair, list) or len(pair) != 2:
                raise _damaged("expected pairs of a key and a value")
            key = _rebuild(pair[0], tensors, depth + 1)
            try:
                result[key] = _rebuild(pair[1], tensors, depth + 1)
            except TypeError:
                raise _damaged("a key that cannot be one") from None
        return result
    raise _damaged("an object of no known kind")


def save(obj, f):
    """Writes `obj` to the path `f`: a crash leaves the old file or the new one."""
    if _flat(obj):
        _core._save(os.fspath(f), [(name, value.detach()) for name, value in obj.items()], {})
        return
    tensors = []
    tree = json.dumps(_describe(obj, tensors))
    _core._save(os.fspath(f), tensors, {_TREE: tree})


def _tree(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _damaged("it is no JSON") from None


def _check_is_ours(path):
    """Raises, and says how to convert it, if the file is one of torch.save()'s."""
    with open(path, "rb") as file:
        first = file.read(4)
    if first == b"PK\x03\x04" or first[:1] == b"\x80" and first[1:2] in (b"\x02", b"\x03", b"\x04"):
        raise _core.CorruptError(
            f"{path}: [load] this is a pickle of torch.save(), which Weft does not run. Where "
            "PyTorch is, convert it: state = torch.load(path, map_location='cpu'); weft.save("
            "{name: weft.from_numpy(value.numpy()) for name, value in state.items()}, new_path); "
            "or safetensors.torch.save_file(state, new_path)")


def load(f, map_location=None, *, weights_only=True):
    """What save() wrote, or a dict of the tensors of any safetensors file. Nothing but values is
    ever read, whatever `weights_only` says."""
    path = os.fspath(f)
    if os.path.isfile(path):
        _check_is_ours(path)
    named, metadata = _core._load(path)
    tensors = dict(named)
    if _TREE not in metadata:
        return tensors
    try:
        return _rebuild(_tree(metadata[_TREE]), tensors)
    except _core.CorruptError as damaged:
        raise _core.CorruptError(f"{path}: {damaged}") from None
