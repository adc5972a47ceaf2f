"""Layers with parameters, with PyTorch's names and first values."""
import math

from weft import _core
from weft.nn import functional as F
from weft.nn import init
from weft.nn.functional_module import placed
from weft.nn.functions.sparse import note_dense
from weft.nn.module import Module
from weft.nn.parameter import Parameter


def expect(holds, layer, expected, got):
    """Refuses a setting of a layer."""
    if not holds:
        raise _core.InvalidArgumentError(f"[{layer}] expected {expected}, got {got}")


def whole(layer, least=1, **settings):
    """Refuses settings that are no whole numbers, or too small."""
    for name, value in settings.items():
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{layer}(): argument '{name}' must be int, got {type(value).__name__}")
        expect(value >= least, layer, f"{name} of at least {least}", value)


def wholes(layer, least=1, **settings):
    """The same of numbers, or of tuples of them."""
    for name, value in settings.items():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, bool) or not hasattr(each, "__index__"):
                raise TypeError(f"{layer}(): argument '{name}' must be int or a tuple of them, got "
                                f"{type(each).__name__}")
            expect(each >= least, layer, f"{name} of at least {least}", value)


def uniform(shape, fan_in):
    """A parameter with PyTorch's first values of weights and biases."""
    return Parameter(draw(_core.empty(shape), fan_in))


def draw(tensor, fan_in):
    """Those values, written into a tensor."""
    bound = 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    return init.uniform_(tensor, -bound, bound)


class Identity(Module):
    """x as it is."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):  # noqa: A002
        return input


class Linear(Module):
    """[..., in_features] to [..., out_features]: x weight^T + bias."""

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        whole("Linear", 0, in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = uniform((out_features, in_features), in_features)
        self.register_parameter("bias", uniform((out_features,), in_features) if bias else None)
        placed(self, device, dtype)

    def reset_parameters(self):
        """New first values."""
        for parameter in self.parameters(recurse=False):
            draw(parameter, self.in_features)

    def forward(self, input):  # noqa: A002
        return F.linear(input, self.weight, self.bias)

    def forward_relu(self, input):  # noqa: A002
        """forward() and then ReLU, in one pass over memory."""
        return F.linear(input, self.weight, self.bias, relu=True)

    def extra_repr(self):
        return (f"in_features={self.in_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")


class Bilinear(Module):
    """x1^T W x2 + bias, with a matrix W for each output."""

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None,
                 dtype=None):
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self.weight = uniform((out_features, in1_features, in2_features), in1_features)
        self.register_parameter("bias", uniform((out_features,), in1_features) if bias else None)
        placed(self, device, dtype)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
                f"out_features={self.out_features}, bias={self.bias is not None}")


class Embedding(Module):
    """Whole numbers [...] to learned rows [..., embedding_dim].

    `sparse` is taken with a warning: gradients are dense here."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None,
                 norm_type=2.0, scale_grad_by_freq=False, sparse=False, _weight=None, device=None,
                 dtype=None):
        super().__init__()
        whole(type(self).__name__, 0, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            expect(-num_embeddings <= padding_idx < num_embeddings, "Embedding",
                   f"padding_idx within {num_embeddings} rows", padding_idx)
            padding_idx %= num_embeddings
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        note_dense(sparse, type(self).__name__)
        if _weight is not None:
            expect(tuple(_weight.shape) == (num_embeddings, embedding_dim), "Embedding",
                   f"a weight of shape {[num_embeddings, embedding_dim]}", list(_weight.shape))
            self.weight = Parameter(_weight)
        else:
            self.weight = Parameter(_core.empty(num_embeddings, embedding_dim))
            self.reset_parameters()
        placed(self, device, dtype)

    def reset_parameters(self):
        """New first values."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.detach()[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, **settings):
        """A layer on the rows of `embeddings`, which are trained unless `freeze`."""
        expect(embeddings.ndim == 2, cls.__name__, "rows of two axes", list(embeddings.shape))
        made = cls(embeddings.shape[0], embeddings.shape[1], _weight=embeddings, **settings)
        made.weight.requires_grad_(not freeze)
        return made

    def forward(self, input):  # noqa: A002
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq)

    def extra_repr(self):
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in (("padding_idx", None), ("max_norm", None), ("norm_type", 2.0),
                            ("scale_grad_by_freq", False), ("sparse", False)):
            value = getattr(self, name)
            if value is not usual and value != usual:
                text += f", {name}={value}"
        return text


class EmbeddingBag(Embedding):
    """The sum, mean or maximum of the rows of each bag of whole numbers."""

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, mode="mean", sparse=False, _weight=None,
                 include_last_offset=False, padding_idx=None, device=None, dtype=None):
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type,
                         scale_grad_by_freq, sparse, _weight, device, dtype)
        expect(mode in ("sum", "mean", "max"), "EmbeddingBag", "the mode sum, mean or max", mode)
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(self, input, offsets=None, per_sample_weights=None):  # noqa: A002
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type,
                               self.scale_grad_by_freq, self.mode, False, per_sample_weights,
                               self.include_last_offset, self.padding_idx)

    def extra_repr(self):
        return super().extra_repr() + f", mode={self.mode}"


class Flatten(Module):
    """The axes from start_dim to end_dim as one."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):  # noqa: A002
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis as several, of the sizes `unflattened_size`."""

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input):  # noqa: A002
        dim = self.dim % input.ndim
        return input.reshape(*input.shape[:dim], *self.unflattened_size, *input.shape[dim + 1:])

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
