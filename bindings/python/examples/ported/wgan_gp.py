"""A Wasserstein GAN with a gradient penalty on points of a ring; NumPy draws all noise."""
import numpy as np
import weft as torch
import weft.autograd as autograd
import weft.nn as nn
from first_values import set_first_values
from weft.optim import SGD


def block(inputs, outputs):
    return [nn.Linear(inputs, outputs), nn.LeakyReLU(0.2, inplace=True)]


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(*block(4, 16), *block(16, 16), nn.Linear(16, 2))

    def forward(self, z):
        return self.model(z)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(*block(2, 16), *block(16, 16), nn.Linear(16, 1, bias=False))

    def forward(self, points):
        return self.model(points)


def compute_gradient_penalty(D, real_samples, fake_samples, alpha):
    interpolates = (alpha * real_samples + (1 - alpha) * fake_samples).requires_grad_(True)
    d_interpolates = D(interpolates)
    gradients = autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones(real_samples.size(0), 1),
        create_graph=True,
        retain_graph=True,
        only_inputs=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def main(steps=50):
    random = np.random.RandomState(1)

    def normal(*shape):
        return torch.from_numpy(random.standard_normal(shape).astype(np.float32))

    generator, critic = set_first_values(Generator(), 2), set_first_values(Critic(), 3)
    optimizer_G = SGD(generator.parameters(), lr=0.01, momentum=0.5)
    optimizer_D = SGD(critic.parameters(), lr=0.01, momentum=0.5)
    losses = []
    for step in range(steps):
        angles = 2 * np.pi * random.rand(32, 1)
        real = torch.from_numpy(np.hstack([np.cos(angles), np.sin(angles)]).astype(np.float32))
        optimizer_D.zero_grad()
        fake = generator(normal(32, 4))
        alpha = torch.from_numpy(random.rand(32, 1).astype(np.float32))
        penalty = compute_gradient_penalty(critic, real.data, fake.data, alpha)
        d_loss = -torch.mean(critic(real)) + torch.mean(critic(fake.detach())) + 10 * penalty
        d_loss.backward()
        optimizer_D.step()
        losses.append(d_loss.item())
        if step % 5 == 0:
            optimizer_G.zero_grad()
            g_loss = -torch.mean(critic(generator(normal(32, 4))))
            g_loss.backward()
            optimizer_G.step()
            losses.append(g_loss.item())
    print("[D loss: %f] [G loss: %f]" % (losses[-1], g_loss.item()))
    return losses


if __name__ == "__main__":
    main()
