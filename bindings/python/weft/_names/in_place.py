"""Methods of Tensor whose names end in _: what the functions of this package give, written into the
tensor itself."""
import math

from weft import _core
from weft._names._table import Tensor, kind_of, named, refuse

# x.NAME_(...) is x.copy_(x.NAME(...)).
COPIED = """
    abs absolute acos acosh addbmm addcdiv addcmul addmm addmv addr arctan2 asin asinh atan atan2
    atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
    bitwise_xor ceil clamp clamp_max clamp_min clip copysign cos cosh cumprod cumsum deg2rad digamma
    div divide eq erf erfc erfinv exp exp2 expm1 fix float_power floor floor_divide fmod frac gcd ge
    greater greater_equal gt heaviside hypot i0 igamma igammac index_add index_copy index_fill
    index_put index_reduce lcm ldexp le lerp less less_equal lgamma log log10 log1p log2 logical_and
    logical_not logical_or logical_xor logit lt masked_fill masked_scatter multiply mvlgamma
    nan_to_num ne neg negative nextafter not_equal polygamma pow put rad2deg reciprocal relu
    remainder renorm round rsqrt scatter scatter_add scatter_reduce sgn sigmoid sign sin sinc sinh
    sqrt square subtract tan tanh tril triu true_divide trunc xlogy
""".split()
# Comparisons write truths into whatever the tensor holds.
_TRUTHS = {"eq", "ne", "lt", "le", "gt", "ge", "greater", "greater_equal", "less", "less_equal",
           "not_equal", "logical_and", "logical_not", "logical_or", "logical_xor"}


def _copying(name):
    def method(self, *args, **keywords):
        # What the gradient needs of the old values is not what is written over.
        old = self.clone() if self.requires_grad and _core.is_grad_enabled() else self
        result = getattr(old, name)(*args, **keywords)
        if kind_of(result.dtype) > kind_of(self.dtype) and name not in _TRUTHS:
            raise refuse(name + "_", f"a result that {self.dtype} holds", result.dtype)
        if tuple(result.shape) != tuple(self.shape):
            raise refuse(name + "_", f"a result of shape {list(self.shape)}", list(result.shape))
        return self.copy_(result)

    method.__name__ = method.__qualname__ = name + "_"
    method.__doc__ = f"{name}(), written in place."
    return _core._in_place(name, method, name in _TRUTHS)


def _reshaping(name):
    def method(self, *args, **keywords):
        self._assign(getattr(self, name)(*args, **keywords))
        return self

    method.__name__ = method.__qualname__ = name + "_"
    method.__doc__ = f"Becomes {name}() of itself, a view of the same memory."
    return method


class _Methods:
    def resize_(self, *sizes, memory_format=None):
        """Becomes a tensor of that shape: of its first values, with more behind them unset."""
        shape = list(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else list(sizes)
        if self.requires_grad:
            raise refuse("resize_", "a tensor that requires no grad", "one that does")
        if any(length < 0 for length in shape):
            raise refuse("resize_", "sizes of at least 0", shape)
        count = math.prod(shape)
        flat = self.detach().reshape(-1)
        if count > flat.numel():
            flat = _core.cat([flat, _core.empty(count - flat.numel(), dtype=self.dtype)])
        self._assign(flat[:count].reshape(shape))
        return self

    def resize_as_(self, other):
        """resize_() to the shape of `other`."""
        return self.resize_(*other.shape) if other.ndim else self.resize_(())

    def set_(self, source=None):
        """Becomes a handle of the same values as `source`."""
        self._assign(_core.empty(0, dtype=self.dtype) if source is None else source.detach())
        return self

    def apply_(self, function):
        """Writes function(value) over each value; slow, as it calls Python for each."""
        values = [function(each) for each in self.flatten().tolist()]
        return self.copy_(_core.tensor(values, dtype=self.dtype).reshape(tuple(self.shape)))

    def map_(self, other, function):
        """Writes function(value, other's value) over each value; slow."""
        pairs = zip(self.flatten().tolist(), other.expand(*self.shape).flatten().tolist())
        values = [function(*pair) for pair in pairs]
        return self.copy_(_core.tensor(values, dtype=self.dtype).reshape(tuple(self.shape)))

    def fill_diagonal_(self, fill_value, wrap=False):
        """Writes one value along the diagonal of all axes."""
        if self.ndim < 2:
            raise refuse("fill_diagonal_", "at least two axes", self.ndim)
        count = min(self.shape)
        at = _core.arange(count)
        if wrap and self.ndim == 2 and self.shape[0] > self.shape[1]:
            rows = _core.arange(self.shape[0])
            column = rows % (self.shape[1] + 1)
            keep = column < self.shape[1]
            self[rows[keep], column[keep]] = fill_value
            return self
        self[(at,) * self.ndim] = fill_value
        return self

    def random_(self, from_=0, to=None, *, generator=None):
        """Whole numbers in [from_, to); random_(to) begins at 0."""
        if to is None and from_ != 0:
            from_, to = 0, from_
        if to is None:
            digits = {"float32": 24, "float64": 53, "float16": 11, "bfloat16": 8, "int64": 63,
                      "int32": 31, "int8": 7, "uint8": 8, "bool": 1}[self.dtype.name]
            to = 2 ** digits - (digits == 63) if digits == 63 else (
                2 ** digits + self.dtype.is_floating_point)
        return self.copy_(_core.randint(from_, to, tuple(self.shape), generator=generator))

    def bernoulli_(self, p=0.5, *, generator=None):
        """1 with the probability p, a number or a tensor, else 0."""
        share = p.expand(*self.shape) if isinstance(p, Tensor) else _core.full(
            tuple(self.shape), float(p))
        if not bool(((share >= 0) & (share <= 1)).all()):
            raise refuse("bernoulli_", "p in [0, 1]", p)
        return self.copy_(_core.bernoulli(share.float(), generator=generator))

    def exponential_(self, lambd=1.0, *, generator=None):
        """Values of the exponential distribution of that rate."""
        if not lambd > 0:
            raise refuse("exponential_", "lambd > 0", lambd)
        return self.copy_(-_core.log1p(-_uniform(self, generator)) / lambd)

    def geometric_(self, p, *, generator=None):
        """How many trials of that probability it takes to succeed."""
        if not 0 < p < 1:
            raise refuse("geometric_", "p in (0, 1)", p)
        tries = (-_uniform(self, generator)).log1p() / math.log1p(-p)
        return self.copy_(tries.floor() + 1)

    def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
        """e to the power of normal values."""
        drawn = _core.randn(tuple(self.shape), dtype=_core.float64, generator=generator)
        return self.copy_((drawn * std + mean).exp())

    def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
        """Values of the distribution of Cauchy."""
        return self.copy_(((_uniform(self, generator) - 0.5) * math.pi).tan() * sigma + median)

    def __ior__(self, other):
        """self |= other."""
        return self.bitwise_or_(other)

    def __iand__(self, other):
        """self &= other."""
        return self.bitwise_and_(other)

    def __ixor__(self, other):
        """self ^= other."""
        return self.bitwise_xor_(other)

    def __ilshift__(self, other):
        """self <<= other."""
        return self.bitwise_left_shift_(other)

    def __irshift__(self, other):
        """self >>= other."""
        return self.bitwise_right_shift_(other)

    def __ifloordiv__(self, other):
        """self //= other."""
        return self.floor_divide_(other)

    def __imod__(self, other):
        """self %= other."""
        return self.remainder_(other)

    def __ipow__(self, other):
        """self **= other."""
        return self.pow_(other)


def _uniform(x, generator):
    return _core.rand(tuple(x.shape), dtype=_core.float64, generator=generator)


def install():
    """Adds the methods to Tensor."""
    for name in COPIED:
        setattr(Tensor, name + "_", _copying(name))
    for name in ("t", "transpose", "unsqueeze", "squeeze", "swapaxes", "swapdims"):
        setattr(Tensor, name + "_", _reshaping(name))
    for name, function in vars(_Methods).items():
        if callable(function):
            setattr(Tensor, name, named(function))


install()
