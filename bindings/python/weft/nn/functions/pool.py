"""Pooling with PyTorch's arguments."""
from weft import _core
from weft.nn.functions.conv import tuple_of, with_batch
from weft.nn.functions.pool_places import max_of_parts, max_of_windows

max_pool1d_values = with_batch(_core.max_pool1d, 1)
max_pool2d_values = with_batch(_core.max_pool2d, 2)
avg_pool1d = with_batch(_core.avg_pool1d, 1)
avg_pool1d.__doc__ = "The mean of each window of [N, C, L]."
adaptive_avg_pool1d = with_batch(_core.adaptive_avg_pool1d, 1)
adaptive_avg_pool1d.__doc__ = "Means of windows that cover [N, C, L]."
_adaptive_max_pool1d = with_batch(_core.adaptive_max_pool1d, 1)
_avg_pool2d = with_batch(_core.avg_pool2d, 2)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1,  # noqa: A002
               ceil_mode=False, return_indices=False):
    """The largest value of each window of [N, C, H, W]; with return_indices also its place."""
    if isinstance(dilation, bool):  # an old order of arguments: (..., padding, ceil_mode)
        dilation, ceil_mode = 1, dilation
    if tuple_of(dilation, 2) == (1, 1) and not return_indices:
        return max_pool2d_values(input, kernel_size, stride, padding, ceil_mode)
    found = max_of_windows(input if input.ndim == 4 else input.unsqueeze(0), kernel_size,
                           kernel_size if stride is None else stride, padding, dilation, ceil_mode)
    values, places = found if input.ndim == 4 else (each.squeeze(0) for each in found)
    return (values, places) if return_indices else values


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1,  # noqa: A002
               ceil_mode=False, return_indices=False):
    """The largest value of each window of [N, C, L]."""
    if dilation in (1, (1,)) and not return_indices:
        return max_pool1d_values(input, kernel_size, stride, padding, ceil_mode)
    kernel = tuple_of(kernel_size, 1)
    step = kernel if stride is None else tuple_of(stride, 1)
    found = max_pool2d(input.unsqueeze(-2), (1, *kernel), (1, *step), (0, *tuple_of(padding, 1)),
                       (1, *tuple_of(dilation, 1)), ceil_mode, return_indices)
    return tuple(each.squeeze(-2) for each in found) if return_indices else found.squeeze(-2)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False,  # noqa: A002
               count_include_pad=True, divisor_override=None):
    """The mean of each window of [N, C, H, W], or its sum over divisor_override."""
    if stride is not None and 0 in tuple_of(stride, 2):
        raise _core.InvalidArgumentError(f"[avg_pool2d] expected stride of at least 1, got {stride}")
    if divisor_override is None:
        return _avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)
    kernel = tuple_of(kernel_size, 2)
    mean = _avg_pool2d(input, kernel_size, stride, padding, ceil_mode, True)
    return mean * (kernel[0] * kernel[1] / divisor_override)


def _adaptive_2d(native, documentation):
    batched = with_batch(native, 2)

    def pool(input, output_size):  # noqa: A002
        if len(tuple_of(output_size, 2)) != 2:
            raise _core.InvalidArgumentError(
                f"[adaptive_pool2d] expected output_size of 1 or 2 numbers, got {output_size}")
        sizes = tuple(length if size is None else size for size, length in
                      zip(tuple_of(output_size, 2), input.shape[-2:]))
        return batched(input, sizes)

    pool.__doc__ = documentation
    return pool


adaptive_avg_pool2d = _adaptive_2d(_core.adaptive_avg_pool2d,
                                   "Means of windows that cover the image.")
_adaptive_max_pool2d = _adaptive_2d(_core.adaptive_max_pool2d, "")


def adaptive_max_pool2d(input, output_size, return_indices=False):  # noqa: A002
    """Extremes of windows that cover the image; with return_indices also their places."""
    if not return_indices:
        return _adaptive_max_pool2d(input, output_size)
    sizes = [length if size is None else size for size, length in
             zip(tuple_of(output_size, 2), input.shape[-2:])]
    return max_of_parts(input, sizes)


def adaptive_max_pool1d(input, output_size, return_indices=False):  # noqa: A002
    """Extremes of windows that cover [N, C, L]; with return_indices also their places."""
    if not return_indices:
        return _adaptive_max_pool1d(input, output_size)
    found = max_of_parts(input.unsqueeze(-2), [1, *tuple_of(output_size, 1)])
    return tuple(each.squeeze(-2) for each in found)


def _norms(powers, area, norm_type):
    return (powers * area) ** (1.0 / norm_type)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):  # noqa: A002
    """The norm of each window: the root of the sum of powers."""
    kernel = tuple_of(kernel_size, 2)
    return _norms(avg_pool2d(input ** norm_type, kernel_size, stride, 0, ceil_mode),
                  kernel[0] * kernel[1], norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):  # noqa: A002
    """The norm of each window of [N, C, L]: the root of the sum of powers."""
    return _norms(avg_pool1d(input ** norm_type, kernel_size, stride, 0, ceil_mode),
                  tuple_of(kernel_size, 1)[0], norm_type)
