"""Transforms of colors and levels, blur and erasing."""
from typing import Any, List, Optional, Sequence, Tuple, Union

import weft
from weft import _core
from weft.vision.transforms import _draws
from weft.vision.transforms import functional as F
from weft.vision.transforms._base import Transform, WithChance, range_of
from weft.vision.transforms._sizes import random_part
from weft.vision.transforms.functional._color import check_factor
from weft.vision.transforms.functional._image import (
    check_tensor, number, refuse, refuse_type, sequence)
from weft.vision.transforms.functional._levels import kernel_sizes

_Range = Union[float, Sequence[float]]


class Grayscale(Transform):
    """An image in shades of gray, of one channel or of three equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        if num_output_channels not in (1, 3):
            refuse("Grayscale", "num_output_channels 1 or 3", num_output_channels)
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        """The image in shades of gray."""
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def settings(self) -> str:
        return f"num_output_channels={self.num_output_channels}"


class RandomGrayscale(WithChance):
    """An image in shades of gray with as many channels as before, with probability `p`."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def forward(self, img: Any) -> Any:
        """The image, in shades of gray or as it is."""
        channels = F.get_image_num_channels(img)
        return F.rgb_to_grayscale(img, channels) if _draws.chance(self.p) else img


def _factors(value: Any, name: str, center: float = 1.0, limits: Tuple[float, float] = (
        0.0, float("inf"))) -> Optional[Sequence[float]]:
    """The range of a factor; None where it cannot change anything."""
    values: Any
    if number(value):
        if value < 0:
            refuse("ColorJitter", f"{name} of at least 0, or a range", value)
        values = [center - float(value), center + float(value)]
        if center == 1.0:
            values[0] = max(values[0], 0.0)
    else:
        if not isinstance(value, (list, tuple)):
            refuse_type("ColorJitter", name, "a number or a range of two", value)
        sequence(value, (2,), "ColorJitter", name, one_is_all=False)
        values = value
    if not limits[0] <= values[0] <= values[1] <= limits[1]:
        refuse("ColorJitter", f"{name} as (least, greatest) in {list(limits)}", value)
    return None if values[0] == values[1] == center else values


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed at random, in random order: by a factor of a
    range, or of 1 - value to 1 + value; the hue by -value to value, at most 0.5."""

    def __init__(self, brightness: _Range = 0, contrast: _Range = 0, saturation: _Range = 0,
                 hue: _Range = 0) -> None:
        super().__init__()
        self.brightness = _factors(brightness, "brightness")
        self.contrast = _factors(contrast, "contrast")
        self.saturation = _factors(saturation, "saturation")
        self.hue = _factors(hue, "hue", 0.0, (-0.5, 0.5))

    @staticmethod
    def get_params(brightness: Optional[Sequence[float]], contrast: Optional[Sequence[float]],
                   saturation: Optional[Sequence[float]], hue: Optional[Sequence[float]]
                   ) -> Tuple[weft.Tensor, Optional[float], Optional[float], Optional[float],
                              Optional[float]]:
        """The order of the four changes, and their factors; None where there is no range."""
        order = _core.tensor(_draws.order(4))
        found = [None if each is None else _draws.uniform(*each)
                 for each in (brightness, contrast, saturation, hue)]
        return order, found[0], found[1], found[2], found[3]

    def forward(self, img: Any) -> Any:
        """The changed image."""
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for place in order.tolist():
            if factors[place] is not None:
                img = changes[place](img, factors[place])
        return img

    def settings(self) -> str:
        return (f"brightness={self.brightness}, contrast={self.contrast}, "
                f"saturation={self.saturation}, hue={self.hue}")


class RandomInvert(WithChance):
    """The negative of an image, with probability `p`."""

    def forward(self, img: Any) -> Any:
        """The image, inverted or not."""
        return F.invert(img) if _draws.chance(self.p) else img


class RandomPosterize(WithChance):
    """The upper `bits` bits of each value, with probability `p`."""

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        if not hasattr(bits, "__index__"):
            refuse_type("RandomPosterize", "bits", "a whole number in [0, 8]", bits)
        if not 0 <= bits <= 8:
            refuse("RandomPosterize", "bits in [0, 8]", bits)
        self.bits = bits

    def forward(self, img: Any) -> Any:
        """The image, posterized or not."""
        return F.posterize(img, self.bits) if _draws.chance(self.p) else img

    def settings(self) -> str:
        return f"bits={self.bits},p={self.p}"


class RandomSolarize(WithChance):
    """The values from `threshold` on inverted, with probability `p`."""

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        if not number(threshold):
            refuse_type("RandomSolarize", "threshold", "a number", threshold)
        self.threshold = threshold

    def forward(self, img: Any) -> Any:
        """The image, solarized or not."""
        return F.solarize(img, self.threshold) if _draws.chance(self.p) else img

    def settings(self) -> str:
        return f"threshold={self.threshold},p={self.p}"


class RandomAdjustSharpness(WithChance):
    """An image sharper by a factor, with probability `p`."""

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        check_factor(sharpness_factor, "RandomAdjustSharpness", "sharpness_factor")
        self.sharpness_factor = sharpness_factor

    def forward(self, img: Any) -> Any:
        """The image, sharper or as it is."""
        return F.adjust_sharpness(img, self.sharpness_factor) if _draws.chance(self.p) else img

    def settings(self) -> str:
        return f"sharpness_factor={self.sharpness_factor},p={self.p}"


class RandomAutocontrast(WithChance):
    """An image whose channels reach from black to white, with probability `p`."""

    def forward(self, img: Any) -> Any:
        """The image, with more contrast or as it is."""
        return F.autocontrast(img) if _draws.chance(self.p) else img


class RandomEqualize(WithChance):
    """An image with even histograms, with probability `p`."""

    def forward(self, img: Any) -> Any:
        """The image, equalized or not."""
        return F.equalize(img) if _draws.chance(self.p) else img


class GaussianBlur(Transform):
    """An image blurred by a bell of random standard deviation."""

    def __init__(self, kernel_size: Union[int, Sequence[int]], sigma: _Range = (0.1, 2.0)) -> None:
        super().__init__()
        sizes = kernel_sizes(kernel_size, "GaussianBlur")
        alone = number(kernel_size) or len(kernel_size) == 1  # type: ignore[arg-type]
        self.kernel_size = tuple(sizes) if alone else kernel_size
        self.sigma: Any = (sigma, sigma)
        if not number(sigma):
            self.sigma = range_of(sigma, "GaussianBlur", "sigma")
        if not self.sigma[0] > 0:
            refuse("GaussianBlur", "sigma above 0", sigma)

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """A random standard deviation."""
        return _draws.uniform(sigma_min, sigma_max)

    def forward(self, img: Any) -> Any:
        """The blurred image."""
        sigma = self.get_params(self.sigma[0], self.sigma[1])
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])

    def settings(self) -> str:
        return f"kernel_size={self.kernel_size}, sigma={self.sigma}"


class RandomErasing(WithChance):
    """A tensor [..., C, H, W] with a random rectangle of a value, of one value for each channel,
    or of 'random' ones, with probability `p`. Zhong et al., "Random erasing data augmentation",
    2017."""

    def __init__(self, p: float = 0.5, scale: Sequence[float] = (0.02, 0.33),
                 ratio: Sequence[float] = (0.3, 3.3), value: Any = 0,
                 inplace: bool = False) -> None:
        super().__init__(p)
        if not number(value) and not isinstance(value, (str, tuple, list)):
            refuse_type("RandomErasing", "value", "a number, a sequence of numbers or 'random'",
                        value)
        if isinstance(value, str) and value != "random":
            refuse("RandomErasing", "value as a number, a sequence of numbers or 'random'", value)
        self.scale = range_of(scale, "RandomErasing", "scale")
        self.ratio = range_of(ratio, "RandomErasing", "ratio")
        if scale[0] < 0 or scale[1] > 1:
            refuse("RandomErasing", "scale in [0, 1]", scale)
        if not ratio[0] > 0:
            refuse("RandomErasing", "ratio above 0", ratio)
        self.value, self.inplace = value, inplace

    @staticmethod
    def get_params(img: weft.Tensor, scale: Sequence[float], ratio: Sequence[float],
                   value: Optional[Sequence[float]] = None
                   ) -> Tuple[int, int, int, int, weft.Tensor]:
        """(top, left, height, width, values) of a random rectangle; where ten draws do not fit, the
        whole tensor and itself."""
        channels, height, width = F.get_dimensions(img)
        part = random_part(height, width, scale, ratio, False, True)
        if part is None:
            return 0, 0, height, width, img
        rows, columns, tops, lefts = part
        values = (_draws.normal(channels, rows, columns) if value is None else
                  _core.tensor(list(value)).view(-1, 1, 1))
        top = _draws.whole(0, tops)
        return top, _draws.whole(0, lefts), rows, columns, values

    def forward(self, img: weft.Tensor) -> weft.Tensor:
        """The tensor, with a rectangle erased or as it is."""
        check_tensor(img, "RandomErasing")
        if not _draws.chance(self.p):
            return img
        value = None if isinstance(self.value, str) else (
            [self.value] if number(self.value) else list(self.value))
        if value is not None and len(value) not in (1, img.shape[-3]):
            refuse("RandomErasing", f"value as one number or {img.shape[-3]}, one for each channel",
                   self.value)
        place = self.get_params(img, self.scale, self.ratio, value)
        return F.erase(img, *place, self.inplace)

    def settings(self) -> str:
        return (f"p={self.p}, scale={self.scale}, ratio={self.ratio}, value={self.value}, "
                f"inplace={self.inplace}")
