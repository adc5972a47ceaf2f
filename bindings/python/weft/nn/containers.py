"""Containers: modules made of others, and lists and dicts of parameters."""
import operator

from weft import _core
from weft.nn.activation import ReLU
from weft.nn.module import Module
from weft.nn.parameter import Parameter


class _Listed(Module):
    """A list whose entries are registered as "0", "1", ...; `_registry` says of what kind."""

    _registry = "_modules"

    def _entries(self):
        return getattr(self, self._registry)

    def _set_all(self, values):
        """Registers the values anew; keys keep their names where only values change."""
        entries = self._entries()
        for name in list(entries):
            del entries[name]
        for i, value in enumerate(values):
            self._put(str(i), value)

    def _put(self, name, value):
        self.add_module(name, value)

    def _key(self, index):
        try:
            index = operator.index(index)
        except TypeError:
            raise TypeError(f"an index of {type(self).__name__} is a whole number or a slice, got "
                            f"{type(index).__name__}") from None
        names = list(self._entries())
        if not -len(names) <= index < len(names):
            raise IndexError(f"index {index} is out of range of {len(names)} entries")
        return names[index]

    def __len__(self):
        return len(self._entries())

    def __iter__(self):
        return iter(list(self._entries().values()))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._made_of(list(self)[index])
        return self._entries()[self._key(index)]

    def _made_of(self, values):
        return type(self)(values)

    def __setitem__(self, index, value):
        if isinstance(index, slice):
            names = list(self._entries())[index]
            for name, each in zip(names, value):
                self._put_in_place(name, each)
            return
        self._put_in_place(self._key(index), value)

    def _put_in_place(self, name, value):
        self._entries()[name] = value

    def __delitem__(self, index):
        kept = list(self)
        del kept[index if isinstance(index, slice) else operator.index(index)]
        self._set_all(kept)

    def __contains__(self, value):
        return any(each is value for each in self)

    def append(self, value):
        """Adds an entry at the end."""
        self._put(str(len(self)), value)
        return self

    def extend(self, values):
        """Adds entries at the end."""
        if not hasattr(values, "__iter__"):
            raise TypeError(f"{type(self).__name__}.extend() expects several entries, got "
                            f"{type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def insert(self, index, value):
        """Adds an entry before `index`."""
        values = list(self)
        values.insert(index, value)
        self._set_all(values)

    def pop(self, index=-1):
        """Takes an entry out."""
        value = self[index]
        del self[index]
        return value

    def __iadd__(self, values):
        return self.extend(values)

    def __add__(self, other):
        return self._made_of([*self, *other])


class Sequential(_Listed):
    """Runs its parts one after another. A part that can apply ReLU in its own pass over memory
    (Linear, Conv2d) takes over a ReLU that follows it; the values are the same."""

    def __init__(self, *modules):
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(
            modules[0], dict) else ((str(i), module) for i, module in enumerate(modules))
        for name, module in named:
            self.add_module(name, module)

    def _made_of(self, values):
        return Sequential(*values)

    def __getitem__(self, index):
        if isinstance(index, slice):  # the parts keep their names, as in PyTorch
            return Sequential(dict(list(self._modules.items())[index]))
        return super().__getitem__(index)

    def forward(self, input):  # noqa: A002
        parts = list(self._modules.values())
        i = 0
        while i < len(parts):
            part = parts[i]
            i += 1
            fused = getattr(part, "forward_relu", None) if (
                i < len(parts) and type(parts[i]) is ReLU
                and not part._has_hooks and not parts[i]._has_hooks) else None
            if fused is not None:
                input = fused(input)  # noqa: A001
                i += 1
            else:
                input = part(input)  # noqa: A001
        return input


class ModuleList(_Listed):
    """Parts "0", "1", ... that their owner calls as it likes."""

    def __init__(self, modules=None):
        super().__init__()
        self.extend(() if modules is None else modules)


class _Named(Module):
    """A dict whose entries are registered by their names."""

    _registry = "_modules"

    def __init__(self, entries=None):
        super().__init__()
        if entries is not None:
            self.update(entries)

    def _entries(self):
        return getattr(self, self._registry)

    def _put(self, name, value):
        self.add_module(name, value)

    def __len__(self):
        return len(self._entries())

    def __iter__(self):
        return iter(list(self._entries()))

    def __contains__(self, name):
        return name in self._entries()

    def __getitem__(self, name):
        return self._entries()[name]

    def __setitem__(self, name, value):
        self._put(name, value)

    def __delitem__(self, name):
        del self._entries()[name]

    def keys(self):
        """The names."""
        return self._entries().keys()

    def values(self):
        """The entries."""
        return self._entries().values()

    def items(self):
        """(name, entry) pairs."""
        return self._entries().items()

    def get(self, name, default=None):
        """The entry of that name, or `default`."""
        return self._entries().get(name, default)

    def pop(self, name, *default):
        """Takes an entry out."""
        return self._entries().pop(name, *default)

    def clear(self):
        """Takes all entries out."""
        self._entries().clear()

    def update(self, entries):
        """Adds or replaces entries: a dict, another container of this kind, or pairs."""
        pairs = entries.items() if hasattr(entries, "items") else entries
        for name, value in pairs:
            self[name] = value


class ModuleDict(_Named):
    """Parts with names."""


def _parameter(value, owner):
    if isinstance(value, Parameter):
        return value
    if isinstance(value, _core.Tensor):
        return Parameter(value.detach())
    raise TypeError(f"{owner} expects parameters or tensors, got {type(value).__name__}")


class _OfParameters:
    """Entries are Parameters; a tensor becomes one."""

    _registry = "_parameters"

    def _put(self, name, value):
        self.register_parameter(name, _parameter(value, type(self).__name__))

    def _put_in_place(self, name, value):
        self._parameters[name] = _parameter(value, type(self).__name__)

    def extra_repr(self):
        return "\n".join(f"  ({name}): Parameter containing: [{p.dtype} of size "
                         f"{'x'.join(map(str, p.shape))}]" for name, p in self._parameters.items())


class ParameterList(_OfParameters, _Listed):
    """Parameters "0", "1", ..."""

    def __init__(self, values=None):
        super().__init__()
        self.extend(() if values is None else values)


class ParameterDict(_OfParameters, _Named):
    """Parameters with names."""
