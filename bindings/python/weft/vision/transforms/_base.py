"""What the transforms share: a module that shows its settings, and checks of settings."""
from typing import Any, Sequence, Tuple

from weft.nn import Module
from weft.vision.transforms.functional._image import number, refuse, refuse_type, sequence


class Transform(Module):
    """A module that maps an image to an image; repr() shows its class and settings()."""

    def settings(self) -> str:
        """What stands in the parentheses of repr()."""
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.settings()})"


class WithChance(Transform):
    """A transform that changes an image with probability `p` and otherwise returns it as it is."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        check_probability(p, type(self).__name__)
        self.p = p

    def settings(self) -> str:
        return f"p={self.p}"


def check_probability(p: Any, name: str) -> None:
    """Refuses what is no number in [0, 1]."""
    if not number(p):
        refuse_type(name, "p", "a probability in [0, 1]", p)
    if not 0 <= p <= 1:
        refuse(name, "p in [0, 1]", p)


def size_of(size: Any, name: str) -> Any:
    """(height, width); a sequence of two stays the one it is."""
    values = sequence(size, (2,), name, "size")
    if not all(each == int(each) and each >= 1 for each in values):
        refuse(name, "size of 1 or 2 whole numbers above 0", size)
    if number(size) or len(size) == 1:
        return int(values[0]), int(values[1])
    return size


def range_of(value: Any, name: str, argument: str) -> Sequence[float]:
    """Two numbers of which the first is not above the second."""
    if number(value) or isinstance(value, str) or not hasattr(value, "__len__"):
        refuse_type(name, argument, "a sequence (least, greatest)", value)
    low, high = sequence(value, (2,), name, argument, one_is_all=False)
    if low > high:
        refuse(name, f"{argument} as (least, greatest)", value)
    return value


def angles_of(value: Any, name: str, argument: str, counts: Tuple[int, ...] = (2,)) -> Any:
    """A range of degrees, or one for each axis; a number stands for both directions."""
    if number(value):
        if value < 0:
            refuse(name, f"{argument} of at least 0, or a range", value)
        return [-float(value), float(value)]
    values = sequence(value, counts, name, argument, one_is_all=False)
    for low, high in zip(values[::2], values[1::2]):
        if low > high:
            refuse(name, f"{argument} as (least, greatest)", value)
    return [float(each) for each in values]


def check_fill(fill: Any, name: str) -> Any:
    """The fill, 0 for None; anything but numbers and sequences is refused."""
    if fill is None:
        return 0
    if not number(fill) and (isinstance(fill, str) or not hasattr(fill, "__len__")):
        refuse_type(name, "fill", "a number or a sequence of numbers", fill)
    return fill
