"""A character LSTM with packed sequences: names of months and days, generated letter by letter."""
import numpy as np
import weft as torch
import weft.nn as nn
from first_values import set_first_values
from weft.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

NAMES = ("january february march april may june july august september october november december "
         "monday tuesday wednesday thursday friday saturday sunday").split()
LETTERS = "." + "abcdefghijklmnopqrstuvwxyz"


class CharRNN(nn.Module):
    def __init__(self, vocabulary, embedding=12, hidden=24, layers=2):
        super().__init__()
        self.encoder = nn.Embedding(vocabulary, embedding)
        self.rnn = nn.LSTM(embedding, hidden, layers, batch_first=True)
        self.decoder = nn.Linear(hidden, vocabulary)

    def forward(self, x, lengths, state=None):
        packed = pack_padded_sequence(self.encoder(x), lengths, batch_first=True,
                                      enforce_sorted=False)
        output, state = self.rnn(packed, state)
        output, _ = pad_packed_sequence(output, batch_first=True)
        return self.decoder(output), state


def tensor_of(text):
    return torch.tensor([LETTERS.index(letter) for letter in text])


def batches(count, size=8):
    generator = np.random.RandomState(0)
    for _ in range(count):
        words = [NAMES[i] for i in generator.randint(0, len(NAMES), size)]
        inputs = pad_sequence([tensor_of("." + word) for word in words], batch_first=True)
        targets = pad_sequence([tensor_of(word + ".") for word in words], batch_first=True,
                               padding_value=-100)
        yield inputs, targets, [len(word) + 1 for word in words]


def generate(model, first, longest=12):
    model.eval()
    name, state = first, None
    with torch.no_grad():
        text = "." + first
        while len(name) < longest:
            output, state = model(tensor_of(text).unsqueeze(0), [len(text)], state)
            text = LETTERS[output[0, -1].argmax().item()]
            if text == ".":
                break
            name += text
    return name


def main(steps=50):
    model = set_first_values(CharRNN(len(LETTERS)), 1)
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for inputs, targets, lengths in batches(steps):
        optimizer.zero_grad()
        output, _ = model(inputs, lengths)
        loss = criterion(output.reshape(-1, len(LETTERS)), targets.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    print(generate(model, "s"), generate(model, "j"))
    return losses


if __name__ == "__main__":
    main()
