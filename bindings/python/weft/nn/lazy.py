"""Layers that learn the number of their input's channels from their first input."""
from weft import _core
from weft.nn.conv import (
    Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
from weft.nn.layers import Linear
from weft.nn.norm import (
    BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)


class _Lazy:
    """Comes before the layer's class among the bases of a lazy one.

    Until its first input, or the state that it loads, the parameters that depend on the channels
    have no values; they are the same objects before and after, so that an optimizer may have them.
    Then the layer becomes one of the class `cls_to_become`."""

    cls_to_become: object = None
    _count: str = ""  # the attribute that holds the number

    def _channels_axis(self, input):  # noqa: A002
        """Where the input has its channels; layers other than Linear take inputs without a batch."""
        return 0 if input.ndim == len(self.kernel_size) + 1 else 1

    def _empty(self):
        """Makes parameters without values of those that the first input decides."""
        for name in ("weight", *(("running_mean", "running_var", "bias") if self._of_norms else ())):
            value = getattr(self, name)
            if value is not None:
                value.data = _core.empty(0, dtype=value.dtype)
        setattr(self, self._count, 0)

    _of_norms = False

    def has_uninitialized_params(self):
        """Whether the first input is still to come."""
        return isinstance(self, _Lazy)

    def initialize_parameters(self, channels):
        """Gives the parameters the values of a new layer for so many channels."""
        made = self._made(channels)
        for name, value in self._own_parameters():
            if value is not None:
                value.data = getattr(made, name).detach().to(value.dtype)
        for name, value in self._own_buffers():
            if value is not None and value.is_floating_point():
                value.data = getattr(made, name).to(value.dtype)
        setattr(self, self._count, channels)
        object.__setattr__(self, "__class__", self.cls_to_become)

    def forward(self, input):  # noqa: A002
        self._begin(input)
        return self.forward(input)  # now the layer's own

    def _begin(self, input):  # noqa: A002
        if not isinstance(input, _core.Tensor):
            raise TypeError(f"{type(self).__name__}(): argument 'input' must be weft.Tensor, got "
                            f"{type(input).__name__}")
        axis = self._channels_axis(input)
        if not -input.ndim <= axis < input.ndim:
            raise _core.InvalidArgumentError(f"[{type(self).__name__}] expected an input with "
                                             f"channels, got shape {list(input.shape)}")
        self.initialize_parameters(input.shape[axis])

    def prepare_loading(self, given, prefix):
        """Gives the parameters the channels of a state that is about to be loaded."""
        weight = given.get(prefix + "weight")
        shape = tuple(getattr(weight, "shape", ()))
        if len(shape) > self._channels_of_weight:
            self.initialize_parameters(shape[self._channels_of_weight] * getattr(
                self, "groups", 1) if self._channels_of_weight == 1 else shape[0])

    _channels_of_weight = 1  # the axis of the weight that has them


class _LazyBeforeRelu:
    """Of layers that apply a ReLU that follows them in a Sequential."""

    def forward_relu(self, input):  # noqa: A002
        """forward() and then ReLU."""
        self._begin(input)
        return self.forward_relu(input)


class LazyLinear(_LazyBeforeRelu, _Lazy, Linear):
    """Linear() whose in_features are the length of its first input's last axis."""

    cls_to_become, _count = Linear, "in_features"

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(1, out_features, bias, device, dtype)
        self._empty()

    def _channels_axis(self, input):  # noqa: A002
        return -1

    def _made(self, channels):
        return Linear(channels, self.out_features, self.bias is not None)


class _LazyConvolution(_Lazy):
    _count = "in_channels"

    def __init__(self, out_channels, *args, **settings):
        groups = settings.get("groups", args[4] if len(args) > 4 else 1)
        super().__init__(groups, out_channels, *args, **settings)
        self.__dict__["_arguments"] = (out_channels, args, settings)
        self._empty()

    def _made(self, channels):
        out_channels, args, settings = self.__dict__.pop("_arguments")
        return self.cls_to_become(channels, out_channels, *args, **settings)


class _LazyNorm(_Lazy):
    _count, _of_norms, _channels_of_weight = "num_features", True, 0

    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,
                 dtype=None):
        super().__init__(1, eps, momentum, affine, track_running_stats, device, dtype)
        self._empty()

    def _channels_axis(self, input):  # noqa: A002
        self._check(input)
        return 1

    def _made(self, channels):
        return self.cls_to_become(channels, self.eps, self.momentum, self.affine,
                                  self.track_running_stats)


class _LazyInstanceNorm(_LazyNorm):
    def _channels_axis(self, input):  # noqa: A002
        self._check(input)
        return 0 if input.ndim == self._axes[0] else 1


def _lazy(base, kind):
    own = {"__module__": __name__, "cls_to_become": base,
           "__doc__": f"{base.__name__}() that takes the channels of its first input."}
    if getattr(base, "_transposed", False):
        own["_channels_of_weight"] = 0
    ahead = (_LazyBeforeRelu,) if hasattr(base, "forward_relu") else ()
    return type(f"Lazy{base.__name__}", (*ahead, kind, base), own)


(LazyConv1d, LazyConv2d, LazyConv3d, LazyConvTranspose1d, LazyConvTranspose2d,
 LazyConvTranspose3d) = (_lazy(base, _LazyConvolution) for base in (
     Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazy(base, _LazyNorm) for base in (BatchNorm1d, BatchNorm2d, BatchNorm3d))
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy(base, _LazyInstanceNorm) for base in (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d))
