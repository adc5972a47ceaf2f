"""Random rotations, affine and perspective maps, and elastic deformation."""
from typing import Any, List, Optional, Sequence, Tuple, Union

import weft
from weft import _core
from weft.vision.transforms import _draws
from weft.vision.transforms import functional as F
from weft.vision.transforms._base import (
    Transform, WithChance, angles_of, check_fill, range_of)
from weft.vision.transforms.functional._image import (
    InterpolationMode, interpolation_mode, number, refuse, refuse_type, sequence)

_Pair = Union[float, Sequence[float]]


def _center_of(center: Any, name: str) -> Any:
    if center is not None:
        if number(center):
            refuse_type(name, "center", "a sequence (x, y)", center)
        sequence(center, (2,), name, "center", one_is_all=False)
    return center


class RandomRotation(Transform):
    """An image turned by a random angle of a range of degrees, or of -degrees to degrees."""

    def __init__(self, degrees: _Pair,
                 interpolation: InterpolationMode = InterpolationMode.NEAREST, expand: bool = False,
                 center: Optional[Sequence[float]] = None, fill: Any = 0) -> None:
        super().__init__()
        self.degrees = angles_of(degrees, "RandomRotation", "degrees")
        self.interpolation = interpolation_mode(interpolation, "RandomRotation")
        self.expand, self.center = expand, _center_of(center, "RandomRotation")
        self.fill = check_fill(fill, "RandomRotation")

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """A random angle."""
        return _draws.uniform(float(degrees[0]), float(degrees[1]))

    def forward(self, img: Any) -> Any:
        """The turned image."""
        return F.rotate(img, self.get_params(self.degrees), self.interpolation, self.expand,
                        self.center, self.fill)

    def settings(self) -> str:
        center = "" if self.center is None else f", center={self.center}"
        return (f"degrees={self.degrees}, interpolation={self.interpolation.value}, "
                f"expand={self.expand}{center}, fill={self.fill}")


class RandomAffine(Transform):
    """An image turned, moved, scaled and sheared at random: `degrees` and `shear` in degrees,
    `translate` in shares of the sides, `scale` as factors."""

    def __init__(self, degrees: _Pair, translate: Optional[Sequence[float]] = None,
                 scale: Optional[Sequence[float]] = None, shear: Optional[_Pair] = None,
                 interpolation: InterpolationMode = InterpolationMode.NEAREST, fill: Any = 0,
                 center: Optional[Sequence[float]] = None) -> None:
        super().__init__()
        name = "RandomAffine"
        self.degrees = angles_of(degrees, name, "degrees")
        if translate is not None:
            if number(translate):
                refuse_type(name, "translate", "a sequence of two shares of the sides", translate)
            shares = sequence(translate, (2,), name, "translate", one_is_all=False)
            if not all(0 <= each <= 1 for each in shares):
                refuse(name, "translate as two shares of the sides in [0, 1]", translate)
        if scale is not None and not range_of(scale, name, "scale")[0] > 0:
            refuse(name, "scale above 0", scale)
        self.translate, self.scale = translate, scale
        self.shear = None if shear is None else angles_of(shear, name, "shear", (2, 4))
        self.interpolation = interpolation_mode(interpolation, name)
        self.fill, self.center = check_fill(fill, name), _center_of(center, name)

    @staticmethod
    def get_params(degrees: Sequence[float], translate: Optional[Sequence[float]],
                   scale_ranges: Optional[Sequence[float]], shears: Optional[Sequence[float]],
                   img_size: Sequence[int]) -> Tuple[float, Tuple[int, int], float,
                                                     Tuple[float, float]]:
        """(angle, (x, y), scale, (shear along x, along y)); img_size is (width, height)."""
        angle = _draws.uniform(float(degrees[0]), float(degrees[1]))
        moved = [0, 0]
        if translate is not None:
            for axis in (0, 1):
                most = float(translate[axis] * img_size[axis])
                moved[axis] = round(_draws.uniform(-most, most))
        scale = 1.0 if scale_ranges is None else _draws.uniform(*scale_ranges)
        shear = [0.0, 0.0]
        if shears is not None:
            for axis in range(len(shears) // 2):
                shear[axis] = _draws.uniform(shears[2 * axis], shears[2 * axis + 1])
        return angle, (moved[0], moved[1]), scale, (shear[0], shear[1])

    def forward(self, img: Any) -> Any:
        """The mapped image."""
        _, height, width = F.get_dimensions(img)
        numbers = self.get_params(self.degrees, self.translate, self.scale, self.shear,
                                  [width, height])
        return F.affine(img, *numbers, interpolation=self.interpolation, fill=self.fill,
                        center=self.center)

    def settings(self) -> str:
        text = f"degrees={self.degrees}"
        for name in ("translate", "scale", "shear"):
            if getattr(self, name) is not None:
                text += f", {name}={getattr(self, name)}"
        if self.interpolation is not InterpolationMode.NEAREST:
            text += f", interpolation={self.interpolation.value}"
        text += f", fill={self.fill}" if self.fill != 0 else ""
        return text + (f", center={self.center}" if self.center is not None else "")


class RandomPerspective(WithChance):
    """An image seen from aside, with probability `p`: each corner moves inwards, at most by
    distortion_scale of half a side."""

    def __init__(self, distortion_scale: float = 0.5, p: float = 0.5,
                 interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                 fill: Any = 0) -> None:
        super().__init__(p)
        if not number(distortion_scale):
            refuse_type("RandomPerspective", "distortion_scale", "a number in [0, 1]",
                        distortion_scale)
        if not 0 <= distortion_scale <= 1:
            refuse("RandomPerspective", "distortion_scale in [0, 1]", distortion_scale)
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation_mode(interpolation, "RandomPerspective")
        self.fill = check_fill(fill, "RandomPerspective")

    @staticmethod
    def get_params(width: int, height: int,
                   distortion_scale: float) -> Tuple[List[List[int]], List[List[int]]]:
        """The corners, top left, top right, bottom right, bottom left, and where they move."""
        across = int(distortion_scale * (width // 2))
        down = int(distortion_scale * (height // 2))
        lefts, rights = (0, across + 1), (width - across - 1, width)
        tops, bottoms = (0, down + 1), (height - down - 1, height)
        ends = [[_draws.whole(*x), _draws.whole(*y)] for x, y in (
            (lefts, tops), (rights, tops), (rights, bottoms), (lefts, bottoms))]
        return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], ends

    def forward(self, img: Any) -> Any:
        """The image, mapped or not."""
        _, height, width = F.get_dimensions(img)
        if not _draws.chance(self.p):
            return img
        starts, ends = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, starts, ends, self.interpolation, self.fill)


def _two_floats(value: Any, argument: str) -> List[float]:
    values = [float(each) for each in sequence(value, (2,), "ElasticTransform", argument)]
    if min(values) < 0:
        refuse("ElasticTransform", f"{argument} of at least 0", value)
    return values


class ElasticTransform(Transform):
    """An image whose pixels move by random displacements of strength `alpha`, smoothed by a bell of
    standard deviation `sigma`; both may be given along x and along y."""

    def __init__(self, alpha: _Pair = 50.0, sigma: _Pair = 5.0,
                 interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                 fill: Any = 0) -> None:
        super().__init__()
        self.alpha, self.sigma = _two_floats(alpha, "alpha"), _two_floats(sigma, "sigma")
        self.interpolation = interpolation_mode(interpolation, "ElasticTransform")
        self.fill = check_fill(fill, "ElasticTransform")

    @staticmethod
    def get_params(alpha: Sequence[float], sigma: Sequence[float],
                   size: Sequence[int]) -> weft.Tensor:
        """[1, H, W, 2]: random displacements for an image of `size`, (height, width)."""
        moved = []
        for strength, spread, length in zip(alpha, sigma, size):
            field = _draws.noise(1, 1, *size) * 2 - 1
            if spread > 0:
                kernel = int(8 * spread + 1) | 1  # an odd number
                field = F.gaussian_blur(field, [kernel, kernel], list(sigma))
            moved.append(field * strength / length)
        return _core.cat(moved, 1).permute(0, 2, 3, 1)

    def forward(self, tensor: Any) -> Any:
        """The deformed image."""
        _, height, width = F.get_dimensions(tensor)
        field = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(tensor, field, self.interpolation, self.fill)

    def settings(self) -> str:
        return (f"alpha={self.alpha}, sigma={self.sigma}, "
                f"interpolation={self.interpolation.value}, fill={self.fill}")
