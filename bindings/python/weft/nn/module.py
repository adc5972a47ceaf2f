"""Module: a part of a model, with named parameters, buffers and parts of its own."""
from collections import OrderedDict

from weft import _core
from weft._device import cpu_device
from weft.nn import state
from weft.nn.hooks import KINDS, Hooked, Hooks, run
from weft.nn.parameter import Parameter
from weft.nn.registry import Registry

Tensor = _core.Tensor
_REGISTRIES = ("_parameters", "_buffers", "_modules")


class Module(Hooked):
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
        for kind in KINDS:  # a copy has the same hooks in dicts of its own
            if kind in state:
                self.__dict__[kind] = Hooks(state[kind])

    def forward(self, *args, **kwargs):
        """What the module computes."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args, **kwargs):
        if self._has_hooks:
            return run(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def __getattr__(self, name):
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self):
        return sorted({*super().__dir__(), *(name for kind in self._registries() for name in kind)})

    def __setattr__(self, name, value):
        own = self.__dict__
        if "_modules" not in own:
            raise AttributeError(
                f"call super().__init__() before assigning {type(self).__name__}.{name}")
        if isinstance(value, (Parameter, Module)):
            kind = "_parameters" if isinstance(value, Parameter) else "_modules"
            self._unregister(name, kind)
            own[kind][name] = value
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

    def _unregister(self, name, kept=None):
        """Forgets what has that name; an entry of the registry `kept` stays in its place."""
        for kind in _REGISTRIES:
            if kind != kept:
                self.__dict__[kind].pop(name, None)

    def _registries(self):
        return [self.__dict__[name] for name in _REGISTRIES]

    def register_parameter(self, name, param):
        """The same as assigning; `param` may be None."""
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"register_parameter() expects a Parameter or None, got {type(param)}")
        self._unregister(name, "_parameters")
        self._parameters[name] = param
        self.__dict__[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """A tensor that belongs to the state but is not trained."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"register_buffer(): {name} must be a tensor or None, got "
                            f"{type(tensor).__name__}")
        self._unregister(name, "_buffers")
        self._buffers[name] = tensor
        self.__dict__[name] = tensor
        if not persistent:
            self._non_persistent.add(name)

    def add_module(self, name, module):
        """The same as assigning."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}: the part {name!r} must be a Module or None, got "
                            f"{type(module).__name__}")
        self._unregister(name, "_modules")
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

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Names and values of parameters and buffers; the values share their memory."""
        if args:  # an old order of arguments
            given = (*args, *(destination, prefix, keep_vars)[len(args):])
            destination, prefix, keep_vars = given  # type: ignore[misc]
        return state.save_to(self, OrderedDict() if destination is None else destination, prefix,
                             keep_vars)

    def load_state_dict(self, state_dict, strict=True):
        """Copies values by name. Returns missing_keys and unexpected_keys, which must be empty if
        strict; a wrong shape raises either way, and then nothing is copied."""
        return state.load_into(self, state_dict, strict)

    def get_extra_state(self):
        """State beside tensors: a class that defines this and set_extra_state() has it in its
        state_dict()."""
        raise NotImplementedError(f"{type(self).__name__} has no get_extra_state()")

    def set_extra_state(self, state):
        """Takes what get_extra_state() gave."""
        raise NotImplementedError(f"{type(self).__name__} has no set_extra_state()")

    def get_submodule(self, target):
        """The part of that name, "a.b.c"; "" is this."""
        found = self
        for name in target.split(".") if target else ():
            part = found._modules.get(name)
            if part is None:
                raise AttributeError(f"{type(found).__name__} has no part {name!r}")
            found = part
        return found

    def _entry(self, target, kind, what):
        place, _, name = target.rpartition(".")
        owner = self.get_submodule(place)
        if name not in getattr(owner, kind):
            raise AttributeError(f"{type(owner).__name__} has no {what} {name!r}")
        return getattr(owner, kind)[name]

    def get_parameter(self, target):
        """The parameter of that name, "a.b.weight"."""
        return self._entry(target, "_parameters", "parameter")

    def get_buffer(self, target):
        """The buffer of that name."""
        return self._entry(target, "_buffers", "buffer")

    def _get_name(self):
        return type(self).__name__

    def train(self, mode=True):
        """Sets this and all parts to training, or to evaluation."""
        if not isinstance(mode, (bool, int)):
            raise TypeError(f"train(): argument 'mode' must be bool, got {type(mode).__name__}")
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

        def converted(value):
            plain = value.detach()
            return plain.to(*args, **kwargs) if value.is_floating_point() else plain

        return self._apply(converted)

    def _apply(self, fn):
        """Replaces the values of parameters and buffers by fn(values)."""
        for module in self.modules():
            for registry in (module._parameters, module._buffers):
                for value in registry.values():
                    if value is None:
                        continue
                    changed = fn(value)
                    if changed is not value and changed.dtype is not value.dtype:
                        value.data = changed
        return self

    def type(self, dst_type):
        """to(dst_type)."""
        return self.to(dst_type)

    def float(self):
        """to(weft.float32)."""
        return self.to(_core.float32)

    def double(self):
        """to(weft.float64)."""
        return self.to(_core.float64)

    def half(self):
        """to(weft.float16)."""
        return self.to(_core.float16)

    def bfloat16(self):
        """to(weft.bfloat16)."""
        return self.to(_core.bfloat16)

    def cpu(self):
        """Itself."""
        return self

    def cuda(self, device=None):
        """Raises: this build computes on the CPU."""
        cpu_device("cuda" if device is None else device)

    def share_memory(self):
        """Itself: workers of DataLoader get values, not modules."""
        return self

    def extra_repr(self):
        """What repr() shows between the parentheses."""
        return ""

    def __repr__(self):
        own = self.extra_repr()
        parts = [f"({name}): " + repr(part).replace("\n", "\n  ")
                 for name, part in self._modules.items()]
        name = self._get_name()
        if not parts:
            lines = own.split("\n")
            return f"{name}({own})" if len(lines) == 1 else (
                f"{name}(\n  " + "\n  ".join(lines) + "\n)")
        lines = (own.split("\n") if own else []) + parts
        return f"{name}(\n  " + "\n  ".join(lines) + "\n)"
