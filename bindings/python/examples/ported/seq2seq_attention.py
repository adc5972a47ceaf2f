"""Sequence to sequence: a GRU reads numbers, a GRU cell with attention writes them in reverse."""
import numpy as np
import weft as torch
import weft.nn as nn
import weft.nn.functional as F
from first_values import set_first_values
from weft import optim

SYMBOLS, LENGTH, SOS = 8, 5, 8


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.0):
        super(EncoderRNN, self).__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super(BahdanauAttention, self).__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        weights = F.softmax(scores.squeeze(2).unsqueeze(1), dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super(AttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRUCell(2 * hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, encoder_outputs, hidden, target):
        inputs = torch.full((target.size(0),), SOS, dtype=torch.long)
        outputs = []
        for i in range(LENGTH):
            context, _ = self.attention(hidden.unsqueeze(1), encoder_outputs)
            hidden = self.gru(torch.cat((self.embedding(inputs), context.squeeze(1)), dim=1), hidden)
            outputs.append(self.out(hidden))
            inputs = target[:, i]  # teacher forcing
        return F.log_softmax(torch.stack(outputs, dim=1), dim=-1)


def main(steps=50):
    generator = np.random.RandomState(0)
    encoder = set_first_values(EncoderRNN(SYMBOLS, 16), 1)
    decoder = set_first_values(AttnDecoderRNN(16, SYMBOLS + 1), 2)
    encoder_optimizer = optim.Adam(encoder.parameters(), lr=0.01)
    decoder_optimizer = optim.Adam(decoder.parameters(), lr=0.01)
    criterion = nn.NLLLoss()
    losses = []
    for step in range(steps):
        numbers = generator.randint(0, SYMBOLS, (16, LENGTH))
        source, target = torch.from_numpy(numbers), torch.from_numpy(numbers[:, ::-1].copy())
        encoder_optimizer.zero_grad()
        decoder_optimizer.zero_grad()
        outputs, hidden = encoder(source)
        predicted = decoder(outputs, hidden[0], target)
        loss = criterion(predicted.view(-1, predicted.size(-1)), target.reshape(-1))
        loss.backward()
        encoder_optimizer.step()
        decoder_optimizer.step()
        losses.append(loss.item())
    print("loss {:.3f} -> {:.3f}".format(losses[0], losses[-1]))
    return losses


if __name__ == "__main__":
    main()
