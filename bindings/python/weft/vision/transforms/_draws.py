"""Random numbers of the transforms: all are drawn here, from Weft's default generator, so that
weft.manual_seed() and the seeds of a DataLoader's workers repeat them."""
import math
from typing import List, Optional, Sequence

import weft
from weft import _core


def uniform(low: float, high: float) -> float:
    """A number between the two, each as likely as another."""
    return _core.rand(1).item() * (high - low) + low


def whole(low: int, high: int) -> int:
    """A whole number from `low` on and below `high`."""
    return int(weft.randint(low, high, (1,)).item())


def chance(p: float) -> bool:
    """True with probability p."""
    return _core.rand(1).item() < p


def order(count: int) -> List[int]:
    """The numbers below `count`, shuffled."""
    return weft.randperm(count).tolist()


def one_of(count: int, weights: Optional[Sequence[float]] = None) -> int:
    """A number below `count`, as likely as its weight."""
    if weights is None:
        return whole(0, count)
    place = uniform(0.0, float(sum(weights)))
    for number, weight in enumerate(weights):
        place -= weight
        if place < 0 and weight > 0:
            return number
    return max(number for number, weight in enumerate(weights) if weight > 0)


def normal(*shape: int) -> weft.Tensor:
    """A tensor of standard normal numbers."""
    return weft.randn(*shape)


def noise(*shape: int) -> weft.Tensor:
    """A tensor of numbers in [0, 1)."""
    return _core.rand(*shape)


def dirichlet(alpha: float, rows: int, columns: int) -> weft.Tensor:
    """[rows, columns]: rows that add up to 1, from the symmetric Dirichlet distribution. Each entry
    is a number of the gamma distribution, divided by its row's sum."""
    values = [[_gamma(alpha) for _ in range(columns)] for _ in range(rows)]
    return _core.tensor([[value / max(sum(row), 1e-30) for value in row] for row in values])


def _gamma(alpha: float) -> float:
    """A number of the gamma distribution. Marsaglia and Tsang, "A simple method for generating
    gamma variables", ACM TOMS 26(3), 2000; below alpha = 1 through alpha + 1."""
    if alpha < 1:
        return _gamma(alpha + 1) * (1 - uniform(0.0, 1.0)) ** (1 / alpha)
    shape = alpha - 1 / 3
    while True:
        x = weft.randn(1).item()
        cube = (1 + x / math.sqrt(9 * shape)) ** 3
        if cube > 0 and math.log(1 - uniform(0.0, 1.0)) < x * x / 2 + shape * (
                1 - cube + math.log(cube)):
            return shape * cube
