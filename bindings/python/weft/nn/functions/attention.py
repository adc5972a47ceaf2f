"""Attention, and the functions behind nn.MultiheadAttention."""
from weft import _core
from weft._names._table import refuse
from weft.nn.functions.conv import pad
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


def projected(inputs, in_proj_weight, separate_weights, in_proj_bias):
    """Query, key and value by their own weights, or by the parts of one that has them below each
    other."""
    weights = separate_weights if in_proj_weight is None else _thirds(in_proj_weight)
    biases = (None,) * 3 if in_proj_bias is None else _thirds(in_proj_bias)
    return [_core.linear(*each) for each in zip(inputs, weights, biases)]


def _thirds(rows):
    count = rows.shape[0] // 3
    return [rows[part * count:(part + 1) * count] for part in range(3)]


def _check_masks(name, attn_mask, key_padding_mask, counts):
    """`counts`: of batches, heads, queries and keys."""
    batches, heads, queries, keys = counts
    for argument, mask, shapes in (
            ("attn_mask", attn_mask, ((queries, keys), (batches * heads, queries, keys))),
            ("key_padding_mask", key_padding_mask, ((batches, keys),))):
        if mask is not None and tuple(mask.shape) not in shapes:
            raise refuse(name, f"{argument} of shape "
                         f"{' or '.join(str(list(each)) for each in shapes)}", list(mask.shape))


def _with_more_keys(k, v, mask, bias_k, bias_v, add_zero_attn):
    """Keys and values [N, S, E] with the learned one and the one of zeros behind them."""
    extra = [] if bias_k is None else [(bias_k, bias_v)]
    if add_zero_attn:
        extra.append([_core.zeros(1, 1, k.shape[-1], dtype=k.dtype)] * 2)
    for more_k, more_v in extra:
        k = _core.cat([k, more_k.expand(k.shape[0], 1, -1)], 1)
        v = _core.cat([v, more_v.expand(v.shape[0], 1, -1)], 1)
    if mask is not None and extra:
        mask = pad(mask, (0, len(extra)))
    return k, v, mask


def attention_of_heads(name, projections, num_heads, *, bias_k=None, bias_v=None,
                       add_zero_attn=False, dropout_p=0.0, key_padding_mask=None,
                       need_weights=True, attn_mask=None, average_attn_weights=True,
                       is_causal=False):
    """(values, weights) for the projected query, key and value [N, T, E]: the values [N, T, E] have
    not gone through the output's projection. `name` is that of the caller in errors."""
    q, k, v = projections
    _check_masks(name, attn_mask, key_padding_mask,
                 (q.shape[0], num_heads, q.shape[1], k.shape[1]))
    mask = joined_mask(attn_mask, key_padding_mask, num_heads, q.dtype)
    k, v, mask = _with_more_keys(k, v, mask, bias_k, bias_v, add_zero_attn)
    q, k, v = (x.reshape(x.shape[0], x.shape[1], num_heads, -1).transpose(1, 2) for x in (q, k, v))
    causal = is_causal and attn_mask is None
    weights = None
    if need_weights:
        weights = dropout(attention_weights(q, k, mask, causal), dropout_p)
        mixed = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        mixed = scaled_dot_product_attention(q, k, v, mask, dropout_p, causal)
    return mixed.transpose(1, 2).flatten(2), weights


def _rows_of_static(name, argument, static, batches, num_heads, width):
    """[N * heads, S, E / heads] as [N, S, E]."""
    if static.ndim != 3 or static.shape[0] != batches * num_heads or static.shape[2] != width:
        raise refuse(name, f"{argument} [{batches * num_heads}, S, {width}]", list(static.shape))
    heads = static.reshape(batches, num_heads, static.shape[1], width)
    return heads.transpose(1, 2).flatten(2)


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight,
                                 in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
                                 out_proj_weight, out_proj_bias, training=True,
                                 key_padding_mask=None, need_weights=True, attn_mask=None,
                                 use_separate_proj_weight=False, q_proj_weight=None,
                                 k_proj_weight=None, v_proj_weight=None, static_k=None,
                                 static_v=None, average_attn_weights=True, is_causal=False):
    """What nn.MultiheadAttention computes, with its parameters as arguments: of query [T, N, E],
    key [S, N, kdim] and value [S, N, vdim], or of those without N. static_k and static_v
    [N * num_heads, S, E / num_heads] take the place of projected keys and values."""
    name = "multi_head_attention_forward"
    if query.ndim not in (2, 3) or query.shape[-1] != embed_dim_to_check:
        raise refuse(name, f"a query [T, N, {embed_dim_to_check}] or [T, {embed_dim_to_check}]",
                     list(query.shape))
    if num_heads < 1 or embed_dim_to_check % num_heads != 0:
        raise refuse(name, f"num_heads that divide embed_dim={embed_dim_to_check}", num_heads)
    if (bias_k is None) != (bias_v is None):
        raise refuse(name, "bias_k and bias_v, or none of them", "one")
    single = query.ndim == 2
    inputs = [x.unsqueeze(0) if single else x.transpose(0, 1) for x in (query, key, value)]
    if single and key_padding_mask is not None:
        key_padding_mask = key_padding_mask.unsqueeze(0)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    if use_separate_proj_weight and any(each is None for each in separate):
        raise refuse(name, "q_proj_weight, k_proj_weight and v_proj_weight, as "
                     "use_separate_proj_weight=True", "None")
    projections = projected(inputs, None if use_separate_proj_weight else in_proj_weight, separate,
                            in_proj_bias)
    for place, (argument, static) in enumerate((("static_k", static_k), ("static_v", static_v)), 1):
        if static is not None:
            projections[place] = _rows_of_static(name, argument, static, inputs[0].shape[0],
                                                 num_heads, embed_dim_to_check // num_heads)
    mixed, weights = attention_of_heads(
        name, projections, num_heads, bias_k=bias_k, bias_v=bias_v, add_zero_attn=add_zero_attn,
        dropout_p=dropout_p if training else 0.0, key_padding_mask=key_padding_mask,
        need_weights=need_weights, attn_mask=attn_mask, average_attn_weights=average_attn_weights,
        is_causal=is_causal)
    output = _core.linear(mixed, out_proj_weight, out_proj_bias)
    if single:
        return output.squeeze(0), None if weights is None else weights.squeeze(0)
    return output.transpose(0, 1), weights
