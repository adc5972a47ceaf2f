"""Colors: brightness, contrast, saturation, hue, gamma and shades of gray."""
from typing import Any, Tuple

import weft
from weft import _core
from weft.vision import _pillow
from weft.vision.transforms.functional._convert import convert_image_dtype
from weft.vision.transforms.functional._image import (
    check, check_channels, is_pil, number, refuse, refuse_type)


def check_factor(value: Any, function: str, argument: str) -> None:
    """Refuses all but numbers of at least 0."""
    if not number(value):
        refuse_type(function, argument, "a number", value)
    if not value >= 0:
        refuse(function, f"{argument} of at least 0", value)


def limit_of(img: weft.Tensor) -> float:
    """The greatest value of a channel."""
    return 1.0 if img.is_floating_point() else 255.0


def enhanced(img: Any, kind: str, factor: float) -> Any:
    """A PIL image between its degenerate form (factor 0) and itself (factor 1), or beyond."""
    module = _pillow.module("ImageEnhance", "colors of PIL images")
    return getattr(module, kind)(img).enhance(factor)


def blend(img: weft.Tensor, other: Any, factor: float) -> weft.Tensor:
    """factor * img + (1 - factor) * other, inside the limits and in the type of the image."""
    mixed = float(factor) * img
    if other is not None:
        mixed = mixed + (1.0 - float(factor)) * other
    return mixed.clamp(0, limit_of(img)).to(img.dtype)


def _gray(img: weft.Tensor) -> weft.Tensor:
    """[..., 1, H, W]: the luma of ITU-R BT.601."""
    red, green, blue = img.unbind(dim=-3)
    return (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(-3)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """A PIL image of any mode in shades of gray: of one channel, or of three equal ones."""
    if not is_pil(img):
        refuse_type("to_grayscale", "img", "a PIL image (rgb_to_grayscale() takes tensors)", img)
    if num_output_channels not in (1, 3):
        refuse("to_grayscale", "num_output_channels 1 or 3", num_output_channels)
    gray = img.convert("L")
    if num_output_channels == 1:
        return gray
    return _pillow.module("Image", "to_grayscale()").merge("RGB", (gray, gray, gray))


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """An image in shades of gray: of one channel, or of three equal ones. A tensor of one channel
    keeps one."""
    if check(img, "rgb_to_grayscale"):
        return to_grayscale(img, num_output_channels)
    if num_output_channels not in (1, 3):
        refuse("rgb_to_grayscale", "num_output_channels 1 or 3", num_output_channels)
    if img.ndim < 3:
        refuse("rgb_to_grayscale", "img as [..., 1 or 3, H, W]", f"shape {list(img.shape)}")
    gray = _gray(img) if check_channels(img, "rgb_to_grayscale") == 3 else img.clone()
    return gray if num_output_channels == 1 else gray.expand(*img.shape)


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """An image brighter by a factor: 0 is black, 1 the image itself."""
    pil = check(img, "adjust_brightness")
    check_factor(brightness_factor, "adjust_brightness", "brightness_factor")
    if pil:
        return enhanced(img, "Brightness", brightness_factor)
    check_channels(img, "adjust_brightness")
    return blend(img, None, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """An image with more contrast by a factor: 0 is the mean gray, 1 the image itself."""
    pil = check(img, "adjust_contrast")
    check_factor(contrast_factor, "adjust_contrast", "contrast_factor")
    if pil:
        return enhanced(img, "Contrast", contrast_factor)
    gray = _gray(img) if check_channels(img, "adjust_contrast") == 3 else img
    gray = gray if gray.is_floating_point() else gray.float()
    axes = tuple(range(-min(img.ndim, 3), 0))
    return blend(img, gray.mean(dim=axes, keepdim=True), contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """An image with stronger colors by a factor: 0 is gray, 1 the image itself."""
    pil = check(img, "adjust_saturation")
    check_factor(saturation_factor, "adjust_saturation", "saturation_factor")
    if pil:
        return enhanced(img, "Color", saturation_factor)
    if check_channels(img, "adjust_saturation") == 1:
        return img
    return blend(img, _gray(img), saturation_factor)


def _to_hsv(img: weft.Tensor) -> Tuple[weft.Tensor, weft.Tensor, weft.Tensor]:
    """Hue, saturation and value in [0, 1] of red, green and blue. A gray has hue and saturation
    0."""
    red, green, blue = img.unbind(dim=-3)
    value, least = img.amax(dim=-3), img.amin(dim=-3)
    gray = value == least
    spread = value - least
    one = _core.ones_like(value)
    saturation = spread / _core.where(gray, one, value)
    divisor = _core.where(gray, one, spread)
    from_red, from_green, from_blue = ((value - each) / divisor for each in (red, green, blue))
    sixth = _core.where(value == red, from_blue - from_green,
                        _core.where(value == green, 2.0 + from_red - from_blue,
                                    4.0 + from_green - from_red))
    return weft.fmod(sixth / 6.0 + 1.0, 1.0), saturation, value


def _to_rgb(hue: weft.Tensor, saturation: weft.Tensor, value: weft.Tensor) -> weft.Tensor:
    """The way back. In each sixth of the circle of hues one color is at its greatest, one at its
    least, and one falls or rises between them."""
    sixths = hue * 6.0
    sector = sixths.floor()
    part = sixths - sector
    least = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    falling = (value * (1.0 - saturation * part)).clamp(0.0, 1.0)
    rising = (value * (1.0 - saturation * (1.0 - part))).clamp(0.0, 1.0)
    sector = sector.to(_core.int32) % 6

    def chosen(*by_sector: weft.Tensor) -> weft.Tensor:
        found = by_sector[5]
        for place in range(4, -1, -1):
            found = _core.where(sector == place, by_sector[place], found)
        return found

    return _core.stack([chosen(value, falling, least, least, rising, value),
                        chosen(rising, value, value, falling, least, least),
                        chosen(least, least, rising, value, value, falling)], dim=-3)


def _shift_hue_pil(img: Any, hue_factor: float) -> Any:
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    shift = int(hue_factor * 255)
    hue = hue.point([(place + shift) % 256 for place in range(256)])
    return _pillow.module("Image", "adjust_hue()").merge("HSV", (hue, saturation, value)).convert(
        img.mode)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """An image with its hues moved along their circle by a part of it, from -0.5 to 0.5."""
    pil = check(img, "adjust_hue")
    if not number(hue_factor):
        refuse_type("adjust_hue", "hue_factor", "a number", hue_factor)
    if not -0.5 <= hue_factor <= 0.5:
        refuse("adjust_hue", "hue_factor in [-0.5, 0.5]", hue_factor)
    if pil:
        return _shift_hue_pil(img, hue_factor)
    if check_channels(img, "adjust_hue") == 1:
        return img
    whole = img.dtype is _core.uint8
    hue, saturation, value = _to_hsv(img.float() / 255.0 if whole else img)
    result = _to_rgb((hue + hue_factor) % 1.0, saturation, value)
    return (result * 255.0).to(_core.uint8) if whole else result


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """gain * img ** gamma, of values in [0, 1]: gamma above 1 darkens the shadows."""
    pil = check(img, "adjust_gamma")
    check_factor(gamma, "adjust_gamma", "gamma")
    if not number(gain):
        refuse_type("adjust_gamma", "gain", "a number", gain)
    if pil:
        table = [int((255 + 1 - 1e-3) * gain * pow(level / 255.0, gamma)) for level in range(256)]
        return img.convert("RGB").point(table * 3).convert(img.mode)
    check_channels(img, "adjust_gamma")
    values = img if img.is_floating_point() else convert_image_dtype(img, _core.float32)
    return convert_image_dtype((gain * values ** gamma).clamp(0, 1), img.dtype)
