"""Parametrizations: a parameter that is computed from others whenever it is read."""
from weft import _core
from weft.nn.containers import ModuleDict
from weft.nn.module import Module
from weft.nn.parameter import Parameter


class ParametrizationList(Module):
    """What one tensor of a module is computed from: `original` (or original0, original1, ...), and
    the modules through which it goes, one after another."""

    def __init__(self, first, original):
        super().__init__()
        values = first.right_inverse(original) if hasattr(first, "right_inverse") else original
        self._several = isinstance(values, (tuple, list))
        names = [f"original{i}" for i in range(len(values))] if self._several else ["original"]
        for name, value in zip(names, values if self._several else [values]):
            if isinstance(original, Parameter):
                self.register_parameter(name, value if isinstance(value, Parameter) else Parameter(
                    value.detach(), original.requires_grad))
            else:
                self.register_buffer(name, value)
        self._names = names
        self._parts = 0
        self.add(first)

    def add(self, parametrization):
        """One more module at the end."""
        self.add_module(str(self._parts), parametrization)
        self.__dict__["_parts"] += 1

    def forward(self):
        originals = [getattr(self, name) for name in self._names]
        parts = list(self._modules.values())
        value = parts[0](*originals)
        for part in parts[1:]:
            value = part(value)
        return value

    def set(self, value):
        """The originals such that forward() gives the value, as far as right_inverse() does."""
        for part in reversed(list(self._modules.values())):
            if not hasattr(part, "right_inverse"):
                raise _core.InvalidArgumentError(
                    f"[parametrize] expected {type(part).__name__}.right_inverse() for an "
                    "assignment, got none: write to the original")
            value = part.right_inverse(value)
        values = value if self._several else [value]
        for name, each in zip(self._names, values):
            getattr(self, name).data.copy_(each.detach())


def _property(name):
    def read(self):
        return self.parametrizations[name]()

    def write(self, value):
        self.parametrizations[name].set(value)

    return property(read, write)


def _parametrized_class(module):
    """A class of this module's own, derived from that which it has, as PyTorch's."""
    kind = type(module)
    if "_parametrized" in vars(kind):
        return kind

    def write(self, name, value):
        if isinstance(vars(type(self)).get(name), property):
            object.__setattr__(self, name, value)
        else:
            kind.__setattr__(self, name, value)

    def no_copy(self, protocol):
        raise _core.InvalidArgumentError(
            "[pickle] expected a module without parametrizations: save its state_dict()")

    def deepcopy(self, memo):
        import copy

        made = object.__new__(_class_like(self))
        memo[id(self)] = made
        made.__setstate__(copy.deepcopy(dict(self.__dict__), memo))
        return made

    return type(f"Parametrized{kind.__name__}", (kind,), {
        "_parametrized": True, "__module__": kind.__module__, "__setattr__": write,
        "__reduce_ex__": no_copy, "__deepcopy__": deepcopy})


def _class_like(module):
    kind = type(module)
    return type(kind.__name__, kind.__bases__, dict(vars(kind)))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """module.tensor_name becomes parametrization(original); several go one after another."""
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].add(parametrization)
        return module
    original = module._parameters.get(tensor_name, module._buffers.get(tensor_name))
    if original is None:
        raise _core.InvalidArgumentError(
            f"[parametrize] expected a parameter or buffer of {type(module).__name__}, got "
            f"{tensor_name!r}")
    computed = ParametrizationList(parametrization, original)
    value = computed()
    if not unsafe and tuple(value.shape) != tuple(original.shape):
        raise _core.InvalidArgumentError(
            f"[parametrize] expected a value of shape {list(original.shape)}, got "
            f"{list(value.shape)}")
    if not hasattr(module, "parametrizations"):
        module.parametrizations = ModuleDict()
    delattr(module, tensor_name)
    object.__setattr__(module, "__class__", _parametrized_class(module))
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = computed
    return module


def is_parametrized(module, tensor_name=None):
    """Whether the module has parametrizations, or one of that name."""
    parts = module._modules.get("parametrizations")
    return parts is not None and (len(parts) > 0 if tensor_name is None else tensor_name in parts)


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """The tensor as a plain one again: the computed value, or the original."""
    if not is_parametrized(module, tensor_name):
        raise _core.InvalidArgumentError(
            f"[parametrize] expected a parametrized tensor of {type(module).__name__}, got "
            f"{tensor_name!r}")
    computed = module.parametrizations[tensor_name]
    value = computed().detach() if leave_parametrized else computed.original.detach()
    trained = any(True for _ in computed.parameters(recurse=False))
    del module.parametrizations[tensor_name]
    delattr(type(module), tensor_name)
    if len(module.parametrizations) == 0:
        del module.parametrizations
        object.__setattr__(module, "__class__", type(module).__bases__[0])
    if trained:
        setattr(module, tensor_name, Parameter(value.clone()))
    else:
        module.register_buffer(tensor_name, value)
    return module
