"""A GPT that learns the next letter of a text, with a normalising layer and a gradient of its own."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

TEXT = "the quick brown fox jumps over the lazy dog; the lazy dog sleeps on, quick as it is not. "


class ScaledTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        ctx.scale = scale
        return y * scale

    @staticmethod
    def backward(ctx, grad):
        y, = ctx.saved_tensors
        return grad * ctx.scale * (1 - y * y), None


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = RMSNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = (t.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
                   for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        later = torch.triu(torch.ones(tokens, tokens), diagonal=1).bool()
        shares = F.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        x = x + self.out((shares @ v).transpose(1, 2).reshape(batch, tokens, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, width=32, heads=4, layers=2, context=32):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, x):
        x = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return ScaledTanh.apply(self.head(x), 10.0)


def train(steps, weights=None):
    torch.manual_seed(0)
    letters = sorted(set(TEXT))
    text = np.array([letters.index(letter) for letter in TEXT * 20])
    rng = np.random.default_rng(0)
    model = GPT(len(letters))
    if weights is not None:
        model.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    losses = []
    for _ in range(steps):
        windows = np.stack([text[start:start + 33] for start in rng.integers(0, 1000, 8)])
        x, y = torch.from_numpy(windows[:, :-1].copy()), torch.from_numpy(windows[:, 1:].copy())
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    losses, _ = train(parser.parse_args().steps)
    for step in range(0, len(losses), 20):
        print(f"step {step:4d}  loss {losses[step]:.4f}")
    print(f"loss {losses[-1]:.4f}")
