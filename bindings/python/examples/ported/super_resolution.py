"""Sub-pixel convolution: pictures at twice their size."""
import numpy as np
import weft as torch
import weft.nn as nn
import weft.nn.functional as F
import weft.optim as optim
from first_values import set_first_values


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super(Net, self).__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 8, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(8, upscale_factor ** 2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))


def pictures(generator, size):
    """Waves at an angle of their own."""
    y, x = np.mgrid[0:16, 0:16]
    angles = generator.rand(size, 1, 1) * np.pi
    waves = np.sin(0.8 * (np.cos(angles) * x + np.sin(angles) * y))
    return torch.from_numpy(waves[:, None].astype(np.float32))


def main(steps=50):
    generator = np.random.RandomState(0)
    model = set_first_values(Net(upscale_factor=2), 1)
    criterion = nn.MSELoss()
    optimizer = optim.RMSprop(model.parameters(), lr=1e-3)
    losses = []
    for step in range(steps):
        target = pictures(generator, 8)
        input = F.interpolate(target, scale_factor=0.5, mode="area")
        optimizer.zero_grad()
        output = model(input)
        loss = criterion(output, target) + 0.1 * F.l1_loss(output, target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    baseline = F.mse_loss(F.interpolate(input, size=(16, 16), mode="bilinear",
                                        align_corners=False), target)
    print("PSNR {:.2f} dB, bilinear {:.2f} dB".format(-10 * np.log10(losses[-1]),
                                                      -10 * np.log10(baseline.item())))
    return losses


if __name__ == "__main__":
    main()
