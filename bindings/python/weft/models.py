"""The zoo: models of Weft's C++ library as modules, weft.models.create("cnn")."""
from weft import _core
from weft.nn.module import Module

# By how many numbers a pass with dropout moves the default generator on.
_PLACES = 16


def names():
    """The models there are."""
    return _core._model_names()


class ZooModel(Module):
    """A model that is written in C++. Parameters are leaves that share its memory; what needs
    others (load_state_dict, optimizers, saving) works as for any module."""

    def __init__(self, name, options):
        super().__init__()
        native = _core._ZooModel(name, options)
        self.__dict__.update(_native=native, name=name, options=options,
                             _named=native.parameters(), _named_buffers=native.buffers())

    def _own_parameters(self):
        return self._named

    def _own_buffers(self):
        return self._named_buffers

    def train(self, mode=True):
        super().train(mode)
        self._native.train(bool(mode))
        return self

    def requires_grad_(self, requires_grad=True):
        raise _core.InvalidArgumentError(
            "[requires_grad_] the model of the zoo holds its parameters itself: leave them out of "
            "the optimizer instead")

    def to(self, *args, **kwargs):
        if any(isinstance(value, _core.dtype) for value in (*args, *kwargs.values())):
            raise _core.InvalidArgumentError("[to] a model of the zoo computes in float32")
        return self

    def forward(self, input):  # noqa: A002
        if self.training:  # dropout draws a new mask in each step
            seed, offset = _core.default_generator.get_state()
            _core.default_generator.set_state((seed, offset + _PLACES))
            self._native.set_step(seed, offset)
        return self._native.forward(input)

    def extra_repr(self):
        return ", ".join([repr(self.name), *(f"{k}={v!r}" for k, v in self.options.items())])


def create(name, **options):
    """The model `name`, with options such as seed, classes, channels, height, width; for text
    vocabulary, context, layers, heads, embedding_width."""
    return ZooModel(name, options)
