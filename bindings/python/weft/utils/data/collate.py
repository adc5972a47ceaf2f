"""Samples as a batch."""
from collections.abc import Mapping, Sequence

from weft import _core

Tensor = _core.Tensor


def default_convert(sample):
    """NumPy's arrays and numbers as tensors; the rest as it is."""
    if hasattr(sample, "__array_interface__"):
        return _core.tensor(sample)
    if isinstance(sample, Mapping):
        return {key: default_convert(value) for key, value in sample.items()}
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*(default_convert(each) for each in sample))
    if isinstance(sample, (tuple, list)):
        return [default_convert(each) for each in sample]
    return sample


def default_collate(samples):
    """Samples as one batch: tensors are stacked, numbers become tensors, tuples, lists and dicts
    keep their form."""
    if not samples:
        raise _core.InvalidArgumentError("[default_collate] expected at least one sample, got none")
    first = samples[0]
    if isinstance(first, Tensor):
        shapes = {tuple(each.shape) for each in samples}
        if len(shapes) > 1:
            raise _core.InvalidArgumentError(
                f"[default_collate] expected samples of one shape, got "
                f"{' and '.join(str(list(each)) for each in sorted(shapes))}: give the "
                "loader a collate_fn that pads them")
        return _core.stack(samples)
    if isinstance(first, float) and not hasattr(first, "__array_interface__"):
        # Python's floats have 64 bits, and keep them as in PyTorch.
        return _core.tensor(samples, dtype=_core.float64)
    if hasattr(first, "__array_interface__"):
        return _core.stack([_core.tensor(each) for each in samples])
    if isinstance(first, (bool, int)):
        return _core.tensor(samples)
    if isinstance(first, (str, bytes)):
        return list(samples)
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in samples]) for key in first}
    if isinstance(first, Sequence):
        if any(len(each) != len(first) for each in samples):
            raise _core.InvalidArgumentError(
                f"[default_collate] expected samples of one length, got "
                f"{sorted({len(each) for each in samples})}")
        columns = [default_collate(list(column)) for column in zip(*samples)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise TypeError(f"default_collate() cannot make a batch of {type(first).__name__}: give the "
                    "loader a collate_fn")
