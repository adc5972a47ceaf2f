"""Trainings on sequences: a GPT whose blocks are checkpointed, a language model with padding."""
import math

import numpy as np

from trainings import STEPS, checkpoint, floats, give_weights, gradients

WORDS, WIDTH, HEADS, TOKENS, BATCH = 11, 16, 2, 8, 4


def heads_of(x):
    """[B, tokens, WIDTH] to [B, HEADS, tokens, WIDTH / HEADS]."""
    return x.reshape(x.shape[0], x.shape[1], HEADS, -1).transpose(1, 2)


def make_block(T, drop):
    """A block of a GPT; `drop(x)` stands where dropout does."""
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            q, k, v = (heads_of(part) for part in self.qkv(self.norm1(x)).chunk(3, 2))
            scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH / HEADS)
            later = T.ones(x.shape[1], x.shape[1]).triu(1) > 0
            shares = drop(F.softmax(scores.masked_fill(later, -float("inf")), dim=-1))
            x = x + drop(self.out((shares @ v).transpose(1, 2).flatten(2)))
            return x + drop(self.down(F.gelu(self.up(self.norm2(x)))))

    return Block()


class GivenMasks:
    """Dropout by masks that were drawn before: a block that runs again finds the same ones."""

    def __init__(self, T, p):
        self._library, self._p, self._masks = T, p, {}

    def draw(self, draws):
        """New masks, one for each shape of a step."""
        for shape in ((BATCH, HEADS, TOKENS, TOKENS), (BATCH, TOKENS, WIDTH)):
            kept = draws.uniform(size=shape) >= self._p
            self._masks[shape] = floats(self._library, kept / (1 - self._p))

    def __call__(self, x):
        return x * self._masks[tuple(x.shape)]


def make_gpt(T, drop, checkpointed=True):
    """Two blocks between a table of words and the same table as the last layer."""
    nn, F = T.nn, T.nn.functional

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
            self.blocks = nn.ModuleList([make_block(T, drop) for _ in range(2)])
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, tokens):
            x = drop(self.words(tokens) + self.places(T.arange(tokens.shape[1])))
            for block in self.blocks:
                x = checkpoint(T, block, x) if checkpointed else block(x)
            return F.linear(self.norm(x), self.words.weight)

    return GPT()


def sentences(draws):
    """[BATCH, TOKENS + 1] words, each some step beyond the one before."""
    first, step = draws.randint(0, WORDS, (BATCH, 1)), draws.randint(1, 4, (BATCH, 1))
    return (first + step * np.arange(TOKENS + 1)) % WORDS


def gpt_checkpointed(T):
    """Blocks are computed again in the backward pass, gradients clipped, weights decayed."""
    draws = np.random.RandomState(4)
    drop = GivenMasks(T, 0.2)
    model = give_weights(T, make_gpt(T, drop), draws)
    optimizer = T.optim.AdamW(model.parameters(), lr=2e-3, eps=1e-5, weight_decay=0.1)
    for _ in range(STEPS):
        drop.draw(draws)
        words = T.tensor(sentences(draws))
        logits = model(words[:, :-1])
        loss = T.nn.functional.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = T.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        found = gradients(model)
        optimizer.step()
        yield [loss.item(), float(norm)], found


def language_with_padding(T):
    """Sentences of all lengths. Every seventh batch is nothing but padding: its loss is the mean
    over no words, NaN, its gradients are 0, and momentum still moves the weights."""
    nn, F, draws = T.nn, T.nn.functional, np.random.RandomState(5)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(WORDS + 1, WIDTH, padding_idx=WORDS)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WORDS)
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, tokens):
            q, k, v = (heads_of(part) for part in self.qkv(self.words(tokens)).chunk(3, 2))
            scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH / HEADS)
            scores = scores.masked_fill((tokens == WORDS)[:, None, None, :], -1e9)
            mixed = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).flatten(2)
            return self.out(T.tanh(self.norm(mixed)))

    model = give_weights(T, Model(), draws)
    with T.no_grad():
        model.words.weight[WORDS] = 0.0
    optimizer = T.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    for step in range(STEPS):
        words = sentences(draws)
        lengths = draws.randint(1, TOKENS + 2, (BATCH, 1)) * (step % 7 != 6)
        words[np.arange(TOKENS + 1) >= lengths] = WORDS
        targets = np.where(words[:, 1:] == WORDS, -100, words[:, 1:])
        logits = model(T.tensor(np.ascontiguousarray(words[:, :-1])))
        loss = F.cross_entropy(logits.transpose(1, 2), T.tensor(targets), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        found = gradients(model)
        optimizer.step()
        yield [loss.item()], found
