"""Functions of layers, with PyTorch's names; shapes stand in each one's documentation."""
import warnings

from weft import _core
from weft._core import (  # noqa: F401
    adaptive_avg_pool2d, adaptive_max_pool2d, avg_pool2d, batch_norm, binary_cross_entropy,
    binary_cross_entropy_with_logits, conv1d, conv2d, conv_transpose2d, cosine_similarity,
    cross_entropy, elu, embedding, gelu, group_norm, hardtanh, interpolate, kl_div, l1_loss,
    layer_norm, leaky_relu, linear, logsigmoid, max_pool2d, mish, mse_loss, nll_loss, one_hot,
    rms_norm, softplus, softsign)

_relu, _silu, _softmax = _core.relu, _core.silu, _core.softmax
_log_softmax = _core.log_softmax
sigmoid, tanh = _core.sigmoid, _core.tanh


def relu(input, inplace=False):  # noqa: A002
    """max(x, 0); `inplace` changes nothing, as the result is new either way."""
    return _relu(input)


def silu(input, inplace=False):  # noqa: A002
    """x sigmoid(x)."""
    return _silu(input)


def _chosen(name, input, dim, stacklevel):  # noqa: A002
    """`dim`, or the one that PyTorch chooses where none is given: its old rule, with a warning."""
    if dim is not None:
        return dim
    chosen = 0 if input.ndim in (0, 1, 3) else 1
    warnings.warn(f"{name}() without dim takes dim={chosen} of {input.ndim} axes, as PyTorch does: "
                  f"write dim={chosen}, or dim=-1 for the last", stacklevel=stacklevel)
    return chosen


def softmax(input, dim=None, _stacklevel=3, dtype=None):  # noqa: A002
    """e^x over its sum along `dim`."""
    dim = _chosen("softmax", input, dim, _stacklevel)
    return _softmax(input if dtype is None else input.to(dtype), dim)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):  # noqa: A002
    """The logarithm of softmax()."""
    dim = _chosen("log_softmax", input, dim, _stacklevel)
    return _log_softmax(input if dtype is None else input.to(dtype), dim)


def dropout(input, p=0.5, training=True, inplace=False):  # noqa: A002
    """In training zeroes values with probability p and scales the rest by 1 / (1 - p)."""
    if not 0.0 <= p <= 1.0:
        raise _core.InvalidArgumentError(f"[dropout] expected p in [0, 1], got {p}")
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return input * 0.0
    return _core._dropout(input, p)


def normalize(input, p=2.0, dim=1, eps=1e-12):  # noqa: A002
    """x over its norm along `dim`."""
    return input / input.norm(p, dim, True).clamp(min=eps)


def pad(input, pad, mode="constant", value=0.0):  # noqa: A002
    """Padding of the last axes: (left, right, top, bottom, ...), the last axis first."""
    return _core._pad(input, list(pad), mode, value)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0,
                                 is_causal=False, scale=None):
    """softmax(q k^T scale + mask) v for [B, heads, tokens, D]."""
    if dropout_p == 0.0:
        return _core.scaled_dot_product_attention(query, key, value, attn_mask,
                                                  is_causal=is_causal, scale=scale)
    weights = dropout(attention_weights(query, key, attn_mask, is_causal, scale), dropout_p)
    return weights @ value


def attention_weights(query, key, attn_mask=None, is_causal=False, scale=None):
    """softmax(q k^T scale + mask), the shares of each key; all 0 for a query that may read none."""
    scale = max(query.shape[-1], 1) ** -0.5 if scale is None else scale
    scores = (query * scale) @ key.transpose(-2, -1)
    later = None
    if is_causal:
        later = _core.ones((query.shape[-2], key.shape[-2])).triu(1).bool()
        scores = scores.masked_fill(later, -float("inf"))
    if attn_mask is None:
        return _softmax(scores, -1)
    if attn_mask.dtype is getattr(_core, "bool"):
        hidden = ~attn_mask
        scores = scores.masked_fill(hidden, -float("inf"))
    else:
        hidden = attn_mask == -float("inf")
        scores = scores + attn_mask
    without_keys = (hidden if later is None else hidden | later).all(-1, True)
    if not without_keys.any():
        return _softmax(scores, -1)
    # Softmax of nothing but -infinity is NaN, and so would be the gradients of all queries.
    return _softmax(scores.masked_fill(without_keys, 0.0), -1).masked_fill(without_keys, 0.0)
