"""Rotation, affine and perspective maps: each pixel of the result is looked up in the image."""
import math
from typing import Any, List, Optional, Sequence, Tuple, Union

import weft
from weft import _core
from weft.vision.transforms.functional import _image
from weft.vision.transforms.functional._image import (
    InterpolationMode, check, get_dimensions, number, refuse, refuse_type, sequence)
from weft.vision.transforms.functional._sizes import fill_of, rounded

_AFFINE, _PERSPECTIVE = 0, 2  # numbers of Image.Transform
_Fill = Optional[Union[float, Sequence[float]]]


def _check_fill(img: weft.Tensor, fill: Any, function: str) -> None:
    if fill is None or number(fill):
        return
    if isinstance(fill, str) or not hasattr(fill, "__len__"):
        refuse_type(function, "fill", "a number or a sequence of numbers", fill)
    channels = get_dimensions(img)[0]
    if len(fill) not in (1, channels):
        refuse(function, f"fill as a number or {channels} of them, one for each channel", fill)


def _tensor_mode(mode: InterpolationMode, function: str) -> bool:
    """Whether the mode is nearest; for a tensor there is bilinear besides."""
    if mode not in (InterpolationMode.NEAREST, InterpolationMode.BILINEAR):
        refuse(function, "interpolation nearest or bilinear for a tensor", mode.value)
    return mode is InterpolationMode.NEAREST


def _color(fill: Any, like: weft.Tensor) -> weft.Tensor:
    """The fill as a tensor that spreads over [N, C, places]."""
    values = [float(fill)] if number(fill) else [float(each) for each in fill]
    return _core.tensor(values, dtype=like.dtype).view(1, -1, 1)


def _at(flat: weft.Tensor, x: weft.Tensor, y: weft.Tensor, width: int,
        height: int) -> Tuple[weft.Tensor, weft.Tensor]:
    """The pixels [N, C, places] at whole places, and which of these are inside the image."""
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    where = y.clamp(0, height - 1) * width + x.clamp(0, width - 1)
    return flat.index_select(2, where.long()), inside


def _sample(img: weft.Tensor, grid: weft.Tensor, nearest: bool, fill: _Fill) -> weft.Tensor:
    """The image at the places [H', W', 2] of the grid, x and y in [-1, 1], the same for all images
    of a batch; beyond the image `fill`, or 0."""
    values, lead = _image.planes(img)
    count, channels, height, width = values.shape
    x, y = (((grid[..., axis] + 1).double() * (length / 2) - 0.5).to(grid.dtype).reshape(-1)
            for axis, length in ((0, width), (1, height)))
    flat = values.reshape(count, channels, height * width)
    if nearest:
        found, inside = _at(flat, x.round(), y.round(), width, height)
        if fill is None:
            found = found * inside.to(found.dtype)
        else:
            color = _color(fill, grid)
            found = _core.where(inside, found, rounded(color, found.dtype))
        return found.reshape(*lead, *grid.shape[:2])
    flat = flat.to(grid.dtype)
    left, top = x.floor(), y.floor()
    right_share, down_share = x - left, y - top
    left_share, up_share = 1 - right_share, 1 - down_share
    # Halves of whole numbers are rounded as torchvision rounds them: a product is not rounded
    # before it is added to the sum of those before it.
    exact = _core.float64 if not img.is_floating_point() else grid.dtype
    corners = ((left, top, left_share * up_share), (left + 1, top, right_share * up_share),
               (left, top + 1, left_share * down_share),
               (left + 1, top + 1, right_share * down_share))
    result = _core.zeros(1, dtype=grid.dtype)
    covered = result
    for column, row, share in corners:
        found, inside = _at(flat, column, row, width, height)
        share = share * inside.to(share.dtype)
        result = (result.to(exact) + found.to(exact) * share.to(exact)).to(grid.dtype)
        covered = covered + share
    if fill is not None:
        result = result * covered + (1 - covered) * _color(fill, result)
    return rounded(result, img.dtype).reshape(*lead, *grid.shape[:2])


def _mapped(width: int, height: int, maps: weft.Tensor, centered: bool) -> weft.Tensor:
    """[height, width, n]: x * maps[0] + y * maps[1] + maps[2] of the pixels' centers, x and y from
    the image's center or corner. The sum is rounded in the same way on every processor, as a
    product of matrices would not be: after each of its parts, the second of which is a product not
    rounded before."""
    dtype = maps.dtype
    x, y = (_core.arange(length).to(dtype) + (0.5 - length / 2 if centered else 0.5)
            for length in (width, height))
    across, down, moved = maps.unbind(0)
    first = (x.view(1, -1, 1) * across).double()
    return (first + y.view(-1, 1, 1).double() * down.double()).to(dtype) + moved


def _grid_type(img: weft.Tensor) -> weft.dtype:
    return img.dtype if img.is_floating_point() else _core.float32


def _affine_tensor(img: weft.Tensor, matrix: Sequence[float], nearest: bool, fill: _Fill,
                   size: Optional[Tuple[int, int]] = None) -> weft.Tensor:
    """The image under the map from places of the result to places of the image, both from their
    centers; `size`: (width, height) of the result."""
    width, height = img.shape[-1], img.shape[-2]
    new_width, new_height = size or (width, height)
    dtype = _grid_type(img)
    theta = _core.tensor(list(matrix), dtype=dtype).view(2, 3).t()
    theta = theta / _core.tensor([0.5 * width, 0.5 * height], dtype=dtype)
    return _sample(img, _mapped(new_width, new_height, theta, True), nearest, fill)


def _inverse_affine(center: Sequence[float], angle: float, translate: Sequence[float],
                    scale: float, shear: Sequence[float]) -> List[float]:
    """The six numbers of the map from places of the result to places of the image.

    The image is sheared along x and then along y, rotated and scaled about its center and moved at
    last. Rotation and shear have determinant 1, so that their inverse is their adjugate."""
    turn, shear_x, shear_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    cosine, sine = math.cos(turn - shear_y), math.sin(turn - shear_y)
    across = math.tan(shear_x)
    xx = cosine / math.cos(shear_y)
    xy = -cosine * across / math.cos(shear_y) - math.sin(turn)
    yx = sine / math.cos(shear_y)
    yy = -sine * across / math.cos(shear_y) + math.cos(turn)
    xx, xy, yx, yy = yy / scale, -xy / scale, -yx / scale, xx / scale
    x, y = -center[0] - translate[0], -center[1] - translate[1]
    return [xx, xy, (xx * x + xy * y) + center[0], yx, yy, (yx * x + yy * y) + center[1]]


def _expanded(matrix: Sequence[float], width: int, height: int) -> Tuple[int, int]:
    """(width, height) of an image that holds all corners of a rotated one, in single precision; a
    ten thousandth of a pixel is left out of account."""
    x, y = width * 0.5, height * 0.5
    corners = _core.tensor([[-x, -y, 1.0], [-x, y, 1.0], [x, y, 1.0], [x, -y, 1.0]])
    places = corners @ _core.tensor(list(matrix)).view(2, 3).t()
    middle, unit = _core.tensor([x, y]), 1e-4
    most = ((places.amax(dim=0) + middle) / unit).trunc() * unit
    least = ((places.amin(dim=0) + middle) / unit).trunc() * unit
    new_width, new_height = (most.ceil() - least.floor()).tolist()
    return int(new_width), int(new_height)


def _from_center(center: Any, img: weft.Tensor, function: str) -> List[float]:
    """A center in pixels from the upper left corner, as one from the image's own center."""
    if center is None:
        return [0.0, 0.0]
    x, y = sequence(center, (2,), function, "center", one_is_all=False)
    return [x - img.shape[-1] * 0.5, y - img.shape[-2] * 0.5]


def _check_center(center: Any, function: str) -> None:
    if center is not None and not isinstance(center, (list, tuple)):
        refuse_type(function, "center", "a list or tuple (x, y)", center)


def rotate(img: Any, angle: float, interpolation: InterpolationMode = InterpolationMode.NEAREST,
           expand: bool = False, center: Optional[Sequence[float]] = None,
           fill: _Fill = None) -> Any:
    """An image turned by `angle` degrees counter-clockwise about `center`, (x, y) from the upper
    left corner, or about its middle; `expand` makes the result large enough for all of it."""
    mode = _image.interpolation_mode(interpolation, "rotate")
    pil = check(img, "rotate")
    if not number(angle):
        refuse_type("rotate", "angle", "a number of degrees", angle)
    _check_center(center, "rotate")
    if pil:
        return img.rotate(angle, _image.pillow_filter(mode), expand, center,
                          fillcolor=fill_of(fill, img, "rotate"))
    nearest = _tensor_mode(mode, "rotate")
    _check_fill(img, fill, "rotate")
    middle = _from_center(center, img, "rotate")
    matrix = _inverse_affine(middle, -angle, (0.0, 0.0), 1.0, (0.0, 0.0))
    size = _expanded(matrix, img.shape[-1], img.shape[-2]) if expand else None
    return _affine_tensor(img, matrix, nearest, fill, size)


def affine(img: Any, angle: float, translate: Sequence[int], scale: float,
           shear: Union[float, Sequence[float]],
           interpolation: InterpolationMode = InterpolationMode.NEAREST, fill: _Fill = None,
           center: Optional[Sequence[float]] = None) -> Any:
    """An image sheared (degrees, along x or along x and y), turned by `angle` degrees clockwise,
    scaled about its center, and moved by `translate` pixels (x, y)."""
    mode = _image.interpolation_mode(interpolation, "affine")
    pil = check(img, "affine")
    if not number(angle):
        refuse_type("affine", "angle", "a number of degrees", angle)
    if not isinstance(translate, (list, tuple)):
        refuse_type("affine", "translate", "a list or tuple (x, y)", translate)
    moved = sequence(translate, (2,), "affine", "translate", one_is_all=False)
    if not number(scale):
        refuse_type("affine", "scale", "a number", scale)
    if not scale > 0:
        refuse("affine", "scale above 0", scale)
    shears = [shear, 0.0] if number(shear) else sequence(shear, (2,), "affine", "shear")
    _check_center(center, "affine")
    if pil:
        middle = sequence(center or (img.width * 0.5, img.height * 0.5), (2,), "affine", "center",
                          one_is_all=False)
        matrix = _inverse_affine(middle, float(angle), moved, scale, shears)
        return img.transform(img.size, _AFFINE, matrix, _image.pillow_filter(mode),
                             fillcolor=fill_of(fill, img, "affine"))
    nearest = _tensor_mode(mode, "affine")
    _check_fill(img, fill, "affine")
    middle = _from_center(center, img, "affine")
    matrix = _inverse_affine(middle, float(angle), moved, scale, shears)
    return _affine_tensor(img, matrix, nearest, fill)


def _perspective_of(startpoints: Sequence[Sequence[int]],
                    endpoints: Sequence[Sequence[int]]) -> List[float]:
    """The eight numbers of the map (ax + by + c, dx + ey + f) / (gx + hy + 1) that takes the four
    end points to the four start points. Solved in double precision."""
    rows, wanted = [], []
    for (x, y), (to_x, to_y) in zip(endpoints, startpoints):
        rows += [[x, y, 1, 0, 0, 0, -to_x * x, -to_x * y], [0, 0, 0, x, y, 1, -to_y * x, -to_y * y]]
        wanted += [to_x, to_y]
    try:
        return weft.linalg.solve(_core.tensor(rows, dtype=_core.float64),
                                 _core.tensor(wanted, dtype=_core.float64)).tolist()
    except RuntimeError:
        refuse("perspective", "endpoints of which no three are on a line", endpoints)


def _check_points(points: Any, argument: str) -> None:
    if isinstance(points, (str, _core.Tensor)) or not hasattr(points, "__len__"):
        refuse_type("perspective", argument, "four points (x, y)", points)
    if len(points) != 4 or not all(hasattr(each, "__len__") and len(each) == 2 for each in points):
        refuse("perspective", f"{argument} as four points (x, y)", points)


def perspective(img: Any, startpoints: Sequence[Sequence[int]], endpoints: Sequence[Sequence[int]],
                interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                fill: _Fill = None) -> Any:
    """An image with the start points, (x, y) of top left, top right, bottom right and bottom left,
    moved to the end points."""
    mode = _image.interpolation_mode(interpolation, "perspective")
    pil = check(img, "perspective")
    _check_points(startpoints, "startpoints")
    _check_points(endpoints, "endpoints")
    numbers = _perspective_of(startpoints, endpoints)
    if pil:
        return img.transform(img.size, _PERSPECTIVE, numbers, _image.pillow_filter(mode),
                             fillcolor=fill_of(fill, img, "perspective"))
    nearest = _tensor_mode(mode, "perspective")
    _check_fill(img, fill, "perspective")
    width, height, dtype = img.shape[-1], img.shape[-2], _grid_type(img)
    above = _core.tensor(numbers[:6], dtype=dtype).view(2, 3).t()
    above = above / _core.tensor([0.5 * width, 0.5 * height], dtype=dtype)
    below = _core.tensor([numbers[6], numbers[7], 1.0], dtype=dtype).view(3, 1)
    grid = _mapped(width, height, above, False) / _mapped(width, height, below, False) - 1.0
    return _sample(img, grid, nearest, fill)


def elastic_transform(img: Any, displacement: weft.Tensor,
                      interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                      fill: _Fill = None) -> Any:
    """An image whose pixels come from `displacement` [1, H, W, 2], x and y in halves of the image's
    sides, beside their places."""
    mode = _image.interpolation_mode(interpolation, "elastic_transform")
    pil = check(img, "elastic_transform")
    if not isinstance(displacement, _core.Tensor):
        refuse_type("elastic_transform", "displacement", "a weft.Tensor [1, H, W, 2]", displacement)
    _, height, width = get_dimensions(img)
    if list(displacement.shape) != [1, height, width, 2]:
        refuse("elastic_transform", f"displacement of shape {[1, height, width, 2]}",
               list(displacement.shape))
    nearest = _tensor_mode(mode, "elastic_transform")
    values = _image.pixels(img).permute(2, 0, 1) if pil else img
    _check_fill(values, fill, "elastic_transform")
    x, y = (_core.linspace((1 - length) / length, (length - 1) / length, length)
            for length in (width, height))
    grid = _core.stack([x.unsqueeze(0).expand(height, width), y.unsqueeze(1).expand(height, width)],
                       -1) + displacement[0]
    result = _sample(values, grid.to(_grid_type(values)), nearest, fill)
    return _image.image_of(result.permute(1, 2, 0), img.mode) if pil else result
