"""Max-pooling by windows at drawn distances: a result of any size.

IMPLEMENTATION: B. Graham, "Fractional max-pooling", 2014; the windows begin at the pseudo-random
sequence of its section 2, with one draw for each axis of each channel.
"""
import math

from weft import _core
from weft.nn.functions.conv import tuple_of


def output_sizes(name, axes, lengths, output_size, output_ratio):
    """How many windows each axis has."""
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name}() expects either output_size or output_ratio, got "
                         f"{'both' if output_size is not None else 'none'}")
    if output_size is not None:
        return tuple_of(output_size, axes)
    ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * axes
    for ratio in ratios:
        if not 0 < ratio < 1:
            raise ValueError(f"{name}() expects output_ratio between 0 and 1, got {output_ratio}")
    return tuple(int(length * ratio) for length, ratio in zip(lengths, ratios))


def _starts(samples, length, count, kernel):
    """[N, C, count]: where the windows of an axis begin, by draws [N, C] of 0 to 1."""
    last = length - kernel
    if count == 1:
        return _core.full((*samples.shape, 1), last, dtype=_core.int64)
    step = last / (count - 1)
    drawn = samples.unsqueeze(-1)
    steps = _core.arange(count).to(drawn.dtype)
    begins = ((steps + drawn) * step).floor() - (drawn * step).floor()
    begins[..., count - 1] = last
    return begins.long()


def fractional_max_pool(name, axes, given, kernel_size, output_size, output_ratio, return_indices,
                        samples):
    """The pool of [N, C, ...] or [C, ...] with `axes` axes of pixels."""
    if given.ndim not in (axes + 1, axes + 2):
        raise _core.InvalidArgumentError(
            f"[{name}] expected [N, C, ...] or [C, ...] with {axes} axes of pixels, got shape "
            f"{list(given.shape)}")
    x = given if given.ndim == axes + 2 else given.unsqueeze(0)
    lengths, kernel = x.shape[2:], tuple_of(kernel_size, axes)
    sizes = output_sizes(name, axes, lengths, output_size, output_ratio)
    for length, size, width in zip(lengths, sizes, kernel):
        if size < 1 or width < 1 or size + width - 1 > length:
            raise _core.InvalidArgumentError(
                f"[{name}] expected output_size + kernel_size - 1 of at least 1 and at most the "
                f"{length} pixels of the axis, got {size} windows of {width}")
    drawn = samples
    if drawn is None:
        drawn = _core.rand(x.shape[0], x.shape[1], axes)
    if tuple(drawn.shape) != (x.shape[0], x.shape[1], axes):
        raise _core.InvalidArgumentError(
            f"[{name}] expected _random_samples of shape "
            f"{[x.shape[0], x.shape[1], axes]}, got {list(drawn.shape)}")
    places = _places(drawn, lengths, sizes, kernel)
    windows = x.flatten(2).gather(2, places.flatten(2)).reshape(*places.shape)
    values, which = windows.max(-1)
    found = places.gather(-1, which.unsqueeze(-1)).squeeze(-1)
    if given.ndim == axes + 1:
        values, found = values.squeeze(0), found.squeeze(0)
    return (values, found) if return_indices else values


def _places(drawn, lengths, sizes, kernel):
    """[N, C, *sizes, pixels of a window]: where each pixel lies in its channel."""
    axes = len(lengths)
    places = _core.zeros((*drawn.shape[:2], *(1,) * (2 * axes)), dtype=_core.int64)
    for axis, (length, size, width) in enumerate(zip(lengths, sizes, kernel)):
        # PyTorch draws for the columns of images first, and for the planes of volumes.
        sample = drawn[..., axes - 1 - axis if axes == 2 else axis]
        pixels = _starts(sample, length, size, width).unsqueeze(-1) + _core.arange(width)
        shape = [*drawn.shape[:2], *(1,) * (2 * axes)]
        shape[2 + axis], shape[2 + axes + axis] = size, width
        places = places + pixels.reshape(shape) * math.prod(lengths[axis + 1:])
    return places.flatten(2 + axes)


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None,  # noqa: A002
                          return_indices=False, _random_samples=None):
    """The largest value of each of output_size windows of an image, at drawn distances."""
    return fractional_max_pool("fractional_max_pool2d", 2, input, kernel_size, output_size,
                               output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None,  # noqa: A002
                          return_indices=False, _random_samples=None):
    """The largest value of each of output_size windows of a volume, at drawn distances."""
    return fractional_max_pool("fractional_max_pool3d", 3, input, kernel_size, output_size,
                               output_ratio, return_indices, _random_samples)
