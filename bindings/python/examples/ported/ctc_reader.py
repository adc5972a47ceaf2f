"""A convolutional and recurrent reader of lines of symbols, trained by CTC."""
import numpy as np
import weft as torch
import weft.nn as nn
from first_values import set_first_values
from weft.optim import Adadelta
from weft.optim.lr_scheduler import ReduceLROnPlateau


class CRNN(nn.Module):
    def __init__(self, symbols, hidden=16):
        super(CRNN, self).__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.InstanceNorm2d(8, affine=True), nn.ReLU(True),
            nn.MaxPool2d((2, 2)),
            nn.Conv2d(8, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.Hardswish(),
            nn.AvgPool2d((4, 1)))
        self.rnn = nn.GRU(16, hidden, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, symbols + 1)

    def forward(self, x):
        features = self.cnn(x).squeeze(2).permute(2, 0, 1)
        output, _ = self.rnn(features)
        return self.fc(output).log_softmax(2)


def lines(random, glyphs, size=8):
    """Pictures [8, 24] of three or four glyphs, each 8 by 6, and their numbers."""
    targets, pictures = [], np.zeros((size, 1, 8, 24), np.float32)
    for picture in pictures:
        numbers = random.randint(1, len(glyphs) + 1, random.randint(3, 5))
        targets.append(numbers)
        for i, number in enumerate(numbers):
            picture[0, :, 6 * i:6 * i + 6] = glyphs[number - 1]
    pictures += 0.1 * random.standard_normal(pictures.shape).astype(np.float32)
    return torch.from_numpy(pictures), targets


def main(steps=50):
    random = np.random.RandomState(3)
    glyphs = random.rand(5, 8, 6)
    model = set_first_values(CRNN(len(glyphs)), 1)
    criterion = nn.CTCLoss(blank=0, zero_infinity=True)
    optimizer = Adadelta(model.parameters(), lr=1.0)
    scheduler = ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=3)
    losses = []
    for step in range(steps):
        pictures, targets = lines(random, glyphs)
        output = model(pictures)
        input_lengths = torch.full((output.size(1),), output.size(0), dtype=torch.long)
        target_lengths = torch.tensor([len(target) for target in targets])
        loss = criterion(output, torch.from_numpy(np.concatenate(targets)), input_lengths,
                         target_lengths)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
        scheduler.step(loss.item())
        losses.append(loss.item())
    print("loss {:.3f} -> {:.3f}, rate {}".format(losses[0], losses[-1],
                                                  optimizer.param_groups[0]["lr"]))
    return losses


if __name__ == "__main__":
    main()
