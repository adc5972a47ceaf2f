"""MultiheadAttention, with PyTorch's parameters."""
from weft import _core
from weft.nn import functional as F
from weft.nn import init
from weft.nn.functional_module import placed
from weft.nn.functions.attention import joined_mask
from weft.nn.layers import Linear, expect
from weft.nn.module import Module
from weft.nn.parameter import Parameter


class MultiheadAttention(Module):
    """Attention of `num_heads` heads over vectors of length `embed_dim`.

    Takes query [T, N, E], key [S, N, kdim] and value [S, N, vdim]; with batch_first [N, T, E] and
    so on; or without N. Gives (output, weights), weights None unless need_weights. Of a bool mask,
    as in PyTorch, True says which keys are left out."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False,
                 add_zero_attn=False, kdim=None, vdim=None, batch_first=False, device=None,
                 dtype=None):
        super().__init__()
        expect(num_heads >= 1 and embed_dim % num_heads == 0, "MultiheadAttention",
               f"num_heads that divide embed_dim={embed_dim}", num_heads)
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        same = self.kdim == self.vdim == embed_dim
        widths = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim,
                  "v_proj_weight": self.vdim}
        if same:
            self.in_proj_weight = _xavier(3 * embed_dim, embed_dim)
        for name, width in widths.items():
            self.register_parameter(name, None if same else _xavier(embed_dim, width))
        if not same:
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias",
                                Parameter(_core.zeros(3 * embed_dim)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if bias:
            init.zeros_(self.out_proj.bias)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, Parameter(init.xavier_normal_(
                _core.empty(1, 1, embed_dim))) if add_bias_kv else None)
        placed(self, device, dtype)

    def _projected(self, x, part):
        rows = slice(part * self.embed_dim, (part + 1) * self.embed_dim)
        weight = (getattr(self, ("q_proj_weight", "k_proj_weight", "v_proj_weight")[part])
                  if self.in_proj_weight is None else self.in_proj_weight[rows])
        return F.linear(x, weight, None if self.in_proj_bias is None else self.in_proj_bias[rows])

    def _heads(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, -1).transpose(1, 2)

    def _with_more_keys(self, k, v, mask):
        """Keys and values [N, S, E] with the learned one and the one of zeros behind them."""
        extra = []
        if self.bias_k is not None:
            extra.append((self.bias_k, self.bias_v))
        if self.add_zero_attn:
            zeros = _core.zeros(1, 1, self.embed_dim, dtype=k.dtype)
            extra.append((zeros, zeros))
        for more_k, more_v in extra:
            k = _core.cat([k, more_k.expand(k.shape[0], 1, -1)], 1)
            v = _core.cat([v, more_v.expand(v.shape[0], 1, -1)], 1)
        if mask is not None and extra:
            mask = F.pad(mask, (0, len(extra)))
        return k, v, mask

    def _check_masks(self, attn_mask, key_padding_mask, queries, keys):
        count, length = queries[0], queries[1]
        for name, mask, shapes in (
                ("attn_mask", attn_mask, ((length, keys), (count * self.num_heads, length, keys))),
                ("key_padding_mask", key_padding_mask, ((count, keys),))):
            expect(mask is None or tuple(mask.shape) in shapes, "MultiheadAttention",
                   f"{name} of shape {' or '.join(str(list(each)) for each in shapes)}",
                   None if mask is None else list(mask.shape))

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        single = query.ndim == 2
        expect(query.ndim in (2, 3) and query.shape[-1] == self.embed_dim, "MultiheadAttention",
               f"a query [T, N, {self.embed_dim}] or [T, {self.embed_dim}]", list(query.shape))
        if single:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        q, k, v = (self._projected(x, part) for part, x in enumerate((query, key, value)))
        self._check_masks(attn_mask, key_padding_mask, q.shape, k.shape[1])
        mask = joined_mask(attn_mask, key_padding_mask, self.num_heads, q.dtype)
        k, v, mask = self._with_more_keys(k, v, mask)
        q, k, v = self._heads(q), self._heads(k), self._heads(v)
        causal = is_causal and attn_mask is None
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            weights = F.dropout(F.attention_weights(q, k, mask, causal), dropout)
            mixed = weights @ v
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, mask, dropout, causal)
        output = self.out_proj(mixed.transpose(1, 2).flatten(2))
        if single:
            return output.squeeze(0), None if weights is None else weights.squeeze(0)
        return (output if self.batch_first else output.transpose(0, 1)), weights


def _xavier(rows, columns):
    return Parameter(init.xavier_uniform_(_core.empty(rows, columns)))
