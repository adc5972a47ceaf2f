"""out= of functions: the tensor into which a result is written."""
from weft import _core
from weft._names._table import kind_of


def write(out, result):
    """Writes `result` into `out`, which takes its shape, and returns `out`."""
    if isinstance(out, (tuple, list)) and isinstance(result, tuple):
        for each, values in zip(out, result):
            write(each, values)
        return result.__class__(out) if type(result) is not tuple else tuple(out)
    if not isinstance(out, _core.Tensor):
        raise TypeError(f"argument 'out' must be weft.Tensor, got {type(out).__name__}")
    if not isinstance(result, _core.Tensor):
        raise TypeError("this call gives no tensor, so it takes no argument 'out'")
    if result.requires_grad or out.requires_grad:
        raise _core.InvalidArgumentError(
            "[out] expected tensors that require no grad: a result written into out= has no history")
    if out.dtype is not result.dtype and kind_of(result.dtype) > kind_of(out.dtype):
        raise _core.InvalidArgumentError(
            f"[out] expected a tensor that holds {result.dtype}, got {out.dtype}")
    if tuple(out.shape) != tuple(result.shape):
        out._assign(result.to(out.dtype).clone())
        return out
    return out.copy_(result)
