"""Activations as modules: one row of the table each."""
import functools

from weft import _core
from weft.nn import functional as F
from weft.nn.functional_module import REQUIRED, FunctionalModule, functional_module, placed
from weft.nn.module import Module
from weft.nn.parameter import Parameter

_activation = functools.partial(functional_module, __name__)

ELU = _activation("ELU", F.elu, "x, below 0 alpha (e^x - 1).", shown="alpha={alpha}",
                  alpha=1.0, inplace=False)
CELU = _activation("CELU", F.celu, "x, below 0 alpha (e^(x / alpha) - 1).",
                   shown="alpha={alpha}", alpha=1.0, inplace=False)
SELU = _activation("SELU", F.selu, "elu() that keeps variances.", inplace=False)
GELU = _activation("GELU", F.gelu,
                   "x times the normal distribution function of x; approximate may be 'tanh'.",
                   shown="approximate={approximate!r}", approximate="none")
LeakyReLU = _activation("LeakyReLU", F.leaky_relu, "x, below 0 times the slope.",
                        shown="negative_slope={negative_slope}", negative_slope=0.01,
                        inplace=False)
ReLU6 = _activation("ReLU6", F.relu6, "x between 0 and 6.", inplace=False)
Hardtanh = _activation("Hardtanh", F.hardtanh, "x between two values.",
                       shown="min_val={min_val}, max_val={max_val}", min_val=-1.0, max_val=1.0,
                       inplace=False)
Hardsigmoid = _activation("Hardsigmoid", F.hardsigmoid, "x / 6 + 1/2 between 0 and 1.",
                          inplace=False)
Hardswish = _activation("Hardswish", F.hardswish, "x hardsigmoid(x).", inplace=False)
Mish = _activation("Mish", F.mish, "x tanh(softplus(x)).", inplace=False)
SiLU = _activation("SiLU", F.silu, "x sigmoid(x).", inplace=False)
Softplus = _activation("Softplus", F.softplus, "log(1 + e^(beta x)) / beta.",
                       shown="beta={beta}, threshold={threshold}", beta=1, threshold=20)
Softsign = _activation("Softsign", _core.softsign, "x / (1 + |x|).")
Tanh = _activation("Tanh", _core.tanh, "The hyperbolic tangent.")
Sigmoid = _activation("Sigmoid", _core.sigmoid, "1 / (1 + e^-x).")
LogSigmoid = _activation("LogSigmoid", _core.logsigmoid, "The logarithm of sigmoid(x).")
Tanhshrink = _activation("Tanhshrink", F.tanhshrink, "x - tanh(x).")
Softshrink = _activation("Softshrink", F.softshrink, "x moved towards 0 by lambd.",
                         shown="{lambd}", lambd=0.5)
Hardshrink = _activation("Hardshrink", F.hardshrink, "x, and 0 where |x| <= lambd.",
                         shown="{lambd}", lambd=0.5)
Threshold = _activation("Threshold", F.threshold, "x where it is above the threshold.",
                        shown="threshold={threshold}, value={value}", threshold=REQUIRED,
                        value=REQUIRED, inplace=False)
GLU = _activation("GLU", F.glu, "The first half along `dim` times sigmoid() of the second.",
                  shown="dim={dim}", dim=-1)


class ReLU(Module):
    """max(x, 0); with `inplace` it is written over x."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):  # noqa: A002
        return F.relu(input, True) if self.inplace else _core.relu(input)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class RReLU(FunctionalModule):
    """x, below 0 times a slope that is drawn in training."""

    _function = staticmethod(F.rrelu)
    _settings = {"lower": 1.0 / 8, "upper": 1.0 / 3, "inplace": False}
    _shown = "lower={lower}, upper={upper}"

    def forward(self, input):  # noqa: A002
        return super().forward(input, training=self.training)


class PReLU(Module):
    """x, below 0 times a learned slope: one, or one for each channel."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(_core.full((num_parameters,), float(init)))
        placed(self, device, dtype)

    def forward(self, input):  # noqa: A002
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Softmax(Module):
    """e^x over its sum along `dim`."""

    _function = staticmethod(F.softmax)

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):  # noqa: A002
        return type(self)._function(input, self.dim, 5)

    def extra_repr(self):
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """The logarithm of softmax."""

    _function = staticmethod(F.log_softmax)


class Softmin(Softmax):
    """Softmax of -x."""

    _function = staticmethod(F.softmin)


class Softmax2d(Module):
    """Softmax over the channels of [N, C, H, W] or [C, H, W]."""

    def forward(self, input):  # noqa: A002
        if input.ndim not in (3, 4):
            raise _core.InvalidArgumentError(
                f"[Softmax2d] expected 3 or 4 axes, got shape {list(input.shape)}")
        return _core.softmax(input, -3)
