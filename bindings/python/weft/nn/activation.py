"""Activations as modules."""
from weft import _core
from weft.nn import functional as F
from weft.nn.module import Module


class ReLU(Module):
    """max(x, 0)."""

    def __init__(self, inplace=False):
        super().__init__()

    def forward(self, input):  # noqa: A002
        return _core.relu(input)


class GELU(Module):
    """x times the normal distribution function of x; approximate may be 'tanh'."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):  # noqa: A002
        return F.gelu(input, self.approximate)


class LeakyReLU(Module):
    """x, below 0 times the slope."""

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, input):  # noqa: A002
        return F.leaky_relu(input, self.negative_slope)


class Softmax(Module):
    """e^x over its sum along `dim`."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):  # noqa: A002
        return F.softmax(input, self.dim, 5)


class LogSoftmax(Softmax):
    """The logarithm of softmax."""

    def forward(self, input):  # noqa: A002
        return F.log_softmax(input, self.dim, 5)


def _plain(name, function, documentation):
    def forward(self, input):  # noqa: A002
        return function(input)

    return type(name, (Module,), {"forward": forward, "__doc__": documentation,
                                  "__module__": __name__})


Tanh = _plain("Tanh", _core.tanh, "The hyperbolic tangent.")
Sigmoid = _plain("Sigmoid", _core.sigmoid, "1 / (1 + e^-x).")
Mish = _plain("Mish", _core.mish, "x tanh(softplus(x)).")
Softplus = _plain("Softplus", F.softplus, "log(1 + e^x).")
ELU = _plain("ELU", F.elu, "x, below 0 e^x - 1.")


class SiLU(ReLU):
    """x sigmoid(x)."""

    def forward(self, input):  # noqa: A002
        return _core.silu(input)
