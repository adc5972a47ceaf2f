"""Weft: tensors, gradients, layers and optimizers, with the names that PyTorch gives them.

docs/python.md has a tour, and what differs from PyTorch.
"""
from weft import _core
from weft._core import *  # noqa: F401,F403
from weft._core import Tensor, dtype  # noqa: F401
from weft._device import device  # noqa: F401
from weft._names.special import *  # noqa: F401,F403
from weft._names.elementwise import *  # noqa: F401,F403
from weft._names.reductions import *  # noqa: F401,F403
from weft._names.shapes import *  # noqa: F401,F403
from weft._names.products import *  # noqa: F401,F403
from weft._names.places import *  # noqa: F401,F403
from weft._names.creation import *  # noqa: F401,F403
from weft._names.windows import *  # noqa: F401,F403
from weft._names.statistics import *  # noqa: F401,F403
from weft._names.factors import *  # noqa: F401,F403
from weft._names.facts import *  # noqa: F401,F403
from weft._names.matrices import *  # noqa: F401,F403
from weft._names.settings import *  # noqa: F401,F403
from weft import _tensor_methods  # noqa: F401  (completes Tensor)
from weft._names import in_place as _in_place  # noqa: F401  (completes Tensor)
from weft._names.functions import *  # noqa: F401,F403
from weft.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401
from weft._files import load, save  # noqa: F401
from weft._limits import finfo, iinfo  # noqa: F401
from weft._random import get_rng_state, seed, set_rng_state  # noqa: F401
from weft._checks import check_gradients  # noqa: F401
from weft import autograd, cuda, nn, optim, testing, utils  # noqa: F401

TYPE_CHECKING = False  # typing's, which takes a tenth of the time to read
if TYPE_CHECKING:  # read when they are first asked for
    from weft._runs import Run, join, run  # noqa: F401
    from weft.func import vmap  # noqa: F401

# PyTorch's other names of the types of elements, and of functions.
float = _core.float32  # noqa: A001
double = _core.float64
half = _core.float16
long = _core.int64
int = _core.int32  # noqa: A001
strided = "weft.strided"
contiguous_format, preserve_format, channels_last = (
    "weft.contiguous_format", "weft.preserve_format", "weft.channels_last")
concat = concatenate = _core.cat

from math import e, inf, nan, pi  # noqa: E402,F401

__version__ = "0.1.0"


def is_tensor(obj):
    """Whether `obj` is a weft.Tensor."""
    return isinstance(obj, Tensor)


def numel(input):  # noqa: A002
    """How many elements a tensor has."""
    return input.numel()


def demo(steps=300, seed=0):
    """Trains a small network on two spirals, prints how it goes and a picture of what it has learnt,
    and returns the share of new points that it gives the right spiral. Takes a few seconds."""
    from weft import _demo

    return _demo.run(steps, seed)


# Read when it is first asked for, as not every program needs it.
_LATER = {"amp", "array_api", "backends", "datasets", "diffusion", "distillation", "distributions",
          "func", "linalg", "models", "onnx", "random", "special", "swarm", "version", "vision",
          "zoo"}
_LATER_NAMES = {"Run": "_runs", "join": "_runs", "run": "_runs", "vmap": "func"}
_LATER_NAMES.update((name, "nn.functional") for name in (
    "alpha_dropout", "bilinear", "celu", "celu_", "channel_shuffle", "conv3d", "conv_transpose3d",
    "dropout", "feature_alpha_dropout", "hardshrink", "max_pool1d_with_indices", "max_pool3d",
    "pixel_shuffle", "pixel_unshuffle", "prelu", "rrelu", "rrelu_", "selu", "selu_", "threshold",
    "threshold_"))
# What PyTorch has and Weft does not: what to do instead.
_ELSEWHERE = {
    "jit": "run the module itself: there is nothing to compile",
    "compile": "run the module itself: there is nothing to compile",
    "distributed": "weft.swarm trains with other machines, docs/torch_swarm.md",
    "multiprocessing": "weft.swarm trains with other processes, docs/torch_swarm.md",
    "fft": "Weft has no complex numbers: use numpy.fft on x.numpy()",
    "stft": "Weft has no complex numbers: use numpy.fft on x.numpy()",
    "sparse": "Weft has dense tensors only",
    "complex": "Weft has no complex numbers", "complex64": "Weft has no complex numbers",
    "complex128": "Weft has no complex numbers",
    "int16": "use weft.int32 or weft.int8", "short": "use weft.int32 or weft.int8",
}


def __getattr__(name):
    if name in _LATER or name in _LATER_NAMES:
        import importlib

        found = importlib.import_module("weft." + _LATER_NAMES.get(name, name))
        if name in _LATER_NAMES:
            found = getattr(found, name)
        globals()[name] = found
        return found
    hint = f": {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    raise AttributeError(f"module 'weft' has no attribute '{name}'{hint}")
