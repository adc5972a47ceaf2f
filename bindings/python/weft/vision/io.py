"""Image files as tensors: uint8 [C, H, W], decoded and encoded by Pillow."""
import enum
import io
import os
from typing import Any

import weft
from weft import _core
from weft.vision import _pillow


class ImageReadMode(enum.Enum):
    """The channels of a decoded image; UNCHANGED takes those of the file."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_MODES = {ImageReadMode.GRAY: "L", ImageReadMode.GRAY_ALPHA: "LA", ImageReadMode.RGB: "RGB",
          ImageReadMode.RGB_ALPHA: "RGBA"}


def read_file(path: Any) -> weft.Tensor:
    """The bytes of a file, uint8 [n]."""
    with open(path, "rb") as file:
        return weft.frombuffer(bytearray(file.read()), dtype=weft.uint8)


def write_file(filename: Any, data: weft.Tensor) -> None:
    """Writes uint8 [n] as a file."""
    _require("write_file", data, 1)
    with open(filename, "wb") as file:
        file.write(data.numpy().tobytes())


def decode_image(input: weft.Tensor,  # noqa: A002
                 mode: ImageReadMode = ImageReadMode.UNCHANGED) -> weft.Tensor:
    """The image in the bytes `input`, uint8 [n]. Fails: CorruptError if there is none."""
    _require("decode_image", input, 1)
    return _decoded(io.BytesIO(input.numpy().tobytes()), mode, "the bytes")


decode_png = decode_jpeg = decode_image


def read_image(path: Any, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> weft.Tensor:
    """The image in a file."""
    with open(path, "rb") as file:
        return _decoded(file, mode, os.fspath(path))


def encode_png(input: weft.Tensor, compression_level: int = 6) -> weft.Tensor:  # noqa: A002
    """The bytes of `input`, uint8 [1 or 3, H, W], as a PNG."""
    if not 0 <= compression_level <= 9:
        raise _core.InvalidArgumentError(
            f"[encode_png] expected a compression_level from 0 to 9, got {compression_level}")
    return _encoded("encode_png", input, format="PNG", compress_level=compression_level)


def encode_jpeg(input: weft.Tensor, quality: int = 75) -> weft.Tensor:  # noqa: A002
    """The bytes of `input`, uint8 [1 or 3, H, W], as a JPEG."""
    if not 1 <= quality <= 100:
        raise _core.InvalidArgumentError(
            f"[encode_jpeg] expected a quality from 1 to 100, got {quality}")
    return _encoded("encode_jpeg", input, format="JPEG", quality=quality)


def write_png(input: weft.Tensor, filename: Any, compression_level: int = 6) -> None:  # noqa: A002
    """Writes `input`, uint8 [1 or 3, H, W], as a PNG."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input: weft.Tensor, filename: Any, quality: int = 75) -> None:  # noqa: A002
    """Writes `input`, uint8 [1 or 3, H, W], as a JPEG."""
    write_file(filename, encode_jpeg(input, quality))


def _require(name: str, value: Any, axes: int) -> None:
    if not isinstance(value, weft.Tensor):
        raise TypeError(f"{name}(): argument must be weft.Tensor, got {type(value).__name__}")
    if value.dtype != weft.uint8 or value.dim() != axes:
        shape = "[n]" if axes == 1 else "[1 or 3, H, W]"
        raise _core.InvalidArgumentError(f"[{name}] expected weft.uint8 {shape}, got "
                                         f"{value.dtype} {list(value.shape)}")


def _decoded(file: Any, mode: ImageReadMode, where: str) -> weft.Tensor:
    from weft.vision.transforms.functional import pil_to_tensor

    if not isinstance(mode, ImageReadMode):
        raise TypeError(f"argument 'mode' must be ImageReadMode, got {type(mode).__name__}")
    try:
        with _pillow.module("Image", "decoding an image").open(file) as image:
            if mode is not ImageReadMode.UNCHANGED:
                image = image.convert(_MODES[mode])
            elif image.mode in ("P", "CMYK", "YCbCr", "HSV", "LAB"):
                image = image.convert("RGB")
            elif image.mode == "1":
                image = image.convert("L")
            return pil_to_tensor(image)
    except (OSError, SyntaxError, ValueError) as error:  # what Pillow's decoders raise
        raise _core.CorruptError(f"{where}: expected an image, got {error}") from None


def _encoded(name: str, image: Any, **how: Any) -> weft.Tensor:
    from weft.vision.transforms.functional import to_pil_image

    _require(name, image, 3)
    if image.shape[0] not in (1, 3) or 0 in image.shape:
        raise _core.InvalidArgumentError(
            f"[{name}] expected weft.uint8 [1 or 3, H, W], got {list(image.shape)}")
    out = io.BytesIO()
    to_pil_image(image).save(out, **how)
    return weft.frombuffer(bytearray(out.getvalue()), dtype=weft.uint8)
