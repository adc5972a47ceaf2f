"""Weft: tensors, gradients, layers and optimizers, with the names that PyTorch gives them.

docs/python.md has a tour, and what differs from PyTorch.
"""
from weft import _core
from weft._core import *  # noqa: F401,F403
from weft._core import Tensor, dtype  # noqa: F401
from weft._device import device  # noqa: F401
from weft import _tensor_methods  # noqa: F401  (completes Tensor)
from weft.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401
from weft._files import load, save  # noqa: F401
from weft._random import get_rng_state, seed, set_rng_state  # noqa: F401
from weft._checks import check_gradients  # noqa: F401
from weft import autograd, nn, optim, testing, utils  # noqa: F401

# PyTorch's other names of the types of elements.
float = _core.float32  # noqa: A001
double = _core.float64
half = _core.float16
long = _core.int64
int = _core.int32  # noqa: A001
strided = "strided"
concat = _core.cat
absolute = _core.abs
multiply = _core.mul
divide = _core.div
subtract = _core.sub

inf = _core.tensor(1.0).div(0.0).item()
nan = inf - inf
pi = 3.141592653589793

__version__ = "0.1.0"


def is_tensor(obj):
    """Whether `obj` is a weft.Tensor."""
    return isinstance(obj, Tensor)


def numel(input):  # noqa: A002
    """How many elements a tensor has."""
    return input.numel()




def __getattr__(name):
    # What not every program needs is read when it is first asked for.
    if name in ("models", "zoo", "datasets", "swarm", "array_api"):
        import importlib

        module = importlib.import_module("weft." + name)
        globals()[name] = module
        return module
    raise AttributeError(f"module 'weft' has no attribute '{name}'")
