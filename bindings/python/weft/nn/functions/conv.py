"""Convolutions with PyTorch's arguments: images without a batch, padding="same", padding modes."""
from weft import _core

_MODES = ("zeros", "reflect", "replicate", "circular")


def tuple_of(value, count):
    """`value` for each of so many axes."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def padded_sides(padding, kernel, stride, dilation):
    """(left, right) zeros of each axis for padding as a number, a tuple, "same" or "valid"."""
    axes = len(kernel)
    if padding == "valid":
        return ((0, 0),) * axes
    if padding != "same":
        if isinstance(padding, str):
            raise ValueError(f'expected padding "same", "valid" or numbers, got "{padding}"')
        return tuple((each, each) for each in tuple_of(padding, axes))
    if any(each != 1 for each in tuple_of(stride, axes)):
        raise ValueError(f'expected stride 1 with padding="same", got {stride}')
    whole = [d * (k - 1) for d, k in zip(tuple_of(dilation, axes), kernel)]
    return tuple((each // 2, each - each // 2) for each in whole)  # the odd one comes after


def pad(input, pad, mode="constant", value=None):  # noqa: A002
    """Padding of the last axes: (left, right, top, bottom, ...), the last axis first."""
    if len(pad) % 2 != 0 or len(pad) > 2 * input.ndim:
        raise _core.InvalidArgumentError(
            f"[pad] expected pad as two numbers for each of at most {input.ndim} axes, got {pad}")
    if mode != "circular":
        return _core._pad(input, list(pad), mode, 0.0 if value is None else value)
    for i in range(0, len(pad), 2):
        axis, length = -1 - i // 2, input.shape[-1 - i // 2]
        before, after = pad[i], pad[i + 1]
        if not 0 <= before <= length or not 0 <= after <= length:
            raise _core.InvalidArgumentError(
                f"[pad] expected circular padding of at most {length}, the length of axis {axis}, "
                f"got ({before}, {after})")
        parts = [input.narrow(axis, length - before, before), input,
                 input.narrow(axis, 0, after)]
        input = _core.cat([part for part in parts if part.shape[axis]], axis)  # noqa: A001
    return input


def with_batch(function, axes):
    """`function` of [N, C, axes...], for [C, axes...] too."""

    def batched(input, *args, **kwargs):  # noqa: A002
        if input.ndim == axes + 1:
            return function(input.unsqueeze(0), *args, **kwargs).squeeze(0)
        return function(input, *args, **kwargs)

    return batched


def _convolution(native, axes, documentation):
    batched = with_batch(native, axes)

    def convolve(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1,  # noqa: A002
                 **relu):
        if isinstance(padding, str):
            sides = padded_sides(padding, weight.shape[2:], stride, dilation)
            padding = tuple(before for before, _ in sides)
            if any(before != after for before, after in sides):
                input = pad(input, [side for pair in reversed(sides) for side in pair])  # noqa: A001
                padding = 0
        return batched(input, weight, bias, stride, padding, dilation, groups, **relu)

    convolve.__doc__ = documentation
    return convolve


conv1d = _convolution(_core.conv1d, 1, "[N, C, L] by weight [O, C / groups, k]: [N, O, L'].")
conv2d = _convolution(_core.conv2d, 2,
                      "[N, C, H, W] by weight [O, C / groups, kh, kw]: [N, O, H', W'].")


def _conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):  # noqa: A002
    """As conv2d() of frames: the channels of those that a kernel's depth spans become channels of
    one frame, so that one convolution sums over all of them."""
    stride, padding, dilation = (tuple_of(each, 3) for each in (stride, padding, dilation))
    if input.ndim != 5 or weight.ndim != 5 or groups < 1 or (
            input.shape[1] != weight.shape[1] * groups):
        raise _core.InvalidArgumentError(
            f"[conv3d] expected [N, C, D, H, W] and a weight [O, C / groups, kd, kh, kw], got "
            f"{list(input.shape)}, {list(weight.shape)} and groups={groups}")
    if any(padding):
        input = pad(input, [side for each in reversed(padding) for side in (each, each)])  # noqa: A001
    count, channels, length = input.shape[:3]
    outputs, depth = weight.shape[0], weight.shape[2]
    frames = (length - dilation[0] * (depth - 1) - 1) // stride[0] + 1
    if frames < 1 or min(stride + dilation) < 1:
        raise _core.InvalidArgumentError(
            f"[conv3d] expected a kernel within the padded input, whose depth is {length}, and "
            f"stride and dilation of at least 1; got a depth of {depth}, {stride} and {dilation}")
    last = (frames - 1) * stride[0] + 1
    spans = _core.stack([input[:, :, z * dilation[0]:z * dilation[0] + last:stride[0]]
                         for z in range(depth)], 2)  # [N, C, kd, D', H, W]
    spans = spans.permute(0, 3, 1, 2, 4, 5).reshape(count * frames, channels * depth,
                                                    *input.shape[3:])
    flat = weight.reshape(outputs, weight.shape[1] * depth, *weight.shape[3:])
    found = _core.conv2d(spans, flat, bias, stride[1:], 0, dilation[1:], groups)
    return found.reshape(count, frames, *found.shape[1:]).permute(0, 2, 1, 3, 4)


conv3d = _convolution(_conv3d, 3,
                      "[N, C, D, H, W] by weight [O, C / groups, kd, kh, kw]: [N, O, D', H', W'].")
conv_transpose1d = with_batch(_core.conv_transpose1d, 1)
conv_transpose1d.__doc__ = "The transpose of conv1d(): weight [C, O / groups, k]."
conv_transpose2d = with_batch(_core.conv_transpose2d, 2)
conv_transpose2d.__doc__ = "The transpose of conv2d(): weight [C, O / groups, kh, kw]."


def _conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0,  # noqa: A002
                      groups=1, dilation=1):
    """As conv_transpose2d() of frames, which gives each frame's share in the outputs that the
    kernel's depth spans; the shares are added at their places."""
    if input.ndim != 5 or weight.ndim != 5 or groups < 1 or input.shape[1] != weight.shape[0]:
        raise _core.InvalidArgumentError(
            f"[conv_transpose3d] expected [N, C, D, H, W] and a weight [C, O / groups, kd, kh, kw], "
            f"got {list(input.shape)}, {list(weight.shape)} and groups={groups}")
    stride, padding, added, dilation = (
        tuple_of(each, 3) for each in (stride, padding, output_padding, dilation))
    count, channels, depth = input.shape[:3]
    sizes = [(length - 1) * s - 2 * p + d * (k - 1) + 1 + more for length, s, p, d, k, more in zip(
        input.shape[2:], stride, padding, dilation, weight.shape[2:], added)]
    if min(sizes) < 1 or min(stride + dilation) < 1 or any(not 0 <= more < max(s, d) for more, s, d
                                                           in zip(added, stride, dilation)):
        raise _core.InvalidArgumentError(
            f"[conv_transpose3d] expected outputs of at least 1 in each axis, stride and dilation of "
            f"at least 1 and an output_padding below one of them; got {sizes}, {stride}, {dilation} "
            f"and {added}")
    frames = input.transpose(1, 2).reshape(count * depth, channels, *input.shape[3:])
    shares = _core.conv_transpose2d(frames, weight.flatten(1, 2), None, stride[1:], 0, 0, groups,
                                    dilation[1:])
    image = tuple(shares.shape[2:])
    shares = shares.reshape(count, depth, -1, weight.shape[2], image[0] * image[1])
    shares = shares.permute(3, 0, 2, 1, 4)  # [kd, N, O, D, H' W']
    if stride[0] > 1:  # zeros between the frames
        spread = pad(shares.unsqueeze(4), (0, 0, 0, stride[0] - 1))
        shares = spread.flatten(3, 4).narrow(3, 0, (depth - 1) * stride[0] + 1)
    shares = shares.unflatten(4, image)
    found = shares.narrow(0, 0, 0).sum()  # 0, with a history even if no share meets the output
    found = (found if bias is None else found + bias.reshape(-1, 1, 1, 1)).expand(
        count, shares.shape[2], *sizes)
    images = [side for axis in (2, 1) for side in (
        -padding[axis], sizes[axis] - shares.shape[3 + axis] + padding[axis])]
    for z in range(weight.shape[2]):
        before = z * dilation[0] - padding[0]
        after = sizes[0] - shares.shape[3] - before
        if max(before, after) < sizes[0]:  # else all of it lies beside the output
            found = found + pad(shares[z], (*images, before, after))
    return found


conv_transpose3d = with_batch(_conv_transpose3d, 3)
conv_transpose3d.__doc__ = "The transpose of conv3d(): weight [C, O / groups, kd, kh, kw]."


def _windows(input, kernel, dilation, padding, stride, value=0.0):  # noqa: A002
    """[N, C, kh kw, H', W']: the values of each window, and where windows begin."""
    if input.ndim != 4:
        raise _core.InvalidArgumentError(
            f"[unfold] expected [N, C, H, W] or [C, H, W], got {list(input.shape)}")
    kernel, dilation, padding, stride = (tuple_of(each, 2) for each in
                                         (kernel, dilation, padding, stride))
    if any(padding):
        input = pad(input, (padding[1], padding[1], padding[0], padding[0]),  # noqa: A001
                    value=value)
    sizes = [(length - d * (k - 1) - 1) // s + 1
             for length, d, k, s in zip(input.shape[2:], dilation, kernel, stride)]
    if any(size < 1 for size in sizes):
        raise _core.InvalidArgumentError(
            f"[unfold] expected windows of {kernel} within the padded image, which has "
            f"{list(input.shape[2:])}")
    ends = [(size - 1) * s + 1 for size, s in zip(sizes, stride)]
    return _core.stack([
        input[:, :, i * dilation[0]:i * dilation[0] + ends[0]:stride[0],
              j * dilation[1]:j * dilation[1] + ends[1]:stride[1]]
        for i in range(kernel[0]) for j in range(kernel[1])], 2)


def _unfold(input, kernel_size, dilation=1, padding=0, stride=1):  # noqa: A002
    windows = _windows(input, kernel_size, dilation, padding, stride)
    return windows.reshape(windows.shape[0], windows.shape[1] * windows.shape[2], -1)


unfold = with_batch(_unfold, 2)
unfold.__doc__ = "The windows of [N, C, H, W] as columns: [N, C kh kw, count]."


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):  # noqa: A002
    """The sum of windows at their places, the transpose of unfold()."""
    if input.ndim == 2:
        return fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding,
                    stride).squeeze(0)
    size, kernel, dilation, padding, stride = (
        tuple_of(each, 2) for each in (output_size, kernel_size, dilation, padding, stride))
    counts = [(length + 2 * p - d * (k - 1) - 1) // s + 1
              for length, p, d, k, s in zip(size, padding, dilation, kernel, stride)]
    area = kernel[0] * kernel[1]
    if input.shape[1] % area != 0 or input.shape[2] != counts[0] * counts[1]:
        raise _core.InvalidArgumentError(
            f"[fold] expected [N, C {area}, {counts[0] * counts[1]}], got {list(input.shape)}")
    channels = input.shape[1] // area
    spots = _core.eye(area, dtype=input.dtype).reshape(area, 1, *kernel)
    rest = [length - ((count - 1) * s - 2 * p + d * (k - 1) + 1) for length, count, s, p, d, k in
            zip(size, counts, stride, padding, dilation, kernel)]
    return _core.conv_transpose2d(
        input.reshape(input.shape[0], input.shape[1], *counts), spots.repeat(channels, 1, 1, 1),
        None, stride, padding, rest, channels, dilation)
