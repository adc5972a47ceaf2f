"""weft.device: where tensors are. This build has the CPU alone."""
from weft import _core


class device:
    """A place for tensors, as weft.device("cpu")."""

    __slots__ = ("type", "index")

    def __init__(self, place="cpu", index=None):
        if isinstance(place, device):
            place, index = place.type, place.index
        kind, _, number = place.partition(":")
        self.type = kind
        self.index = int(number) if number else index

    def __repr__(self):
        return f"device(type='{self.type}')"

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
