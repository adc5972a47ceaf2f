"""A CNN that learns to tell patterns apart beneath noise."""
import argparse

import numpy as np
import weft as torch
from weft import nn
from weft.nn import functional as F
from weft.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout = nn.Dropout(0.0)
        self.fc1 = nn.Linear(32 * 7 * 7, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc2(self.dropout(F.relu(self.fc1(x))))


def patterns(count):
    """Images of ten patterns with noise, the same in every run."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, count)
    images = rng.random((10, 1, 28, 28))[labels] + 0.5 * rng.standard_normal((count, 1, 28, 28))
    return images.astype(np.float32), labels


def train(steps, weights=None):
    torch.manual_seed(0)
    images, labels = patterns(512)
    data = TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))
    loader = DataLoader(data, batch_size=32, shuffle=weights is None)
    model = Net()
    if weights is not None:
        model.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    losses = []
    while len(losses) < steps:
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) == steps:
                break
    model.eval()
    with torch.no_grad():
        correct = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(data, 128))
    return losses, correct / len(data), model


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=64)
    losses, accuracy, _ = train(parser.parse_args().steps)
    for step in range(0, len(losses), 16):
        print(f"step {step:4d}  loss {losses[step]:.4f}")
    print(f"loss {losses[-1]:.4f}, {100 * accuracy:.1f} % right")
