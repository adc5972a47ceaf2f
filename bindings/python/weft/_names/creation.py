"""Functions that make tensors, and those that draw like another tensor."""
import math as _math

from weft import _core
from weft._device import cpu_device as _cpu_device
from weft._names._table import Tensor as _Tensor, method as _method, refuse as _refuse

_from_buffer, _multinomial, _bernoulli = _core.asarray, _core.multinomial, _core.bernoulli


def _placed(device):
    """Raises unless a tensor can be made on that device."""
    if device is not None:
        _cpu_device(device)


def as_tensor(data, dtype=None, device=None):
    """A tensor of `data`, which shares memory with it where that is possible."""
    _placed(device)
    if isinstance(data, _Tensor):
        return data if dtype is None else data.to(dtype)
    return _from_buffer(data, dtype=dtype)


def scalar_tensor(s, *, dtype=None, device=None, layout=None, pin_memory=False,
                  requires_grad=False):
    """A tensor without axes."""
    _placed(device)
    return _core.tensor(s, dtype=dtype or _core.get_default_dtype(), requires_grad=requires_grad)


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, layout=None,
             requires_grad=False, pin_memory=False):
    """base^start to base^end, at equal distances of the exponents."""
    _placed(device)
    if steps < 0:
        raise _refuse("logspace", "steps of at least 0", steps)
    exponents = _core.linspace(start, end, steps, dtype=_core.float64)
    made = _core.pow(_core.tensor(float(base), dtype=_core.float64), exponents)
    return made.to(dtype or _core.get_default_dtype()).requires_grad_(requires_grad)


def range(start=0, end=None, step=1, *, dtype=None, device=None, layout=None,  # noqa: A001
          requires_grad=False, pin_memory=False):
    """start, start + step, ... with `end`; arange() leaves it out."""
    _placed(device)
    count = int(_math.floor((end - start) / step)) + 1
    made = _core.arange(count, dtype=_core.float64) * step + start
    return made.to(dtype or _core.get_default_dtype()).requires_grad_(requires_grad)


def _triangle(row, col, keep, dtype):
    rows, columns = _core.arange(row)[:, None], _core.arange(col)[None, :]
    return keep(columns - rows).nonzero().t().contiguous().to(dtype or _core.int64)


def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """int64 [2, count]: the places on and below a diagonal."""
    _placed(device)
    return _triangle(row, col, lambda off: off <= offset, dtype)


def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """int64 [2, count]: the places on and above a diagonal."""
    _placed(device)
    return _triangle(row, col, lambda off: off >= offset, dtype)


def vander(x, N=None, increasing=False):
    """Powers of each value as rows."""
    if x.ndim != 1:
        raise _refuse("vander", "a tensor of one axis", f"shape {list(x.shape)}")
    powers = _core.arange(x.shape[0] if N is None else N)
    made = _core.pow(x.unsqueeze(-1), powers)
    return made if increasing else _core.flip(made, [-1])


def empty_strided(size, stride, *, dtype=None, device=None, layout=None, requires_grad=False,
                  pin_memory=False):
    """A tensor of that shape whose values are not set, row by row: `stride` changes nothing."""
    _placed(device)
    return _core.empty(tuple(size), dtype=dtype, requires_grad=requires_grad)


def _like(name, draw, text):
    def function(input, *, dtype=None, device=None, layout=None, requires_grad=False,  # noqa: A002
                 memory_format=None, pin_memory=False, generator=None):
        _placed(device)
        kind = dtype or input.dtype
        if not kind.is_floating_point:
            raise _refuse(name, "a floating type", kind)
        return draw(tuple(input.shape), dtype=kind, requires_grad=requires_grad,
                    generator=generator)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


rand_like = _like("rand_like", _core.rand, "Values in [0, 1) of the shape and type of `input`.")
randn_like = _like("randn_like", _core.randn,
                   "Standard normal values of the shape and type of `input`.")


def randint_like(input, low=0, high=None, *, dtype=None, device=None, layout=None,  # noqa: A002
                 requires_grad=False, memory_format=None, pin_memory=False, generator=None):
    """Whole numbers in [low, high), or [0, low), of the shape and type of `input`."""
    _placed(device)
    low, high = (0, low) if high is None else (low, high)
    drawn = _core.randint(low, high, tuple(input.shape), generator=generator)
    return drawn.to(dtype or input.dtype).requires_grad_(requires_grad)


def normal(mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, device=None,
           layout=None, pin_memory=False, requires_grad=False):
    """Normal values of that mean and deviation: numbers with a size, or tensors."""
    _placed(device)
    if not isinstance(std, _Tensor) and not std >= 0:
        raise _refuse("normal", "std >= 0", std)
    if size is not None:
        drawn = _core.randn(tuple(size), generator=generator, dtype=dtype) * std + mean
    else:
        beside = mean if isinstance(mean, _Tensor) else std
        if not isinstance(beside, _Tensor):
            raise TypeError("normal() misses the argument 'size', as mean and std are numbers")
        if isinstance(std, _Tensor) and bool((std < 0).any()):
            raise _refuse("normal", "std >= 0", std.min().item())
        shape = tuple((mean + std).shape)
        drawn = _core.randn(shape, generator=generator, dtype=beside.dtype) * std + mean
        drawn = drawn.detach()
    if out is not None:
        return out.copy_(drawn)
    return drawn.requires_grad_(requires_grad)


def poisson(input, generator=None):  # noqa: A002
    """Whole numbers of Poisson's distribution with the rate at each place, for rates up to 500."""
    rate = input.double()
    if not bool(((rate >= 0) & (rate <= 500)).all()):
        wrong = rate[~((rate >= 0) & (rate <= 500))]
        raise _refuse("poisson", "rates in [0, 500]", wrong[0].item())
    uniform = _core.rand(tuple(rate.shape), dtype=_core.float64, generator=generator)
    share = (-rate).exp()
    total, count = share, _core.zeros_like(rate)
    k = 0
    while bool((uniform > total).any()) and k < 2000:
        k += 1
        count = count + (uniform > total)
        share = share * rate / k
        total = total + share
    return count.to(input.dtype)


@_method
def multinomial(input, num_samples, replacement=False, *, generator=None):  # noqa: A002
    """int64: places drawn in proportion to their weights; without replacement each at most once."""
    if replacement or num_samples <= 1:
        return _multinomial(input, num_samples, replacement, generator=generator)
    weights = input.detach().double()
    if not bool((_core.isfinite(weights) & (weights >= 0)).all()):
        raise _refuse("multinomial", "weights that are finite and not negative", "others")
    if int((weights > 0).sum(-1).min()) < num_samples:
        raise _refuse("multinomial", f"at least {num_samples} weights above 0, as nothing is drawn "
                      "twice without replacement=True", int((weights > 0).sum(-1).min()))
    # A race: who comes first after a time of exponential distribution with the weight as its rate.
    times = -_core.log1p(-_core.rand(tuple(weights.shape), dtype=_core.float64,
                                     generator=generator)) / weights
    return _core.where(weights > 0, times, _math.inf).argsort(-1).narrow(-1, 0, num_samples)


@_method
def bernoulli(input, p=None, *, generator=None):  # noqa: A002
    """1 with the probability at each place, or with `p`, else 0."""
    shares = input if p is None else _core.full_like(input, p)
    return _bernoulli(shares, generator=generator)


def hann_window(window_length, periodic=True, *, dtype=None, device=None, layout=None,
                requires_grad=False, pin_memory=False):
    """A raised cosine."""
    return _window(window_length, periodic, (0.5, 0.5), dtype, device, requires_grad)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, device=None,
                   layout=None, requires_grad=False, pin_memory=False):
    """A raised cosine that does not begin at 0."""
    return _window(window_length, periodic, (alpha, beta), dtype, device, requires_grad)


def _window(length, periodic, shares, dtype, device, requires_grad):
    _placed(device)
    if length < 0:
        raise _refuse("window", "window_length of at least 0", length)
    at = _core.arange(length, dtype=_core.float64) * (
        2 * _math.pi / max(length if periodic else length - 1, 1))
    made = shares[0] - at.cos() * shares[1] if length > 1 else _core.ones(length)
    return made.to(dtype or _core.get_default_dtype()).requires_grad_(requires_grad)


def frombuffer(buffer, *, dtype=None):
    """A tensor on the bytes of a writable buffer."""
    return _core._from_bytes(memoryview(buffer).cast("B"), dtype or _core.get_default_dtype())

