"""Transforms of the size: resizing, padding, cropping and flipping."""
import math
from typing import Any, Optional, Sequence, Tuple, Union

from weft.vision.transforms import _draws
from weft.vision.transforms import functional as F
from weft.vision.transforms._base import Transform, WithChance, range_of, size_of
from weft.vision.transforms.functional._image import (
    InterpolationMode, interpolation_mode, number, refuse, refuse_type)
from weft.vision.transforms.functional._sizes import check_padding_mode, padding_of

_Size = Union[int, Sequence[int]]


class Resize(Transform):
    """An image of another size: (height, width), or one number for the shorter side."""

    def __init__(self, size: _Size,
                 interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                 max_size: Optional[int] = None, antialias: Optional[bool] = None) -> None:
        super().__init__()
        size_of(size, "Resize")
        self.size, self.max_size, self.antialias = size, max_size, antialias
        self.interpolation = interpolation_mode(interpolation, "Resize")

    def forward(self, img: Any) -> Any:
        """The resized image."""
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def settings(self) -> str:
        return (f"size={self.size}, interpolation={self.interpolation.value}, "
                f"max_size={self.max_size}, antialias={self.antialias}")


class CenterCrop(Transform):
    """The middle of an image."""

    def __init__(self, size: _Size) -> None:
        super().__init__()
        self.size = size_of(size, "CenterCrop")

    def forward(self, img: Any) -> Any:
        """The middle of the image."""
        return F.center_crop(img, self.size)

    def settings(self) -> str:
        return f"size={self.size}"


class Pad(Transform):
    """An image with more around it: on all sides, (left and right, top and bottom), or (left, top,
    right, bottom); of a constant, or of the image itself by edge, reflect or symmetric."""

    def __init__(self, padding: _Size, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        padding_of(padding, "Pad")
        check_padding_mode(padding_mode, "Pad")
        if not number(fill) and not isinstance(fill, (tuple, list)):
            refuse_type("Pad", "fill", "a number or a tuple of numbers", fill)
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Any) -> Any:
        """The padded image."""
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def settings(self) -> str:
        return f"padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode}"


class RandomCrop(Transform):
    """A part of an image of a given size at a random place, after padding."""

    def __init__(self, size: _Size, padding: Optional[_Size] = None, pad_if_needed: bool = False,
                 fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        height, width = size_of(size, "RandomCrop")
        self.size = (height, width)
        if padding is not None:
            padding_of(padding, "RandomCrop")
        check_padding_mode(padding_mode, "RandomCrop")
        self.padding, self.pad_if_needed = padding, pad_if_needed
        self.fill, self.padding_mode = fill, padding_mode

    @staticmethod
    def get_params(img: Any, output_size: Tuple[int, int]) -> Tuple[int, int, int, int]:
        """(top, left, height, width) of a random part of that size."""
        _, rows, columns = F.get_dimensions(img)
        height, width = output_size
        if height > rows or width > columns:
            refuse("RandomCrop", f"size of at most {rows} x {columns}, the image's (or "
                   f"pad_if_needed=True)", tuple(output_size))
        if (height, width) == (rows, columns):
            return 0, 0, height, width
        top = _draws.whole(0, rows - height + 1)
        return top, _draws.whole(0, columns - width + 1), height, width

    def forward(self, img: Any) -> Any:
        """The part of the image."""
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            _, height, width = F.get_dimensions(img)
            for padding in ([self.size[1] - width, 0], [0, self.size[0] - height]):
                if max(padding) > 0:
                    img = F.pad(img, padding, self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def settings(self) -> str:
        return f"size={self.size}, padding={self.padding}"


class RandomHorizontalFlip(WithChance):
    """An image with left and right changed over, with probability `p`."""

    def forward(self, img: Any) -> Any:
        """The image, flipped or not."""
        return F.hflip(img) if _draws.chance(self.p) else img


class RandomVerticalFlip(WithChance):
    """An image upside down, with probability `p`."""

    def forward(self, img: Any) -> Any:
        """The image, flipped or not."""
        return F.vflip(img) if _draws.chance(self.p) else img


def random_part(height: int, width: int, scale: Sequence[float], ratio: Sequence[float],
                whole: bool, tall: bool) -> Optional[Tuple[int, int, int, int]]:
    """(top, left, height, width) of a part with a share of the area in `scale` and an aspect in
    `ratio`, whose logarithm is uniform; None if ten draws do not fit. `whole`: whether it may fill
    a side of the image; `tall`: the aspect is height by width."""
    area, logarithms = height * width, [math.log(each) for each in ratio]
    for _ in range(10):
        wanted = area * _draws.uniform(scale[0], scale[1])
        aspect = math.exp(_draws.uniform(*logarithms))
        long, short = round(math.sqrt(wanted * aspect)), round(math.sqrt(wanted / aspect))
        rows, columns = (long, short) if tall else (short, long)
        fits = (0 < rows <= height and 0 < columns <= width if whole else
                rows < height and columns < width)
        if fits:
            return rows, columns, height - rows + 1, width - columns + 1
    return None


class RandomResizedCrop(Transform):
    """A part of an image of random area and aspect, resized to a given size."""

    def __init__(self, size: _Size, scale: Sequence[float] = (0.08, 1.0),
                 ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
                 interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                 antialias: Optional[bool] = None) -> None:
        super().__init__()
        self.size = size_of(size, "RandomResizedCrop")
        self.scale = range_of(scale, "RandomResizedCrop", "scale")
        self.ratio = range_of(ratio, "RandomResizedCrop", "ratio")
        if not ratio[0] > 0:
            refuse("RandomResizedCrop", "ratio above 0", ratio)
        self.interpolation = interpolation_mode(interpolation, "RandomResizedCrop")
        self.antialias = antialias

    @staticmethod
    def get_params(img: Any, scale: Sequence[float],
                   ratio: Sequence[float]) -> Tuple[int, int, int, int]:
        """(top, left, height, width) of a random part; the middle one where ten draws do not
        fit."""
        _, height, width = F.get_dimensions(img)
        part = random_part(height, width, scale, ratio, True, False)
        if part is not None:
            rows, columns, tops, lefts = part
            top = _draws.whole(0, tops)
            return top, _draws.whole(0, lefts), rows, columns
        rows, columns = height, width
        if width / height < min(ratio):
            rows = round(width / min(ratio))
        elif width / height > max(ratio):
            columns = round(height * max(ratio))
        return (height - rows) // 2, (width - columns) // 2, rows, columns

    def forward(self, img: Any) -> Any:
        """The part, resized."""
        place = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *place, self.size, self.interpolation, self.antialias)

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(each, 4) for each in values)
                        for values in (self.scale, self.ratio))
        return (f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
                f"interpolation={self.interpolation.value}), antialias={self.antialias})")


class FiveCrop(Transform):
    """The four corners and the middle of an image."""

    def __init__(self, size: _Size) -> None:
        super().__init__()
        self.size = size_of(size, "FiveCrop")

    def forward(self, img: Any) -> Tuple[Any, ...]:
        """Five images."""
        return F.five_crop(img, self.size)

    def settings(self) -> str:
        return f"size={self.size}"


class TenCrop(FiveCrop):
    """The four corners and the middle of an image and of the image flipped."""

    def __init__(self, size: _Size, vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Any) -> Tuple[Any, ...]:
        """Ten images."""
        return F.ten_crop(img, self.size, self.vertical_flip)

    def settings(self) -> str:
        return f"size={self.size}, vertical_flip={self.vertical_flip}"
