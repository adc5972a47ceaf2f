"""Trainings on images: a DCGAN, the critic of a WGAN-GP, mixup with soft targets."""
import numpy as np

from trainings import STEPS, floats, give_weights, gradients


def smooth_images(draws, count, size):
    """[count, 1, size, size] of waves in [-1, 1]."""
    at = np.arange(size) / size
    rows, columns, phase = draws.uniform(1, 9, (3, count, 1, 1))
    return np.sin(rows * at[:, None] + columns * at + phase)[:, None]


def _generator(T):
    nn, F = T.nn, T.nn.functional

    class Up(nn.Module):
        """A transposed convolution of its own: [N, inputs, H, W] to [N, outputs, H', W']."""

        def __init__(self, inputs, outputs, stride, padding):
            super().__init__()
            self.weight = nn.Parameter(T.zeros(inputs, outputs, 4, 4))
            self.stride, self.padding = stride, padding

        def forward(self, x):
            return F.conv_transpose2d(x, self.weight, None, self.stride, self.padding)

    class Generator(nn.Module):
        """[N, 6, 1, 1] to images [N, 1, 16, 16]."""

        def __init__(self):
            super().__init__()
            self.first, self.norm1 = Up(6, 12, 1, 0), nn.BatchNorm2d(12)
            self.second, self.norm2 = Up(12, 8, 2, 1), nn.BatchNorm2d(8)
            self.third = Up(8, 1, 2, 1)

        def forward(self, z):
            x = F.silu(self.norm1(self.first(z)))
            return T.tanh(self.third(F.silu(self.norm2(self.second(x)))) * 4)

    return Generator()


def _discriminator(T):
    nn = T.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 4, stride=2, padding=1), nn.SiLU(),
        nn.Conv2d(8, 12, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(12), nn.SiLU(),
        nn.Conv2d(12, 1, 4), nn.Flatten())


def dcgan(T):
    """Discriminator and generator take a step each, in turn."""
    draws = np.random.RandomState(1)
    generator = give_weights(T, _generator(T), draws)
    judge = give_weights(T, _discriminator(T), draws)
    of_generator = T.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999), eps=1e-4)
    of_judge = T.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.999), eps=1e-4)
    loss_of = T.nn.BCEWithLogitsLoss()
    for _ in range(STEPS):
        real = floats(T, smooth_images(draws, 8, 16))
        made = generator(floats(T, draws.standard_normal((8, 6, 1, 1))))

        of_judge.zero_grad()
        judged = loss_of(judge(real), T.full((8, 1), 0.9))
        judged = judged + loss_of(judge(made.detach()), T.zeros(8, 1))
        judged.backward()
        found = gradients(judge, "judge.")
        of_judge.step()

        of_generator.zero_grad()
        fooled = loss_of(judge(made), T.ones(8, 1))
        fooled.backward()
        found.update(gradients(generator, "generator."))
        of_generator.step()
        yield [judged.item(), fooled.item()], found


def wgan_gp(T):
    """A critic's steps; the penalty on its slope is a gradient through its convolutions."""
    nn, draws = T.nn, np.random.RandomState(2)
    critic = give_weights(T, nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.SiLU(), nn.Conv2d(6, 8, 3, stride=2), nn.Tanh(),
        nn.Flatten(), nn.Linear(8 * 3 * 3, 1)), draws)
    optimizer = T.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9), eps=1e-5)
    for _ in range(STEPS):
        real = floats(T, smooth_images(draws, 6, 8))
        fake = floats(T, draws.standard_normal((6, 1, 8, 8)))
        share = floats(T, draws.uniform(size=(6, 1, 1, 1)))
        between = (real * share + fake * (1 - share)).detach().requires_grad_(True)
        score = critic(between)
        slope, = T.autograd.grad(score, between, T.ones_like(score), create_graph=True)
        penalty = ((slope.flatten(1).norm(2, 1) - 1) ** 2).mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        found = gradients(critic)
        optimizer.step()
        yield [loss.item(), penalty.item()], found


def mixup(T):
    """Images and one-hot targets mixed in pairs; classes weigh differently, targets are smoothed."""
    nn, F, draws = T.nn, T.nn.functional, np.random.RandomState(3)
    classes = 5
    model = give_weights(T, nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.GELU(), nn.AvgPool2d(2),
        nn.Conv2d(8, 12, 3, bias=False), nn.GroupNorm(3, 12), nn.SiLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(48, classes)), draws)
    optimizer = T.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3,
                            nesterov=True)
    weight = floats(T, [1.0, 2.0, 0.5, 1.5, 0.25])
    for _ in range(STEPS):
        labels = draws.randint(0, classes, 16)
        images = smooth_images(draws, 16, 10) + labels[:, None, None, None] / classes
        other, share = draws.permutation(16), draws.beta(0.4, 0.4)
        targets = np.eye(classes)[labels]
        mixed = floats(T, share * images + (1 - share) * images[other])
        soft = floats(T, share * targets + (1 - share) * targets[other])
        loss = F.cross_entropy(model(mixed), soft, weight=weight, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        found = gradients(model)
        optimizer.step()
        yield [loss.item()], found
