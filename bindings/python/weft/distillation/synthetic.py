"""Synthetic samples, and the steps that move them."""
from typing import Any, Callable, List, Optional, Sequence

import weft
from weft import _core, nn
from weft.distillation.losses import (Function, check_labels, distribution_matching_loss,
                                      gradient_matching_loss)


class SyntheticSet(nn.Module):
    """`samples` [classes * per_class, ...], a parameter, with their `labels`. They begin as normal
    noise with the mean and the deviation of the class in x [N, ...], y int64 [N]: what others could
    read from them then. Each class needs at least one sample."""

    def __init__(self, x: weft.Tensor, y: weft.Tensor, classes: int, per_class: int,
                 generator: Optional[Any] = None) -> None:
        super().__init__()
        check_labels("SyntheticSet", x, y)
        for name, value in (("classes", classes), ("per_class", per_class)):
            if not isinstance(value, int) or value < 1:
                raise _core.InvalidArgumentError(
                    f"[SyntheticSet] expected {name} of at least 1, got {value!r}")
        parts = []
        for label in range(classes):
            own = x[(y == label).nonzero().reshape(-1)]
            if len(own) == 0:
                raise _core.InvalidArgumentError(
                    f"[SyntheticSet] expected samples of each class, got none of class {label}")
            noise = weft.randn((per_class, *x.shape[1:]), generator=generator, dtype=x.dtype)
            deviation = own.std(0, unbiased=False)
            parts.append(own.mean(0) + deviation * noise)
        self.samples = nn.Parameter(weft.cat(parts))
        self.register_buffer("labels", weft.arange(classes).repeat_interleave(per_class))


def match_distribution(synthetic: SyntheticSet, make_features: Callable[[], Function],
                       x: weft.Tensor, y: weft.Tensor, steps: int, batch: int = 256,
                       lr: float = 1.0, momentum: float = 0.5) -> None:
    """Moves the synthetic samples so that they have the features of the data: in each step, those
    that make_features() gives anew, such as a network with random weights."""
    optimizer = weft.optim.SGD([synthetic.samples], lr=lr, momentum=momentum)
    for _ in range(steps):
        rows = weft.randint(0, len(x), (min(batch, len(x)),))
        optimizer.zero_grad()
        distribution_matching_loss(make_features(), x[rows], y[rows], synthetic.samples,
                                   synthetic.labels).backward()
        optimizer.step()


def match_gradients(synthetic: SyntheticSet, model: nn.Module, wanted: Sequence[weft.Tensor],
                    steps: int, lr: float = 0.1, momentum: float = 0.5) -> List[float]:
    """Moves the synthetic samples so that the gradient of the model's cross entropy on them, of its
    parameters, points where `wanted` does: a gradient of a gradient. The losses of all steps."""
    parameters = list(model.parameters())
    optimizer = weft.optim.SGD([synthetic.samples], lr=lr, momentum=momentum)
    losses = []
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(synthetic.samples), synthetic.labels)
        found = weft.autograd.grad(loss, parameters, create_graph=True)
        apart = gradient_matching_loss(found, wanted)
        synthetic.samples.grad, = weft.autograd.grad(apart, [synthetic.samples])
        optimizer.step()
        losses.append(apart.item())
    return losses
