"""Images: sizes, channels, and values at places between the pixels."""
import math
import warnings

from weft import _core
from weft.nn.functions.conv import tuple_of
from weft.nn.functions.pool import adaptive_avg_pool1d, adaptive_avg_pool2d
from weft.nn.functions.pool3d import adaptive_avg_pool3d


def _sizes(input, size, scale_factor, recompute):  # noqa: A002
    lengths = input.shape[2:]
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate() expects either size or scale_factor")
    for name, values in (("size", size), ("scale_factor", scale_factor)):
        if values is not None and (len(tuple_of(values, len(lengths))) != len(lengths) or any(
                not each > 0 for each in tuple_of(values, len(lengths)))):
            raise _core.InvalidArgumentError(
                f"[interpolate] expected {name} as 1 or {len(lengths)} numbers above 0, got "
                f"{values}")
    if size is not None:
        return tuple_of(size, len(lengths))
    wanted = [length * scale for length, scale in
              zip(lengths, tuple_of(scale_factor, len(lengths)))]
    sizes = tuple(math.floor(each) for each in wanted)
    if not recompute and any(each != int(each) for each in wanted):
        raise _core.InvalidArgumentError(
            f"[interpolate] expected a scale_factor that gives whole sizes, got {wanted}: pass "
            f"size={sizes}, or recompute_scale_factor=True")
    return sizes


def _cubic(length, size, align_corners, dtype):
    """[size, length]: what each old value has to do with each new one. Keys, "Cubic convolution
    interpolation for digital image processing", IEEE ASSP 29(6), 1981, with a = -3/4; values beyond
    an end are those of the end."""
    places = _core.arange(size, dtype=_core.float64)
    if align_corners:
        places = places * ((length - 1) / max(size - 1, 1))
    else:
        places = (places + 0.5) * (length / size) - 0.5
    before, a = places.floor(), -0.75
    found = _core.zeros(size, length, dtype=_core.float64)
    for step in range(-1, 3):
        far = (places - before - step).abs()
        near = ((a + 2) * far - (a + 3)) * far * far + 1
        outer = ((far - 5) * far + 8) * far * a - 4 * a
        at = (before + step).clamp(0, length - 1).long().unsqueeze(1)
        found = found.scatter_add(1, at, _core.where(far <= 1, near, outer).unsqueeze(1))
    return found.to(dtype)


def interpolate(input, size=None, scale_factor=None, mode="nearest",  # noqa: A002
                align_corners=None, recompute_scale_factor=None, antialias=False):
    """[N, C, L], [N, C, H, W] or [N, C, D, H, W] at another size: nearest, area, linear, bilinear,
    bicubic or trilinear."""
    axes = input.ndim - 2
    modes = {1: ("nearest", "linear", "area"), 2: ("nearest", "bilinear", "bicubic", "area"),
             3: ("nearest", "trilinear", "area")}.get(axes)
    if modes is None or mode not in modes or antialias:
        raise _core.InvalidArgumentError(
            f"[interpolate] expected mode nearest or area, linear of [N, C, L], bilinear or bicubic "
            f"of [N, C, H, W], or trilinear of [N, C, D, H, W], without antialias; got {mode} of "
            f"shape {list(input.shape)}")
    sizes = _sizes(input, size, scale_factor, recompute_scale_factor)
    if axes == 3:
        return _volume(input, sizes, mode, align_corners)
    if mode == "area":
        return (adaptive_avg_pool1d if axes == 1 else adaptive_avg_pool2d)(input, sizes)
    if mode == "bicubic":
        rows, columns = (_cubic(length, size, align_corners, input.dtype)
                         for length, size in zip(input.shape[2:], sizes))
        return rows @ input @ columns.t()
    kind = "nearest" if mode == "nearest" else "bilinear"
    if axes == 2:
        return _core.interpolate(input, sizes, kind, bool(align_corners))
    return _core.interpolate(input.unsqueeze(2), (1, *sizes), kind, bool(align_corners)).squeeze(2)


def _volume(input, sizes, mode, align_corners):  # noqa: A002
    """interpolate() of [N, C, D, H, W]: of each image, and then along the depth."""
    if mode == "area":
        return adaptive_avg_pool3d(input, sizes)
    image, line = ("bilinear", "linear") if mode == "trilinear" else (mode, mode)
    images = interpolate(input.flatten(1, 2), sizes[1:], None, image, align_corners)
    lines = images.unflatten(1, tuple(input.shape[1:3])).movedim(2, -1)
    found = interpolate(lines.flatten(1, 3), sizes[:1], None, line, align_corners)
    return found.reshape(*lines.shape[:-1], sizes[0]).movedim(-1, 2)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):  # noqa: A002
    """The old name of interpolate()."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):  # noqa: A002
    """interpolate() of the mode nearest."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):  # noqa: A002
    """interpolate() of the mode bilinear, with align_corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)


def pixel_shuffle(input, upscale_factor):  # noqa: A002
    """[..., C r r, H, W] to [..., C, H r, W r]."""
    r = upscale_factor
    *lead, channels, height, width = input.shape
    if r < 1 or channels % (r * r) != 0:
        raise _core.InvalidArgumentError(
            f"[pixel_shuffle] expected channels that are a multiple of {r * r} for "
            f"upscale_factor={r}, got {channels}")
    n = len(lead)
    parts = input.reshape(*lead, channels // (r * r), r, r, height, width)
    order = [*range(n + 1), n + 3, n + 1, n + 4, n + 2]
    return parts.permute(*order).reshape(*lead, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input, downscale_factor):  # noqa: A002
    """The way back of pixel_shuffle()."""
    r = downscale_factor
    *lead, channels, height, width = input.shape
    if r < 1 or height % r != 0 or width % r != 0:
        raise _core.InvalidArgumentError(
            f"[pixel_unshuffle] expected sides that are multiples of {r}, got {height}, {width}")
    n = len(lead)
    parts = input.reshape(*lead, channels, height // r, r, width // r, r)
    order = [*range(n + 1), n + 2, n + 4, n + 1, n + 3]
    return parts.permute(*order).reshape(*lead, channels * r * r, height // r, width // r)


def channel_shuffle(input, groups):  # noqa: A002
    """[N, C, ...]: the channels of each group, one after another."""
    count, channels, *rest = input.shape
    return input.reshape(count, groups, channels // groups, *rest).transpose(1, 2).reshape(
        count, channels, *rest)


def affine_grid(theta, size, align_corners=None):
    """[N, H, W, 2]: where the pixels of an image of `size` come from under theta [N, 2, 3]."""
    count, _, height, width = size
    if tuple(theta.shape) != (count, 2, 3):
        raise _core.InvalidArgumentError(
            f"[affine_grid] expected theta of shape [{count}, 2, 3], got {list(theta.shape)}")

    def places(length):
        if align_corners:
            return _core.linspace(-1.0, 1.0, length)
        return (_core.arange(length).float() * 2.0 + 1.0) / length - 1.0

    rows = places(height).reshape(height, 1).expand(height, width)
    columns = places(width).reshape(1, width).expand(height, width)
    base = _core.stack([columns, rows, _core.ones(height, width)], -1).to(theta.dtype)
    return (base.reshape(1, -1, 3) @ theta.transpose(1, 2)).reshape(count, height, width, 2)


def _pixel(place, length, align_corners, padding_mode):
    pixel = (place + 1) / 2 * (length - 1) if align_corners else ((place + 1) * length - 1) / 2
    return pixel.clamp(0.0, length - 1.0) if padding_mode == "border" else pixel


def _values_at(input, y, x):  # noqa: A002
    """[N, C, H', W']: the pixels at whole places y and x [N, H', W'], 0 outside."""
    count, channels, height, width = input.shape
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    at = (y.clamp(0, height - 1) * width + x.clamp(0, width - 1)).long().reshape(count, 1, -1)
    found = input.flatten(2).gather(2, at.expand(-1, channels, -1))
    return found.reshape(count, channels, *y.shape[1:]) * inside.unsqueeze(1).to(input.dtype)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros",  # noqa: A002
                align_corners=None):
    """[N, C, H, W] at places [N, H', W', 2] in [-1, 1] (x, y)."""
    if input.ndim != 4 or mode not in ("bilinear", "nearest") or padding_mode not in (
            "zeros", "border"):
        raise _core.InvalidArgumentError(
            f"[grid_sample] expected [N, C, H, W], mode bilinear or nearest, padding_mode zeros or "
            f"border; got shape {list(input.shape)}, {mode}, {padding_mode}")
    if grid.ndim != 4 or grid.shape[0] != input.shape[0] or grid.shape[3] != 2:
        raise _core.InvalidArgumentError(
            f"[grid_sample] expected a grid [{input.shape[0]}, H', W', 2], got {list(grid.shape)}")
    if align_corners is None:
        warnings.warn("grid_sample() takes align_corners=False where nothing is given",
                      stacklevel=2)
    x = _pixel(grid[..., 0], input.shape[3], align_corners, padding_mode)
    y = _pixel(grid[..., 1], input.shape[2], align_corners, padding_mode)
    if mode == "nearest":
        return _values_at(input, y.detach().round(), x.detach().round())
    top, left = y.detach().floor(), x.detach().floor()
    down, right = y - top, x - left
    corners = [(top, left, (1 - down) * (1 - right)), (top, left + 1, (1 - down) * right),
               (top + 1, left, down * (1 - right)), (top + 1, left + 1, down * right)]
    total = None
    for row, column, share in corners:
        part = _values_at(input, row, column) * share.unsqueeze(1)
        total = part if total is None else total + part
    return total
