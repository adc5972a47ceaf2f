#!/usr/bin/env python3
"""Writes sequence.safetensors with PyTorch: recurrent layers, attention and models of text.

usage: make_sequence.py [DIRECTORY]     (default: the folder of this script)

Each case holds its parameters (CASE/parameter/NAME), inputs (CASE/input/NAME), what comes out
(CASE/output/NAME) and, for a loss that weighs the first output, all gradients (CASE/gradient/NAME,
"x" is the input). f32.
"""
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from make_golden import write_safetensors


class Cases:
    def __init__(self):
        self.tensors = {}

    def add(self, name, module, x, run, **inputs):
        """`run(x)` gives a dictionary of outputs, the first of which takes the gradient."""
        if x.is_floating_point():
            x.requires_grad_()
        outputs = run(x)
        first = next(iter(outputs.values()))
        weights = 0.5 + 0.1 * (torch.arange(first.numel()) % 11).reshape(first.shape)
        (first * weights).sum().backward()
        for key, value in module.named_parameters():
            self.tensors[f"{name}/parameter/{key}"] = value
            self.tensors[f"{name}/gradient/{key}"] = value.grad
        self.tensors[f"{name}/input/x"] = x
        if x.is_floating_point():
            self.tensors[f"{name}/gradient/x"] = x.grad
        for key, value in inputs.items():
            self.tensors[f"{name}/input/{key}"] = value
        for key, value in outputs.items():
            self.tensors[f"{name}/output/{key}"] = value


def add_recurrent(cases, name, module, state_count):
    """Two layers, both directions, sequences of 5, 2 and 4 steps, batch first."""
    lengths = torch.tensor([5, 2, 4])
    states = [torch.randn(4, 3, 4) * 0.5 for _ in range(state_count)]

    def run(x):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        output, last = module(packed, tuple(states) if state_count == 2 else states[0])
        output = pad_packed_sequence(output, batch_first=True, total_length=5)[0]
        result = {"output": output, "hidden": last[0] if state_count == 2 else last}
        if state_count == 2:
            result["cell"] = last[1]
        return result

    inputs = dict(zip(("hidden", "cell"), states), lengths=lengths)
    cases.add(name, module, torch.randn(3, 5, 3), run, **inputs)


def add_plain_lstm(cases):
    module = nn.LSTM(3, 5, 2, batch_first=True)

    def run(x):
        output, (hidden, cell) = module(x)
        return {"output": output, "hidden": hidden, "cell": cell}

    cases.add("lstm_plain", module, torch.randn(4, 6, 3), run)


def add_attention(cases):
    module = nn.MultiheadAttention(12, 3, batch_first=True)
    nn.init.normal_(module.in_proj_bias)
    nn.init.normal_(module.out_proj.bias)
    mask = torch.ones(7, 7, dtype=torch.bool).triu(1)
    cases.add("multi_head_attention", module, torch.randn(2, 7, 12),
              lambda x: {"output": module(x, x, x, attn_mask=mask, need_weights=False)[0]})


def causal_attention(q, k, v):
    """[N, heads, T, D], from the formula."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v


class Gpt(nn.Module):
    """Names as the model's: transformer.h.0.attn.c_attn.weight, ..."""

    def __init__(self, vocabulary, context, layers, width, heads):
        super().__init__()
        self.heads = heads

        def block():
            return nn.ModuleDict({
                "ln_1": nn.LayerNorm(width),
                "attn": nn.ModuleDict({"c_attn": nn.Linear(width, 3 * width),
                                       "c_proj": nn.Linear(width, width)}),
                "ln_2": nn.LayerNorm(width),
                "mlp": nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width),
                                      "c_proj": nn.Linear(4 * width, width)})})

        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocabulary, width), "wpe": nn.Embedding(context, width),
            "h": nn.ModuleList(block() for _ in range(layers)), "ln_f": nn.LayerNorm(width)})
        self.lm_head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        parts = self.transformer
        x = parts["wte"](tokens) + parts["wpe"](torch.arange(tokens.shape[1]))
        for block in parts["h"]:
            n, t, c = x.shape
            qkv = block["attn"]["c_attn"](block["ln_1"](x)).split(c, 2)
            q, k, v = (y.view(n, t, self.heads, -1).transpose(1, 2) for y in qkv)
            y = causal_attention(q, k, v).transpose(1, 2).reshape(n, t, c)
            x = x + block["attn"]["c_proj"](y)
            x = x + block["mlp"]["c_proj"](F.gelu(block["mlp"]["c_fc"](block["ln_2"](x))))
        return self.lm_head(parts["ln_f"](x))


class RootMeanSquareNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def turn(x):
    """Rotary places of [N, heads, T, D], pairs (i, i + D / 2)."""
    half = x.shape[-1] // 2
    rates = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(x.shape[2], dtype=torch.float64)[:, None] * rates
    cos, sin = angles.cos().float(), angles.sin().float()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Llama(nn.Module):
    def __init__(self, vocabulary, layers, width, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        hidden = (width * 8 // 3 + 31) // 32 * 32
        keys = width // heads * kv_heads

        def linear(inputs, outputs):
            return nn.Linear(inputs, outputs, bias=False)

        def block():
            return nn.ModuleDict({
                "input_layernorm": RootMeanSquareNorm(width),
                "self_attn": nn.ModuleDict({
                    "q_proj": linear(width, width), "k_proj": linear(width, keys),
                    "v_proj": linear(width, keys), "o_proj": linear(width, width)}),
                "post_attention_layernorm": RootMeanSquareNorm(width),
                "mlp": nn.ModuleDict({"gate_proj": linear(width, hidden),
                                      "up_proj": linear(width, hidden),
                                      "down_proj": linear(hidden, width)})})

        self.model = nn.ModuleDict({"embed_tokens": nn.Embedding(vocabulary, width),
                                    "layers": nn.ModuleList(block() for _ in range(layers)),
                                    "norm": RootMeanSquareNorm(width)})
        self.lm_head = linear(width, vocabulary)

    def attend(self, part, x):
        n, t, c = x.shape

        def heads(name, count):
            return part[name](x).view(n, t, count, -1).transpose(1, 2)

        group = self.heads // self.kv_heads
        k = turn(heads("k_proj", self.kv_heads)).repeat_interleave(group, 1)
        v = heads("v_proj", self.kv_heads).repeat_interleave(group, 1)
        y = causal_attention(turn(heads("q_proj", self.heads)), k, v)
        return part["o_proj"](y.transpose(1, 2).reshape(n, t, c))

    def forward(self, tokens):
        x = self.model["embed_tokens"](tokens)
        for block in self.model["layers"]:
            x = x + self.attend(block["self_attn"], block["input_layernorm"](x))
            mlp, y = block["mlp"], block["post_attention_layernorm"](x)
            x = x + mlp["down_proj"](F.silu(mlp["gate_proj"](y)) * mlp["up_proj"](y))
        return self.lm_head(self.model["norm"](x))


class LstmLanguageModel(nn.Module):
    def __init__(self, vocabulary, width, hidden, layers):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


def add_model(cases, name, model):
    cases.add(name, model, torch.randint(0, 11, (2, 7)), lambda x: {"output": model(x)})


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    torch.manual_seed(11)
    cases = Cases()
    both = dict(num_layers=2, bidirectional=True, batch_first=True)
    add_recurrent(cases, "lstm", nn.LSTM(3, 4, **both), 2)
    add_recurrent(cases, "gru", nn.GRU(3, 4, **both), 1)
    add_recurrent(cases, "rnn_tanh", nn.RNN(3, 4, **both), 1)
    add_recurrent(cases, "rnn_relu", nn.RNN(3, 4, nonlinearity="relu", **both), 1)
    add_plain_lstm(cases)
    add_attention(cases)
    add_model(cases, "char_gpt", Gpt(11, 8, 2, 12, 3))
    add_model(cases, "llama", Llama(11, 2, 16, 4, 2))
    add_model(cases, "lstm_lm", LstmLanguageModel(11, 6, 10, 2))
    write_safetensors(folder / "sequence.safetensors", cases.tensors)


if __name__ == "__main__":
    main()
