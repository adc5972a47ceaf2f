"""Layers: modules over weft.nn.functional, with PyTorch's parameters and first values."""
import math

from weft import _core
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module
from weft.nn.parameter import Parameter


def _pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def _expect(holds, layer, expected, got):
    if not holds:
        raise _core.InvalidArgumentError(f"[{layer}] expected {expected}, got {got}")


def _uniform(shape, fan_in):
    """A parameter with PyTorch's first values of weights and biases."""
    bound = 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    return Parameter(init.uniform_(_core.empty(shape), -bound, bound))


class Identity(Module):
    """x as it is."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):  # noqa: A002
        return input


class Linear(Module):
    """[..., in_features] to [..., out_features]: x weight^T + bias."""

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = _uniform((out_features, in_features), in_features)
        self.register_parameter("bias", _uniform((out_features,), in_features) if bias else None)

    def forward(self, input):  # noqa: A002
        return F.linear(input, self.weight, self.bias)

    def forward_relu(self, input):  # noqa: A002
        """forward() and then ReLU, in one pass over memory."""
        return F.linear(input, self.weight, self.bias, relu=True)

    def extra_repr(self):
        return (f"in_features={self.in_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")


class Conv2d(Module):
    """[N, in_channels, H, W] to [N, out_channels, H', W']."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
                 groups=1, bias=True):
        super().__init__()
        kernel = _pair(kernel_size)
        _expect(groups >= 1, "Conv2d", "groups of at least 1", groups)
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            _expect(channels % groups == 0, "Conv2d", f"{name} divisible by groups={groups}",
                    channels)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel
        self.stride, self.dilation, self.groups = _pair(stride), _pair(dilation), groups
        self.padding, self._uneven = self._paddings(padding)
        fan_in = in_channels // groups * kernel[0] * kernel[1]
        self.weight = _uniform((out_channels, in_channels // groups, *kernel), fan_in)
        self.register_parameter("bias", _uniform((out_channels,), fan_in) if bias else None)

    def _paddings(self, padding):
        """Zeros on both sides of each axis; and, for "same" where they are not equal, what an
        input is padded with before: (left, right, top, bottom)."""
        if padding == "valid":
            return (0, 0), None
        if padding != "same":
            return _pair(padding), None
        if tuple(self.stride) != (1, 1):
            raise ValueError(f'[Conv2d] expected stride 1 with padding="same", got {self.stride}')
        whole = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
        if all(each % 2 == 0 for each in whole):
            return tuple(each // 2 for each in whole), None
        # As in PyTorch the odd one comes after.
        return (0, 0), tuple(side for each in reversed(whole)
                             for side in (each // 2, each - each // 2))

    def _convolve(self, input, relu):  # noqa: A002
        if self._uneven is not None:
            input = F.pad(input, self._uneven)  # noqa: A001
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation,
                        self.groups, relu)

    def forward(self, input):  # noqa: A002
        return self._convolve(input, False)

    def forward_relu(self, input):  # noqa: A002
        """forward() and then ReLU, in one pass over memory."""
        return self._convolve(input, True)

    def extra_repr(self):
        return (f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
                f"stride={self.stride}, padding={self.padding}")


class BatchNorm2d(Module):
    """[N, C, H, W] normalised by channel; momentum=None: running values are means of all batches."""

    _axes = (4,)

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True,
                 track_running_stats=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.register_parameter("weight", Parameter(_core.ones(num_features)) if affine else None)
        self.register_parameter("bias", Parameter(_core.zeros(num_features)) if affine else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", _core.zeros(num_features) if tracked else None)
        self.register_buffer("running_var", _core.ones(num_features) if tracked else None)
        self.register_buffer("num_batches_tracked",
                             _core.zeros((), dtype=_core.int64) if tracked else None)

    def forward(self, input):  # noqa: A002
        _expect(input.ndim in self._axes, type(self).__name__,
                " or ".join(f"{n} axes" for n in self._axes), f"shape {list(input.shape)}")
        training = self.training or self.running_mean is None
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                            training, momentum, self.eps)

    def extra_repr(self):
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(BatchNorm2d):
    """[N, C] or [N, C, L] normalised by channel."""

    _axes = (2, 3)


class LayerNorm(Module):
    """Normalised over the last axes, of shape normalized_shape."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        shape = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (
            normalized_shape,)
        self.normalized_shape, self.eps = tuple(shape), eps
        affine = elementwise_affine
        self.register_parameter("weight", Parameter(_core.ones(shape)) if affine else None)
        self.register_parameter("bias", Parameter(_core.zeros(shape)) if affine else None)

    def forward(self, input):  # noqa: A002
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}"


class GroupNorm(Module):
    """[N, C, ...]: each image's channels normalised in groups."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        _expect(num_groups >= 1 and num_channels % num_groups == 0, "GroupNorm",
                f"num_channels divisible by num_groups={num_groups}", num_channels)
        self.num_groups, self.eps = num_groups, eps
        self.register_parameter("weight", Parameter(_core.ones(num_channels)) if affine else None)
        self.register_parameter("bias", Parameter(_core.zeros(num_channels)) if affine else None)

    def forward(self, input):  # noqa: A002
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class Embedding(Module):
    """Whole numbers [...] to learned rows [..., embedding_dim]."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        table = _core.randn(num_embeddings, embedding_dim)
        if padding_idx is not None:
            table[padding_idx] = 0.0
        self.weight = Parameter(table)

    def forward(self, input):  # noqa: A002
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}"


class Dropout(Module):
    """In training zeroes values with probability p and scales the rest."""

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        _expect(0.0 <= p <= 1.0, "Dropout", "p in [0, 1]", p)
        self.p = p

    def forward(self, input):  # noqa: A002
        return F.dropout(input, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}"


class _Pool2d(Module):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.padding, self.ceil_mode = kernel_size, padding, ceil_mode
        self.stride = kernel_size if stride is None else stride

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool2d(_Pool2d):
    """The largest value of each window."""

    def forward(self, input):  # noqa: A002
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode)


class AvgPool2d(_Pool2d):
    """The mean of each window."""

    def forward(self, input):  # noqa: A002
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode)


class AdaptiveAvgPool2d(Module):
    """Means of windows that cover the image."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):  # noqa: A002
        return F.adaptive_avg_pool2d(input, self.output_size)


class Flatten(Module):
    """The axes from start_dim to end_dim as one."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):  # noqa: A002
        return input.flatten(self.start_dim, self.end_dim)
