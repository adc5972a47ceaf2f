"""MultiheadAttention, with PyTorch's parameters."""
from weft import _core
from weft.nn import functional as F
from weft.nn import init
from weft.nn.layers import Linear
from weft.nn.module import Module
from weft.nn.parameter import Parameter


class MultiheadAttention(Module):
    """Attention of `num_heads` heads over vectors of length `embed_dim`.

    Takes query [T, N, E], key and value [S, N, E]; with batch_first [N, T, E] and [N, S, E]. Gives
    (output, weights), weights None unless need_weights. Of a bool mask, as in PyTorch, True says
    which keys are left out."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, batch_first=False):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise _core.InvalidArgumentError(
                f"[MultiheadAttention] expected heads that divide {embed_dim}, got {num_heads}")
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.dropout, self.batch_first = dropout, batch_first
        self.in_proj_weight = Parameter(init.xavier_uniform_(_core.empty(3 * embed_dim, embed_dim)))
        self.register_parameter("in_proj_bias",
                                Parameter(_core.zeros(3 * embed_dim)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if bias:
            init.zeros_(self.out_proj.bias)

    def _heads(self, x, part):
        width = self.embed_dim
        rows = slice(part * width, (part + 1) * width)
        bias = None if self.in_proj_bias is None else self.in_proj_bias[rows]
        y = F.linear(x, self.in_proj_weight[rows], bias)
        return y.reshape(y.shape[0], y.shape[1], self.num_heads, -1).transpose(1, 2)

    def _mask(self, attn_mask, key_padding_mask, dtype):
        """Both masks as one of `dtype` to add to the scores, or None."""
        mask = None
        if attn_mask is not None:
            mask = _added(attn_mask, dtype)
            if mask.ndim == 3:
                mask = mask.reshape(-1, self.num_heads, *mask.shape[1:])
        if key_padding_mask is not None:
            padding = _added(key_padding_mask, dtype)[:, None, None, :]
            mask = padding if mask is None else mask + padding
        return mask

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        if not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        q, k, v = (self._heads(x, part) for part, x in enumerate((query, key, value)))
        mask = self._mask(attn_mask, key_padding_mask, q.dtype)
        causal = is_causal and attn_mask is None
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            weights = F.attention_weights(q, k, mask, causal)
            mixed = F.dropout(weights, dropout) @ v
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, mask, dropout, causal)
        output = self.out_proj(mixed.transpose(1, 2).flatten(2))
        return (output if self.batch_first else output.transpose(0, 1)), weights


def _added(mask, dtype):
    """A mask of PyTorch's kind, bool (True: left out) or numbers to add, as numbers to add."""
    if mask.dtype is not getattr(_core, "bool"):
        return mask
    return _core.where(mask, _core.full(mask.shape, -float("inf"), dtype=dtype),
                       _core.zeros(mask.shape, dtype=dtype))
