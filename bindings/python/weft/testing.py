"""weft.testing: comparisons for tests."""
from weft import _core

# By type: (rtol, atol), PyTorch's.
_TOLERANCES = {_core.float16: (1e-3, 1e-5), _core.bfloat16: (1.6e-2, 1e-5),
               _core.float32: (1.3e-6, 1e-5), _core.float64: (1e-7, 1e-7)}


def assert_close(actual, expected, *, rtol=None, atol=None, equal_nan=False, check_dtype=True,
                 msg=None):
    """Raises AssertionError, which says where and by how much, unless |actual - expected| <=
    atol + rtol |expected| everywhere and shapes and types are equal. Takes tensors, what
    weft.tensor() takes, and lists, tuples and dicts of them."""
    options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_dtype": check_dtype,
               "msg": msg}
    if isinstance(expected, dict) and isinstance(actual, dict):
        if actual.keys() != expected.keys():
            raise AssertionError(msg or f"keys differ: {sorted(actual)} and {sorted(expected)}")
        for key in expected:
            assert_close(actual[key], expected[key], **options)
        return
    if isinstance(expected, (list, tuple)) and any(
            isinstance(item, _core.Tensor) for item in expected):
        if len(actual) != len(expected):
            raise AssertionError(msg or f"lengths differ: {len(actual)} and {len(expected)}")
        for one, other in zip(actual, expected):
            assert_close(one, other, **options)
        return
    _assert_tensors_close(_core.asarray(actual).detach(), _core.asarray(expected).detach(),
                          **options)


def _assert_tensors_close(actual, expected, rtol, atol, equal_nan, check_dtype, msg):
    if actual.shape != expected.shape:
        raise AssertionError(msg or f"shapes differ: {actual.shape} and {expected.shape}")
    if check_dtype and actual.dtype is not expected.dtype:
        raise AssertionError(msg or f"types differ: {actual.dtype} and {expected.dtype}")
    if actual.numel() == 0:
        return
    own = [_TOLERANCES.get(tensor.dtype, (0.0, 0.0)) for tensor in (actual, expected)]
    rtol = max(pair[0] for pair in own) if rtol is None else rtol
    atol = max(pair[1] for pair in own) if atol is None else atol
    close = actual.isclose(expected, rtol=rtol, atol=atol)
    if equal_nan:
        close = close | (actual.isnan() & expected.isnan())
    if close.all().item():
        return
    wrong = (~close).nonzero()
    place = tuple(wrong[0].tolist())
    got, want = actual[place].item(), expected[place].item()
    raise AssertionError(msg or (
        f"{wrong.shape[0]} of {actual.numel()} values differ by more than {atol} + {rtol} "
        f"|expected|; the first at {place}: {got} where {want} was expected"))
