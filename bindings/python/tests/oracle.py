"""What the tests share: PyTorch if it is there, and comparisons with it and with NumPy."""
import os
import unittest

import numpy as np

import weft

try:
    if os.environ.get("WEFT_NO_TORCH"):
        raise ImportError("not wanted")
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "PyTorch is not installed")


def values(x):
    """As a NumPy array, whatever it is."""
    if isinstance(x, weft.Tensor):
        return x.detach().numpy()
    if torch is not None and isinstance(x, torch.Tensor):
        return x.detach().numpy()
    return np.asarray(x)


def assert_equal(got, want):
    """Equal shapes, types and values."""
    got, want = values(got), values(want)
    assert got.dtype == want.dtype, f"{got.dtype} where {want.dtype} was expected"
    assert got.shape == want.shape, f"{got.shape} where {want.shape} was expected"
    np.testing.assert_array_equal(got, want)


def assert_close(got, want, rtol=1e-5, atol=1e-6):
    """Equal shapes, close values."""
    got, want = values(got), values(want)
    assert got.shape == want.shape, f"{got.shape} where {want.shape} was expected"
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def array(*shape, seed=0, dtype=np.float32):
    """Normal values, the same for the same seed."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def load_into_torch(module, weft_module):
    """Gives a torch module the values of a Weft one of the same structure."""
    module.load_state_dict({name: torch.from_numpy(value.numpy().copy())
                            for name, value in weft_module.state_dict().items()})
