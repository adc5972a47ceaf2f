"""Maxima with their places, which are counted through each image, and the way back from them."""
from weft import _core
from weft.nn.functions.conv import _windows, pad, tuple_of


def _missing(length, kernel, stride, padding, dilation):
    """How many values behind the padding the windows of ceil_mode reach."""
    span = dilation * (kernel - 1) + 1
    count = -(-(length + 2 * padding - span) // stride) + 1
    if (count - 1) * stride >= length + padding:  # a window has to begin within the image
        count -= 1
    return max((count - 1) * stride + span - length - 2 * padding, 0)


def max_of_windows(input, kernel, stride, padding, dilation, ceil_mode=False):  # noqa: A002
    """(values, places) of max-pooling [N, C, H, W] by explicit windows."""
    height, width = input.shape[2:]
    kernel, stride, padding, dilation = (tuple_of(each, 2)
                                         for each in (kernel, stride, padding, dilation))
    behind = [_missing(*each) for each in zip((height, width), kernel, stride, padding, dilation)
              ] if ceil_mode else (0, 0)
    sides = (padding[1], padding[1] + behind[1], padding[0], padding[0] + behind[0])

    def windows(image, outside):
        image = pad(image, sides, value=outside) if any(sides) else image
        return _windows(image, kernel, dilation, 0, stride)

    places = _core.arange(height * width).reshape(1, 1, height, width)
    at = windows(places.float() if height * width < 2 ** 24 else places.double(), -1)
    values, which = windows(input, -float("inf")).max(2)
    rows = at.expand(input.shape[0], input.shape[1], *at.shape[2:])
    return values, rows.gather(2, which.unsqueeze(2)).squeeze(2).long()


def _parts(length, count):
    """[count, longest]: the places of each of `count` parts that cover `length`; shorter ones repeat
    their last place."""
    starts = [i * length // count for i in range(count)]
    ends = [-(-(i + 1) * length // count) for i in range(count)]
    longest = max((end - start for start, end in zip(starts, ends)), default=0)
    return _core.tensor([[min(start + j, end - 1) for j in range(longest)]
                         for start, end in zip(starts, ends)], dtype=_core.int64)


def max_of_parts(input, sizes):  # noqa: A002
    """(values, places) of the maxima of parts that cover [..., H, W], `sizes` of them an axis."""
    for size in sizes:
        if not hasattr(size, "__index__") or size < 1:
            raise _core.InvalidArgumentError(
                f"[adaptive_max_pool] expected output_size of at least 1 beside return_indices, got "
                f"{list(sizes)}")
    if input.ndim not in (3, 4):
        raise _core.InvalidArgumentError(
            f"[adaptive_max_pool] expected [N, C, ...] or [C, ...], got shape {list(input.shape)}")
    lead, (height, width) = input.shape[:-2], input.shape[-2:]
    rows, columns = _parts(height, sizes[0]), _parts(width, sizes[1])
    (down, tall), (right, wide) = rows.shape, columns.shape
    found = input.index_select(-2, rows.flatten()).index_select(-1, columns.flatten())
    found = found.reshape(*lead, down, tall, right, wide).transpose(-3, -2)
    values, which = found.flatten(-2).max(-1)
    at = rows.reshape(down, 1, tall, 1) * width + columns.reshape(1, right, 1, wide)
    at = at.reshape(down, right, tall * wide).expand(*lead, down, right, tall * wide)
    return values, at.gather(-1, which.unsqueeze(-1)).squeeze(-1)


def _sizes_back(name, input, kernel, stride, padding, output_size):  # noqa: A002
    """The lengths of what was pooled."""
    axes = len(kernel)
    usual = [(count - 1) * s - 2 * p + k
             for count, s, p, k in zip(input.shape[-axes:], stride, padding, kernel)]
    if output_size is None:
        return usual
    sizes = list(output_size)[-axes:]
    if len(output_size) not in (axes, axes + 1, axes + 2) or any(
            not abs(size - each) < s for size, each, s in zip(sizes, usual, stride)):
        raise _core.InvalidArgumentError(
            f"[{name}] expected an output_size that differs from {usual} by less than the stride "
            f"{list(stride)}, got {list(output_size)}")
    return sizes


def _unpooling(axes):
    name = f"max_unpool{axes}d"

    def unpool(input, indices, kernel_size, stride=None, padding=0,  # noqa: A002
               output_size=None):
        kernel, padding = tuple_of(kernel_size, axes), tuple_of(padding, axes)
        stride = kernel if stride is None else tuple_of(stride, axes)
        if input.ndim not in (axes + 1, axes + 2) or tuple(indices.shape) != tuple(input.shape):
            raise _core.InvalidArgumentError(
                f"[{name}] expected an input of {axes + 1} or {axes + 2} axes and indices of its "
                f"shape, got {list(input.shape)} and {list(indices.shape)}")
        sizes = _sizes_back(name, input, kernel, stride, padding, output_size)
        lead, area = tuple(input.shape[:-axes]), 1
        for size in sizes:
            area *= size
        flat = _core.zeros(*lead, area, dtype=input.dtype)
        found = flat.scatter(-1, indices.flatten(-axes), input.flatten(-axes))
        return found.reshape(*lead, *sizes)

    unpool.__name__ = unpool.__qualname__ = name
    unpool.__doc__ = (f"The values at the places that max_pool{axes}d(return_indices=True) gave, 0 "
                      "elsewhere.")
    return unpool


max_unpool1d, max_unpool2d, max_unpool3d = map(_unpooling, (1, 2, 3))
