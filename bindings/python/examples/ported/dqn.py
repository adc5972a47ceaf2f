"""Deep Q-learning with a replay memory and a target network, on a walk of nine places."""
import random
from collections import deque, namedtuple

import weft as torch
import weft.nn as nn
import weft.nn.functional as F
import weft.optim as optim
from first_values import set_first_values

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
BATCH_SIZE, GAMMA, TAU, PLACES = 16, 0.9, 0.05, 9


class Walk:
    """Places 0 to 8; the last one pays 1 and ends the walk."""

    def reset(self):
        self.place, self.steps = 4, 0
        return self.observation()

    def observation(self):
        return [float(i == self.place) for i in range(PLACES)]

    def step(self, action):
        self.place = max(0, min(PLACES - 1, self.place + (1 if action == 1 else -1)))
        self.steps += 1
        done = self.place == PLACES - 1 or self.steps >= 20
        return self.observation(), float(self.place == PLACES - 1), done


class ReplayMemory(object):
    def __init__(self, capacity, random_state):
        self.memory, self.random = deque([], maxlen=capacity), random_state

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return self.random.sample(list(self.memory), batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer2 = nn.Linear(16, n_actions)

    def forward(self, x):
        return self.layer2(F.relu(self.layer1(x)))


def optimize_model(policy_net, target_net, memory, optimizer):
    batch = Transition(*zip(*memory.sample(BATCH_SIZE)))
    non_final_mask = torch.tensor([s is not None for s in batch.next_state], dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_batch, action_batch = torch.cat(batch.state), torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)
    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(BATCH_SIZE)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1)[0]
    expected_state_action_values = (next_state_values * GAMMA) + reward_batch
    criterion = nn.SmoothL1Loss()
    loss = criterion(state_action_values, expected_state_action_values.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


def main(steps=50):
    random_state = random.Random(4)
    policy_net, target_net = set_first_values(DQN(PLACES, 2), 1), DQN(PLACES, 2)
    target_net.load_state_dict(policy_net.state_dict())
    optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
    memory, env, losses = ReplayMemory(200, random_state), Walk(), []
    while len(losses) < steps:
        state, done = torch.tensor(env.reset(), dtype=torch.float32).unsqueeze(0), False
        while not done:
            if random_state.random() < 0.5:
                action = torch.tensor([[random_state.randrange(2)]], dtype=torch.long)
            else:
                with torch.no_grad():
                    action = policy_net(state).max(1)[1].view(1, 1)
            observation, reward, done = env.step(action.item())
            next_state = None if done else torch.tensor(observation,
                                                        dtype=torch.float32).unsqueeze(0)
            memory.push(state, action, next_state, torch.tensor([reward]))
            state = next_state
            if len(memory) >= BATCH_SIZE and len(losses) < steps:
                losses.append(optimize_model(policy_net, target_net, memory, optimizer))
                target_state, policy_state = target_net.state_dict(), policy_net.state_dict()
                for key in policy_state:
                    target_state[key] = policy_state[key] * TAU + target_state[key] * (1 - TAU)
                target_net.load_state_dict(target_state)
    print("loss {:.4f} -> {:.4f}".format(losses[0], losses[-1]))
    return losses


if __name__ == "__main__":
    main()
