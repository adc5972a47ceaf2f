"""Levels of channels (inversion, posterizing, solarizing, contrast, equalizing) and neighborhoods
(blur, sharpness)."""
from typing import Any, List, Optional, Sequence, Union

import weft
from weft import _core
from weft.nn import functional as F
from weft.vision import _pillow
from weft.vision.transforms.functional import _image
from weft.vision.transforms.functional._color import blend, check_factor, enhanced, limit_of
from weft.vision.transforms.functional._image import (
    check, check_channels, number, refuse, refuse_type, sequence)
from weft.vision.transforms.functional._sizes import pad_by_source, rounded


def _by_pillow(img: Any, function: str, *args: Any) -> Any:
    return getattr(_pillow.module("ImageOps", f"{function}()"), function)(img, *args)


def _check_channels(img: weft.Tensor, function: str, bytes_only: bool = False) -> None:
    if img.ndim < 3:
        refuse(function, "img as [..., 1 or 3, H, W]", f"shape {list(img.shape)}")
    if bytes_only and img.dtype is not _core.uint8:
        raise TypeError(f"{function}(): argument 'img' must be of type weft.uint8, got "
                        f"{img.dtype}: use convert_image_dtype() first")
    check_channels(img, function)


def invert(img: Any) -> Any:
    """The negative of an image."""
    if check(img, "invert"):
        return _by_pillow(img, "invert")
    _check_channels(img, "invert")
    return (1 if img.is_floating_point() else 255) - img


def posterize(img: Any, bits: int) -> Any:
    """An image of bytes with the upper `bits` bits of each value."""
    pil = check(img, "posterize")
    if not hasattr(bits, "__index__"):
        refuse_type("posterize", "bits", "a whole number", bits)
    if not 0 <= bits <= 8:
        refuse("posterize", "bits in [0, 8]", bits)
    if pil:
        return _by_pillow(img, "posterize", bits)
    _check_channels(img, "posterize", True)
    return img & (256 - 2 ** (8 - int(bits)))


def solarize(img: Any, threshold: float) -> Any:
    """An image with the values from `threshold` on inverted."""
    pil = check(img, "solarize")
    if not number(threshold):
        refuse_type("solarize", "threshold", "a number", threshold)
    if pil:
        return _by_pillow(img, "solarize", threshold)
    _check_channels(img, "solarize")
    limit = limit_of(img)
    if threshold > limit:
        refuse("solarize", f"threshold of at most {limit:g} for an image of {img.dtype}", threshold)
    return _core.where(img >= threshold, invert(img), img)


def autocontrast(img: Any) -> Any:
    """An image with the least value of each channel made black and the greatest white."""
    if check(img, "autocontrast"):
        return _by_pillow(img, "autocontrast")
    _check_channels(img, "autocontrast")
    limit = limit_of(img)
    values = img if img.is_floating_point() else img.float()
    least, most = (values.amin(dim=(-2, -1), keepdim=True), values.amax(dim=(-2, -1), keepdim=True))
    scale = (most - least).reciprocal() * limit
    flat = scale.isfinite().logical_not()
    least, scale = least.masked_fill(flat, 0.0), scale.masked_fill(flat, 1.0)
    return ((values - least) * scale).clamp(0, limit).to(img.dtype)


def _equalized(channel: weft.Tensor) -> weft.Tensor:
    """A channel [H, W] of bytes whose values are spread so that each range of them is about as
    frequent as another of its length."""
    places = channel.reshape(-1).long()
    counts = _core.bincount(places, minlength=256).tolist()
    last = max(level for level, count in enumerate(counts) if count)
    step = (sum(counts) - counts[last]) // 255
    if step == 0:
        return channel
    levels, below = [], step // 2
    for count in counts:
        levels.append(min(below // step, 255))
        below += count
    table = _core.tensor(levels, dtype=_core.uint8)
    return table.index_select(0, places).view(*channel.shape)


def equalize(img: Any) -> Any:
    """An image with the histogram of each channel made even."""
    if check(img, "equalize"):
        return _by_pillow(img, "equalize")
    _check_channels(img, "equalize", True)
    if img.numel() == 0:
        return img
    values, lead = _image.planes(img)
    channels = [_equalized(channel) for image in values.unbind(0) for channel in image.unbind(0)]
    return _core.stack(channels).view(*lead, *img.shape[-2:])


def _gaussian(size: int, sigma: float, dtype: weft.dtype) -> weft.Tensor:
    half = (size - 1) * 0.5
    bell = (-0.5 * (_core.linspace(-half, half, size) / sigma) ** 2).exp()
    return (bell / bell.sum()).to(dtype)


def _blur_tensor(img: weft.Tensor, kernel_size: Sequence[int],
                 sigma: Sequence[float]) -> weft.Tensor:
    values, lead = _image.planes(img)
    values = values if values.is_floating_point() else values.float()
    across, down = kernel_size[0] // 2, kernel_size[1] // 2
    values = pad_by_source(values, [across, down, across, down], "reflect", 2, 3)
    x, y = (_gaussian(size, spread, values.dtype) for size, spread in zip(kernel_size, sigma))
    channels = values.shape[1]
    kernel = (y.unsqueeze(1) * x).expand(channels, 1, kernel_size[1], kernel_size[0])
    values = F.conv2d(values, kernel, groups=channels)
    return rounded(values, img.dtype).reshape(*lead, *img.shape[-2:])


def kernel_sizes(kernel_size: Any, function: str) -> List[int]:
    """(width, height) of a kernel, odd numbers."""
    sizes = sequence(kernel_size, (2,), function, "kernel_size")
    if not all(each == int(each) and each > 0 and each % 2 == 1 for each in sizes):
        refuse(function, "kernel_size of odd whole numbers above 0", kernel_size)
    return [int(each) for each in sizes]


def gaussian_blur(img: Any, kernel_size: Union[int, Sequence[int]],
                  sigma: Optional[Union[float, Sequence[float]]] = None) -> Any:
    """An image blurred by a bell of `kernel_size` (width, height), odd numbers, and standard
    deviation `sigma` (along x, along y), by default 0.15 kernel_size + 0.35."""
    pil = check(img, "gaussian_blur")
    sizes = kernel_sizes(kernel_size, "gaussian_blur")
    spreads = [size * 0.15 + 0.35 for size in sizes] if sigma is None else [
        float(each) for each in sequence(sigma, (2,), "gaussian_blur", "sigma")]
    if not min(spreads) > 0:
        refuse("gaussian_blur", "sigma above 0", sigma)
    height, width = (img.height, img.width) if pil else img.shape[-2:]
    if sizes[0] // 2 >= width or sizes[1] // 2 >= height:
        refuse("gaussian_blur", f"kernel_size below twice the image's sides, {width} x {height}",
               kernel_size)
    if not pil:
        return _blur_tensor(img, sizes, spreads)
    if img.mode in ("1", "P"):
        refuse("gaussian_blur", "img of a mode with shades, such as img.convert('RGB')", img.mode)
    values = _image.pixels(img).permute(2, 0, 1)
    return _image.image_of(_blur_tensor(values, sizes, spreads).permute(1, 2, 0), img.mode)


def _smoothed(img: weft.Tensor) -> weft.Tensor:
    """Each value inside the image mixed with its eight neighbors, itself five times."""
    values = img if img.is_floating_point() else img.float()
    height, width = img.shape[-2:]
    rows = values[..., :height - 2, :] + values[..., 1:height - 1, :] + values[..., 2:, :]
    around = rows[..., :width - 2] + rows[..., 1:width - 1] + rows[..., 2:]
    mixed = (around + 4 * values[..., 1:height - 1, 1:width - 1]) / 13
    result = img.clone()
    result[..., 1:height - 1, 1:width - 1] = rounded(mixed, img.dtype)
    return result


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """An image sharper by a factor: 0 is blurred, 1 the image itself."""
    pil = check(img, "adjust_sharpness")
    check_factor(sharpness_factor, "adjust_sharpness", "sharpness_factor")
    if pil:
        return enhanced(img, "Sharpness", sharpness_factor)
    check_channels(img, "adjust_sharpness")
    if min(img.shape[-2:]) <= 2:
        return img
    return blend(img, _smoothed(img), sharpness_factor)
