"""A deep convolutional GAN; its noise is drawn by NumPy."""
import numpy as np
import weft as torch
import weft.nn as nn
import weft.optim as optim
from first_values import set_first_values

NZ, NGF, NDF, NC = 8, 8, 8, 1


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("BatchNorm") != -1:
        nn.init.constant_(m.weight.data, 1.0)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(NZ, NGF * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(NGF * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(NGF * 2, NGF, 4, 2, 1, bias=False),
            nn.BatchNorm2d(NGF),
            nn.ReLU(True),
            nn.ConvTranspose2d(NGF, NC, 4, 2, 1, bias=False),
            nn.Tanh())

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(NC, NDF, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(NDF, NDF * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(NDF * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(NDF * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid())

    def forward(self, input):
        return self.main(input).view(-1)


def main(steps=50):
    generator = np.random.RandomState(3)
    netG, netD = set_first_values(Generator(), 1), set_first_values(Discriminator(), 2)
    netG.apply(weights_init)
    netD.apply(weights_init)
    criterion = nn.BCELoss()
    optimizerD = optim.Adam(netD.parameters(), lr=0.0005, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=0.0005, betas=(0.5, 0.999))
    real_label, fake_label, size = 1.0, 0.0, 8
    losses = []
    for i in range(steps):
        waves = np.sin(np.linspace(0, 6, 16) + 6 * generator.rand(size, 1))
        real = torch.from_numpy(np.tile(waves[:, None, None], (1, 1, 16, 1)).astype(np.float32))
        # (1) Update D network: maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        label = torch.full((size,), real_label)
        errD_real = criterion(netD(real), label)
        errD_real.backward()
        noise = torch.from_numpy(generator.standard_normal((size, NZ, 1, 1)).astype(np.float32))
        fake = netG(noise)
        label.fill_(fake_label)
        errD_fake = criterion(netD(fake.detach()), label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()
        # (2) Update G network: maximize log(D(G(z)))
        netG.zero_grad()
        label.fill_(real_label)
        errG = criterion(netD(fake), label)
        errG.backward()
        optimizerG.step()
        losses += [errD.item(), errG.item()]
    print("Loss_D: %.4f Loss_G: %.4f" % (losses[-2], losses[-1]))
    return losses


if __name__ == "__main__":
    main()
