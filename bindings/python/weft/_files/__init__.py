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


def save(obj, f, pickle_module=None, pickle_protocol=None, _use_new_zipfile_serialization=True):
    """Writes `obj` to the path `f`: a crash leaves the old file or the new one; or into a file that
    is open for writing bytes."""
    if hasattr(f, "write"):
        def write(path):
            save(obj, path)
            with open(path, "rb") as file:
                f.write(file.read())

        _with_file(b"", write)
        return
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


def _is_archive(first):
    """Whether a file that begins so is one of torch.save(); raises for its form before 1.6."""
    if first[:1] == b"\x80" and first[1:2] in (b"\x02", b"\x03", b"\x04"):
        raise _core.CorruptError(
            "[load] this is a pickle, as torch.save() wrote it before PyTorch 1.6; Weft reads the "
            "form since then. Where PyTorch is, convert it: torch.save(torch.load(path, "
            "map_location='cpu'), new_path)")
    return first == b"PK\x03\x04"


def _load_path(path):
    if os.path.isfile(path):
        with open(path, "rb") as file:
            if _is_archive(file.read(4)):
                from weft._files import torch_file

                return torch_file.read(file)
    named, metadata = _core._load(path)
    tensors = dict(named)
    if _TREE not in metadata:
        return tensors
    return _rebuild(_tree(metadata[_TREE]), tensors)


def _with_file(content, use):
    """use(path) of a temporary file, with `content` at first."""
    import tempfile

    handle, path = tempfile.mkstemp(suffix=".safetensors")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return use(path)
    finally:
        os.unlink(path)


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None):
    """What save() wrote, the tensors of any safetensors file, or those of a file of torch.save();
    from a path or a file that is open for reading bytes. Nothing but values is ever read, whatever
    `weights_only` says."""
    _check_location(map_location)
    if hasattr(f, "read"):
        return _with_file(f.read(), _load_path)
    path = os.fspath(f)
    try:
        return _load_path(path)
    except _core.CorruptError as damaged:
        if str(damaged).startswith(path):
            raise
        raise _core.CorruptError(f"{path}: {damaged}") from None


def _check_location(place):
    """Raises unless it is the CPU, or a function or dict of PyTorch, which say where a GPU's
    tensors go: here all are on the CPU."""
    if place is not None and not callable(place) and not isinstance(place, dict):
        from weft._device import cpu_device

        cpu_device(place)
