"""Pooling of volumes [N, C, D, H, W]: of each image first, and then along the depth, which gives the
same windows."""
from weft import _core
from weft.nn.functions import pool
from weft.nn.functions.conv import tuple_of


def _of_both(name, input, of_images, of_depth):  # noqa: A002
    """of_depth() of lines along the depth, of what of_images() makes of each image."""
    if input.ndim not in (4, 5):
        raise _core.InvalidArgumentError(
            f"[{name}] expected [N, C, D, H, W] or [C, D, H, W], got shape {list(input.shape)}")
    depth = input.shape[-3]
    images = of_images(input.reshape(-1, depth, *input.shape[-2:]))
    lines = images.movedim(1, -1)
    found = of_depth(lines.flatten(1, 2)).unflatten(1, tuple(lines.shape[1:3])).movedim(-1, 1)
    return found.reshape(*input.shape[:-3], *found.shape[1:])


def _with_places(name, input, of_images, of_depth):  # noqa: A002
    """The same for functions that give (values, places); the places count through each volume."""
    area = input.shape[-2] * input.shape[-1]
    places = []

    def images(x):
        values, within = of_images(x)
        places.append(within.movedim(1, -1).flatten(1, 2))
        return values

    def depth(x):
        values, frames = of_depth(x)
        frames = frames.clamp(min=0)  # windows that lie in the padding alone have no place
        places.append(places[0].gather(-1, frames) + frames * area)
        return values

    values = _of_both(name, input, images, depth)
    shape = values.shape[-3:]
    at = places[1].unflatten(1, tuple(shape[1:])).movedim(-1, 1)
    return values, at.reshape(values.shape)


def _split(*settings):
    """The first number of each setting, and the other two."""
    triples = [None if each is None else tuple_of(each, 3) for each in settings]
    return ([each and each[0] for each in triples], [each and each[1:] for each in triples])


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1,  # noqa: A002
               ceil_mode=False, return_indices=False):
    """The largest value of each window of [N, C, D, H, W]."""
    lines, images = _split(kernel_size, stride, padding, dilation)
    if return_indices:
        return _with_places(
            "max_pool3d", input, lambda x: pool.max_pool2d(x, *images, ceil_mode, True),
            lambda x: pool.max_pool1d(x, *lines, ceil_mode, True))
    return _of_both("max_pool3d", input, lambda x: pool.max_pool2d(x, *images, ceil_mode),
                    lambda x: pool.max_pool1d(x, *lines, ceil_mode))


def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False,  # noqa: A002
               count_include_pad=True, divisor_override=None):
    """The mean of each window of [N, C, D, H, W], or its sum over divisor_override."""
    lines, images = _split(kernel_size, stride, padding)
    include = count_include_pad or divisor_override is not None
    mean = _of_both("avg_pool3d", input,
                    lambda x: pool.avg_pool2d(x, *images, ceil_mode, include),
                    lambda x: pool.avg_pool1d(x, *lines, ceil_mode, include))
    if divisor_override is None:
        return mean
    return mean * (lines[0] * images[0][0] * images[0][1] / divisor_override)


def _sizes(output_size, input):  # noqa: A002
    sizes = [length if size is None else size for size, length in
             zip(tuple_of(output_size, 3), input.shape[-3:])]
    return sizes[0], tuple(sizes[1:])


def adaptive_avg_pool3d(input, output_size):  # noqa: A002
    """Means of windows that cover the volume."""
    depth, image = _sizes(output_size, input)
    return _of_both("adaptive_avg_pool3d", input, lambda x: pool.adaptive_avg_pool2d(x, image),
                    lambda x: pool.adaptive_avg_pool1d(x, depth))


def adaptive_max_pool3d(input, output_size, return_indices=False):  # noqa: A002
    """Extremes of windows that cover the volume; with return_indices also their places."""
    depth, image = _sizes(output_size, input)
    if return_indices:
        return _with_places("adaptive_max_pool3d", input,
                            lambda x: pool.adaptive_max_pool2d(x, image, True),
                            lambda x: pool.adaptive_max_pool1d(x, depth, True))
    return _of_both("adaptive_max_pool3d", input, lambda x: pool.adaptive_max_pool2d(x, image),
                    lambda x: pool.adaptive_max_pool1d(x, depth))
