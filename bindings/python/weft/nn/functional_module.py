"""FunctionalModule: a module that is one function of weft.nn.functional with fixed settings."""
from weft._device import cpu_device
from weft.nn.module import Module

REQUIRED = object()  # in the place of a default


def placed(module, device, dtype):
    """The keywords that all layers of PyTorch have: device, which must be the CPU, and dtype."""
    if device is not None:
        cpu_device(device)
    if dtype is not None:
        module.to(dtype)


class FunctionalModule(Module):
    """forward(*inputs) is _function(*inputs, setting=..., ...).

    _settings has each setting with its default, in PyTorch's order; _unused those that the
    function does not take; _buffers_of those that are tensors of the state; _shown what repr()
    shows, as a form of str.format() over the settings."""

    _function: object = None
    _settings: dict[str, object] = {}
    _unused: tuple[str, ...] = ()
    _buffers_of: tuple[str, ...] = ()
    _shown = ""

    def __init__(self, *args, **settings):
        super().__init__()
        kind = type(self)
        if len(args) > len(kind._settings):
            raise TypeError(f"{kind.__name__}() takes at most {len(kind._settings)} arguments "
                            f"({', '.join(kind._settings)}), got {len(args)}")
        given = dict(zip(kind._settings, args))
        for name, value in settings.items():
            if name not in kind._settings:
                raise TypeError(f"{kind.__name__}() got an unexpected keyword argument {name!r}: "
                                f"it takes {', '.join(kind._settings) or 'none'}")
            if name in given:
                raise TypeError(f"{kind.__name__}() got {name!r} twice")
            given[name] = value
        for name, default in kind._settings.items():
            if given.get(name, default) is REQUIRED:
                raise TypeError(f"{kind.__name__}() misses the argument {name!r}")
            if name in kind._buffers_of:
                self.register_buffer(name, given.get(name, default))
            else:
                setattr(self, name, given.get(name, default))
        self._complete()

    def _complete(self):
        """What a kind of modules makes of its settings."""

    def forward(self, *inputs, **more):
        settings = {name: getattr(self, name) for name in self._settings
                    if name not in self._unused}
        return type(self)._function(*inputs, **settings, **more)

    def extra_repr(self):
        text = self._shown.format(**{name: getattr(self, name) for name in self._settings})
        if getattr(self, "inplace", False):
            text += ", inplace=True" if text else "inplace=True"
        return text


def functional_module(place, name, function, documentation, *, base=FunctionalModule, shown="",
                      unused=(), buffers=(), **settings):
    """The class `name` of the module `place` (its __name__)."""
    return type(name, (base,), {
        "__module__": place, "__doc__": documentation, "_function": staticmethod(function),
        "_settings": settings, "_unused": tuple(unused), "_buffers_of": tuple(buffers),
        "_shown": shown})
