"""Windows of signals, beside hann_window() and hamming_window() of creation.py."""
import math as _math

from weft import _core
from weft._names._table import refuse as _refuse
from weft._names.creation import _placed


def _finished(made, dtype, requires_grad):
    return made.to(dtype or _core.get_default_dtype()).requires_grad_(requires_grad)


def _steps(name, length, periodic):
    """(0, 1, ..., how many steps there are from one end to the other)."""
    if length < 0:
        raise _refuse(name, "window_length of at least 0", length)
    return _core.arange(length, dtype=_core.float64), max(length if periodic else length - 1, 1)


def bartlett_window(window_length, periodic=True, *, dtype=None, device=None, layout=None,
                    requires_grad=False, pin_memory=False):
    """A triangle from 0 to 1 and back."""
    _placed(device)
    at, last = _steps("bartlett_window", window_length, periodic)
    made = 1 - (at * (2 / last) - 1).abs() if window_length > 1 else _core.ones(window_length)
    return _finished(made, dtype, requires_grad)


def blackman_window(window_length, periodic=True, *, dtype=None, device=None, layout=None,
                    requires_grad=False, pin_memory=False):
    """0.42 - 0.5 cos(t) + 0.08 cos(2 t) over one period of t."""
    _placed(device)
    at, last = _steps("blackman_window", window_length, periodic)
    angle = at * (2 * _math.pi / last)
    made = 0.42 - angle.cos() * 0.5 + (angle * 2).cos() * 0.08 if window_length > 1 else (
        _core.ones(window_length))
    return _finished(made, dtype, requires_grad)


def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, device=None, layout=None,
                  requires_grad=False, pin_memory=False):
    """i0(beta root(1 - t^2)) / i0(beta) over t from -1 to 1."""
    _placed(device)
    at, last = _steps("kaiser_window", window_length, periodic)
    if window_length <= 1:
        return _finished(_core.ones(window_length), dtype, requires_grad)
    inside = (1 - (at * (2 / last) - 1).square()).clamp(min=0)
    whole = _core._special("i0", _core.tensor(float(beta), dtype=_core.float64))
    return _finished(_core._special("i0", inside.sqrt() * beta) / whole, dtype, requires_grad)
