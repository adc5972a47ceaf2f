"""Convolutions and their transposes as modules."""
import math

from weft.nn import functional as F
from weft.nn.functional_module import placed
from weft.nn.functions.conv import padded_sides, tuple_of
from weft.nn.layers import draw, expect, uniform, whole, wholes
from weft.nn.module import Module

_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """What convolutions of any number of axes share."""

    _axes = 0
    _transposed = False

    def _make(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
              padding_mode):
        layer, axes = type(self).__name__, self._axes
        whole(layer, 0, in_channels=in_channels, out_channels=out_channels)
        wholes(layer, kernel_size=kernel_size, stride=stride, dilation=dilation)
        if not isinstance(padding, str):
            wholes(layer, 0, padding=padding)
        expect(groups >= 1, layer, "groups of at least 1", groups)
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            expect(channels % groups == 0, layer, f"{name} divisible by groups={groups}", channels)
        expect(padding_mode in (("zeros",) if self._transposed else _MODES), layer,
               "padding_mode zeros" if self._transposed else
               "padding_mode zeros, reflect, replicate or circular", repr(padding_mode))
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = tuple_of(kernel_size, axes), tuple_of(stride, axes)
        self.padding = padding if isinstance(padding, str) else tuple_of(padding, axes)
        self.dilation, self.groups, self.padding_mode = tuple_of(dilation, axes), groups, padding_mode
        for name in ("kernel_size", "stride", "dilation"):
            expect(len(getattr(self, name)) == axes, layer, f"1 or {axes} numbers as {name}",
                   getattr(self, name))
        channels = ((in_channels, out_channels // groups) if self._transposed
                    else (out_channels, in_channels // groups))
        self._fan_in = channels[1] * math.prod(self.kernel_size)
        self.weight = uniform((*channels, *self.kernel_size), self._fan_in)
        self.register_parameter("bias", uniform((out_channels,), self._fan_in) if bias else None)

    def reset_parameters(self):
        """New first values."""
        for parameter in self.parameters(recurse=False):
            draw(parameter, self._fan_in)

    def _shown(self):
        text = (f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
                f"stride={self.stride}")
        usual = (("padding", (0,) * self._axes), ("dilation", (1,) * self._axes),
                 ("output_padding", (0,) * self._axes), ("groups", 1))
        for name, value in usual:
            own = getattr(self, name, value)
            if own != value:
                text += f", {name}={own}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def extra_repr(self):
        return self._shown()


class _Direct(_Convolution):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
                 groups=1, bias=True, padding_mode="zeros", device=None, dtype=None):
        super().__init__()
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
                   padding_mode)
        sides = padded_sides(self.padding, self.kernel_size, self.stride, self.dilation)
        # What the kernel does not pad itself: (left, right, top, bottom, ...).
        self._outside = None
        if padding_mode != "zeros" or any(before != after for before, after in sides):
            self._outside = [side for pair in reversed(sides) for side in pair]
            sides = ((0, 0),) * self._axes
        self._inside = tuple(before for before, _ in sides)
        placed(self, device, dtype)

    def _convolve(self, input, **relu):  # noqa: A002
        if self._outside is not None:
            mode = "constant" if self.padding_mode == "zeros" else self.padding_mode
            input = F.pad(input, self._outside, mode)  # noqa: A001
        return type(self)._function(input, self.weight, self.bias, self.stride, self._inside,
                                    self.dilation, self.groups, **relu)

    def forward(self, input):  # noqa: A002
        return self._convolve(input)


class Conv1d(_Direct):
    """[N, in_channels, L] to [N, out_channels, L']."""

    _axes = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_Direct):
    """[N, in_channels, H, W] to [N, out_channels, H', W']."""

    _axes = 2
    _function = staticmethod(F.conv2d)

    def forward_relu(self, input):  # noqa: A002
        """forward() and then ReLU, in one pass over memory."""
        return self._convolve(input, relu=True)


class Conv3d(_Direct):
    """[N, in_channels, D, H, W] to [N, out_channels, D', H', W']."""

    _axes = 3
    _function = staticmethod(F.conv3d)


class _Transposed(_Convolution):
    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0,
                 output_padding=0, groups=1, bias=True, dilation=1, padding_mode="zeros",
                 device=None, dtype=None):
        super().__init__()
        expect(not isinstance(padding, str), type(self).__name__, "padding as numbers", padding)
        self.output_padding = tuple_of(output_padding, self._axes)
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
                   padding_mode)
        placed(self, device, dtype)

    def _added_sizes(self, input, output_size):  # noqa: A002
        """The output_padding that gives `output_size`."""
        wanted = tuple(output_size)[-self._axes:]
        smallest = [(length - 1) * s - 2 * p + d * (k - 1) + 1 for length, s, p, d, k in
                    zip(input.shape[-self._axes:], self.stride, self.padding, self.dilation,
                        self.kernel_size)]
        added = tuple(want - least for want, least in zip(wanted, smallest))
        expect(all(0 <= each < max(s, d) for each, s, d in zip(added, self.stride, self.dilation)),
               type(self).__name__, f"an output_size from {smallest} on, by less than the stride",
               list(wanted))
        return added

    def forward(self, input, output_size=None):  # noqa: A002
        added = self.output_padding if output_size is None else self._added_sizes(
            input, output_size)
        return type(self)._function(input, self.weight, self.bias, self.stride, self.padding, added,
                                    self.groups, self.dilation)


class ConvTranspose1d(_Transposed):
    """The transpose of Conv1d."""

    _axes = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_Transposed):
    """The transpose of Conv2d."""

    _axes = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_Transposed):
    """The transpose of Conv3d."""

    _axes = 3
    _function = staticmethod(F.conv_transpose3d)
