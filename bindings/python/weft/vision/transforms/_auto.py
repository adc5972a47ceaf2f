"""Augmentation without tuning by hand: AutoAugment, RandAugment, TrivialAugmentWide and AugMix."""
import math
from enum import Enum
from typing import Any, Callable, Dict, List, Sequence, Tuple

import weft
from weft import _core
from weft.vision.transforms import _draws, _policies
from weft.vision.transforms import functional as F
from weft.vision.transforms._base import Transform, check_fill
from weft.vision.transforms.functional._image import (
    InterpolationMode, check, image_of, interpolation_mode, number, pixels, refuse, refuse_type)

_Space = Dict[str, Tuple[List[float], bool]]  # magnitudes, none where there is no choice; signed?


class AutoAugmentPolicy(Enum):
    """The data that a policy was found for."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


def _affine(img: Any, mode: InterpolationMode, fill: Any, **changed: Any) -> Any:
    return F.affine(img, **{"angle": 0.0, "translate": [0, 0], "scale": 1.0, "shear": [0.0, 0.0],
                            "interpolation": mode, "fill": fill, **changed})


def _degrees(slope: float) -> float:
    return math.degrees(math.atan(slope))


_OPERATIONS: Dict[str, Callable[[Any, float, InterpolationMode, Any], Any]] = {
    "Identity": lambda img, m, mode, fill: img,
    "ShearX": lambda img, m, mode, fill: _affine(img, mode, fill, shear=[_degrees(m), 0.0],
                                                 center=[0, 0]),
    "ShearY": lambda img, m, mode, fill: _affine(img, mode, fill, shear=[0.0, _degrees(m)],
                                                 center=[0, 0]),
    "TranslateX": lambda img, m, mode, fill: _affine(img, mode, fill, translate=[int(m), 0]),
    "TranslateY": lambda img, m, mode, fill: _affine(img, mode, fill, translate=[0, int(m)]),
    "Rotate": lambda img, m, mode, fill: F.rotate(img, m, interpolation=mode, fill=fill),
    "Brightness": lambda img, m, mode, fill: F.adjust_brightness(img, 1.0 + m),
    "Color": lambda img, m, mode, fill: F.adjust_saturation(img, 1.0 + m),
    "Contrast": lambda img, m, mode, fill: F.adjust_contrast(img, 1.0 + m),
    "Sharpness": lambda img, m, mode, fill: F.adjust_sharpness(img, 1.0 + m),
    "Posterize": lambda img, m, mode, fill: F.posterize(img, int(m)),
    "Solarize": lambda img, m, mode, fill: F.solarize(img, m),
    "AutoContrast": lambda img, m, mode, fill: F.autocontrast(img),
    "Equalize": lambda img, m, mode, fill: F.equalize(img),
    "Invert": lambda img, m, mode, fill: F.invert(img),
}


def _space(bins: int, shear: float, across: float, down: float, angle: float, color: float,
           bits: Tuple[int, int]) -> _Space:
    """The operations that all four share, with `bins` magnitudes from nothing to the greatest;
    `bits` are those that posterizing keeps at first, and at most takes away."""
    def upto(last: float, first: float = 0.0) -> List[float]:
        """`bins` numbers in single precision, counted from the first and, in the second part, from
        the last: their last bits are then torchvision's."""
        last = _core.tensor(last).item()
        step = _core.tensor((last - first) / (bins - 1)).item()
        middle = 16 if bins >= 16 else bins // 2
        return _core.tensor([first + step * place if place < middle else
                             last - step * (bins - 1 - place) for place in range(bins)]).tolist()

    places = weft.arange(bins) / ((max(bins, 2) - 1) / bits[1])
    return {
        "ShearX": (upto(shear), True), "ShearY": (upto(shear), True),
        "TranslateX": (upto(across), True), "TranslateY": (upto(down), True),
        "Rotate": (upto(angle), True), "Brightness": (upto(color), True),
        "Color": (upto(color), True), "Contrast": (upto(color), True),
        "Sharpness": (upto(color), True),
        "Posterize": ((bits[0] - places.round()).tolist(), False),
        "Solarize": (upto(0.0, 255.0), False), "AutoContrast": ([], False), "Equalize": ([], False)}


def _whole(value: Any, name: str, argument: str, least: int) -> int:
    if not hasattr(value, "__index__"):
        refuse_type(name, argument, "a whole number", value)
    if value < least:
        refuse(name, f"{argument} of at least {least}", value)
    return value


class _Augment(Transform):
    """What the four share: how values between pixels are found, and the color beyond the image."""

    def __init__(self, interpolation: InterpolationMode, fill: Any) -> None:
        super().__init__()
        name = type(self).__name__
        self.interpolation = interpolation_mode(interpolation, name)
        self.fill = None if fill is None else check_fill(fill, name)

    def _after(self, img: Any, name: str, magnitude: float) -> Any:
        return _OPERATIONS[name](img, magnitude, self.interpolation, self.fill)

    def _drawn(self, img: Any, space: _Space, choices: Tuple[int, int]) -> Any:
        """The image after a random operation, with a magnitude whose number is in the range
        `choices` (one number is no draw), in a random direction."""
        name = list(space)[_draws.whole(0, len(space))]
        magnitudes, signed = space[name]
        magnitude = 0.0
        if magnitudes:
            first, after = choices
            magnitude = magnitudes[first if after == first + 1 else _draws.whole(first, after)]
        if signed and _draws.whole(0, 2):
            magnitude = -magnitude
        return self._after(img, name, magnitude)


class AutoAugment(_Augment):
    """One of the 25 pairs of operations of a policy, at random. For PIL images of the modes L and
    RGB, and tensors [..., 1 or 3, H, W] of bytes."""

    def __init__(self, policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
                 interpolation: InterpolationMode = InterpolationMode.NEAREST,
                 fill: Any = None) -> None:
        super().__init__(interpolation, fill)
        if not isinstance(policy, AutoAugmentPolicy):
            raise TypeError(f"AutoAugment(): argument 'policy' must be an AutoAugmentPolicy, such "
                            f"as AutoAugmentPolicy.CIFAR10, got {policy!r}")
        self.policy, self.policies = policy, _policies.policy(policy.value)

    @staticmethod
    def get_params(transform_num: int) -> Tuple[int, weft.Tensor, weft.Tensor]:
        """(the number of a pair, two chances, two signs)."""
        pair = _draws.whole(0, transform_num)
        chances = _draws.noise(2)
        return pair, chances, _core.tensor([_draws.whole(0, 2), _draws.whole(0, 2)])

    def forward(self, img: Any) -> Any:
        """The image after the operations of the pair that happen."""
        _, height, width = F.get_dimensions(img)
        pair, chances, signs = self.get_params(len(self.policies))
        space = _space(10, 0.3, 150.0 / 331.0 * width, 150.0 / 331.0 * height, 30.0, 0.9, (8, 4))
        space["Invert"] = ([], False)
        drawn = zip(self.policies[pair], chances.tolist(), signs.tolist())
        for (name, probability, place), chance, sign in drawn:
            if chance <= probability:
                magnitudes, signed = space[name]
                magnitude = 0.0 if place is None else magnitudes[place]
                img = self._after(img, name, -magnitude if signed and sign == 0 else magnitude)
        return img

    def settings(self) -> str:
        return f"policy={self.policy}, fill={self.fill}"


class RandAugment(_Augment):
    """`num_ops` random operations of one magnitude. Cubuk et al., "RandAugment: practical automated
    data augmentation with a reduced search space", 2019."""

    def __init__(self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
                 interpolation: InterpolationMode = InterpolationMode.NEAREST,
                 fill: Any = None) -> None:
        super().__init__(interpolation, fill)
        self.num_ops = _whole(num_ops, "RandAugment", "num_ops", 0)
        self.num_magnitude_bins = _whole(num_magnitude_bins, "RandAugment", "num_magnitude_bins", 2)
        self.magnitude = _whole(magnitude, "RandAugment", "magnitude", 0)
        if magnitude >= num_magnitude_bins:
            refuse("RandAugment", f"magnitude below num_magnitude_bins={num_magnitude_bins}",
                   magnitude)

    def forward(self, img: Any) -> Any:
        """The image after the operations."""
        _, height, width = F.get_dimensions(img)
        space: _Space = {"Identity": ([], False), **_space(
            self.num_magnitude_bins, 0.3, 150.0 / 331.0 * width, 150.0 / 331.0 * height, 30.0, 0.9,
            (8, 4))}
        for _ in range(self.num_ops):
            img = self._drawn(img, space, (self.magnitude, self.magnitude + 1))
        return img

    def settings(self) -> str:
        return (f"num_ops={self.num_ops}, magnitude={self.magnitude}, "
                f"num_magnitude_bins={self.num_magnitude_bins}, "
                f"interpolation={self.interpolation}, fill={self.fill}")


class TrivialAugmentWide(_Augment):
    """One random operation of random magnitude. Mueller and Hutter, "TrivialAugment: tuning-free
    yet state-of-the-art data augmentation", ICCV 2021."""

    def __init__(self, num_magnitude_bins: int = 31,
                 interpolation: InterpolationMode = InterpolationMode.NEAREST,
                 fill: Any = None) -> None:
        super().__init__(interpolation, fill)
        self.num_magnitude_bins = _whole(num_magnitude_bins, "TrivialAugmentWide",
                                         "num_magnitude_bins", 2)

    def forward(self, img: Any) -> Any:
        """The image after the operation."""
        check(img, "TrivialAugmentWide")
        bins = self.num_magnitude_bins
        space: _Space = {"Identity": ([], False),
                         **_space(bins, 0.99, 32.0, 32.0, 135.0, 0.99, (8, 6))}
        return self._drawn(img, space, (0, bins))

    def settings(self) -> str:
        return (f"num_magnitude_bins={self.num_magnitude_bins}, "
                f"interpolation={self.interpolation}, fill={self.fill}")


class AugMix(_Augment):
    """An image mixed with `mixture_width` chains of random operations, `chain_depth` each or, if
    that is negative, 1 to 3. Hendrycks et al., "AugMix: a simple data processing method to improve
    robustness and uncertainty", ICLR 2020."""

    _BINS = 10

    def __init__(self, severity: int = 3, mixture_width: int = 3, chain_depth: int = -1,
                 alpha: float = 1.0, all_ops: bool = True,
                 interpolation: InterpolationMode = InterpolationMode.BILINEAR,
                 fill: Any = None) -> None:
        super().__init__(interpolation, fill)
        self.severity = _whole(severity, "AugMix", "severity", 1)
        if severity > self._BINS:
            refuse("AugMix", f"severity in [1, {self._BINS}]", severity)
        self.mixture_width = _whole(mixture_width, "AugMix", "mixture_width", 1)
        self.chain_depth = _whole(chain_depth, "AugMix", "chain_depth", -10 ** 9)
        if not number(alpha):
            refuse_type("AugMix", "alpha", "a number above 0", alpha)
        if not alpha > 0:
            refuse("AugMix", "alpha above 0", alpha)
        self.alpha, self.all_ops = alpha, all_ops

    def _chain(self, batch: weft.Tensor, space: _Space) -> weft.Tensor:
        depth = self.chain_depth if self.chain_depth > 0 else _draws.whole(1, 4)
        for _ in range(depth):
            batch = self._drawn(batch, space, (0, self.severity))
        return batch

    def forward(self, orig_img: Any) -> Any:
        """The mixed image."""
        pil = check(orig_img, "AugMix")
        img = pixels(orig_img).permute(2, 0, 1) if pil else orig_img
        height, width = img.shape[-2:]
        space = _space(self._BINS, 0.3, width / 3.0, height / 3.0, 30.0, 0.9, (4, 4))
        colors = {name: space.pop(name)
                  for name in ("Brightness", "Color", "Contrast", "Sharpness")}
        space.update(colors if self.all_ops else {})
        batch = img.reshape(*[1] * max(4 - img.ndim, 0), *img.shape)
        count = batch.shape[0]
        spread: Sequence[int] = [count] + [1] * (batch.ndim - 1)
        own = _draws.dirichlet(self.alpha, count, 2)
        shares = _draws.dirichlet(self.alpha, count, self.mixture_width) * own[:, 1:]
        mixed = own[:, 0].reshape(*spread) * batch
        for chain in range(self.mixture_width):
            mixed = mixed + shares[:, chain].reshape(*spread) * self._chain(batch, space)
        result = mixed.reshape(*img.shape).to(img.dtype)
        return image_of(result.permute(1, 2, 0), orig_img.mode) if pil else result

    def settings(self) -> str:
        return (f"severity={self.severity}, mixture_width={self.mixture_width}, "
                f"chain_depth={self.chain_depth}, alpha={self.alpha}, all_ops={self.all_ops}, "
                f"interpolation={self.interpolation}, fill={self.fill}")
