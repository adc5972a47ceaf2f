"""Containers: modules made of others."""
from weft.nn.activation import ReLU
from weft.nn.module import Module


class Sequential(Module):
    """Runs its parts one after another. A part that can apply ReLU in its own pass over memory
    (Linear, Conv2d) takes over a ReLU that follows it; the values are the same."""

    def __init__(self, *modules):
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(
            modules[0], dict) else ((str(i), module) for i, module in enumerate(modules))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input):  # noqa: A002
        parts = list(self._modules.values())
        i = 0
        while i < len(parts):
            part = parts[i]
            i += 1
            fused = getattr(part, "forward_relu", None) if (
                i < len(parts) and type(parts[i]) is ReLU) else None
            if fused is not None:
                input = fused(input)  # noqa: A001
                i += 1
            else:
                input = part(input)  # noqa: A001
        return input

    def append(self, module):
        """Adds a part at the end."""
        self.add_module(str(len(self._modules)), module)
        return self

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        parts = list(self._modules.values())
        return Sequential(*parts[index]) if isinstance(index, slice) else parts[index]


class ModuleList(Module):
    """Parts "0", "1", ... that their owner calls as it likes."""

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)

    def append(self, module):
        """Adds a part at the end."""
        self.add_module(str(len(self._modules)), module)
        return self

    def extend(self, modules):
        """Adds parts at the end."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        parts = list(self._modules.values())
        return ModuleList(parts[index]) if isinstance(index, slice) else parts[index]


class ModuleDict(Module):
    """Parts with names."""

    def __init__(self, modules=()):
        super().__init__()
        for name, module in dict(modules).items():
            self.add_module(name, module)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, name):
        return name in self._modules

    def __getitem__(self, name):
        return self._modules[name]

    def __setitem__(self, name, module):
        self.add_module(name, module)

    def items(self):
        """(name, module) pairs."""
        return self._modules.items()
