"""MultiheadAttention, with PyTorch's parameters."""
from weft import _core
from weft.nn import init
from weft.nn.functional_module import placed
from weft.nn.functions.attention import attention_of_heads, projected
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
        projections = projected(
            (query, key, value), self.in_proj_weight,
            (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight), self.in_proj_bias)
        mixed, weights = attention_of_heads(
            "MultiheadAttention", projections, self.num_heads, bias_k=self.bias_k,
            bias_v=self.bias_v, add_zero_attn=self.add_zero_attn,
            dropout_p=self.dropout if self.training else 0.0, key_padding_mask=key_padding_mask,
            need_weights=need_weights, attn_mask=attn_mask,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        output = self.out_proj(mixed)
        if single:
            return output.squeeze(0), None if weights is None else weights.squeeze(0)
        return (output if self.batch_first else output.transpose(0, 1)), weights


def _xavier(rows, columns):
    return Parameter(init.xavier_uniform_(_core.empty(rows, columns)))
