"""CIFAR in Python's version: pickled dicts, read without running what they may hold.

Krizhevsky 2009. A batch is {"data": uint8 [n, 3072], "labels" or "fine_labels": n numbers}. The
file is hostile until checked: the instructions of pickle run in pickle's Python form, over a file of
bounded length, and what they call are the few objects of this module, which hold what they get."""
import io
import os
import pickle
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import weft
from weft import _core

_PIXELS = 3 * 32 * 32
_IMAGES_MAX = 60000
_BYTES_MAX = 1 << 28


class Version(NamedTuple):
    """Where the files of a dataset are, and what they call their parts."""

    folder: str
    train: Tuple[str, ...]
    test: Tuple[str, ...]
    meta: str
    labels: str
    names: str
    classes: int


CIFAR10 = Version("cifar-10-batches-py", tuple(f"data_batch_{i}" for i in range(1, 6)),
                  ("test_batch",), "batches.meta", "labels", "label_names", 10)
CIFAR100 = Version("cifar-100-python", ("train",), ("test",), "meta", "fine_labels",
                   "fine_label_names", 100)


class _Type:
    """NumPy's type of elements; its details are left out, as only uint8 is read."""

    __slots__ = ("text",)

    def __init__(self, text: Any) -> None:
        self.text = text

    def __setstate__(self, state: Any) -> None:
        pass


class _Array:
    """NumPy's array, with what its pickle says of it."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Call:
    """Something that a pickle may call."""

    __slots__ = ("_make",)

    def __init__(self, make: Any) -> None:
        self._make = make

    def __call__(self, *arguments: Any) -> Any:
        return self._make(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError("it gives a function a state")


def _encoded(text: Any, encoding: Any = "latin1") -> bytes:
    """Bytes that Python 3 pickled in a protocol for Python 2."""
    if not isinstance(text, str) or encoding != "latin1":
        raise pickle.UnpicklingError("it encodes something else than text in latin1")
    return text.encode("latin1")


class _Unpickler(pickle._Unpickler):  # type: ignore[name-defined,misc]
    """The form in Python keeps what it remembers in a dict; the one in C in an array that is as long
    as the largest number that a file names."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return _Call(lambda *ignored: _Array())
        if module == "numpy" and name == "dtype":
            return _Call(lambda text, *ignored: _Type(text))
        if module == "numpy" and name == "ndarray":
            return None  # the first argument of _reconstruct
        if module == "_codecs" and name == "encode":
            return _Call(_encoded)
        raise pickle.UnpicklingError(f"it asks for {module}.{name}"[:200])


def _load(path: str) -> Dict[str, Any]:
    with open(path, "rb") as file:
        raw = file.read(_BYTES_MAX + 1)
    if len(raw) > _BYTES_MAX:
        raise _core.CorruptError(f"{path}: expected at most {_BYTES_MAX} bytes, got more")
    try:
        content = _Unpickler(io.BytesIO(raw), encoding="latin1").load()
    except Exception as error:  # a damaged pickle raises whatever its damage leads to
        raise _core.CorruptError(f"{path}: expected a pickled dict of CIFAR, got one that cannot "
                                 f"be read ({type(error).__name__}: {error})") from None
    if not isinstance(content, dict):
        raise _core.CorruptError(f"{path}: expected a dict, got {type(content).__name__}")
    return content


def _pixels(path: str, array: Any) -> Any:
    """uint8 [n, 3, 32, 32] from what a pickle says of an array."""
    import numpy as np

    state = array.state if isinstance(array, _Array) else None
    if not isinstance(state, tuple) or len(state) not in (4, 5):
        raise _core.CorruptError(f"{path}: expected \"data\" to be an array of NumPy")
    shape, kind, by_columns, raw = state[-4:]
    if isinstance(raw, str) and max(raw, default="") < "\u0100":  # bytes of Python 2
        raw = raw.encode("latin1")
    if not isinstance(kind, _Type) or kind.text not in ("u1", "|u1", "B", "uint8") \
            or not isinstance(raw, bytes) or not isinstance(shape, tuple) or len(shape) != 2 \
            or not all(type(length) is int for length in shape) or shape[1] != _PIXELS \
            or not 0 < shape[0] <= _IMAGES_MAX or len(raw) != shape[0] * _PIXELS:
        raise _core.CorruptError(f"{path}: expected \"data\" of uint8 [n, {_PIXELS}] with 1 to "
                                 f"{_IMAGES_MAX} rows, and as many bytes")
    flat = np.frombuffer(raw, np.uint8).reshape(shape, order="F" if by_columns else "C")
    return flat.reshape(-1, 3, 32, 32)


def _labels(path: str, version: Version, labels: Any, count: int) -> Any:
    import numpy as np

    if not isinstance(labels, list) or len(labels) != count:
        what = f"{len(labels)}" if isinstance(labels, list) else type(labels).__name__
        raise _core.CorruptError(
            f"{path}: expected \"{version.labels}\" with {count} numbers, got {what}")
    for place, label in enumerate(labels):
        if type(label) is not int or not 0 <= label < version.classes:
            raise _core.CorruptError(f"{path}: expected labels from 0 to {version.classes - 1}, got "
                                     f"something else for image {place}")
    return np.asarray(labels, np.int64)


def _class_names(path: str, version: Version) -> List[str]:
    names = _load(path).get(version.names)
    if not isinstance(names, list) or len(names) != version.classes \
            or not all(isinstance(name, str) and 0 < len(name) <= 100 for name in names):
        raise _core.CorruptError(
            f"{path}: expected \"{version.names}\" with {version.classes} names")
    return names


def read(root: str, version: Version, train: bool) -> Optional[Dict[str, Any]]:
    """The split as a dict of images [N, 3, 32, 32], labels [N] and class_names; None if a file is
    not there. Fails: CorruptError if one is damaged."""
    import numpy as np

    folder = os.path.join(root, version.folder)
    paths = [os.path.join(folder, name) for name in (version.train if train else version.test)]
    meta = os.path.join(folder, version.meta)
    if not all(map(os.path.isfile, (*paths, meta))):
        return None
    images, labels = [], []
    for path in paths:
        content = _load(path)
        images.append(_pixels(path, content.get("data")))
        labels.append(_labels(path, version, content.get(version.labels), len(images[-1])))
    return {"images": weft.from_numpy(np.concatenate(images)),
            "labels": weft.from_numpy(np.concatenate(labels)),
            "class_names": _class_names(meta, version)}
