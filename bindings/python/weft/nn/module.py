"""Module: a part of a model, with named parameters, buffers and parts of its own."""
from collections import OrderedDict

from weft import _core
from weft.nn.parameter import Parameter
from weft.nn.registry import Registry

Tensor = _core.Tensor
_REGISTRIES = ("_parameters", "_buffers", "_modules")


class Module:
    """Derive, make layers in __init__ and compute in forward(); call the module to run it.

    What is assigned is registered by its kind: Parameters, Modules, and buffers once
    register_buffer() has named them. All lie in the object's __dict__ too, so that forward() reads
    them as plain attributes."""

    training = True

    def __init__(self):
        own = self.__dict__
        own["_non_persistent"] = set()
        for name in _REGISTRIES:
            own[name] = Registry(self)

    def __setstate__(self, state):
        """Of copies and pickles. What copy.copy() makes shares the registries."""
        self.__dict__.update(state)
        for name in _REGISTRIES:
            registry = state.get(name, {})
            if isinstance(registry, Registry):
                registry.show_in(self)
            else:
                self.__dict__[name] = Registry(self, registry)

    def forward(self, *args, **kwargs):
        """What the module computes."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def __setattr__(self, name, value):
        own = self.__dict__
        if "_modules" not in own:
            raise AttributeError(
                f"call super().__init__() before assigning {type(self).__name__}.{name}")
        if isinstance(value, (Parameter, Module)):
            self._unregister(name)
            own["_parameters" if isinstance(value, Parameter) else "_modules"][name] = value
        elif name in own["_buffers"]:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"the buffer {name} must be a tensor or None, got {type(value)}")
            own["_buffers"][name] = value
        elif name in own["_parameters"]:
            if value is not None:
                raise TypeError(f"the parameter {name} must be a Parameter or None, "
                                f"got {type(value)}")
            own["_parameters"][name] = None
        elif name in own["_modules"]:
            del own["_modules"][name]
        own[name] = value

    def __delattr__(self, name):
        if not any(name in registry for registry in self._registries()):
            super().__delattr__(name)
        self._unregister(name)

    def _unregister(self, name):
        for registry in self._registries():
            registry.pop(name, None)

    def _registries(self):
        return [self.__dict__[name] for name in _REGISTRIES]

    def register_parameter(self, name, param):
        """The same as assigning; `param` may be None."""
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"register_parameter() expects a Parameter or None, got {type(param)}")
        self._unregister(name)
        self._parameters[name] = param
        self.__dict__[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """A tensor that belongs to the state but is not trained."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"register_buffer() expects a tensor or None, got {type(tensor)}")
        self._unregister(name)
        self._buffers[name] = tensor
        self.__dict__[name] = tensor
        if not persistent:
            self._non_persistent.add(name)

    def add_module(self, name, module):
        """The same as assigning."""
        self._unregister(name)
        self._modules[name] = module
        self.__dict__[name] = module

    register_module = add_module

    def children(self):
        """The parts."""
        return iter(module for module in self._modules.values() if module is not None)

    def named_children(self):
        """The parts with their names."""
        return iter((name, part) for name, part in self._modules.items() if part is not None)

    def named_modules(self, memo=None, prefix=""):
        """This and all parts below, with their names; each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        memo.add(self)
        yield prefix, self
        for name, part in self.named_children():
            yield from part.named_modules(memo, f"{prefix}.{name}" if prefix else name)

    def modules(self):
        """This and all parts below."""
        return iter(module for _, module in self.named_modules())

    def _own_parameters(self):
        return self._parameters.items()

    def _own_buffers(self):
        return self._buffers.items()

    def named_parameters(self, prefix="", recurse=True):
        """(name, Parameter), each once, in the order in which they were assigned."""
        seen = set()
        for place, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, parameter in module._own_parameters():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{place}.{name}" if place else name, parameter

    def parameters(self, recurse=True):
        """The Parameters of this and all parts."""
        return iter(parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True):
        """(name, buffer) of this and all parts."""
        for place, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, buffer in module._own_buffers():
                if buffer is not None:
                    yield f"{place}.{name}" if place else name, buffer

    def buffers(self, recurse=True):
        """The buffers of this and all parts."""
        return iter(buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _state(self, prefix=""):
        # Not by named_modules(): what is shared stands under each of its names, as in PyTorch.
        for name, parameter in self._own_parameters():
            if parameter is not None:
                yield prefix + name, parameter
        for name, buffer in self._own_buffers():
            if buffer is not None and name not in self._non_persistent:
                yield prefix + name, buffer
        for name, part in self.named_children():
            yield from part._state(f"{prefix}{name}.")

    def state_dict(self):
        """Names and values of parameters and buffers; the values share their memory."""
        return OrderedDict((name, value.detach()) for name, value in self._state())

    def load_state_dict(self, state_dict, strict=True):
        """Copies values by name. Returns (missing_keys, unexpected_keys), which must be empty if
        strict; a wrong shape raises either way, and then nothing is copied."""
        own = dict(self._state())
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        wrong = [f"{name}: expected {tuple(own[name].shape)}, got {tuple(value.shape)}"
                 for name, value in state_dict.items()
                 if name in own and tuple(own[name].shape) != tuple(value.shape)]
        if wrong or (strict and (missing or unexpected)):
            raise _core.InvalidArgumentError(
                f"[load_state_dict] of {type(self).__name__}: missing {missing}, unexpected "
                f"{unexpected}, of wrong shape {wrong}")
        for name, value in state_dict.items():
            if name in own:
                own[name].data.copy_(_core.asarray(value).detach())
        return missing, unexpected

    def train(self, mode=True):
        """Sets this and all parts to training, or to evaluation."""
        for module in self.modules():
            module.__dict__["training"] = bool(mode)
        return self

    def eval(self):
        """train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Whether the parameters are trained."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters."""
        _core._zero_grad(list(self.parameters()), set_to_none)

    def apply(self, fn):
        """fn(module) for all parts and then for this."""
        for part in self.children():
            part.apply(fn)
        fn(self)
        return self

    def to(self, *args, **kwargs):
        """Parameters and buffers of floating types in another type; the device must be the CPU."""
        for module in self.modules():
            for registry in (module._parameters, module._buffers):
                for name, value in list(registry.items()):
                    if value is None:
                        continue
                    converted = value.detach().to(*args, **kwargs)
                    if value.is_floating_point() and converted.dtype is not value.dtype:
                        value.data = converted
        return self

    def float(self):
        """to(weft.float32)."""
        return self.to(_core.float32)

    def double(self):
        """to(weft.float64)."""
        return self.to(_core.float64)

    def cpu(self):
        """Itself."""
        return self

    def extra_repr(self):
        """What repr() shows between the parentheses."""
        return ""

    def __repr__(self):
        parts = [f"({name}): " + repr(part).replace("\n", "\n  ")
                 for name, part in self.named_children()]
        if not parts:
            return f"{type(self).__name__}({self.extra_repr()})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(parts) + "\n)"
