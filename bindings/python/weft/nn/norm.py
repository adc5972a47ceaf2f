"""Normalisation as modules."""
from weft import _core
from weft.nn import functional as F
from weft.nn.functional_module import placed
from weft.nn.layers import expect, whole
from weft.nn.module import Module
from weft.nn.parameter import Parameter


class _Norm(Module):
    """Parameters and running values by channel."""

    _axes: tuple[int, ...] = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True,
                 track_running_stats=True, device=None, dtype=None):
        super().__init__()
        whole(type(self).__name__, 0, num_features=num_features)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_parameter("weight", Parameter(_core.ones(num_features)) if affine else None)
        self.register_parameter("bias", Parameter(_core.zeros(num_features)) if affine else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", _core.zeros(num_features) if tracked else None)
        self.register_buffer("running_var", _core.ones(num_features) if tracked else None)
        self.register_buffer("num_batches_tracked",
                             _core.zeros((), dtype=_core.int64) if tracked else None)
        placed(self, device, dtype)

    def reset_running_stats(self):
        """Running values as at first."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1.0)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Parameters and running values as at first."""
        self.reset_running_stats()
        if self.affine:
            self.weight.detach().fill_(1.0)
            self.bias.detach().zero_()

    def _check(self, input):  # noqa: A002
        expect(input.ndim in self._axes, type(self).__name__,
               " or ".join(f"{n} axes" for n in self._axes), f"shape {list(input.shape)}")

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
                f"affine={self.affine}, track_running_stats={self.track_running_stats}")


class BatchNorm2d(_Norm):
    """[N, C, H, W] normalised by channel; momentum=None: running values are means of all batches."""

    _axes: tuple[int, ...] = (4,)

    def forward(self, input):  # noqa: A002
        self._check(input)
        training = self.training or self.running_mean is None
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / self.num_batches_tracked.item()
        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                            training, momentum, self.eps)


class BatchNorm1d(BatchNorm2d):
    """[N, C] or [N, C, L] normalised by channel."""

    _axes = (2, 3)


class BatchNorm3d(BatchNorm2d):
    """[N, C, D, H, W] normalised by channel."""

    _axes = (5,)


class InstanceNorm2d(_Norm):
    """[N, C, H, W] or [C, H, W]: each channel of each sample normalised on its own."""

    _axes = (3, 4)

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False,
                 track_running_stats=False, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input):  # noqa: A002
        self._check(input)
        single = input.ndim == self._axes[0]
        y = F.instance_norm(input.unsqueeze(0) if single else input, self.running_mean,
                            self.running_var, self.weight, self.bias,
                            self.training or not self.track_running_stats, self.momentum, self.eps)
        return y.squeeze(0) if single else y


class InstanceNorm1d(InstanceNorm2d):
    """[N, C, L] or [C, L]: each channel of each sample normalised on its own."""

    _axes = (2, 3)


class InstanceNorm3d(InstanceNorm2d):
    """[N, C, D, H, W] or [C, D, H, W]: each channel of each sample normalised on its own."""

    _axes = (4, 5)


class LayerNorm(Module):
    """Normalised over the last axes, of shape normalized_shape."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, device=None,
                 dtype=None):
        super().__init__()
        shape = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (
            normalized_shape,)
        self.normalized_shape, self.eps = tuple(shape), eps
        self.elementwise_affine = affine = elementwise_affine
        self.register_parameter("weight", Parameter(_core.ones(shape)) if affine else None)
        self.register_parameter("bias", Parameter(_core.zeros(shape)) if affine else None)
        placed(self, device, dtype)

    def forward(self, input):  # noqa: A002
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (f"{self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.elementwise_affine}")


class GroupNorm(Module):
    """[N, C, ...]: each image's channels normalised in groups."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None):
        super().__init__()
        expect(num_groups >= 1 and num_channels % num_groups == 0, "GroupNorm",
               f"num_channels divisible by num_groups={num_groups}", num_channels)
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        self.register_parameter("weight", Parameter(_core.ones(num_channels)) if affine else None)
        self.register_parameter("bias", Parameter(_core.zeros(num_channels)) if affine else None)
        placed(self, device, dtype)

    def forward(self, input):  # noqa: A002
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
