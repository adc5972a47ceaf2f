"""Images to tensors and back, types of elements, normalization."""
from typing import Any, Optional, Sequence

import weft
from weft import _core
from weft.vision import _pillow
from weft.vision.transforms.functional import _image
from weft.vision.transforms.functional._image import refuse, refuse_type

_LIMITS = {_core.uint8: 255, _core.int8: 127, _core.int32: 2147483647,
           _core.int64: 9223372036854775807}
_MODES_BY_CHANNELS = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}
_MODES_BY_TYPE = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}


def _is_array(value: Any) -> bool:
    """Whether it is an array of NumPy, which need not be imported for that."""
    return hasattr(value, "__array_interface__") and not isinstance(
        value, _core.Tensor) and not _image.is_pil(value)


def to_tensor(pic: Any) -> weft.Tensor:
    """A PIL image or an array [H, W, C] as a tensor [C, H, W]: bytes become numbers in [0, 1] of
    the default type, other types stay as they are. Images of 16 bits give int32."""
    if _image.is_pil(pic):
        values = _image.pixels(pic).permute(2, 0, 1)
    elif _is_array(pic):
        if pic.ndim not in (2, 3):
            refuse("to_tensor", "pic as an array [H, W] or [H, W, C]",
                   f"an array of shape {list(pic.shape)}")
        values = _core.from_numpy(pic.copy())
        values = values.unsqueeze(0) if pic.ndim == 2 else values.permute(2, 0, 1)
    else:
        refuse_type("to_tensor", "pic", "a PIL image or a NumPy array", pic)
    if values.dtype is _core.uint8:
        return values.to(weft.get_default_dtype()) / 255
    return values.contiguous()


def pil_to_tensor(pic: Any) -> weft.Tensor:
    """A PIL image as a tensor [C, H, W] of its own type: uint8, for the mode 1 bool, for F float32,
    for I and images of 16 bits int32."""
    if not _image.is_pil(pic):
        refuse_type("pil_to_tensor", "pic", "a PIL image", pic)
    values = _image.pixels(pic).permute(2, 0, 1).contiguous()
    return values.to(weft.bool) if pic.mode == "1" else values


def _mode_of(channels: int, kind: str, mode: Optional[str]) -> str:
    if channels == 1:
        expected = _MODES_BY_TYPE.get(kind)
        if mode is not None and mode != expected:
            refuse("to_pil_image", f"mode {expected} for one channel of {kind}", mode)
    else:
        allowed = _MODES_BY_CHANNELS[channels]
        if mode is not None and mode not in allowed:
            refuse("to_pil_image", f"mode {' or '.join(allowed)} for {channels} channels", mode)
        expected = mode or (allowed[0] if kind == "uint8" else None)
    if expected is None:
        raise TypeError(f"to_pil_image(): argument 'pic' must have values of uint8, int32 or "
                        f"float32, got {kind}: convert them first")
    return expected


def to_pil_image(pic: Any, mode: Optional[str] = None) -> Any:
    """The PIL image of a tensor [C, H, W], whose floats are numbers in [0, 1], or of an array
    [H, W, C]; `mode` is Pillow's, and follows from the channels where it is not given."""
    tensor = isinstance(pic, _core.Tensor)
    if not tensor and not _is_array(pic):
        refuse_type("to_pil_image", "pic", "a weft.Tensor or a NumPy array", pic)
    shape = list(pic.shape)
    channels = 1 if len(shape) == 2 else shape[-3 if tensor else -1] if len(shape) == 3 else 0
    if not 1 <= channels <= 4:
        refuse("to_pil_image", "pic of 2 or 3 axes and 1 to 4 channels, "
               + ("[H, W] or [C, H, W]" if tensor else "[H, W] or [H, W, C]"), f"shape {shape}")
    if not tensor:
        mode = _mode_of(channels, str(pic.dtype), mode)
        return _pillow.module("Image", "to_pil_image()").fromarray(
            pic[:, :, 0] if len(shape) == 3 and channels == 1 else pic, mode)
    values = pic.detach()
    values = values.unsqueeze(0) if len(shape) == 2 else values
    if values.is_floating_point() and mode != "F":
        values = (values * 255).to(_core.uint8)
    mode = _mode_of(channels, values.dtype.name, mode)
    if values.dtype is not {"I": _core.int32, "F": _core.float32}.get(mode, _core.uint8):
        refuse("to_pil_image", f"pic of uint8 for mode {mode}", values.dtype)
    return _image.image_of(values.permute(1, 2, 0), mode)


def _to_whole(image: weft.Tensor, dtype: weft.dtype) -> weft.Tensor:
    """Numbers in [0, 1] as whole numbers of the type, each of which gets an equal share of them."""
    wide = _core.int64 if image.dtype is _core.float64 else _core.int32
    if dtype is _core.int64 or dtype is wide:
        raise _core.InvalidArgumentError(
            f"[convert_image_dtype] {image.dtype} has not all values of dtype {dtype}: convert to "
            f"a smaller type, or use image.to({dtype})")
    return (image * (float(_LIMITS[dtype]) + 1.0 - 1e-3)).to(dtype)


def convert_image_dtype(image: weft.Tensor, dtype: weft.dtype = _core.float32) -> weft.Tensor:
    """A tensor of another type, scaled so that its greatest value stays the greatest: 255 of uint8
    is 1.0 of a floating type."""
    if not isinstance(image, _core.Tensor):
        refuse_type("convert_image_dtype", "image", "a weft.Tensor", image)
    if not isinstance(dtype, _core.dtype):
        refuse_type("convert_image_dtype", "dtype", "a weft.dtype, such as weft.float32", dtype)
    if image.dtype is dtype:
        return image
    if image.is_floating_point():
        return image.to(dtype) if dtype.is_floating_point else _to_whole(image, dtype)
    most = _LIMITS.get(image.dtype, 1)
    if dtype.is_floating_point:
        return image.to(dtype) / float(most)
    target = _LIMITS.get(dtype, 1)
    if most > target:
        return _core.div(image, (most + 1) // (target + 1), rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((target + 1) // (most + 1))


def _statistics(values: Any, name: str, tensor: weft.Tensor) -> weft.Tensor:
    """Numbers for the channels, as a tensor that spreads over [..., C, H, W]."""
    if isinstance(values, _core.Tensor):
        found = values.to(tensor.dtype)
    else:
        try:
            found = _core.tensor(values, dtype=tensor.dtype)
        except (TypeError, ValueError):
            refuse_type("normalize", name, "a sequence of numbers", values)
    if found.ndim == 1:
        if found.shape[0] not in (1, tensor.shape[-3]):
            refuse("normalize", f"{name} with one number or one for each of the "
                   f"{tensor.shape[-3]} channels", values)
        found = found.view(-1, 1, 1)
    return found


def normalize(tensor: weft.Tensor, mean: Sequence[float], std: Sequence[float],
              inplace: bool = False) -> weft.Tensor:
    """(tensor - mean) / std, channel by channel, of a tensor [..., C, H, W] of a floating type."""
    _image.check_tensor(tensor, "normalize", "tensor")
    if not tensor.is_floating_point():
        raise TypeError(f"normalize(): argument 'tensor' must be of a floating type, got "
                        f"{tensor.dtype}: use convert_image_dtype() first")
    if tensor.ndim < 3:
        refuse("normalize", "tensor as [..., C, H, W]", f"shape {list(tensor.shape)}")
    middle, spread = _statistics(mean, "mean", tensor), _statistics(std, "std", tensor)
    if 0.0 in spread.view(-1).tolist():
        refuse("normalize", f"std without zeros in {tensor.dtype}", std)
    if inplace:
        return tensor.sub_(middle).div_(spread)
    return (tensor - middle) / spread


def erase(img: weft.Tensor, i: int, j: int, h: int, w: int, v: Any,
          inplace: bool = False) -> weft.Tensor:
    """A tensor [..., C, H, W] with `v` in the rectangle of `h` rows from `i` and `w` columns from
    `j`."""
    _image.check_tensor(img, "erase")
    for name, value in (("i", i), ("j", j), ("h", h), ("w", w)):
        if not hasattr(value, "__index__"):
            refuse_type("erase", name, "a whole number", value)
    result = img if inplace else img.clone()
    result[..., i:i + h, j:j + w] = v
    return result
