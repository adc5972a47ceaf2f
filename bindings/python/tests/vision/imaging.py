"""Images, and calls of transforms on them, in Weft and in torchvision. A call is an expression of
`T`, the transforms, `F`, their functions, `torch`, the library, and the images by name. Both
libraries' draws come from NumPy, so that whole random transforms can be compared."""
import contextlib
import random
import re
import unittest.mock
import warnings
import zlib

import numpy as np

import weft
from oracle import torch
from weft.vision import transforms
from weft.vision.transforms import _draws

try:
    import PIL
    from PIL import Image
except ImportError:
    PIL = Image = None

try:
    if torch is None or Image is None:
        raise ImportError("torchvision needs both")
    from torchvision import transforms as torch_transforms
    from torchvision.transforms import functional as torch_functional
except ImportError:
    torch_transforms = None

needs_pillow = unittest.skipIf(Image is None, "Pillow is not installed")
VALUES_MAX = 12  # so many numbers of a tensor of floats are recorded
PIL_NAMES = ("pL", "pRGB", "pRGBA", "p1", "pI", "pF", "pP", "pLA")


def arrays():
    """{name: array [..., C, H, W]}: u, v bytes of noise and of waves, f numbers in [0, 1]."""
    drawn = np.random.RandomState(7)
    y, x = np.mgrid[0:19, 0:26]
    waves = np.stack([np.sin(x / (2.0 + each) + y / 4.0) for each in range(3)]) * 127 + 128
    return {"u1": drawn.randint(0, 256, (1, 13, 17)).astype(np.uint8),
            "u3": drawn.randint(0, 256, (3, 13, 17)).astype(np.uint8),
            "v3": waves.astype(np.uint8),
            "b3": drawn.randint(0, 256, (2, 3, 12, 9)).astype(np.uint8),
            "f1": drawn.random_sample((1, 11, 12)).astype(np.float32),
            "f3": drawn.random_sample((3, 13, 17)).astype(np.float32),
            "h3": drawn.random_sample((2, 3, 8, 9)).astype(np.float32)}


def pictures():
    """{name: PIL image} of several modes."""
    pixels = np.random.RandomState(8).randint(0, 256, (21, 18, 4)).astype(np.uint8)
    rgba = Image.fromarray(pixels, "RGBA")
    rgb = rgba.convert("RGB")
    return {"pRGBA": rgba, **{"p" + mode: rgb.convert(mode)
                              for mode in ("RGB", "L", "1", "I", "F", "P", "LA")}}


def scope(library):
    """The names that a call speaks of."""
    own = library is weft
    names = {"T": transforms if own else torch_transforms, "torch": library, "np": np,
             "F": transforms.functional if own else torch_functional,
             **{name: library.from_numpy(array) for name, array in arrays().items()}}
    names["M"] = names["T"].InterpolationMode
    names.update(pictures() if Image is not None else {})
    return names


def needs_pictures(text):
    """Whether a call is on PIL images, or makes some."""
    return re.search(rf"\b(?:{'|'.join(PIL_NAMES)})\b|to_pil_image|ToPILImage", text) is not None


class Draws:
    """The draws of both libraries, from one generator of NumPy."""

    def __init__(self, seed):
        self._drawn = np.random.RandomState(seed)

    def noise(self, *shape):
        return self._drawn.random_sample(shape).astype(np.float32)

    def uniform(self, low, high):
        return float(np.float32(low + self._drawn.random_sample() * (high - low)))

    def whole(self, low, high):
        return int(self._drawn.randint(low, high))

    def order(self, count):
        return self._drawn.permutation(count).tolist()

    def one_of(self, count, weights=None):
        shares = None if weights is None else np.array(weights) / np.sum(weights)
        return int(self._drawn.choice(count, p=shares))

    def normal(self, *shape):
        return self._drawn.standard_normal(shape).astype(np.float32)

    def dirichlet(self, alpha, rows, columns):
        return self._drawn.dirichlet([alpha] * columns, rows).astype(np.float32)


@contextlib.contextmanager
def weft_draws(draws):
    """Weft's transforms with these draws."""
    def tensor(name):
        return lambda *args: weft.from_numpy(getattr(draws, name)(*args))

    new = {name: getattr(draws, name) for name in ("uniform", "whole", "order", "one_of")}
    new.update((name, tensor(name)) for name in ("noise", "normal", "dirichlet"))
    new["chance"] = lambda p: float(draws.noise(1)[0]) < p
    with unittest.mock.patch.multiple(_draws, **new):
        yield


def _shape(args):
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args


@contextlib.contextmanager
def torch_draws(draws):
    """torchvision with these draws."""
    def randint(*args, size=None, low=0, high=None, dtype=None):
        if size is None:
            *args, size = args
        if high is None:
            low, high = (low, args[0]) if len(args) == 1 else args
        values = [draws.whole(low, high) for _ in range(int(np.prod(size)))]
        return torch.tensor(values).reshape(tuple(size))

    def uniform(self, low=0.0, high=1.0):
        return self.fill_(draws.uniform(float(low), float(high)))

    def normal(self):
        return self.copy_(torch.from_numpy(draws.normal(*self.shape)))

    def shuffle(values):
        values[:] = draws.order(len(values))

    def dirichlet(concentration):
        return torch.from_numpy(draws.dirichlet(float(concentration[0, 0]), *concentration.shape))

    def choices(values, weights=None):
        return [values[draws.one_of(len(values), weights)]]

    with unittest.mock.patch.multiple(
            torch, randint=randint, randperm=lambda count: torch.tensor(draws.order(count)),
            rand=lambda *args: torch.from_numpy(draws.noise(*_shape(args))),
            _sample_dirichlet=dirichlet), unittest.mock.patch.multiple(
            torch.Tensor, uniform_=uniform, normal_=normal), unittest.mock.patch.multiple(
            random, shuffle=shuffle, choices=choices), unittest.mock.patch.object(
            torch_functional, "_get_perspective_coeffs", perspective_numbers):
        yield


def perspective_numbers(starts, ends):
    """The numbers of a perspective map in double precision; torchvision solves in single
    precision."""
    rows = []
    for (x, y), (u, v) in zip(ends, starts):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    return np.linalg.solve(np.array(rows, float), np.ravel(starts).astype(float)).tolist()


def run(library, text):
    """What the call gives: arrays and numbers; an exception is raised as it is."""
    draws = Draws(zlib.crc32(text.encode()))
    names = scope(library)
    with warnings.catch_warnings(), (weft_draws if library is weft else torch_draws)(draws):
        warnings.simplefilter("ignore")
        return plain(eval(text, names))  # noqa: S307  (a text of transform_tables.py)


def plain(value):
    """(kind, array) of an image, lists of them, or numbers and texts as they are."""
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if Image is not None and isinstance(value, Image.Image):
        palette = value.getpalette() if value.mode == "P" else None
        return {"kind": value.mode, "array": np.array(value), "palette": palette}
    if hasattr(value, "numpy"):
        return {"kind": "tensor", "array": value.numpy()}
    return repr(value) if callable(value) else value


def compact(result):
    """What is recorded: of whole numbers a checksum, of floats some."""
    if isinstance(result, list):
        return [compact(each) for each in result]
    if not isinstance(result, dict) or "error" in result:
        return result
    array = result["array"]
    found = {"kind": result["kind"], "type": str(array.dtype), "shape": list(array.shape)}
    if array.dtype.kind == "f":
        places = np.linspace(0, max(array.size - 1, 0), min(VALUES_MAX, array.size)).astype(int)
        found["values"] = [float(f"{each:.6g}") for each in array.reshape(-1)[places].tolist()]
    else:
        whole = np.where(array, 1, 0).astype(np.uint8) if array.dtype == bool else array
        found["sum"] = zlib.crc32(np.ascontiguousarray(whole).tobytes())
        found["mean"] = float(f"{array.mean():.5g}") if array.size else 0.0
    return found


def difference(mine, theirs, recorded, close):
    """None, or what differs; `close`: bytes may differ by 1 where halves were rounded."""
    if isinstance(theirs, list):
        if not isinstance(mine, list) or len(mine) != len(theirs):
            return f"{mine} where torchvision gives {theirs}"
        found = [difference(*pair, recorded, close) for pair in zip(mine, theirs)]
        return next((each for each in found if each is not None), None)
    if not isinstance(theirs, dict):
        return None if mine == theirs else f"{mine!r} where torchvision gives {theirs!r}"
    first, second = compact(mine), theirs if recorded else compact(theirs)
    for key in ("kind", "type", "shape"):
        if first[key] != second[key]:
            return f"{key} {first[key]} where torchvision gives {second[key]}"
    if "values" in second:
        a, b = ((first["values"], second["values"]) if recorded else
                (mine["array"], theirs["array"]))
        far = np.max(np.abs(np.asarray(a) - np.asarray(b)), initial=0)
        limit = 1e-5 * max(1.0, np.max(np.abs(np.asarray(b)), initial=0))
        return None if far <= limit else f"values differ by {far}, more than {limit}"
    if first["sum"] == second["sum"]:
        return None
    if close and recorded:
        return None if abs(first["mean"] - second["mean"]) < 0.1 else "the mean differs"
    if not recorded:
        far = np.abs(mine["array"].astype(int) - theirs["array"].astype(int))
        if close and far.max() <= 1 and (far > 0).mean() < 0.05:
            return None
        return f"{int((far > 0).sum())} of {far.size} values differ, by up to {far.max()}"
    return "the checksum differs"
