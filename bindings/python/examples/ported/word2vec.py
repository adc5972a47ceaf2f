"""Skip-gram with negative sampling over a small text; samples are drawn by NumPy."""
import numpy as np
import weft as torch
import weft.nn as nn
import weft.nn.functional as F
from first_values import set_first_values

TEXT = ("the quick brown fox jumps over the lazy dog while the slow red fox sleeps under the old "
        "tree and the small dog runs around the old house near the quiet river").split()


class SkipGram(nn.Module):
    def __init__(self, vocab_size, embedding_dim):
        super(SkipGram, self).__init__()
        self.u_embeddings = nn.Embedding(vocab_size, embedding_dim, sparse=True)
        self.v_embeddings = nn.Embedding(vocab_size, embedding_dim, sparse=True)

    def forward(self, u_pos, v_pos, v_neg):
        embed_u = self.u_embeddings(u_pos)
        score = F.logsigmoid(torch.sum(embed_u * self.v_embeddings(v_pos), dim=1))
        neg_score = torch.bmm(self.v_embeddings(v_neg), embed_u.unsqueeze(2)).squeeze(2)
        neg_score = F.logsigmoid(-neg_score).sum(dim=1)
        return -(score + neg_score).mean()

    def input_embeddings(self):
        return self.u_embeddings.weight.data.cpu().numpy()


def pairs(words, window=2):
    return [(words[i], words[j]) for i in range(len(words))
            for j in range(max(0, i - window), min(len(words), i + window + 1)) if i != j]


def main(steps=50):
    vocab = sorted(set(TEXT))
    word_to_ix = {word: i for i, word in enumerate(vocab)}
    data = np.array(pairs([word_to_ix[word] for word in TEXT]))
    generator = np.random.RandomState(0)
    model = set_first_values(SkipGram(len(vocab), 10), 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    losses = []
    for step in range(steps):
        batch = data[generator.randint(0, len(data), 32)]
        negative = generator.randint(0, len(vocab), (32, 5))
        pos_u, pos_v = torch.from_numpy(batch[:, 0]), torch.from_numpy(batch[:, 1])
        optimizer.zero_grad()
        loss = model(pos_u, pos_v, torch.from_numpy(negative))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    vectors = model.input_embeddings()
    near = vectors @ vectors[word_to_ix["fox"]]
    print("near fox:", [vocab[i] for i in near.argsort()[::-1][:3]])
    return losses


if __name__ == "__main__":
    main()
