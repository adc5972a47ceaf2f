"""Sine waves predicted by two LSTM cells, trained by LBFGS in float64."""
import numpy as np
import weft as torch
import weft.nn as nn
import weft.optim as optim
from first_values import set_first_values


class Sequence(nn.Module):
    def __init__(self, hidden=8):
        super(Sequence, self).__init__()
        self.hidden = hidden
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t, c_t, h_t2, c_t2 = (torch.zeros(input.size(0), self.hidden, dtype=torch.double)
                                for _ in range(4))
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def main(steps=50):
    shifts = np.random.RandomState(2).randint(-10, 10, (6, 1))
    data = np.sin((np.arange(16) + shifts) / 3.0)
    input, target = torch.from_numpy(data[1:, :-1]), torch.from_numpy(data[1:, 1:])
    test_input, test_target = torch.from_numpy(data[:1, :-1]), torch.from_numpy(data[:1, 1:])
    seq = set_first_values(Sequence(), 1).double()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.3, max_iter=5)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(input), target)
        losses.append(loss.item())
        loss.backward()
        return loss

    while len(losses) < steps:
        optimizer.step(closure)
    with torch.no_grad():
        pred = seq(test_input, future=5)
        loss = criterion(pred[:, :-5], test_target)
    losses.append(loss.item())
    print("test loss: {:.5f}".format(loss.item()))
    return losses


if __name__ == "__main__":
    main()
