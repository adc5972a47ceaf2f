"""Pooling, padding, sizes of images and dropout as modules: one row of the table each."""
import functools

from weft import _core
from weft.nn import functional as F
from weft.nn.functional_module import REQUIRED, FunctionalModule, functional_module
from weft.nn.functions.conv import tuple_of
from weft.nn.module import Module


class _Pool(FunctionalModule):
    def _complete(self):
        if self.stride is None:
            self.stride = self.kernel_size


class _AvgPool1d(_Pool):
    def _complete(self):
        super()._complete()
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, tuple_of(getattr(self, name), 1))


_of_images = functools.partial(functional_module, __name__)
_SIZES = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
_pool = functools.partial(functional_module, __name__, base=_Pool, **_SIZES)
_MAX = {"dilation": 1, "return_indices": False, "ceil_mode": False}
_SHOWN = "kernel_size={kernel_size}, stride={stride}, padding={padding}"
_SHOWN_MAX = _SHOWN + ", dilation={dilation}, ceil_mode={ceil_mode}"

MaxPool1d = _pool("MaxPool1d", F.max_pool1d, "The largest value of each window.",
                  shown=_SHOWN_MAX, **_MAX)
MaxPool2d = _pool("MaxPool2d", F.max_pool2d, "The largest value of each window.",
                  shown=_SHOWN_MAX, **_MAX)
AvgPool1d = functional_module(__name__, "AvgPool1d", F.avg_pool1d, "The mean of each window.",
                              base=_AvgPool1d, shown=_SHOWN, **_SIZES, ceil_mode=False,
                              count_include_pad=True)
AvgPool2d = _pool("AvgPool2d", F.avg_pool2d, "The mean of each window.", shown=_SHOWN,
                  ceil_mode=False, count_include_pad=True, divisor_override=None)
MaxPool3d = _pool("MaxPool3d", F.max_pool3d, "The largest value of each window of a volume.",
                  shown=_SHOWN_MAX, **_MAX)
AvgPool3d = _pool("AvgPool3d", F.avg_pool3d, "The mean of each window of a volume.", shown=_SHOWN,
                  ceil_mode=False, count_include_pad=True, divisor_override=None)


class _MaxUnpool(_Pool):
    _axes = 2

    def _complete(self):
        for name in self._settings:
            value = getattr(self, name)
            setattr(self, name, None if value is None else tuple_of(value, self._axes))
        super()._complete()

    def forward(self, input, indices, output_size=None):  # noqa: A002
        return type(self)._function(input, indices, self.kernel_size, self.stride, self.padding,
                                    output_size)


def _max_unpool(axes, function):
    made = _pool(f"MaxUnpool{axes}d", function,
                 f"The values at the places that MaxPool{axes}d(return_indices=True) gave.",
                 base=_MaxUnpool, shown=_SHOWN)
    made._axes = axes
    return made


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = (_max_unpool(axes, function) for axes, function in enumerate(
    (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d), 1))
_lp_pool = functools.partial(
    functional_module, __name__, norm_type=REQUIRED, kernel_size=REQUIRED, stride=None,
    ceil_mode=False, shown="norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, "
                           "ceil_mode={ceil_mode}")
LPPool1d = _lp_pool("LPPool1d", F.lp_pool1d, "The norm of each window of a sequence.")
LPPool2d = _lp_pool("LPPool2d", F.lp_pool2d, "The norm of each window.")
_adaptive = functools.partial(functional_module, __name__, shown="output_size={output_size}",
                              output_size=REQUIRED)
AdaptiveAvgPool1d = _adaptive("AdaptiveAvgPool1d", F.adaptive_avg_pool1d,
                              "Means of windows that cover the sequence.")
AdaptiveAvgPool2d = _adaptive("AdaptiveAvgPool2d", F.adaptive_avg_pool2d,
                              "Means of windows that cover the image.")
AdaptiveMaxPool1d = _adaptive("AdaptiveMaxPool1d", F.adaptive_max_pool1d,
                              "Extremes of windows that cover the sequence.",
                              return_indices=False)
AdaptiveMaxPool2d = _adaptive("AdaptiveMaxPool2d", F.adaptive_max_pool2d,
                              "Extremes of windows that cover the image.",
                              return_indices=False)
AdaptiveAvgPool3d = _adaptive("AdaptiveAvgPool3d", F.adaptive_avg_pool3d,
                              "Means of windows that cover the volume.")
AdaptiveMaxPool3d = _adaptive("AdaptiveMaxPool3d", F.adaptive_max_pool3d,
                              "Extremes of windows that cover the volume.",
                              return_indices=False)


class _Padding(Module):
    """F.pad() by `padding` numbers on each side, or two for each axis, the last axis first."""

    _axes, _mode = 2, "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = tuple_of(padding, 2 * self._axes)
        if len(self.padding) != 2 * self._axes:
            raise _core.InvalidArgumentError(
                f"[{type(self).__name__}] expected 1 or {2 * self._axes} numbers, got {padding}")

    def forward(self, input):  # noqa: A002
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return str(self.padding)


def _padding(name, axes, mode):
    return type(name, (_Padding,), {"__module__": __name__, "_axes": axes, "_mode": mode,
                                    "__doc__": f"F.pad() of {axes} axes, mode {mode!r}."})


ReflectionPad1d = _padding("ReflectionPad1d", 1, "reflect")
ReflectionPad2d = _padding("ReflectionPad2d", 2, "reflect")
ReplicationPad1d = _padding("ReplicationPad1d", 1, "replicate")
ReplicationPad2d = _padding("ReplicationPad2d", 2, "replicate")
ReflectionPad3d = _padding("ReflectionPad3d", 3, "reflect")
ReplicationPad3d = _padding("ReplicationPad3d", 3, "replicate")
ZeroPad2d = _padding("ZeroPad2d", 2, "constant")


class ConstantPad2d(_Padding):
    """One value around the image."""

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):  # noqa: A002
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(ConstantPad2d):
    """One value before and behind the sequence."""

    _axes = 1


class ConstantPad3d(ConstantPad2d):
    """One value around the volume."""

    _axes = 3


class Upsample(FunctionalModule):
    """F.interpolate()."""

    _function = staticmethod(F.interpolate)
    _settings = {"size": None, "scale_factor": None, "mode": "nearest", "align_corners": None,
                 "recompute_scale_factor": None}

    def _complete(self):
        if isinstance(self.scale_factor, (int, float)):
            self.scale_factor = float(self.scale_factor)
        elif isinstance(self.scale_factor, (tuple, list)):
            self.scale_factor = tuple(map(float, self.scale_factor))

    def extra_repr(self):
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)}, mode={self.mode}"


class UpsamplingNearest2d(Upsample):
    """Upsample of the mode nearest."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample of the mode bilinear, with align_corners."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "bilinear", True)


PixelShuffle = _of_images("PixelShuffle", F.pixel_shuffle, "[..., C r r, H, W] to [..., C, H r, W r].",
                          shown="upscale_factor={upscale_factor}", upscale_factor=REQUIRED)
PixelUnshuffle = _of_images("PixelUnshuffle", F.pixel_unshuffle, "The way back of PixelShuffle.",
                            shown="downscale_factor={downscale_factor}", downscale_factor=REQUIRED)
ChannelShuffle = _of_images("ChannelShuffle", F.channel_shuffle, "Channels of groups mixed.",
                            shown="groups={groups}", groups=REQUIRED)
_WINDOWS = "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}"
Unfold = _of_images("Unfold", F.unfold, "The windows of [N, C, H, W] as columns.", shown=_WINDOWS,
                    kernel_size=REQUIRED, dilation=1, padding=0, stride=1)
Fold = _of_images("Fold", F.fold, "The sum of windows at their places.",
                  shown="output_size={output_size}, " + _WINDOWS, output_size=REQUIRED,
                  kernel_size=REQUIRED, dilation=1, padding=0, stride=1)
LocalResponseNorm = _of_images("LocalResponseNorm", F.local_response_norm,
                               "Values over those of channels nearby.",
                               shown="{size}, alpha={alpha}, beta={beta}, k={k}", size=REQUIRED,
                               alpha=1e-4, beta=0.75, k=1.0)
CosineSimilarity = _of_images("CosineSimilarity", F.cosine_similarity,
                              "The cosine of the angle between vectors along `dim`.", dim=1,
                              eps=1e-8)
PairwiseDistance = _of_images("PairwiseDistance", F.pairwise_distance,
                              "The norm of the difference along the last axis.", p=2.0, eps=1e-6,
                              keepdim=False)


class Dropout(Module):
    """In training zeroes values with probability p and scales the rest."""

    _function = staticmethod(F.dropout)

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise _core.InvalidArgumentError(
                f"[{type(self).__name__}] expected p in [0, 1], got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):  # noqa: A002
        return type(self)._function(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


def _dropout(name, function, documentation):
    return type(name, (Dropout,), {"__module__": __name__, "__doc__": documentation,
                                   "_function": staticmethod(function)})


Dropout1d = _dropout("Dropout1d", F.dropout1d, "Dropout of whole channels of [N, C, L].")
Dropout2d = _dropout("Dropout2d", F.dropout2d, "Dropout of whole channels of [N, C, H, W].")
Dropout3d = _dropout("Dropout3d", F.dropout3d, "Dropout of whole channels of [N, C, D, H, W].")
AlphaDropout = _dropout("AlphaDropout", F.alpha_dropout, "Dropout beside SELU.")
FeatureAlphaDropout = _dropout("FeatureAlphaDropout", F.feature_alpha_dropout,
                               "AlphaDropout of whole channels of [N, C, ...].")
