"""A transformer encoder that classifies padded sequences, with a warm-up."""
import math

import numpy as np
import weft as torch
import weft.nn as nn
from first_values import set_first_values
from weft.optim.lr_scheduler import LambdaLR


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=64):
        super(PositionalEncoding, self).__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).float().unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        x = x + self.pe[:, :x.size(1)]
        return self.dropout(x)


class TransformerClassifier(nn.Module):
    def __init__(self, vocabulary, classes, d_model=16, heads=4, layers=2, dropout=0.0):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d_model, padding_idx=0)
        self.position = PositionalEncoding(d_model, dropout)
        layer = nn.TransformerEncoderLayer(d_model, heads, dim_feedforward=32, dropout=dropout,
                                           batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=layers)
        self.fc = nn.Linear(d_model, classes)

    def forward(self, x):
        padding = x == 0
        h = self.position(self.embedding(x) * math.sqrt(16))
        h = self.encoder(h, src_key_padding_mask=padding)
        kept = (~padding).unsqueeze(-1).float()
        return self.fc((h * kept).sum(dim=1) / kept.sum(dim=1))


def batches(count, size=16, longest=12):
    """Sequences of numbers; the class says which third of the vocabulary most come from."""
    generator = np.random.RandomState(0)
    for _ in range(count):
        labels = generator.randint(0, 3, size)
        tokens = generator.randint(1, 31, (size, longest))
        often = generator.rand(size, longest) < 0.6
        tokens = np.where(often, 1 + 10 * labels[:, None] + tokens % 10, tokens)
        lengths = generator.randint(4, longest + 1, size)
        tokens[np.arange(longest)[None, :] >= lengths[:, None]] = 0
        yield torch.from_numpy(tokens), torch.from_numpy(labels)


def main(steps=50):
    model = set_first_values(TransformerClassifier(31, 3), 2)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    scheduler = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    losses = []
    for tokens, labels in batches(steps):
        optimizer.zero_grad()
        loss = criterion(model(tokens), labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    print("loss {:.3f} -> {:.3f}".format(losses[0], losses[-1]))
    return losses


if __name__ == "__main__":
    main()
