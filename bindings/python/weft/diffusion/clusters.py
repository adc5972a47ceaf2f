"""k-means: how the data of a decentralised diffusion model are split."""
from typing import Any, Optional, Tuple

import weft
from weft import _core

_ROWS = 8192  # compared with all centres at a time


class Clusters:
    """Centres [K, D]. The same centres, made once and given to all islands, assign each sample to
    the same cluster everywhere."""

    def __init__(self, centres: weft.Tensor) -> None:
        self.centres = centres

    def assign(self, features: weft.Tensor) -> weft.Tensor:
        """The nearest centre of each row of features [N, D], int64 [N]."""
        return self._nearest(features)[0]

    def _nearest(self, features: weft.Tensor) -> Tuple[weft.Tensor, weft.Tensor]:
        """(index, squared distance) of the nearest centre of each row."""
        if features.dim() != 2 or features.shape[1] != self.centres.shape[1]:
            raise _core.InvalidArgumentError(
                f"[Clusters] expected features [N, {self.centres.shape[1]}], got "
                f"{list(features.shape)}")
        indexes, distances = [], []
        squares = (self.centres ** 2).sum(1)
        for rows in features.split(_ROWS):
            apart = (rows ** 2).sum(1, keepdim=True) - 2 * (rows @ self.centres.T) + squares
            nearest = apart.min(dim=1)
            indexes.append(nearest.indices)
            distances.append(nearest.values.clamp(min=0))
        return weft.cat(indexes), weft.cat(distances)


def kmeans(features: weft.Tensor, count: int, rounds: int = 50,
           generator: Optional[Any] = None) -> Clusters:
    """`count` clusters of the rows of features [N, D], by Lloyd's algorithm from the start of
    k-means++; ends when no row changes its cluster, after `rounds` at the latest. A cluster that
    loses all rows begins anew at the row that is furthest from its centre. IMPLEMENTATION: D. Arthur
    and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007."""
    if not isinstance(features, weft.Tensor):
        raise TypeError("kmeans(): argument 'features' must be weft.Tensor, got "
                        f"{type(features).__name__}")
    if features.dim() != 2 or not features.is_floating_point():
        raise _core.InvalidArgumentError("[kmeans] expected features [N, D] of a floating-point "
                                         f"type, got {features.dtype} {list(features.shape)}")
    if not isinstance(count, int) or not 1 <= count <= len(features):
        raise _core.InvalidArgumentError(f"[kmeans] expected a count from 1 to {len(features)}, as "
                                         f"many as there are rows, got {count!r}")
    with weft.no_grad():
        clusters = Clusters(_first_centres(features, count, generator))
        before = None
        for _ in range(rounds):
            found, distances = clusters._nearest(features)
            if before is not None and found.equal(before):
                break
            before = found
            clusters = Clusters(_means(features, found, distances, clusters.centres))
    return clusters


def _first_centres(features: weft.Tensor, count: int, generator: Optional[Any]) -> weft.Tensor:
    """Rows drawn one after the other, each by its squared distance from those before."""
    first = weft.randint(0, len(features), (1,), generator=generator)
    chosen = features[first]
    while len(chosen) < count:
        distances = Clusters(chosen)._nearest(features)[1]
        if not float(distances.sum()) > 0:  # fewer different rows than clusters
            distances = weft.ones_like(distances)
        # By the running sum: multinomial() takes rows of fewer categories only.
        sums = distances.double().cumsum(0)
        place = weft.rand(1, generator=generator, dtype=weft.float64) * sums[-1]
        row = weft.searchsorted(sums, place, right=True).clamp(max=len(features) - 1)
        chosen = weft.cat([chosen, features[row]])
    return chosen


def _means(features: weft.Tensor, found: weft.Tensor, distances: weft.Tensor,
           centres: weft.Tensor) -> weft.Tensor:
    counts = weft.bincount(found, minlength=len(centres))
    sums = weft.zeros_like(centres).index_add(0, found, features)
    means = sums / counts.clamp(min=1).to(features.dtype).reshape(-1, 1)
    lost = (counts == 0).nonzero().reshape(-1)
    if len(lost):
        furthest = distances.topk(len(lost)).indices
        means = means.index_copy(0, lost, features[furthest])
    return means
