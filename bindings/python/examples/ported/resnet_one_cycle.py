"""A small residual network with a warm start, one cycle of the rate and mixup."""
import numpy as np
import weft as torch
import weft.nn as nn
import weft.nn.functional as F
from first_values import set_first_values
from weft.optim.lr_scheduler import OneCycleLR


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1,
                               bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != self.expansion * planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, self.expansion * planes, kernel_size=1, stride=stride,
                          bias=False),
                nn.BatchNorm2d(self.expansion * planes))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, num_blocks, num_classes=4):
        super(ResNet, self).__init__()
        self.in_planes = 8
        self.conv1 = nn.Conv2d(3, 8, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = self._make_layer(block, 8, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(block, 16, num_blocks[1], stride=2)
        self.linear = nn.Linear(16 * block.expansion, num_classes)

    def _make_layer(self, block, planes, num_blocks, stride):
        layers = []
        for stride in [stride] + [1] * (num_blocks - 1):
            layers.append(block(self.in_planes, planes, stride))
            self.in_planes = planes * block.expansion
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer2(self.layer1(out))
        out = F.avg_pool2d(out, 4)
        out = out.view(out.size(0), -1)
        return self.linear(out)


def batches(count, size=16):
    generator = np.random.RandomState(0)
    patterns = generator.rand(4, 3, 8, 8)
    for _ in range(count):
        labels = generator.randint(0, 4, size)
        pictures = patterns[labels] + 0.3 * generator.standard_normal((size, 3, 8, 8))
        yield (torch.from_numpy(pictures.astype(np.float32)), torch.from_numpy(labels),
               float(generator.beta(1.0, 1.0)), torch.from_numpy(generator.permutation(size)))


def main(steps=50):
    model = set_first_values(ResNet(BasicBlock, [1, 1]), 1)
    decay = [p for name, p in model.named_parameters() if p.ndim > 1]
    no_decay = [p for name, p in model.named_parameters() if p.ndim <= 1]
    optimizer = torch.optim.SGD([{"params": decay, "weight_decay": 5e-4},
                                 {"params": no_decay, "weight_decay": 0.0}],
                                lr=0.01, momentum=0.9, nesterov=True)
    scheduler = OneCycleLR(optimizer, max_lr=0.02, total_steps=steps)
    criterion = nn.CrossEntropyLoss()
    losses = []
    for inputs, targets, lam, index in batches(steps):
        mixed = lam * inputs + (1 - lam) * inputs[index, :]
        outputs = model(mixed)
        loss = lam * criterion(outputs, targets) + (1 - lam) * criterion(outputs, targets[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    print("loss {:.3f} -> {:.3f}, rate {:.2e}".format(losses[0], losses[-1],
                                                      scheduler.get_last_lr()[0]))
    return losses


if __name__ == "__main__":
    main()
