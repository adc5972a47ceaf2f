"""What is asked of a tensor or a type, and tensors of a given kind: type(), is_floating_point()."""
from weft import _core
from weft._names._table import Tensor as _Tensor, kind_of as _kind_of, method as _method
from weft._names._table import refuse as _refuse

_KINDS = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
          "int64": "Long", "int32": "Int", "int8": "Char", "uint8": "Byte", "bool": "Bool"}
_BY_KIND = {kind + "Tensor": getattr(_core, name) for name, kind in _KINDS.items()}


class _TypedTensors(type):
    """The class of FloatTensor and its like: calling one makes a weft.Tensor of that type."""

    def __instancecheck__(cls, value):
        return isinstance(value, _Tensor) and value.dtype is cls.dtype

    def __call__(cls, *data):
        if len(data) == 1 and not hasattr(data[0], "__index__"):
            return _core.tensor(data[0] if not isinstance(data[0], _Tensor) else data[0].detach(),
                                dtype=cls.dtype)
        return _core.empty(*(data or (0,)), dtype=cls.dtype)


def _typed(name):
    return _TypedTensors(name, (), {"dtype": _BY_KIND[name], "__module__": "weft",
                                    "__doc__": f"Makes tensors of {_BY_KIND[name]!r}."})


FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor = (_typed(name) for name in (
    "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor"))
LongTensor, IntTensor, CharTensor, ByteTensor, BoolTensor = (_typed(name) for name in (
    "LongTensor", "IntTensor", "CharTensor", "ByteTensor", "BoolTensor"))


def dtype_of(kind):
    """The weft.dtype that is meant by one, by FloatTensor or by 'torch.FloatTensor'."""
    if isinstance(kind, _TypedTensors):
        return kind.dtype
    if isinstance(kind, str):
        name = kind.rsplit(".", 1)[-1]
        if name not in _BY_KIND:
            raise _refuse("type", f"one of {', '.join(_BY_KIND)}", repr(kind))
        return _BY_KIND[name]
    return kind


def _type_method(input, dtype=None, non_blocking=False):  # noqa: A002
    """The name of the tensor's type as 'torch.FloatTensor', or the values in another type."""
    if dtype is None:
        return f"torch.{_KINDS[input.dtype.name]}Tensor"
    return input.to(dtype_of(dtype))


setattr(_Tensor, "type", _type_method)


def is_floating_point(input):  # noqa: A002
    """Whether the elements hold fractions."""
    return input.is_floating_point()


@_method
def is_complex(input):  # noqa: A002
    """False: there are no complex tensors."""
    return False


@_method
def is_nonzero(input):  # noqa: A002
    """Whether the only value is not 0."""
    return bool(input)


@_method
def is_same_size(input, other):  # noqa: A002
    """Whether both have one shape."""
    return tuple(input.shape) == tuple(other.shape)


@_method
def is_signed(input):  # noqa: A002
    """Whether the type holds numbers below 0."""
    return input.dtype.name not in ("uint8", "bool")


@_method
def is_conj(input):  # noqa: A002
    """False: there are no complex tensors."""
    return False


@_method
def is_neg(input):  # noqa: A002
    """False: negation is computed at once."""
    return False


@_method
def is_distributed(input):  # noqa: A002
    """False: a tensor is in one process."""
    return False


@_method
def is_inference(input):  # noqa: A002
    """False: tensors of inference_mode() are as any others."""
    return False


def is_storage(obj):
    """Whether `obj` is what x.storage() or x.untyped_storage() gives."""
    from weft._storage import UntypedStorage

    return isinstance(obj, UntypedStorage)


def typename(o):
    """'torch.FloatTensor' of a tensor, else the name of the type."""
    return o.type() if isinstance(o, _Tensor) else f"{o.__class__.__module__}.{o.__class__.__name__}"


def can_cast(from_, to):
    """Whether values of one type go into another without losing their kind."""
    return _kind_of(from_) <= _kind_of(to)


def result_type(tensor1, tensor2):
    """The type of what arithmetic with both gives."""
    if not isinstance(tensor1, _Tensor) and not isinstance(tensor2, _Tensor):
        tensor1, tensor2 = _core.tensor(tensor1), _core.tensor(tensor2)

    def without_values(operand):
        """One that has no shape that might not fit; scalars count less than arrays."""
        has_axes = isinstance(operand, _Tensor) and operand.ndim
        return operand.flatten()[:0] if has_axes else operand

    return (without_values(tensor1) + without_values(tensor2)).dtype


class _Facts:
    """Methods of Tensor alone."""

    def get_device(self):
        """-1: the CPU."""
        return -1

    def has_names(self):
        """False: axes have no names."""
        return False

    def is_set_to(self, tensor):
        """Whether both show the same memory in the same way."""
        if not isinstance(tensor, _Tensor):
            raise TypeError(f"is_set_to(): argument 'tensor' must be weft.Tensor, got "
                            f"{type(tensor).__name__}")
        return (self.data_ptr() == tensor.data_ptr() and self.dtype is tensor.dtype
                and tuple(self.shape) == tuple(tensor.shape) and self.stride() == tensor.stride())

    def new_empty_strided(self, size, stride, dtype=None, device=None, requires_grad=False):
        """weft.empty_strided() of the type of this tensor."""
        from weft._names.creation import empty_strided

        return empty_strided(size, stride, dtype=dtype or self.dtype, device=device,
                             requires_grad=requires_grad)

    def nelement(self):
        """numel()."""
        return self.numel()

    def ndimension(self):
        """dim()."""
        return self.ndim

    def pin_memory(self):
        """Itself: only devices need pinned memory."""
        return self

    def is_pinned(self):
        """False: only devices need pinned memory."""
        return False

    def share_memory_(self):
        """Raises: processes do not share tensors."""
        raise _core.InvalidArgumentError(
            "[share_memory_] processes share no tensors: send bytes(memoryview(x)), or save a file")

    def storage(self):
        """Where the memory of the tensor is, and how many elements it holds."""
        from weft._storage import TypedStorage

        return TypedStorage(self)

    def untyped_storage(self):
        """storage(), counted in bytes."""
        from weft._storage import UntypedStorage

        return UntypedStorage(self)

    def is_shared(self):
        """False: processes do not share tensors."""
        return False

    def short(self):
        """Raises: there is no int16."""
        raise TypeError("there is no weft.int16: use .int() or .char()")

    def char(self):
        """The values as weft.int8."""
        return self._cast(_core.int8)

    def byte(self):
        """The values as weft.uint8."""
        return self._cast(_core.uint8)

    def register_hook(self, hook):
        """Calls hook(gradient) in each backward; what it returns replaces the gradient. The handle
        has remove()."""
        if not callable(hook):
            raise TypeError(f"register_hook() expects a function, got {hook.__class__.__name__}")
        return self._register_hook(hook)

    def __format__(self, specification):
        """A tensor without axes as its number, f"{loss:.4f}"."""
        if self.ndim == 0:
            return self.item().__format__(specification)
        return object.__format__(self, specification)

    def __reversed__(self):
        """Backwards along the first axis."""
        return self.flip(0) if self.ndim else self

    def __contains__(self, element):
        """Whether any value is equal to `element`."""
        return bool((self == element).any())


for _name, _function in list(vars(_Facts).items()):
    if callable(_function):
        setattr(_Tensor, _name, _function)
del _Facts, _name, _function


class GradientFunction:
    """Which operation made a tensor: what grad_fn gives."""

    def __init__(self, name):
        self._name = name

    def name(self):
        """'MulBackward0' and its like."""
        return self._name

    def __repr__(self):
        return f"<{self._name} object at {hex(id(self))}>"


def _grad_fn(self):
    from weft._printing import backward_name

    name = self._history_name
    return None if name is None else GradientFunction(backward_name(name))


_PROPERTIES = {
    "grad_fn": (_grad_fn, "Which operation made this; None of leaves."),
    "is_cuda": (lambda self: False, "False: this build computes on the CPU."),
    "is_mps": (lambda self: False, "False: this build computes on the CPU."),
    "is_cpu": (lambda self: True, "True: this build computes on the CPU."),
    "is_sparse": (lambda self: False, "False: there are no sparse tensors."),
    "is_xpu": (lambda self: False, "False: this build computes on the CPU."),
    "is_ipu": (lambda self: False, "False: this build computes on the CPU."),
    "is_vulkan": (lambda self: False, "False: this build computes on the CPU."),
    "is_ort": (lambda self: False, "False: this build computes on the CPU."),
    "is_mkldnn": (lambda self: False, "False: each tensor lies in memory by steps."),
    "is_nested": (lambda self: False, "False: there are no nested tensors."),
    "is_sparse_csr": (lambda self: False, "False: there are no sparse tensors."),
    "name": (lambda self: None, "None: a tensor has no name."),
    "volatile": (lambda self: False, "False: history is a matter of no_grad()."),
    "is_quantized": (lambda self: False, "False: there are no quantized tensors."),
    "is_meta": (lambda self: False, "False: each tensor has values."),
    "layout": (lambda self: "weft.strided", "Each tensor lies in memory by steps."),
    "itemsize": (lambda self: self.element_size(), "Bytes of one element."),
    "nbytes": (lambda self: self.numel() * self.element_size(), "Bytes of all elements."),
    "H": (lambda self: self.t(), "A matrix transposed."),
    "mH": (lambda self: self.transpose(-2, -1), "The last two axes swapped."),
    "real": (lambda self: self, "The values: there are no complex numbers."),
    "output_nr": (lambda self: 0, "The place among the results of its operation."),
    "names": (lambda self: (None,) * self.ndim, "None for each axis: axes have no names."),
}
for _name, (_get, _text) in _PROPERTIES.items():
    setattr(_Tensor, _name, property(_get, doc=_text))
del _name, _get, _text
