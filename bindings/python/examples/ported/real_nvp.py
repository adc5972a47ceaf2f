"""A normalising flow (RealNVP) on two half moons: a TransformedDistribution of learnt couplings."""
import numpy as np
import weft as torch
from first_values import set_first_values
from weft import distributions as D
from weft import nn, optim
from weft.distributions import constraints


class Coupling(D.Transform):
    """Scales and shifts one coordinate by a network of the other."""

    domain = constraints.real_vector
    codomain = constraints.real_vector
    bijective = True

    def __init__(self, net, mask):
        super().__init__()
        self.net = net
        self.mask = mask

    def parameters_of(self, kept):
        log_scale, shift = self.net(kept).chunk(2, dim=-1)
        return torch.tanh(log_scale) * (1 - self.mask), shift * (1 - self.mask)

    def _call(self, x):
        log_scale, shift = self.parameters_of(x * self.mask)
        return x * log_scale.exp() + shift

    def _inverse(self, y):
        log_scale, shift = self.parameters_of(y * self.mask)
        return (y - shift) * (-log_scale).exp()

    def log_abs_det_jacobian(self, x, y):
        log_scale, _ = self.parameters_of(x * self.mask)
        return log_scale.sum(-1)


class RealNVP(nn.Module):
    def __init__(self, layers=6, hidden=32):
        super().__init__()
        self.nets = nn.ModuleList([
            nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                          nn.Linear(hidden, 4)) for _ in range(layers)])
        self.register_buffer("masks", torch.tensor([[1.0, 0.0], [0.0, 1.0]] * (layers // 2)))
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("deviation", torch.ones(2))

    def distribution(self):
        base = D.Independent(D.Normal(self.mean, self.deviation), 1)
        couplings = [Coupling(net, mask) for net, mask in zip(self.nets, self.masks)]
        return D.TransformedDistribution(base, [D.ComposeTransform(couplings)])


def moons(generator, size):
    """Points of two interleaved half circles, with noise."""
    angle = np.pi * generator.rand(size)
    lower = generator.rand(size) < 0.5
    x = np.where(lower, 1 - np.cos(angle), np.cos(angle)) - 0.5
    y = np.where(lower, 0.5 - np.sin(angle), np.sin(angle)) - 0.25
    points = np.stack([x, y], 1) + 0.05 * generator.standard_normal((size, 2))
    return torch.from_numpy(points.astype(np.float32))


def main(steps=50):
    generator = np.random.RandomState(4)
    model = set_first_values(RealNVP(), 3)
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    for step in range(steps):
        batch = moons(generator, 128)
        loss = -model.distribution().log_prob(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    flow = model.distribution()
    with torch.no_grad():
        draws = flow.sample((500,))
        inside = (draws.abs() < 2.5).all(-1).float().mean().item()
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, {inside:.0%} of 500 draws near the moons")
    return losses


if __name__ == "__main__":
    main(500)
