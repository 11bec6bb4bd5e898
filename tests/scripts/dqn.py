"""Deep Q-learning in the usual form, on a walk along a line: replay, a target network, a soft update."""

import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import set_weights

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
device = torch.device(
    "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
)


class Walk:
    """Nine places; the right end pays."""

    def reset(self):
        self.at = 4
        return self.observe()

    def observe(self):
        return F.one_hot(torch.tensor([self.at]), 9).float()

    def step(self, action):
        self.at += 1 if action else -1
        done = self.at in (0, 8)
        return self.observe(), 1.0 if self.at == 8 else -0.1, done


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer2 = nn.Linear(16, 16)
        self.layer3 = nn.Linear(16, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


BATCH_SIZE, GAMMA, TAU, LR = 16, 0.9, 0.05, 1e-2
random.seed(0)
policy_net = DQN(9, 2).to(device)
set_weights(policy_net, 0.3)
target_net = DQN(9, 2).to(device)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
memory = ReplayMemory(200)


def select_action(state, eps):
    if random.random() > eps:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return None
    batch = Transition(*zip(*memory.sample(BATCH_SIZE)))
    non_final_mask = torch.tensor(
        tuple(map(lambda s: s is not None, batch.next_state)), device=device, dtype=torch.bool
    )
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_batch, action_batch, reward_batch = (
        torch.cat(batch.state),
        torch.cat(batch.action),
        torch.cat(batch.reward),
    )
    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(BATCH_SIZE, device=device)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected = (next_state_values * GAMMA) + reward_batch
    loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


env = Walk()
for episode in range(25):
    state, total, loss = env.reset(), 0.0, None
    for t in range(30):
        action = select_action(state, 0.9 * 0.85**episode)
        observation, reward, done = env.step(action.item())
        total += reward
        next_state = None if done else observation
        memory.push(state, action, next_state, torch.tensor([reward], device=device))
        state = next_state
        loss = optimize_model()
        target, policy = target_net.state_dict(), policy_net.state_dict()
        for key in policy:
            target[key] = policy[key] * TAU + target[key] * (1 - TAU)
        target_net.load_state_dict(target)
        if done:
            break
    if episode % 6 == 0:
        print(
            f"episode {episode}: {t + 1} steps, return {total:.1f}, loss {-1 if loss is None else loss:.3f}"
        )
print(policy_net(torch.eye(9)[1:8]).argmax(1).tolist())
