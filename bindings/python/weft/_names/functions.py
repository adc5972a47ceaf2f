"""Functions of torch that are methods of Tensor, or functions of weft.nn.functional, by another name."""
import math as _math

from weft import _core
from weft._names._table import Tensor as _Tensor, axes_in as _axes_in, method as _method
from weft._names._table import named as _named, refuse as _refuse
from weft._names._table import require_tensor as _require_tensor

# weft.NAME(x, ...) is x.NAME(...).
_METHODS = """
    abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_
    asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ clone cos_ cosh_ deg2rad_ detach
    detach_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ get_device i0_ index_put_ lcm_
    ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_
    resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
""".split()


def _of_method(name):
    def function(input, *args, **keywords):  # noqa: A002
        return getattr(input, name)(*args, **keywords)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"input.{name}()."
    return _named(function)


globals().update({_name: _of_method(_name) for _name in _METHODS})


def _written_part(name, input, src, take):  # noqa: A002
    """A copy of `input` in which `src` stands in the part take(copy)."""
    copy = input.clone()
    part = take(copy)
    if tuple(src.shape) != tuple(part.shape):
        raise _refuse(name, f"a source of shape {list(part.shape)}", list(src.shape))
    part.copy_(src)
    return copy


@_method
def select_scatter(input, src, dim, index):  # noqa: A002
    """A copy of input with `src` as the slice `index` along `dim`."""
    return _written_part("select_scatter", input, src, lambda x: x.select(dim, index))


@_method
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):  # noqa: A002
    """A copy of input with `src` as the slices start, start + step, ... before `end`."""
    place = _axes_in("slice_scatter", dim, input.ndim)[0]
    key = (slice(None),) * place + (slice(start, end, step),)
    return _written_part("slice_scatter", input, src, lambda x: x[key])


@_method
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):  # noqa: A002
    """A copy of input with `src` as a diagonal."""
    return _written_part("diagonal_scatter", input, src,
                         lambda x: x.diagonal(offset, dim1, dim2))


@_method
def split_with_sizes(input, split_sizes, dim=0):  # noqa: A002
    """split() into parts of those lengths."""
    return input.split(list(split_sizes), dim)


def _reshape_as(self, other):
    """reshape() to the shape of `other`."""
    return self.reshape(tuple(other.shape))


def _prelu(self, weight):
    """x, below 0 times `weight`."""
    from weft.nn import functional

    return functional.prelu(self, weight)


def _hardshrink(self, lambd=0.5):
    """0 between -lambd and lambd, else x."""
    from weft.nn import functional

    return functional.hardshrink(self, lambd)


for _name, _function in (("reshape_as", _reshape_as), ("prelu", _prelu),
                         ("hardshrink", _hardshrink)):
    _function.__name__ = _function.__qualname__ = _name
    setattr(_Tensor, _name, _named(_function))
for _name in ("cos", "cosh", "sin", "sinh", "tan", "tanh"):
    if hasattr(_Tensor, "a" + _name):
        setattr(_Tensor, "arc" + _name, getattr(_Tensor, "a" + _name))
        setattr(_Tensor, f"arc{_name}_", getattr(_Tensor, f"a{_name}_"))
del _name, _function


def fill(input, value):  # noqa: A002
    """A tensor of the shape and type of `input`, of one value."""
    return _require_tensor("fill", input).clone().fill_(value)


@_method
def narrow_copy(input, dim, start, length):  # noqa: A002
    """A copy of narrow()."""
    return input.narrow(dim, start, length).clone()


@_method
def unsafe_split(input, split_size, dim=0):  # noqa: A002
    """split()."""
    return input.split(split_size, dim)


@_method
def unsafe_chunk(input, chunks, dim=0):  # noqa: A002
    """chunk()."""
    return input.chunk(chunks, dim)


@_method
def unsafe_split_with_sizes(input, split_sizes, dim=0):  # noqa: A002
    """split() into parts of those lengths."""
    return split_with_sizes(input, split_sizes, dim)


@_method
def put(input, index, source, accumulate=False):  # noqa: A002
    """input with the values of `source` at places counted through all axes, or added there."""
    if tuple(index.shape) != tuple(source.shape):
        raise _refuse("put", f"a source of shape {list(index.shape)}", list(source.shape))
    places = _core.where(index < 0, index + input.numel(), index).flatten()
    flat, values = input.flatten(), source.flatten()
    found = flat.scatter_add(0, places, values) if accumulate else flat.scatter(0, places, values)
    return found.reshape(tuple(input.shape))


@_method
def index_reduce(input, dim, index, source, reduce, *, include_self=True):  # noqa: A002
    """input with the prod, mean, amax or amin of the slices of `source` for each of the slices
    index[0], index[1], ..."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise _refuse("index_reduce", "reduce prod, mean, amax or amin", repr(reduce))
    axis = _axes_in("index_reduce", dim, input.ndim)[0]
    if index.ndim != 1 or index.numel() != source.shape[axis]:
        raise _refuse("index_reduce", f"an index of {source.shape[axis]} places, as many as the "
                      "source has slices", f"shape {list(index.shape)}")
    shape = [-1 if i == axis else 1 for i in range(input.ndim)]
    places = index.reshape(shape).expand(*source.shape)
    return input.scatter_reduce(axis, places, source, reduce, include_self=include_self)


@_method
def conj(input):  # noqa: A002
    """The values as they are: there are no complex numbers."""
    return input


conj_physical = resolve_conj = resolve_neg = conj
for _name in ("conj_physical", "resolve_conj", "resolve_neg", "to_dense"):
    setattr(_Tensor, _name, conj)


def real(input):  # noqa: A002
    """The values as they are: there are no complex numbers."""
    return _require_tensor("real", input)


@_method
def angle(input):  # noqa: A002
    """0, and pi below 0."""
    kind = input.dtype if input.is_floating_point() else _core.get_default_dtype()
    found = _core.where(input < 0, _math.pi, 0.0).to(kind)
    return _core.where(_core.isnan(input), input, found) if input.is_floating_point() else found


def constant_pad_nd(input, pad, value=0):  # noqa: A002
    """F.pad() with one value."""
    return _core._pad(_require_tensor("constant_pad_nd", input), list(pad), "constant", value)


def conv_tbc(input, weight, bias, pad=0):  # noqa: A002
    """conv1d() of [T, N, C] by a weight [k, C, O]: [T', N, O]."""
    return _core.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0).contiguous(), bias, 1,
                        pad).permute(2, 0, 1)


def to_dlpack(tensor):
    """A capsule for from_dlpack() of another library."""
    return tensor.__dlpack__()
