"""Sizes of images: resizing, padding, cropping and flipping."""
import functools
import warnings
from typing import Any, List, Optional, Sequence, Tuple, Union

import weft
from weft import _core
from weft.nn import functional as F
from weft.vision import _pillow
from weft.vision.transforms.functional import _image
from weft.vision.transforms.functional._image import (
    InterpolationMode, check, get_dimensions, number, refuse, refuse_type, sequence)

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")
_FLIP_LEFT_RIGHT, _FLIP_TOP_BOTTOM = 0, 1  # numbers of Image.Transpose


def sides(value: Any, function: str, argument: str = "size") -> List[int]:
    """`value` as [height, width]; a number stands for both."""
    values = sequence(value, (2,), function, argument)
    if not all(each == int(each) and each >= 1 for each in values):
        refuse(function, f"{argument} of 1 or 2 whole numbers above 0", value)
    return [int(each) for each in values]


def _resized(height: int, width: int, size: Sequence[int], max_size: Optional[int]) -> List[int]:
    """[height, width] after resizing to `size`; one number is for the shorter side."""
    if len(size) == 2:
        return [size[0], size[1]]
    short, long = sorted((height, width))
    new_short, new_long = size[0], int(size[0] * long / short)
    if max_size is not None:
        if max_size <= size[0]:
            refuse("resize", f"max_size above size={size[0]}, the shorter side", max_size)
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return [new_long, new_short] if width <= height else [new_short, new_long]


def _wanted_size(size: Any, max_size: Optional[int]) -> List[int]:
    values = [size] if number(size) else size
    if isinstance(values, str) or not hasattr(values, "__len__"):
        refuse_type("resize", "size", "a whole number or a sequence of 1 or 2", size)
    values = list(values)
    if len(values) not in (1, 2) or not all(
            hasattr(each, "__index__") and each >= 1 for each in values):
        refuse("resize", "size of 1 or 2 whole numbers above 0", size)
    if max_size is not None and len(values) != 1:
        refuse("resize", "size as the length of the shorter side, where max_size is given", size)
    return [int(each) for each in values]


@functools.lru_cache(maxsize=64)
def _antialiased(length: int, size: int, cubic: bool) -> weft.Tensor:
    """[size, length]: the share of each old value in each new one. The filter, a triangle or Keys'
    cubic with a = -1/2, is as wide as the old values that a new one stands for, so that none is
    left out; each row adds up to 1."""
    scale = length / size
    centers = ((_core.arange(size, dtype=_core.float64) + 0.5) * scale).unsqueeze(1)
    far = (_core.arange(length, dtype=_core.float64) + 0.5 - centers).abs() / max(scale, 1.0)
    shares = (1 - far).clamp(0)
    if cubic:
        inner = (1.5 * far - 2.5) * far * far + 1
        outer = ((2.5 - 0.5 * far) * far - 4) * far + 2
        shares = _core.where(far < 1, inner, _core.where(far < 2, outer, far * 0))
    return (shares / shares.sum(1, keepdim=True)).float()


def _nearest_at(length: int, size: int) -> weft.Tensor:
    """Which of `length` values is nearest to each of `size` places."""
    places = _core.arange(size).float() * (_core.tensor(float(length)) / size)
    return places.floor().long().clamp(0, length - 1)


def _between(values: weft.Tensor, size: int) -> weft.Tensor:
    """`values` at `size` places along the last axis but one, linearly. Halves of whole numbers are
    frequent and have to be rounded as torchvision rounds them: places are in double precision, and
    of the two products one is added without being rounded before."""
    length = values.shape[-2]
    scale = (_core.tensor(float(length)) / size).double()
    places = ((_core.arange(size).double() + 0.5) * scale - 0.5).clamp(0)
    before = places.long()
    share = (places - before).float().view(-1, 1)
    low = values.index_select(-2, before)
    high = values.index_select(-2, (before + 1).clamp(0, length - 1))
    return (low.double() * (1 - share).double() + (high.float() * share).double()).float()


def _resize_whole(values: weft.Tensor, size: List[int]) -> weft.Tensor:
    """Whole numbers [..., H, W] resized linearly, along W and then along H. Selecting along the
    last axis is slow, so each step has its axis last but one."""
    columns = _between(values.transpose(-1, -2).contiguous(), size[1])
    return _between(columns.transpose(-1, -2).contiguous(), size[0])


def _resize_tensor(img: weft.Tensor, size: List[int], mode: InterpolationMode,
                   antialias: bool) -> weft.Tensor:
    if mode is InterpolationMode.NEAREST:
        rows, columns = (_nearest_at(old, new) for old, new in zip(img.shape[-2:], size))
        return img.index_select(-2, rows).index_select(-1, columns)
    cubic = mode is InterpolationMode.BICUBIC
    if not (cubic or antialias or img.is_floating_point()):
        return rounded(_resize_whole(img, size), img.dtype)
    values, lead = _image.planes(img)
    values = values if values.is_floating_point() else values.float()
    if antialias:
        rows, columns = (_antialiased(old, new, cubic).to(values.dtype)
                         for old, new in zip(values.shape[-2:], size))
        values = rows @ (values @ columns.t())
    else:
        values = F.interpolate(values, size=tuple(size), mode=mode.value, align_corners=False)
    if cubic and img.dtype is _core.uint8:
        values = values.clamp(0, 255)
    return rounded(values, img.dtype).reshape(*lead, *size)


def rounded(values: weft.Tensor, dtype: weft.dtype) -> weft.Tensor:
    """Computed values in the type of an image, to the nearest where that is one of whole
    numbers."""
    if values.dtype is dtype:
        return values
    return (values if dtype.is_floating_point else values.round()).to(dtype)


def resize(img: Any, size: Union[int, Sequence[int]],
           interpolation: InterpolationMode = InterpolationMode.BILINEAR,
           max_size: Optional[int] = None, antialias: Optional[bool] = None) -> Any:
    """An image of another size: [height, width], or one number for the shorter side, with the
    longer one in proportion and at most `max_size`. PIL images are always antialiased; tensors
    where `antialias` says so, with bilinear and bicubic."""
    mode = _image.interpolation_mode(interpolation, "resize")
    wanted = _wanted_size(size, max_size)
    pil = check(img, "resize")
    _, height, width = get_dimensions(img)
    new = _resized(height, width, wanted, max_size)
    if new == [height, width]:
        return img
    if min(new) < 1:
        refuse("resize", f"size that leaves an image of {height} x {width} both sides", size)
    if pil:
        if antialias is not None and not antialias:
            warnings.warn("resize(): PIL images are antialiased in any case, antialias=False is "
                          "left out of account", stacklevel=2)
        return img.resize((new[1], new[0]), _image.pillow_filter(mode))
    modes = (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
    if antialias and mode not in modes:
        refuse("resize", "antialias with interpolation bilinear or bicubic", mode.value)
    if mode not in (*modes, InterpolationMode.NEAREST):
        refuse("resize", "interpolation nearest, bilinear or bicubic for a tensor", mode.value)
    return _resize_tensor(img, new, mode, bool(antialias))


def padding_of(padding: Any, function: str = "pad") -> List[int]:
    """[left, top, right, bottom] of 1, 2 or 4 numbers."""
    if isinstance(padding, str) or not (number(padding) or hasattr(padding, "__len__")):
        refuse_type(function, "padding", "a whole number or a sequence of 1, 2 or 4", padding)
    values = [padding] if number(padding) else list(padding)
    if len(values) not in (1, 2, 4) or not all(hasattr(each, "__index__") for each in values):
        refuse(function, "padding of 1, 2 or 4 whole numbers", padding)
    return (values * 4 if len(values) == 1 else values * 2)[:4]


def check_padding_mode(mode: Any, function: str = "pad") -> None:
    """Refuses modes that there are not."""
    if mode not in PADDING_MODES:
        refuse(function, "padding_mode constant, edge, reflect or symmetric", mode)


def _source(length: int, before: int, after: int, mode: str) -> List[int]:
    """Where the values of a padded axis come from; what is folded once more beyond the other end is
    folded again."""
    places = range(-before, length + after)
    if mode == "edge":
        return [min(max(place, 0), length - 1) for place in places]
    period = 2 * length if mode == "symmetric" else max(2 * (length - 1), 1)
    turned = (place % period for place in places)
    last = period - 1 if mode == "symmetric" else period
    return [place if place < length else last - place for place in turned]


def pad_by_source(values: weft.Tensor, padding: Sequence[int], mode: str, rows: int,
                   columns: int) -> weft.Tensor:
    """Values padded along the axes `rows` and `columns`; negative lengths crop."""
    left, top, right, bottom = padding
    for axis, before, after in ((rows, top, bottom), (columns, left, right)):
        length = values.shape[axis]
        keep = length + min(before, 0) + min(after, 0)
        if keep < 1:
            refuse("pad", f"padding that leaves some of {length} values", list(padding))
        if keep < length:
            values = values.narrow(axis, max(-before, 0), keep)
        if before > 0 or after > 0:
            at = _source(keep, max(before, 0), max(after, 0), mode)
            values = values.index_select(axis, _core.tensor(at))
    return values


def fill_of(fill: Any, img: Any, function: str) -> Any:
    """The color of a PIL image that `fill` stands for: a number, or one for each channel."""
    channels = len(img.getbands())
    fill = 0 if fill is None else fill
    if number(fill):
        fill = (fill,) * channels
    elif isinstance(fill, str) or not hasattr(fill, "__len__"):
        refuse_type(function, "fill", "a number or a sequence of numbers", fill)
    if len(fill) != channels:
        refuse(function, f"fill as a number or {channels} of them, one for each channel", fill)
    color = tuple(each if img.mode == "F" else int(each) for each in fill)
    return color[0] if channels == 1 else color


def _pad_pil(img: Any, padding: List[int], fill: Any, mode: str) -> Any:
    if mode == "constant":
        left, top, right, bottom = padding
        color = fill_of(fill, img, "pad")
        image = _pillow.module("Image", "pad()").new(
            img.mode, (img.width + left + right, img.height + top + bottom), color)
        if img.mode == "P":
            image.putpalette(img.getpalette())
        image.paste(img, (left, top))
        return image
    image = _image.image_of(pad_by_source(_image.pixels(img), padding, mode, 0, 1), img.mode)
    if img.mode == "P":
        image.putpalette(img.getpalette())
    return image


def pad(img: Any, padding: Union[int, Sequence[int]], fill: Any = 0,
        padding_mode: str = "constant") -> Any:
    """An image with more around it: `padding` on all sides, (left and right, top and bottom), or
    (left, top, right, bottom). The mode is constant, with `fill`; edge, reflect or symmetric."""
    lengths = padding_of(padding)
    check_padding_mode(padding_mode)
    if check(img, "pad"):
        return _pad_pil(img, lengths, fill, padding_mode)
    if padding_mode != "constant":
        return pad_by_source(img, lengths, padding_mode, -2, -1)
    if fill is not None and not number(fill):
        refuse_type("pad", "fill", "a number, for a tensor", fill)
    left, top, right, bottom = lengths
    value = float(fill or 0)
    if not img.is_floating_point():
        value = int(value)
    return F.pad(img, (left, right, top, bottom), value=value)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """The part of `height` rows from `top` and `width` columns from `left`; 0 beyond the image."""
    pil = check(img, "crop")
    for name, value in (("top", top), ("left", left), ("height", height), ("width", width)):
        if not hasattr(value, "__index__"):
            refuse_type("crop", name, "a whole number", value)
    if height < 0 or width < 0:
        refuse("crop", "height and width of at least 0", (height, width))
    if pil:
        return img.crop((left, top, left + width, top + height))
    rows, columns = img.shape[-2:]
    right, bottom = left + width, top + height
    part = img[..., min(max(top, 0), rows):max(bottom, 0), min(max(left, 0), columns):max(right, 0)]
    if left >= 0 and top >= 0 and right <= columns and bottom <= rows:
        return part
    around = (max(min(right, 0) - left, 0), max(right - max(columns, left), 0),
              max(min(bottom, 0) - top, 0), max(bottom - max(rows, top), 0))
    return F.pad(part, around)


def center_crop(img: Any, output_size: Union[int, Sequence[int]]) -> Any:
    """The middle of an image, with zeros around it where the image is smaller."""
    check(img, "center_crop")
    height, width = sides(output_size, "center_crop", "output_size")
    _, rows, columns = get_dimensions(img)
    if height > rows or width > columns:
        across, down = max(width - columns, 0), max(height - rows, 0)
        img = pad(img, [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2])
        _, rows, columns = get_dimensions(img)
        if [height, width] == [rows, columns]:
            return img
    return crop(img, round((rows - height) / 2), round((columns - width) / 2), height, width)


def resized_crop(img: Any, top: int, left: int, height: int, width: int,
                 size: Union[int, Sequence[int]],
                 interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                 antialias: Optional[bool] = None) -> Any:
    """crop() and then resize()."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def hflip(img: Any) -> Any:
    """An image with left and right changed over."""
    return img.transpose(_FLIP_LEFT_RIGHT) if check(img, "hflip") else img.flip(-1)


def vflip(img: Any) -> Any:
    """An image upside down."""
    return img.transpose(_FLIP_TOP_BOTTOM) if check(img, "vflip") else img.flip(-2)


def five_crop(img: Any, size: Union[int, Sequence[int]]) -> Tuple[Any, Any, Any, Any, Any]:
    """The four corners of an image, top left, top right, bottom left and bottom right, and its
    middle."""
    check(img, "five_crop")
    height, width = sides(size, "five_crop")
    _, rows, columns = get_dimensions(img)
    if height > rows or width > columns:
        refuse("five_crop", f"size of at most {rows} x {columns}, the image's", size)
    down, across = rows - height, columns - width
    return (crop(img, 0, 0, height, width), crop(img, 0, across, height, width),
            crop(img, down, 0, height, width), crop(img, down, across, height, width),
            center_crop(img, [height, width]))


def ten_crop(img: Any, size: Union[int, Sequence[int]],
             vertical_flip: bool = False) -> Tuple[Any, ...]:
    """five_crop() of an image and of the image flipped."""
    check(img, "ten_crop")
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)
