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


def _split(*settings):
    """The first number of each setting, and the other two."""
    triples = [None if each is None else tuple_of(each, 3) for each in settings]
    return ([each and each[0] for each in triples], [each and each[1:] for each in triples])


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1,  # noqa: A002
               ceil_mode=False, return_indices=False):
    """The largest value of each window of [N, C, D, H, W]."""
    if return_indices:
        raise _core.InvalidArgumentError(
            "[max_pool3d] expected return_indices=False: places in volumes are not kept")
    lines, images = _split(kernel_size, stride, padding, dilation)
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


def _adaptive(name, of_images, of_depth, documentation):
    def function(input, output_size):  # noqa: A002
        sizes = [length if size is None else size for size, length in
                 zip(tuple_of(output_size, 3), input.shape[-3:])]
        return _of_both(name, input, lambda x: of_images(x, tuple(sizes[1:])),
                        lambda x: of_depth(x, sizes[0]))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = documentation
    return function


adaptive_avg_pool3d = _adaptive("adaptive_avg_pool3d", pool.adaptive_avg_pool2d,
                                pool.adaptive_avg_pool1d, "Means of windows that cover the volume.")
adaptive_max_pool3d = _adaptive("adaptive_max_pool3d", pool.adaptive_max_pool2d,
                                pool.adaptive_max_pool1d,
                                "Extremes of windows that cover the volume.")
