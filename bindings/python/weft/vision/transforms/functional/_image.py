"""What an image is: one of Pillow's, or a tensor [..., C, H, W]; and how the two become each other.

Neither Pillow nor NumPy is imported before an image needs it."""
import sys
import warnings
from enum import Enum
from typing import Any, List, NoReturn, Sequence, Tuple

import weft
from weft import _core
from weft.vision import _pillow

# Names of Pillow's filters in Image.Resampling, by their numbers.
_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
_WIDE = {"I": _core.int32, "F": _core.float32}  # modes of four bytes a value; the others have one


class InterpolationMode(Enum):
    """How values between the pixels are found; box, hamming and lanczos are for PIL images
    alone."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


def kind_of(value: Any) -> str:
    """The name of a value's type, for errors."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def refuse(function: str, expected: str, value: Any) -> NoReturn:
    """Raises for a value that the function cannot take; `expected` begins with the argument."""
    raise _core.InvalidArgumentError(f"[{function}] expected {expected}, got {value!r}")


def refuse_type(function: str, argument: str, wanted: str, value: Any) -> NoReturn:
    """Raises for an argument of another type."""
    hint = ""
    if argument in ("img", "image", "tensor") and not isinstance(value, _core.Tensor):
        if is_pil(value):
            hint = ": make a tensor of it with to_tensor() or pil_to_tensor()"
        elif hasattr(value, "__array_interface__"):
            hint = ": make a tensor of the array with to_tensor(), or an image with to_pil_image()"
    raise TypeError(
        f"{function}(): argument '{argument}' must be {wanted}, got {kind_of(value)}{hint}")


def is_pil(image: Any) -> bool:
    """Whether it is an image of Pillow; where nothing has imported Pillow there are none."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(image, module.Image)


def number(value: Any) -> bool:
    """Whether it is a plain number."""
    return isinstance(value, (int, float)) or hasattr(value, "__float__") and not isinstance(
        value, (_core.Tensor, str)) and not hasattr(value, "__len__")


def check(image: Any, function: str) -> bool:
    """True for a PIL image, False for a tensor of at least two axes; anything else is refused."""
    if isinstance(image, _core.Tensor):
        if image.ndim < 2:
            refuse(function, "img as a PIL image or a tensor [..., H, W]",
                   f"a tensor of shape {list(image.shape)}")
        return False
    if not is_pil(image):
        refuse_type(function, "img", "a PIL image or a weft.Tensor", image)
    return True


def check_tensor(image: Any, function: str, argument: str = "img") -> None:
    """Refuses everything but tensors of at least two axes."""
    if not isinstance(image, _core.Tensor):
        refuse_type(function, argument, "a weft.Tensor", image)
    if image.ndim < 2:
        refuse(function, f"{argument} as a tensor [..., H, W]",
               f"a tensor of shape {list(image.shape)}")


def check_channels(image: weft.Tensor, function: str) -> int:
    """1 or 3, the channels of a tensor whose colors are to change; others are refused."""
    channels = image.shape[-3] if image.ndim > 2 else 1
    if channels not in (1, 3):
        raise TypeError(f"[{function}] expected img of 1 or 3 channels, [..., C, H, W], got shape "
                        f"{list(image.shape)}")
    return channels


def interpolation_mode(value: Any, function: str) -> InterpolationMode:
    """The mode; Pillow's numbers are taken with a warning."""
    if isinstance(value, InterpolationMode):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_FILTERS):
        mode = InterpolationMode(_FILTERS[value])
        warnings.warn(f"{function}(): interpolation={int(value)} is deprecated: write "
                      f"InterpolationMode.{mode.name}", stacklevel=3)
        return mode
    raise TypeError(f"{function}(): argument 'interpolation' must be an InterpolationMode, such as "
                    f"InterpolationMode.BILINEAR, got {value!r}")


def pillow_filter(mode: InterpolationMode) -> int:
    """Pillow's number of the mode."""
    return _FILTERS.index(mode.value)


def get_dimensions(img: Any) -> List[int]:
    """[channels, height, width] of an image."""
    if check(img, "get_dimensions"):
        return [len(img.getbands()), img.height, img.width]
    return [img.shape[-3] if img.ndim > 2 else 1, img.shape[-2], img.shape[-1]]


def get_image_size(img: Any) -> List[int]:
    """[width, height] of an image."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Any) -> int:
    """How many channels an image has."""
    return get_dimensions(img)[0]


def sequence(value: Any, counts: Sequence[int], function: str, argument: str,
             one_is_all: bool = True) -> List[Any]:
    """`value` as a list with one of the `counts` of numbers; a number alone is repeated to the
    first count, as is a list of one where `one_is_all`."""
    if number(value):
        return [value] * counts[0]
    if isinstance(value, str) or not hasattr(value, "__len__") or isinstance(value, _core.Tensor):
        refuse_type(function, argument, f"a number or a sequence of {counts[0]} numbers", value)
    values = list(value)
    if len(values) == 1 and one_is_all:
        values = values * counts[0]
    if len(values) not in counts or not all(number(each) for each in values):
        allowed = " or ".join(str(count) for count in counts)
        refuse(function, f"{argument} as a number or {allowed} numbers", value)
    return values


def pixels(image: Any) -> weft.Tensor:
    """[H, W, bands] of a PIL image, in memory of its own: int32 for the modes I and I;16, float32
    for F, otherwise uint8, 0 and 255 for the mode 1."""
    if image.mode == "1":
        image = image.convert("L")
    elif image.mode.startswith("I;16"):
        image = image.convert("I")
    flat = weft.frombuffer(bytearray(image.tobytes()), dtype=_WIDE.get(image.mode, _core.uint8))
    return flat.view(image.height, image.width, len(image.getbands()))


def image_of(values: weft.Tensor, mode: str) -> Any:
    """The PIL image of the mode with the pixels [H, W, bands]; the way back of pixels()."""
    module = _pillow.module("Image", "an image")
    height, width = values.shape[:2]
    stored = "L" if mode == "1" else "I" if mode.startswith("I;16") else mode
    if values.numel() == 0:
        return module.new(mode, (width, height))
    image = module.frombytes(stored, (width, height), bytes(values.contiguous()))
    if mode == "1":
        return image.convert("1", dither=0)
    return image if stored == mode else image.convert(mode)


def planes(values: weft.Tensor) -> Tuple[weft.Tensor, List[int]]:
    """A tensor [..., C, H, W] as [N, C, H, W], and its leading axes; [H, W] has one channel."""
    lead = list(values.shape[:-3]) if values.ndim > 2 else []
    channels = values.shape[-3] if values.ndim > 2 else 1
    count = 1
    for length in lead:
        count *= length
    return values.reshape(count, channels, *values.shape[-2:]), list(values.shape[:-2])
