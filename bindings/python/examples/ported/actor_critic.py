"""An actor and a critic on a pole that must be held upright; actions are drawn by NumPy."""
from collections import namedtuple

import numpy as np
import weft as torch
import weft.nn as nn
import weft.nn.functional as F
import weft.optim as optim
from first_values import set_first_values

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])
GAMMA = 0.95


class Pole:
    """A point with a speed that falls away from 0; actions push it."""

    def reset(self, random):
        self.state = 0.1 * random.standard_normal(2)
        return self.state

    def step(self, action):
        place, speed = self.state
        speed += 0.15 * place + (0.05 if action == 1 else -0.05)
        self.state = np.array([place + speed, speed])
        return self.state, 1.0, abs(self.state[0]) > 1.0


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(2, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


def select_action(model, state, random):
    probs, state_value = model(torch.from_numpy(state).float())
    action = int(random.rand() < probs[1].item())
    model.saved_actions.append(SavedAction(torch.log(probs[action]), state_value))
    return action


def finish_episode(model, optimizer):
    R, returns = 0, []
    for r in model.rewards[::-1]:
        R = r + GAMMA * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_losses, value_losses = [], []
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R.item()])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss.item()


def main(steps=50):
    random = np.random.RandomState(6)
    model = set_first_values(Policy(), 2)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    env, losses = Pole(), []
    for i_episode in range(steps):
        state, done = env.reset(random), False
        while not done and len(model.rewards) < 30 or len(model.rewards) < 2:
            action = select_action(model, state, random)
            state, reward, done = env.step(action)
            model.rewards.append(reward)
        losses.append(finish_episode(model, optimizer))
    print("last loss {:.3f}".format(losses[-1]))
    return losses


if __name__ == "__main__":
    main()
