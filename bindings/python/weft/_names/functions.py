"""Functions of torch that are methods of Tensor, or functions of weft.nn.functional, by another name."""
from weft._names._table import Tensor as _Tensor, axes_in as _axes_in, method as _method
from weft._names._table import named as _named, refuse as _refuse

# weft.NAME(x, ...) is x.NAME(...).
_METHODS = """
    abs_ acos_ asin_ atan_ ceil_ clamp_ clamp_max_ clamp_min_ clone cos_ cosh_ detach detach_ erf_
    erfc_ exp2_ exp_ expm1_ fill_ floor_ frac_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_
    negative_ reciprocal_ relu_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_
    trunc_ zero_
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
