"""Soft actor-critic on a point that seeks the origin: a policy whose actions are a squashed normal
distribution, a TransformedDistribution with a cached tanh. Its noise is drawn by NumPy."""
import copy

import numpy as np
import weft as torch
from first_values import set_first_values
from weft import nn, optim
from weft.distributions import Independent, Normal, TransformedDistribution
from weft.distributions.transforms import TanhTransform
from weft.nn import functional as F

GAMMA, TAU, ALPHA = 0.9, 0.05, 0.05
NOISE = np.random.RandomState(8)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.mean = nn.Linear(32, 2)
        self.log_std = nn.Linear(32, 2)

    def forward(self, state):
        """The distribution of actions in (-1, 1)."""
        h = self.body(state)
        std = self.log_std(h).clamp(-4, 1).exp()
        base = Independent(Normal(self.mean(h), std), 1)
        return TransformedDistribution(base, [TanhTransform(cache_size=1)])

    def act(self, state):
        """An action through which gradients pass, and the logarithm of its density."""
        policy = self(state)
        normal = policy.base_dist.base_dist
        noise = NOISE.standard_normal(tuple(normal.loc.shape)).astype(np.float32)
        action = policy.transforms[0](normal.loc + normal.scale * torch.from_numpy(noise))
        return action, policy.log_prob(action)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(),
                                 nn.Linear(32, 1))

    def forward(self, state, action):
        return self.net(torch.cat([state, action], -1)).squeeze(-1)


def step_of(state, action):
    """The next state, and the reward: the nearer to the origin, the better."""
    following = (state + 0.3 * action).clamp(-2, 2)
    return following, -following.square().sum(-1)


def main(steps=50):
    NOISE.seed(8)
    generator = np.random.RandomState(2)
    policy, first, second = (set_first_values(make(), seed) for make, seed in (
        (Policy, 1), (Critic, 2), (Critic, 3)))
    critics = nn.ModuleList([first, second])
    targets = copy.deepcopy(critics)
    policy_optimizer = optim.Adam(policy.parameters(), lr=1e-3)
    critic_optimizer = optim.Adam(critics.parameters(), lr=1e-3)
    losses = []
    for step in range(steps):
        state = torch.from_numpy(generator.uniform(-2, 2, (64, 2)).astype(np.float32))
        with torch.no_grad():
            action, _ = policy.act(state)
            following, reward = step_of(state, action)
            next_action, next_log_prob = policy.act(following)
            values = [target(following, next_action) for target in targets]
            wanted = reward + GAMMA * (torch.min(*values) - ALPHA * next_log_prob)
        critic_loss = sum(F.mse_loss(critic(state, action), wanted) for critic in critics)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()

        action, log_prob = policy.act(state)
        value = torch.min(*[critic(state, action) for critic in critics])
        policy_loss = (ALPHA * log_prob - value).mean()
        policy_optimizer.zero_grad()
        policy_loss.backward()
        policy_optimizer.step()

        with torch.no_grad():
            for target, parameter in zip(targets.parameters(), critics.parameters()):
                target.mul_(1 - TAU).add_(TAU * parameter)
        losses.append(critic_loss.item() + policy_loss.item())
    with torch.no_grad():
        state = torch.tensor([[1.5, -1.5]])
        for _ in range(10):
            state, reward = step_of(state, policy(state).base_dist.mean.tanh())
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, reward after 10 steps {reward.item():.3f}")
    return losses


if __name__ == "__main__":
    main(1500)
