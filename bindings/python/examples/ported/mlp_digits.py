"""A multilayer perceptron that classifies small pictures, with validation and a schedule."""
import numpy as np
import weft as torch
from first_values import set_first_values
from weft import nn, optim
from weft.nn import functional as F
from weft.optim.lr_scheduler import StepLR
from weft.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, hidden=32, classes=10):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(64, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, classes)

    def forward(self, x):
        x = x.view(-1, 64)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return F.log_softmax(self.fc3(x), dim=1)


def digits(count, seed):
    """Pictures [1, 8, 8]: a pattern for each class, and noise."""
    patterns = np.random.RandomState(0).rand(10, 1, 8, 8)
    generator = np.random.RandomState(seed)
    labels = generator.randint(0, 10, count)
    pictures = patterns[labels] + 0.3 * generator.standard_normal((count, 1, 8, 8))
    return TensorDataset(torch.from_numpy(pictures.astype(np.float32)), torch.from_numpy(labels))


def test(model, device, loader):
    model.eval()
    test_loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    return test_loss / len(loader.dataset), correct / len(loader.dataset)


def main(steps=50):
    device = torch.device("cpu")
    train_loader = DataLoader(digits(320, 1), batch_size=32)
    test_loader = DataLoader(digits(100, 2), batch_size=100)
    model = set_first_values(Net(), 3).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
    losses = []
    while len(losses) < steps:
        model.train()
        for data, target in train_loader:
            data, target = data.to(device), target.to(device)
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        test_loss, accuracy = test(model, device, test_loader)
    losses.append(test_loss)
    print("test loss {:.4f}, accuracy {:.0f} %".format(test_loss, 100 * accuracy))
    return losses


if __name__ == "__main__":
    main()
