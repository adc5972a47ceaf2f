"""Weft: tensors, gradients, layers and optimizers, with the names that PyTorch gives them."""
from weft import _tensor_methods  # noqa: F401  (completes Tensor)
from weft._core import *  # noqa: F401,F403
from weft._core import Tensor, dtype  # noqa: F401

__version__ = "0.1.0"
