"""Fractional max-pooling as modules."""
from weft.nn import functional as F
from weft.nn.functions.conv import tuple_of
from weft.nn.functions.fractional_pool import output_sizes
from weft.nn.module import Module


class FractionalMaxPool2d(Module):
    """The largest value of each of output_size windows of an image, at drawn distances; or of
    output_ratio times as many as it has pixels."""

    _axes, _function = 2, staticmethod(F.fractional_max_pool2d)

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                 _random_samples=None):
        super().__init__()
        output_sizes(type(self).__name__, self._axes, (1,) * self._axes, output_size, output_ratio)
        self.kernel_size = tuple_of(kernel_size, self._axes)
        self.output_size = None if output_size is None else tuple_of(output_size, self._axes)
        self.output_ratio = output_ratio if output_ratio is None or isinstance(
            output_ratio, (tuple, list)) else (output_ratio,) * self._axes
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input):  # noqa: A002
        return type(self)._function(input, self.kernel_size, self.output_size, self.output_ratio,
                                    self.return_indices, self._random_samples)


class FractionalMaxPool3d(FractionalMaxPool2d):
    """The same of a volume."""

    _axes, _function = 3, staticmethod(F.fractional_max_pool3d)
