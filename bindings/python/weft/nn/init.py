"""Initialisers, with PyTorch's names; they write into a tensor and return it."""
import math

from weft import _core
from weft.autograd import no_grad


_GAINS = {"relu": math.sqrt(2.0), "tanh": 5.0 / 3, "selu": 3.0 / 4, **dict.fromkeys(
    ("linear", "sigmoid", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
     "conv_transpose3d"), 1.0)}


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps variances through a nonlinearity."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise _core.InvalidArgumentError(f"[calculate_gain] no gain is known of {nonlinearity}")
    return _GAINS[nonlinearity]


def _fans(tensor):
    if tensor.ndim < 2:
        raise _core.InvalidArgumentError(
            f"[init] expected at least 2 axes, got shape {tuple(tensor.shape)}")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = _fans


@no_grad()
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Values between a and b."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal values."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def constant_(tensor, val):
    """One value."""
    return tensor.fill_(val)


def zeros_(tensor):
    """0."""
    return constant_(tensor, 0.0)


def ones_(tensor):
    """1."""
    return constant_(tensor, 1.0)


def _fan(name, tensor, mode):
    if mode not in ("fan_in", "fan_out"):
        raise _core.InvalidArgumentError(f"[{name}] expected mode fan_in or fan_out, got {mode!r}")
    return _fans(tensor)[0 if mode == "fan_in" else 1]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Glorot and Bengio, 2010."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Glorot and Bengio, 2010."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """He et al., 2015."""
    fan = _fan("kaiming_uniform_", tensor, mode)
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / fan)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """He et al., 2015."""
    fan = _fan("kaiming_normal_", tensor, mode)
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


@no_grad()
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal values between a and b: what falls outside is drawn again."""
    if not a < b:
        raise _core.InvalidArgumentError(f"[trunc_normal_] expected a < b, got {a} and {b}")

    def below(x):  # the normal distribution function
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    if below(b) - below(a) < 1e-6:
        raise _core.InvalidArgumentError(
            f"[trunc_normal_] expected an interval that holds normal values, got [{a}, {b}] for "
            f"mean {mean} and std {std}")
    values = tensor.detach().normal_(mean, std, generator=generator)
    while True:
        outside = (values < a) | (values > b)
        if not outside.any():
            return tensor
        again = _core.empty(values.shape, dtype=values.dtype).normal_(mean, std,
                                                                      generator=generator)
        values.copy_(_core.where(outside, again, values))


@no_grad()
def eye_(tensor):
    """1 on the diagonal of a matrix, else 0."""
    if tensor.ndim != 2:
        raise _core.InvalidArgumentError(f"[eye_] expected 2 axes, got {list(tensor.shape)}")
    tensor.detach().copy_(_core.eye(*tensor.shape, dtype=tensor.dtype))
    return tensor


@no_grad()
def dirac_(tensor, groups=1):
    """Kernels that pass channels on."""
    if tensor.ndim not in (3, 4, 5) or tensor.shape[0] % groups != 0:
        raise _core.InvalidArgumentError(
            f"[dirac_] expected [O, I, ...] with O a multiple of {groups}, got "
            f"{list(tensor.shape)}")
    values = tensor.detach().zero_()
    middle = tuple(length // 2 for length in tensor.shape[2:])
    rows = tensor.shape[0] // groups
    for group in range(groups):
        for i in range(min(rows, tensor.shape[1])):
            values[(group * rows + i, i, *middle)] = 1.0
    return tensor


@no_grad()
def orthogonal_(tensor, gain=1.0, generator=None):
    """A matrix of orthonormal rows or columns, by Gram and Schmidt (Saxe et al., 2013)."""
    if tensor.ndim < 2:
        raise _core.InvalidArgumentError(
            f"[orthogonal_] expected at least 2 axes, got {list(tensor.shape)}")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    short, long = sorted((rows, columns))
    drawn = _core.empty(short, long, dtype=_core.float64).normal_(0.0, 1.0, generator=generator)
    basis = []
    for row in drawn.unbind(0):
        for _ in range(2):  # once more, against rounding
            if basis:
                known = _core.stack(basis)
                row = row - (known.t() @ (known @ row.unsqueeze(1))).squeeze(1)
        basis.append(row / row.norm())
    values = _core.stack(basis)
    values = values if rows <= columns else values.t()
    tensor.detach().copy_((values * gain).reshape(tensor.shape).to(tensor.dtype))
    return tensor


@no_grad()
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal values, a share of each column 0."""
    if tensor.ndim != 2:
        raise _core.InvalidArgumentError(f"[sparse_] expected 2 axes, got {list(tensor.shape)}")
    values = tensor.detach().normal_(0.0, std, generator=generator)
    count = math.ceil(sparsity * tensor.shape[0])
    for column in range(tensor.shape[1]):
        for row in _core.randperm(tensor.shape[0], generator=generator).tolist()[:count]:
            values[row, column] = 0.0
    return tensor


# PyTorch's old names.
uniform, normal, constant = uniform_, normal_, constant_
xavier_uniform, xavier_normal = xavier_uniform_, xavier_normal_
kaiming_uniform, kaiming_normal, orthogonal = kaiming_uniform_, kaiming_normal_, orthogonal_
