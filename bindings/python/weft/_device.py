"""weft.device: where tensors are. This build has the CPU alone."""
from weft import _core

# What PyTorch's programs name; only the CPU can hold tensors here.
_KINDS = ("cpu", "cuda", "mps", "xpu", "meta", "hip", "xla")


class device:
    """A place for tensors, as weft.device("cpu")."""

    __slots__ = ("type", "index")

    def __init__(self, place="cpu", index=None):
        if isinstance(place, device):
            place, index = place.type, place.index
        if isinstance(place, int):
            place, index = "cuda", place  # as in PyTorch, a number is that of a GPU
        if not isinstance(place, str):
            raise TypeError(f"device() expects a text such as 'cpu', got {type(place).__name__}")
        kind, _, number = place.partition(":")
        if kind not in _KINDS or number and not number.isdigit():
            raise _core.InvalidArgumentError(
                f"[device] expected one of {', '.join(_KINDS)}, with a number as in 'cuda:0' or "
                f"without, got '{place}'")
        self.type = kind
        self.index = int(number) if number else index

    def __repr__(self):
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{number})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))


def cpu_device(place):
    """The device `place`, which must be the CPU."""
    found = device(place)
    if found.type != "cpu":
        raise _core.InvalidArgumentError(
            f"[device] expected 'cpu', which is all this build computes on, got '{found}'")
    return found
