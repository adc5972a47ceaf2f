"""Registry: what a Module has of one kind, by name."""
import weakref


class Registry(dict):
    """A dict whose entries are attributes of the module that owns it, too, so that forward() reads
    them as plain attributes. What is put in here, by whatever method, the module uses from then
    on. Modules made by copy.copy() share it, as in PyTorch."""

    def __init__(self, owner, entries=()):
        super().__init__(entries)
        self._owners = []
        self.show_in(owner)

    def show_in(self, owner):
        """Shows all entries as attributes of `owner`, now and later."""
        self._owners.append(weakref.ref(owner))
        vars(owner).update(self)

    def _attributes(self):
        return (vars(owner) for owner in (known() for known in self._owners)
                if owner is not None)

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        for attributes in self._attributes():
            attributes[name] = value

    def __delitem__(self, name):
        super().__delitem__(name)
        for attributes in self._attributes():
            attributes.pop(name, None)

    def pop(self, name, *default):
        if name not in self:
            return super().pop(name, *default)
        value = self[name]
        del self[name]
        return value

    def popitem(self):
        name = next(reversed(self))
        return name, self.pop(name)

    def clear(self):
        for name in list(self):
            del self[name]

    def setdefault(self, name, default=None):
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *others, **entries):
        for name, value in dict(*others, **entries).items():
            self[name] = value

    def __ior__(self, other):  # type: ignore[misc]
        self.update(other)
        return self

    def __reduce__(self):
        # The module that is made of a copy or a pickle makes a registry of its own (__setstate__).
        return dict, (dict(self),)
