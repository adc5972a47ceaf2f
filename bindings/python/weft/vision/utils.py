"""Many images as one."""
import math
from typing import Any, List, Optional, Tuple, Union

import weft
from weft import _core

__all__ = ["make_grid", "save_image"]


def make_grid(tensor: Union[weft.Tensor, List[weft.Tensor]], nrow: int = 8, padding: int = 2,
              normalize: bool = False, value_range: Optional[Tuple[float, float]] = None,
              scale_each: bool = False, pad_value: float = 0.0) -> weft.Tensor:
    """Images [N, C, H, W], [C, H, W], [H, W], or a list of [C, H, W], as one [3 or C, H', W'] with
    `nrow` in a row and `padding` pixels of `pad_value` around each. `normalize` shifts the values
    to [0, 1], from `value_range` or from the least and the largest, of all or of each image.
    Images of one channel become those of three."""
    images = _batch(tensor)
    for name, value, least in (("nrow", nrow, 1), ("padding", padding, 0)):
        if not isinstance(value, int) or value < least:
            raise _core.InvalidArgumentError(
                f"[make_grid] expected {name} of at least {least}, got {value!r}")
    if value_range is not None and not (isinstance(value_range, tuple) and len(value_range) == 2):
        raise TypeError("make_grid(): argument 'value_range' must be a tuple (least, largest), got "
                        f"{value_range!r}")
    if normalize:
        images = weft.stack([_scaled(image, value_range) for image in images]) if scale_each \
            else _scaled(images, value_range)
    count, channels, height, width = images.shape
    if count == 1:
        return images[0]
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    high, wide = height + padding, width + padding
    grid = weft.full((channels, high * rows + padding, wide * columns + padding), pad_value,
                     dtype=images.dtype)
    for place, image in enumerate(images):
        top, left = padding + place // columns * high, padding + place % columns * wide
        grid[:, top:top + height, left:left + width] = image
    return grid


def save_image(tensor: Union[weft.Tensor, List[weft.Tensor]], fp: Any,
               format: Optional[str] = None, **options: Any) -> None:  # noqa: A002
    """Writes make_grid(tensor, **options), with values in [0, 1], to a path or a file object;
    `format` is one of Pillow's, by default that of the path's ending."""
    from weft.vision.transforms.functional import to_pil_image

    grid = make_grid(tensor, **options)
    pixels = (grid.detach().float() * 255 + 0.5).clamp(0, 255).to(weft.uint8)
    to_pil_image(pixels).save(fp, format=format)


def _batch(tensor: Any) -> weft.Tensor:
    """[N, 3 or C, H, W] of what make_grid accepts."""
    if isinstance(tensor, (list, tuple)):
        for image in tensor:
            if not isinstance(image, weft.Tensor):
                raise TypeError("make_grid(): argument 'tensor' must be a list of weft.Tensor, got "
                                f"one that holds {type(image).__name__}")
        if not tensor:
            raise _core.InvalidArgumentError("[make_grid] expected at least one image, got none")
        tensor = weft.stack(list(tensor))
    elif not isinstance(tensor, weft.Tensor):
        raise TypeError("make_grid(): argument 'tensor' must be weft.Tensor or a list of them, got "
                        f"{type(tensor).__name__}")
    if not 2 <= tensor.dim() <= 4 or 0 in tensor.shape:
        raise _core.InvalidArgumentError("[make_grid] expected images [N, C, H, W], [C, H, W] or "
                                         f"[H, W], got {list(tensor.shape)}")
    images = tensor if tensor.dim() != 2 else tensor.unsqueeze(0)
    images = images if images.dim() == 4 else images.unsqueeze(0)
    return images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images


def _scaled(image: weft.Tensor, value_range: Optional[Tuple[float, float]]) -> weft.Tensor:
    image = image.detach()
    least, largest = value_range if value_range is not None else (
        float(image.min()), float(image.max()))
    return (image.clamp(least, largest) - least) / max(largest - least, 1e-5)
