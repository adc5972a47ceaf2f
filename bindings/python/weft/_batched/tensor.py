"""BatchedTensor: one tensor per sample, behind the face of one of them."""
import numbers
import types

from weft import _core
from weft._batched.table import DRAWS, METHODS, RULES, no_rule

Tensor = _core.Tensor
_SYNONYMS = {"axis": "dim", "keepdims": "keepdim"}
_no_values = ("one tensor per sample has no single value within vmap(): values of samples may not "
              "decide what the program does. Use weft.where(), masks or clamp(), or take the value "
              "after vmap()")


def refuse_value(name):
    """Raises: `name` asks for values that differ by sample."""
    raise _core.InvalidArgumentError(f"[{name}] {_no_values}")


class BatchedTensor:
    """One value per sample of a level: _value has the samples along its first axis."""

    __slots__ = ("_value", "_level", "__weakref__")
    __array_ufunc__ = vars(Tensor)["__array_ufunc__"]
    __class__ = property(lambda self: Tensor)  # type: ignore[assignment]

    def __init__(self, value, level):
        self._value, self._level = value, level

    def __getattr__(self, name):
        return _attribute(name)(self)

    shape = property(lambda self: _core.Size(self._value.shape[1:]))
    ndim = property(lambda self: self._value.ndim - 1)
    dtype = property(lambda self: self._value.dtype)
    is_leaf = property(lambda self: self._value.is_leaf)
    _history_name = property(lambda self: self._value._history_name)

    # The axes in the opposite order, and the last two swapped.
    T = property(lambda self: self.permute(*reversed(range(self.ndim))) if self.ndim else self)
    mT = property(lambda self: self.transpose(-2, -1))

    @property
    def requires_grad(self):
        return self._value.requires_grad

    @requires_grad.setter
    def requires_grad(self, on):
        self._value.requires_grad = on

    @property
    def data(self):
        return self.detach()

    @data.setter
    def data(self, value):
        no_rule("data = ...", "write with copy_()")

    @property
    def grad(self):
        return None  # backward() is refused

    @grad.setter
    def grad(self, value):
        no_rule("grad = ...", "use weft.func.grad() or weft.autograd.grad() within vmap()")

    def size(self, dim=None):
        """The shape of one sample, or the length of one axis."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        """How many axes one sample has."""
        return self.ndim

    def numel(self):
        """How many elements one sample has."""
        return self.shape.numel()

    def is_floating_point(self):
        """Whether the elements hold fractions."""
        return self._value.is_floating_point()

    def element_size(self):
        """Bytes of one element."""
        return self._value.element_size()

    def stride(self, dim=None):
        """Elements from one index of each axis, or of `dim`, of a sample to the next."""
        steps = tuple(self._value.stride()[1:])
        return steps if dim is None else steps[dim]

    def is_contiguous(self):
        """Whether the elements lie row by row without gaps."""
        return self._value.is_contiguous()

    def contiguous(self):
        """Itself if the elements lie row by row, else a copy."""
        return self if self._value.is_contiguous() else call("contiguous", (self,), {})

    def _assign(self, other):
        self._value = expanded(other, [self._level])._value

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("a tensor without axes has no length")
        return self.shape[0]

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("a tensor without axes has no rows to go through")
        return iter(self.unbind(0))

    def __reversed__(self):
        return self.flip(0) if self.ndim else self

    def __repr__(self):
        return (f"<one tensor of shape {list(self.shape)} and type {self.dtype!r} per sample, "
                f"{self._level.size} samples>")

    def __format__(self, specification):
        return repr(self)

    def __hash__(self):
        return id(self)

    def __deepcopy__(self, memo):
        memo[id(self)] = self.clone()
        return memo[id(self)]

    def __pos__(self):
        return self


def _valueless(name):
    def method(self, *args, **keywords):
        refuse_value(name.strip("_"))

    method.__name__ = name
    return method


for _name in ("item", "tolist", "numpy", "equal", "allclose", "data_ptr", "__bool__", "__float__",
              "__int__", "__index__", "__array__", "__contains__", "__dlpack__", "__reduce__",
              "__dlpack_device__"):
    setattr(BatchedTensor, _name, _valueless(_name))


def _operator(name, turned):
    def method(self, other):
        if not isinstance(other, (Tensor, int, float, numbers.Number)):
            if not hasattr(other, "__array_interface__"):
                return NotImplemented
            other = _core.asarray(other)
        return call(name, (other, self) if turned else (self, other), {})

    method.__name__ = name
    return method


for _name in ("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift").split():
    setattr(BatchedTensor, f"__{_name}__", _operator(f"__{_name}__", False))
    setattr(BatchedTensor, f"__r{_name}__", _operator(f"__{_name}__", True))
for _name in ("eq ne lt le gt ge".split()):
    setattr(BatchedTensor, f"__{_name}__", _operator(f"__{_name}__", False))


def _changing(name, method_name):
    def method(self, other):
        return getattr(self, method_name)(other)

    method.__name__ = name
    return method


for _name, _method in {"iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_",
                       "ifloordiv": "floor_divide_", "imod": "remainder_", "ipow": "pow_",
                       "iand": "bitwise_and_", "ior": "bitwise_or_", "ixor": "bitwise_xor_",
                       "ilshift": "bitwise_left_shift_", "irshift": "bitwise_right_shift_"}.items():
    setattr(BatchedTensor, f"__{_name}__", _changing(f"__{_name}__", _method))


def _calling(name):
    def method(self, *args, **keywords):
        return call(name, (self, *args), keywords)

    method.__name__ = name
    return method


for _name in ("__neg__", "__abs__", "__invert__", "__getitem__", "__setitem__"):
    setattr(BatchedTensor, _name, _calling(_name))


def _bound(name):
    """The method `name` of a BatchedTensor, which stands for native ones of Tensor."""
    def of(self):
        def method(*args, **keywords):
            out = keywords.pop("out", None)
            for old, new in _SYNONYMS.items():
                if old in keywords:
                    keywords[new] = keywords.pop(old)
            result = call(name, (self, *args), keywords)
            if out is None:
                return result
            from weft._out import write

            return write(out, result)

        return method

    return of


_attributes: dict = {}


def _attribute(name):
    """What an attribute of Tensor is for a BatchedTensor, as a function of it."""
    known = _attributes.get(name)
    if known is None:
        known = _attributes[name] = _found(name)
    return known


def _found(name):
    static = next((vars(kind)[name] for kind in Tensor.__mro__ if name in vars(kind)), None)
    if name in METHODS:
        return lambda self: types.MethodType(METHODS[name], self)
    if isinstance(static, property):
        return static.fget
    if isinstance(static, types.GetSetDescriptorType):
        return lambda self: call(name, (self,), {})
    written = getattr(static, "__wrapped__", static)
    if isinstance(written, types.FunctionType):
        return lambda self: types.MethodType(written, self)
    native = getattr(Tensor, name)  # whose AttributeError is the right one
    return _bound(getattr(native, "__name__", name))


def expanded(tensor, wanted):
    """`tensor` as one copy per sample of each of these levels, the outermost first."""
    if not wanted:
        return tensor
    level = wanted[-1]
    if type(tensor) is BatchedTensor:
        if tensor._level is level:
            return BatchedTensor(expanded(tensor._value, wanted[:-1]), level)
        if tensor._level.depth > level.depth:
            raise _core.InvalidArgumentError(
                "[vmap] expected a tensor of this vmap() or of one around it, got one of an inner "
                "vmap(): return it from that one first")
    inner = expanded(tensor, wanted[:-1])
    return BatchedTensor(inner.unsqueeze(0).expand(level.size, *inner.shape), level)


def _deepest(values, found):
    for value in values:
        if type(value) is BatchedTensor:
            if found is None or value._level.depth > found.depth:
                found = value._level
        elif isinstance(value, (tuple, list)):
            found = _deepest(value, found)
        elif isinstance(value, dict):
            found = _deepest(value.values(), found)
        elif isinstance(value, slice):
            found = _deepest((value.start, value.stop, value.step), found)
    return found


def call(name, args, keywords):
    """The native function `name` of arguments among which there are BatchedTensors; also functions
    that draw random numbers, without any, while a vmap() is at work."""
    level = _deepest(args, None)
    if keywords:
        level = _deepest(keywords.values(), level)
    if level is None:
        return DRAWS[name](name, args, keywords)
    if not level.active:
        raise _core.InvalidArgumentError(
            f"[{name}] expected tensors of the vmap() that is at work, got one of a vmap() that has "
            "ended: return what is needed afterwards from the function instead of keeping it aside")
    rule = RULES.get(name)
    if rule is None:
        no_rule(name)
    if name in level.running:  # the rule has handed a setting on that differs by sample
        refuse_value(name.strip("_"))
    level.running.append(name)
    try:
        return rule(level, *args, **keywords)
    finally:
        level.running.pop()
