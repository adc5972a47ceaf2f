"""A convolutional network with batch normalisation, a Dataset of one's own and a random split."""
import numpy as np
import weft as torch
import weft.nn as nn
import weft.optim as optim
from first_values import set_first_values
from weft.utils.data import DataLoader, Dataset, Subset


class Shapes(Dataset):
    """Pictures [3, 16, 16] of a bright square at one of four places."""

    def __init__(self, count, transform=None):
        generator = np.random.RandomState(1)
        self.targets = generator.randint(0, 4, count)
        self.pictures = generator.rand(count, 3, 16, 16).astype(np.float32)
        for picture, target in zip(self.pictures, self.targets):
            row, column = 8 * (target // 2), 8 * (target % 2)
            picture[:, row + 2:row + 6, column + 2:column + 6] += 1.0
        self.transform = transform

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, idx):
        picture = torch.from_numpy(self.pictures[idx])
        if self.transform:
            picture = self.transform(picture)
        return picture, int(self.targets[idx])


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(
            nn.Conv2d(3, 8, kernel_size=5, stride=1, padding=2),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=2, stride=2))
        self.layer2 = nn.Sequential(
            nn.Conv2d(8, 16, kernel_size=3, padding=1),
            nn.BatchNorm2d(16),
            nn.LeakyReLU(0.1),
            nn.AdaptiveAvgPool2d((2, 2)))
        self.fc = nn.Linear(16 * 2 * 2, 4)

    def forward(self, x):
        out = self.layer1(x)
        out = self.layer2(out)
        out = out.reshape(out.size(0), -1)
        return self.fc(out)


def main(steps=50):
    dataset = Shapes(240, transform=lambda picture: (picture - 0.5) / 0.5)
    train_set = Subset(dataset, range(200))
    test_set = Subset(dataset, range(200, 240))
    train_loader = DataLoader(dataset=train_set, batch_size=20, shuffle=False, num_workers=0)
    test_loader = DataLoader(dataset=test_set, batch_size=20)
    model = set_first_values(ConvNet(), 2)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = optim.Adam(model.parameters(), lr=0.003)
    losses = []
    for epoch in range(steps // len(train_loader)):
        for i, (images, labels) in enumerate(train_loader):
            outputs = model(images)
            loss = criterion(outputs, labels)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        correct = sum((model(images).max(1)[1] == labels).sum().item()
                      for images, labels in test_loader)
    print("accuracy {:.2f}".format(correct / len(test_set)))
    return losses


if __name__ == "__main__":
    main()
