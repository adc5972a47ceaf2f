"""A variational autoencoder; its noise is drawn by NumPy."""
import numpy as np
import weft as torch
from first_values import set_first_values
from weft import nn, optim
from weft.nn import functional as F

NOISE = np.random.RandomState(5)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(64, 32)
        self.fc21 = nn.Linear(32, 4)
        self.fc22 = nn.Linear(32, 4)
        self.fc3 = nn.Linear(4, 32)
        self.fc4 = nn.Linear(32, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.from_numpy(NOISE.standard_normal(tuple(std.shape)).astype(np.float32))
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def pictures(generator, size):
    """A bright bar in one of eight rows."""
    images = 0.1 * generator.rand(size, 1, 8, 8)
    images[np.arange(size), 0, generator.randint(0, 8, size)] += 0.8
    return torch.from_numpy(images.astype(np.float32))


def main(steps=50):
    NOISE.seed(5)
    generator = np.random.RandomState(1)
    model = set_first_values(VAE(), 2)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    model.train()
    for step in range(steps):
        data = pictures(generator, 32)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        optimizer.step()
        losses.append(loss.item() / len(data))
    with torch.no_grad():
        sample = model.decode(torch.zeros(2, 4)).view(2, 1, 8, 8)
    print("loss {:.3f} -> {:.3f}, sample {}".format(losses[0], losses[-1], tuple(sample.size())))
    return losses


if __name__ == "__main__":
    main()
