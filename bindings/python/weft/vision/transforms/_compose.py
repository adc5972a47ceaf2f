"""Transforms made of others: one after another, some of them, in any order."""
from typing import Any, Callable, Optional, Sequence

from weft.nn import Module
from weft.vision.transforms import _draws
from weft.vision.transforms._base import check_probability
from weft.vision.transforms.functional._image import kind_of, number, refuse, refuse_type


def _listed(transforms: Any, name: str) -> Any:
    if isinstance(transforms, str) or not hasattr(transforms, "__iter__"):
        refuse_type(name, "transforms", "a sequence of transforms", transforms)
    for each in transforms:
        if not callable(each):
            raise TypeError(f"{name}(): argument 'transforms' must have callables alone, got "
                            f"{kind_of(each)}: {each!r}")
    return transforms


def _lines(transforms: Any) -> str:
    return "".join(f"\n    {each}" for each in transforms)


class Compose:
    """Several transforms, one after another."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = _listed(transforms, "Compose")

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_lines(self.transforms)}\n)"


class Lambda:
    """A function as a transform."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            refuse_type("Lambda", "lambd", "a function", lambd)
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class RandomApply(Module):
    """All transforms of a list, with probability `p`; otherwise none of them."""

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        check_probability(p, "RandomApply")
        self.transforms = _listed(transforms, "RandomApply")
        self.p = p

    def forward(self, img: Any) -> Any:
        """The image after all transforms, or as it is."""
        if not _draws.chance(self.p):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    p={self.p}{_lines(self.transforms)}\n)"


class RandomOrder(Compose):
    """All transforms of a list, each time in another order."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        super().__init__(_listed(transforms, "RandomOrder"))

    def __call__(self, img: Any) -> Any:
        for place in _draws.order(len(self.transforms)):
            img = self.transforms[place](img)
        return img


class RandomChoice(Compose):
    """One transform of a list, each time another; `p` are their weights."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]],
                 p: Optional[Sequence[float]] = None) -> None:
        super().__init__(_listed(transforms, "RandomChoice"))
        if len(transforms) == 0:
            refuse("RandomChoice", "transforms of at least one", transforms)
        if p is not None:
            if number(p) or isinstance(p, str) or not hasattr(p, "__len__"):
                refuse_type("RandomChoice", "p", "a sequence of weights", p)
            if len(p) != len(transforms) or min(p) < 0 or not sum(p) > 0:
                refuse("RandomChoice",
                       f"p as {len(transforms)} weights of at least 0, not all 0", p)
        self.p = p

    def __call__(self, *args: Any) -> Any:
        return self.transforms[_draws.one_of(len(self.transforms), self.p)](*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"
