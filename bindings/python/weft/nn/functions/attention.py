"""Attention, and the function behind nn.MultiheadAttention."""
from weft import _core
from weft.nn.functions.regular import dropout


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
        return _core.softmax(scores, -1)
    if attn_mask.dtype is getattr(_core, "bool"):
        hidden = ~attn_mask
        scores = scores.masked_fill(hidden, -float("inf"))
    else:
        hidden = attn_mask == -float("inf")
        scores = scores + attn_mask
    without_keys = (hidden if later is None else hidden | later).all(-1, True)
    if not without_keys.any():
        return _core.softmax(scores, -1)
    # Softmax of nothing but -infinity is NaN, and so would be the gradients of all queries.
    return _core.softmax(scores.masked_fill(without_keys, 0.0), -1).masked_fill(without_keys, 0.0)


def added_mask(mask, dtype):
    """A mask of PyTorch's kind, bool (True: left out) or numbers to add, as numbers to add."""
    if mask.dtype is not getattr(_core, "bool"):
        return mask
    return _core.where(mask, _core.full(mask.shape, -float("inf"), dtype=dtype),
                       _core.zeros(mask.shape, dtype=dtype))


def joined_mask(attn_mask, key_padding_mask, heads, dtype):
    """Both masks of MultiheadAttention as one to add to scores [N, heads, T, S], or None."""
    mask = None
    if attn_mask is not None:
        mask = added_mask(attn_mask, dtype)
        if mask.ndim == 3:
            mask = mask.reshape(-1, heads, *mask.shape[1:])
    if key_padding_mask is not None:
        padding = added_mask(key_padding_mask, dtype)[:, None, None, :]
        mask = padding if mask is None else mask + padding
    return mask
