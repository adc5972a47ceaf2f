"""Flow matching along straight lines: from noise at t = 0 to data at t = 1."""
from typing import Any, Callable, Optional, Sequence, Tuple

import weft
from weft import _core

Velocity = Callable[[weft.Tensor, weft.Tensor], weft.Tensor]
_METHODS = ("euler", "heun")


def _like_axes(t: weft.Tensor, x: weft.Tensor) -> weft.Tensor:
    return t.reshape(-1, *[1] * (x.dim() - 1))


def noised(x: weft.Tensor, t: Optional[weft.Tensor] = None,
           generator: Optional[Any] = None) -> Tuple[weft.Tensor, weft.Tensor, weft.Tensor]:
    """(x_t, t, v) of samples x [N, ...]: x_t = (1 - t) e + t x with normal noise e, and the velocity
    v = x - e. `t` [N] is in [0, 1]; without it each sample draws its own, uniformly."""
    _check_samples("noised", x)
    if t is None:
        t = weft.rand(len(x), generator=generator, dtype=x.dtype)
    elif tuple(t.shape) != (len(x),):
        raise _core.InvalidArgumentError(
            f"[noised] expected t of shape [{len(x)}], one for each sample, got {list(t.shape)}")
    noise = weft.randn(x.shape, generator=generator, dtype=x.dtype)
    share = _like_axes(t, x)
    return (1 - share) * noise + share * x, t, x - noise


def flow_matching_loss(model: Velocity, x: weft.Tensor,
                       generator: Optional[Any] = None) -> weft.Tensor:
    """The mean squared error of model(x_t, t) [N, ...] as the velocity, with one t and one noise
    drawn for each sample of x [N, ...]."""
    between, t, velocity = noised(x, None, generator)
    found = model(between, t)
    if found.shape != x.shape:
        raise _core.InvalidArgumentError(
            f"[flow_matching_loss] expected model(x_t, t) of shape {list(x.shape)}, got "
            f"{list(found.shape)}")
    return ((found - velocity) ** 2).mean()


def sample(model: Velocity, shape: Sequence[int], steps: int = 50, method: str = "heun",
           generator: Optional[Any] = None, noise: Optional[weft.Tensor] = None) -> weft.Tensor:
    """Samples of `shape` [N, ...]: `noise`, drawn where it is not given, moved along model(x, t) from
    t = 0 to 1 in equal steps. "euler" evaluates the model once a step and has an error of order
    1 / steps, "heun" twice, of order 1 / steps^2."""
    if method not in _METHODS:
        raise _core.InvalidArgumentError(
            f"[sample] expected a method of {', '.join(_METHODS)}, got {method!r}")
    if not isinstance(steps, int) or steps < 1:
        raise _core.InvalidArgumentError(f"[sample] expected steps of at least 1, got {steps!r}")
    x = weft.randn(tuple(shape), generator=generator) if noise is None else noise
    if tuple(x.shape) != tuple(shape):
        raise _core.InvalidArgumentError(
            f"[sample] expected noise of shape {list(shape)}, got {list(x.shape)}")
    with weft.no_grad():
        for step in range(steps):
            now, then = (_time(at / steps, x) for at in (step, step + 1))
            slope = model(x, now)
            if method == "heun":
                slope = (slope + model(x + slope / steps, then)) / 2
            x = x + slope / steps
    return x


def _time(t: float, x: weft.Tensor) -> weft.Tensor:
    return weft.full((len(x),), t, dtype=x.dtype)


def _check_samples(name: str, x: Any) -> None:
    if not isinstance(x, weft.Tensor):
        raise TypeError(f"{name}(): argument 'x' must be weft.Tensor, got {type(x).__name__}")
    if x.dim() < 2 or not x.is_floating_point():
        raise _core.InvalidArgumentError(f"[{name}] expected samples [N, ...] of a floating-point "
                                         f"type, got {x.dtype} {list(x.shape)}")
