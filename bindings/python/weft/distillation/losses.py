"""What is made small: distances between features and between gradients."""
from typing import Any, Callable, Sequence

import weft
from weft import _core, nn

Function = Callable[[weft.Tensor], weft.Tensor]


def distribution_matching_loss(features: Function, x: weft.Tensor, y: weft.Tensor,
                               synthetic: weft.Tensor, labels: weft.Tensor) -> weft.Tensor:
    """sum over classes of |mean features of x - mean features of the synthetic samples|^2; classes
    that one of them lacks are left out. features(x) is [N, D]."""
    check_labels("distribution_matching_loss", x, y)
    check_labels("distribution_matching_loss", synthetic, labels)
    with weft.no_grad():
        real = features(x)
    found = features(synthetic)
    total = weft.zeros((), dtype=found.dtype)
    for label in labels.unique().tolist():
        own = (y == label).nonzero().reshape(-1)
        if len(own):
            made = found[(labels == label).nonzero().reshape(-1)].mean(0)
            total = total + ((real[own].mean(0) - made) ** 2).sum()
    return total


def gradient_matching_loss(found: Sequence[weft.Tensor],
                           wanted: Sequence[weft.Tensor]) -> weft.Tensor:
    """sum over tensors, and over their rows, of 1 - cos(row, wanted row). Tensors of one axis, such
    as biases, are left out; rows are those of the first axis."""
    found, wanted = list(found), list(wanted)
    if [tuple(each.shape) for each in found] != [tuple(each.shape) for each in wanted]:
        raise _core.InvalidArgumentError(
            "[gradient_matching_loss] expected gradients of equal shapes, got "
            f"{[list(each.shape) for each in found]} and {[list(each.shape) for each in wanted]}")
    losses = [(1 - nn.functional.cosine_similarity(mine.reshape(len(mine), -1),
                                                   theirs.reshape(len(theirs), -1), dim=1)).sum()
              for mine, theirs in zip(found, wanted) if mine.dim() > 1]
    if not losses:
        raise _core.InvalidArgumentError(
            "[gradient_matching_loss] expected a gradient of two or more axes, got none")
    return sum(losses[1:], losses[0])


def contrastive_loss(features: weft.Tensor, labels: weft.Tensor, anchors: weft.Tensor,
                     anchor_labels: weft.Tensor, temperature: float = 0.07) -> weft.Tensor:
    """The supervised contrastive loss of features [N, D] against those of shared samples [M, D]:
    each is drawn towards anchors of its label and pushed away from the others. Features are scaled to
    length 1. Samples without an anchor of their label do not count; 0 where there are none."""
    if not temperature > 0:
        raise _core.InvalidArgumentError(
            f"[contrastive_loss] expected a temperature above 0, got {temperature!r}")
    near = (nn.functional.normalize(features, dim=1)
            @ nn.functional.normalize(anchors, dim=1).T) / temperature
    same = (labels.reshape(-1, 1) == anchor_labels.reshape(1, -1)).to(near.dtype)
    counts = same.sum(1)
    each = -(near.log_softmax(1) * same).sum(1) / counts.clamp(min=1)
    return each.sum() / (counts > 0).sum().clamp(min=1)


def check_labels(name: str, x: Any, y: Any) -> None:
    for argument, value in (("samples", x), ("labels", y)):
        if not isinstance(value, weft.Tensor):
            raise TypeError(f"{name}(): argument '{argument}' must be weft.Tensor, got "
                            f"{type(value).__name__}")
    if x.dim() < 2 or tuple(y.shape) != (len(x),) or y.is_floating_point():
        raise _core.InvalidArgumentError(
            f"[{name}] expected samples [N, ...] and whole labels [N], got {list(x.shape)} and "
            f"{y.dtype} {list(y.shape)}")
