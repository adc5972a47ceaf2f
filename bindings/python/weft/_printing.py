"""Tensors as text, as PyTorch 1.13 prints them: read when the first tensor is printed.

One width for all elements; whole numbers in a floating tensor end in a point; exponents where the
largest and the smallest number are far apart; a large tensor shows the ends of its axes alone.
"""
import math

from weft import _core

_INDENT = len("tensor(")
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}
# Spread of magnitudes, largest and smallest magnitude beyond which exponents are printed.
_SPREAD_MAX, _LARGEST, _SMALLEST = 1000.0, 1e8, 1e-4


class _Options:
    """What set_printoptions() chooses."""

    precision, threshold, edgeitems, linewidth = _PROFILES["default"]
    sci_mode = None


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None,
                     sci_mode=None):
    """How tensors are printed: digits behind the point, how many values are printed in full, how
    many at each end of what is not, columns of a line; `profile`: default, short or full."""
    if profile is not None:
        if profile not in _PROFILES:
            raise _core.InvalidArgumentError(
                f"[set_printoptions] expected the profile {', '.join(_PROFILES)}, got {profile!r}")
        (_Options.precision, _Options.threshold, _Options.edgeitems,
         _Options.linewidth) = _PROFILES[profile]
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems,
             "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(_Options, name, value)
    _Options.sci_mode = sci_mode


def _flat(nested):
    if not isinstance(nested, list):
        return [nested]
    return [value for each in nested for value in _flat(each)]


class _Numbers:
    """How the numbers of one tensor are written."""

    def __init__(self, values, floating):
        self._floating, self._exponents, self._whole, self.width = floating, False, True, 1
        if not floating:
            self.width = max((len(str(value)) for value in values), default=1)
            return
        known = [value for value in values if math.isfinite(value) and value != 0]
        if known:
            self._choose(known)

    def _choose(self, known):
        self._whole = all(value == math.ceil(value) for value in known)
        low, high = min(map(abs, known)), max(map(abs, known))
        apart = high / low > _SPREAD_MAX or high > _LARGEST
        self._exponents = apart or not self._whole and low < _SMALLEST
        # The width is that of these digits also where sci_mode says otherwise.
        self.width = max(1, *(len(self._digits(value)) for value in known))
        if _Options.sci_mode is not None:
            self._exponents = _Options.sci_mode

    def _digits(self, value):
        if self._exponents:
            return f"{value:.{_Options.precision}e}"
        if self._whole:
            return f"{value:.0f}" + "." * math.isfinite(value)
        return f"{value:.{_Options.precision}f}"

    def text(self, value):
        """The number, as wide as all are."""
        return (self._digits(value) if self._floating else str(value)).rjust(self.width)


def _ends(length):
    """The places of an axis that are shown, None for what is left out."""
    edge = _Options.edgeitems
    if length <= 2 * edge:
        return list(range(length))
    return [*range(edge), None, *range(length - edge, length)]


def _shown(x):
    """The tensor without what is left out."""
    for axis, length in enumerate(x.shape):
        places = [place for place in _ends(length) if place is not None]
        if len(places) < length:
            x = x.index_select(axis, _core.tensor(places, dtype=_core.int64))
    return x


def _lines_of_row(row, indent, numbers, cut):
    a_line = max(1, int((_Options.linewidth - indent) // (numbers.width + 2)))
    texts = [numbers.text(value) for value in row]
    if cut:
        texts.insert(_Options.edgeitems, " ...")
    lines = [", ".join(texts[i:i + a_line]) for i in range(0, len(texts), a_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _body(nested, shape, indent, numbers, summed):
    cut = summed and bool(shape) and shape[0] > 2 * _Options.edgeitems
    if not shape:
        return numbers.text(nested)
    if len(shape) == 1:
        return _lines_of_row(nested, indent, numbers, cut)
    parts = [_body(each, shape[1:], indent + 1, numbers, summed) for each in nested]
    if cut:
        parts.insert(_Options.edgeitems, "...")
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(parts) + "]"


# The words of PyTorch for operations whose names here are others.
_NAMES = {
    "reshape": "View", "concat": "Cat", "matmul": "Mm", "softmax": "Softmax", "max": "Amax",
    "min": "Amin", "log_softmax": "LogSoftmax", "cast": "ToCopy", "linear": "Addmm",
    "conv2d": "Convolution", "conv1d": "Convolution", "batch_norm": "NativeBatchNorm",
    "layer_norm": "NativeLayerNorm", "masked_fill": "MaskedFill", "nll_loss": "NllLoss",
    "cross_entropy": "NllLoss", "mse_loss": "MseLoss", "add_scalar": "Add", "mul_scalar": "Mul",
    "index": "Index", "square": "Pow", "stddev": "Std", "norm": "LinalgVectorNorm",
    "vector_norm": "LinalgVectorNorm", "leaky_relu": "LeakyRelu", "bce_with_logits":
    "BinaryCrossEntropyWithLogits", "bce_loss": "BinaryCrossEntropy", "bmm": "Bmm", "slice": "Slice",
    "copy": "CopySlices", "sub_scalar": "Sub", "logsumexp": "Logsumexp", "t": "T",
}


def backward_name(name):
    """'MulBackward0' for the operation mul: PyTorch's words for what made a tensor."""
    name = name.rstrip("_")
    words = _NAMES.get(name) or "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    return words + "Backward" + "0" * (not name[:1].isupper())


def _suffixes(x):
    plain = (_core.get_default_dtype(), _core.int64, getattr(_core, "bool"))
    if x.numel() == 0:
        if x.ndim != 1:
            yield f"size={tuple(x.shape)}"
        plain = plain[:1]
    if x.dtype not in plain:
        yield f"dtype={x.dtype}"
    if x._history_name is not None:
        yield f"grad_fn=<{backward_name(x._history_name)}>"
    elif x.requires_grad:
        yield "requires_grad=True"


def tensor_text(x):
    """repr() of a tensor."""
    values = x.detach()
    if values.numel() == 0:
        text = "tensor([]"
    else:
        summed = values.numel() > _Options.threshold
        nested = (_shown(values) if summed else values).tolist()
        numbers = _Numbers(_flat(nested), values.dtype.is_floating_point)
        text = "tensor(" + _body(nested, tuple(x.shape), _INDENT, numbers, summed)
    used = len(text) - text.rfind("\n") + 1
    for suffix in _suffixes(x):
        if used + len(suffix) + 2 > _Options.linewidth:
            text += ",\n" + " " * _INDENT + suffix
            used = _INDENT + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"
