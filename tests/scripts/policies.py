"""Reinforcement learning on an environment of a few lines: actor and critic, DQN, PPO, SAC."""

import argparse
import math
import os
import random
import time
from collections import deque, namedtuple
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import set_weights, waves
from torch.distributions import Categorical
from torch.distributions.normal import Normal

parser = argparse.ArgumentParser()
parser.add_argument("--gamma", type=float, default=0.99)
parser.add_argument("--seed", type=int, default=543)
args = parser.parse_args([])


class Env:
    def reset(self, seed=None):
        self.s, self.k = np.array([0.1, -0.2, 0.05, 0.0], dtype=np.float32), 0
        return self.s.copy(), {}

    def step(self, a):
        self.k += 1
        f = (1 if a == 1 else -1) * 0.1
        self.s = (self.s + np.array([self.s[1] * 0.02, f, self.s[3] * 0.02, -f], np.float32)).astype(
            np.float32
        )
        return self.s.copy(), 1.0, abs(self.s[1]) > 0.6, self.k >= 20, {}


env = Env()
torch.manual_seed(args.seed)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 16)
        self.dropout = nn.Dropout(p=0.0)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


SavedAction = namedtuple("SavedAction", ["log_prob", "value"])
model = Policy()
set_weights(model, 0.4)
optimizer = optim.Adam(model.parameters(), lr=3e-2)
eps = np.finfo(np.float32).eps.item()
rs = np.random.RandomState(0)
for ep in range(4):
    state, _ = env.reset()
    for t in range(1, 50):
        st = torch.from_numpy(state).float().unsqueeze(0)
        probs, v = model(st)
        m = Categorical(probs)
        action = torch.tensor([int(rs.rand() < probs[0, 1].item())])
        model.saved_actions.append(SavedAction(m.log_prob(action), v))
        state, r, done, trunc, _ = env.step(action.item())
        model.rewards.append(r)
        if done or trunc:
            break
    R = 0
    returns = deque()
    pl, vl = [], []
    for r in model.rewards[::-1]:
        R = r + args.gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (lp, value), R in zip(model.saved_actions, returns):
        adv = R - value.item()
        pl.append(-lp * adv)
        vl.append(F.smooth_l1_loss(value, torch.tensor([R]).unsqueeze(0)))
    optimizer.zero_grad()
    loss = torch.stack(pl).sum() + torch.stack(vl).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    print(ep, t, "%.4f" % loss.item(), "%.4f" % m.entropy().item())
# DQN tutorial
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory(object):
    def __init__(self, c):
        self.memory = deque([], maxlen=c)

    def push(self, *a):
        self.memory.append(Transition(*a))

    def sample(self, n):
        return random.sample(self.memory, n)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(4, 16)
        self.layer2 = nn.Linear(16, 16)
        self.layer3 = nn.Linear(16, 2)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


device = torch.device(
    "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
)
p, q = DQN().to(device), DQN().to(device)
set_weights(p, 0.3)
q.load_state_dict(p.state_dict())
opt = optim.AdamW(p.parameters(), lr=1e-3, amsgrad=True)
mem = ReplayMemory(100)
random.seed(0)
TAU = 0.05
s, _ = env.reset()
s = torch.tensor(s, dtype=torch.float32, device=device).unsqueeze(0)
for i in range(40):
    with torch.no_grad():
        a = (
            p(s).max(1).indices.view(1, 1)
            if i % 3
            else torch.tensor([[i % 2]], device=device, dtype=torch.long)
        )
    o, r, term, trunc, _ = env.step(a.item())
    r = torch.tensor([r], device=device)
    n = None if term else torch.tensor(o, dtype=torch.float32, device=device).unsqueeze(0)
    mem.push(s, a, n, r)
    if n is None or trunc:
        s, _ = env.reset()
        s = torch.tensor(s).unsqueeze(0)
    else:
        s = n
    if len(mem) >= 8:
        b = Transition(*zip(*mem.sample(8)))
        mask = torch.tensor(
            tuple(map(lambda x: x is not None, b.next_state)), device=device, dtype=torch.bool
        )
        nf = torch.cat([x for x in b.next_state if x is not None])
        sb, ab, rb = torch.cat(b.state), torch.cat(b.action), torch.cat(b.reward)
        sav = p(sb).gather(1, ab)
        nv = torch.zeros(8, device=device)
        with torch.no_grad():
            nv[mask] = q(nf).max(1).values
        loss = nn.SmoothL1Loss()(sav, ((nv * 0.99) + rb).unsqueeze(1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(p.parameters(), 100)
        opt.step()
        qs, ps = q.state_dict(), p.state_dict()
        for key in ps:
            qs[key] = ps[key] * TAU + qs[key] * (1 - TAU)
        q.load_state_dict(qs)
        if i % 8 == 0:
            print("%.5f" % loss.item())


# CleanRL PPO continuous & discrete
def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(3, 8)), nn.Tanh(), layer_init(nn.Linear(8, 1), std=1.0)
        )
        self.actor_mean = nn.Sequential(
            layer_init(nn.Linear(3, 8)), nn.Tanh(), layer_init(nn.Linear(8, 2), std=0.01)
        )
        self.actor_logstd = nn.Parameter(torch.zeros(1, np.prod((2,))))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        mean = self.actor_mean(x)
        logstd = self.actor_logstd.expand_as(mean)
        probs = Normal(mean, torch.exp(logstd))
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)


random.seed(1)
np.random.seed(1)
torch.manual_seed(1)
torch.backends.cudnn.deterministic = True
ag = Agent().to(device)
set_weights(ag, 0.3)
opt = optim.Adam(ag.parameters(), lr=3e-4, eps=1e-5)
N, E = 8, 2
obs, act, lps, rew, don, val = (
    waves(N * E, 3).view(N, E, 3),
    waves(N * E, 2, 2).view(N, E, 2),
    torch.zeros((N, E)),
    waves(N, E, 3),
    (waves(N, E, 5) > 0.8).float(),
    torch.zeros((N, E)),
)
with torch.no_grad():
    for t in range(N):
        _, lps[t], _, v = ag.get_action_and_value(obs[t], act[t])
        val[t] = v.flatten()
    nv = ag.get_value(obs[-1]).reshape(1, -1)
    adv = torch.zeros_like(rew)
    last = 0
    for t in reversed(range(N)):
        nn_ = 1.0 - don[t]
        nxt = nv if t == N - 1 else val[t + 1]
        delta = rew[t] + 0.99 * nxt * nn_ - val[t]
        adv[t] = last = delta + 0.99 * 0.95 * nn_ * last
    ret = adv + val
bo, bl, ba, bad, br, bv = (
    obs.reshape((-1,) + (3,)),
    lps.reshape(-1),
    act.reshape((-1,) + (2,)),
    adv.reshape(-1),
    ret.reshape(-1),
    val.reshape(-1),
)
inds = np.arange(N * E)
for epoch in range(3):
    np.random.shuffle(inds)
    for st in range(0, N * E, 8):
        mb = inds[st : st + 8]
        _, nl, ent, nval = ag.get_action_and_value(bo[mb], ba[mb])
        lr_ = nl - bl[mb]
        ratio = lr_.exp()
        with torch.no_grad():
            okl = (-lr_).mean()
            kl = ((ratio - 1) - lr_).mean()
            cf = ((ratio - 1.0).abs() > 0.2).float().mean().item()
        a = bad[mb]
        a = (a - a.mean()) / (a.std() + 1e-8)
        pg = torch.max(-a * ratio, -a * torch.clamp(ratio, 0.8, 1.2)).mean()
        nval = nval.view(-1)
        vu = (nval - br[mb]) ** 2
        vc = bv[mb] + torch.clamp(nval - bv[mb], -0.2, 0.2)
        vl = 0.5 * torch.max(vu, (vc - br[mb]) ** 2).mean()
        loss = pg - 0.01 * ent.mean() + vl * 0.5
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(ag.parameters(), 0.5)
        opt.step()
    print("%.5f %.6f %.4f" % (loss.item(), kl.item(), cf))
y_pred, y_true = bv.cpu().numpy(), br.cpu().numpy()
print("%.4f" % (1 - np.var(y_true - y_pred) / np.var(y_true)))


# SAC pieces
class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 8)
        self.fm = nn.Linear(8, 2)
        self.fs = nn.Linear(8, 2)
        self.register_buffer("action_scale", torch.tensor((1.0 - -1.0) / 2.0, dtype=torch.float32))
        self.register_buffer("action_bias", torch.tensor(0.0))

    def get(self, x, noise):
        x = F.relu(self.fc1(x))
        mean, ls = self.fm(x), torch.tanh(self.fs(x))
        ls = -5 + 0.5 * (2 + 5) * (ls + 1)
        n = torch.distributions.Normal(mean, ls.exp())
        xt = mean + ls.exp() * noise
        yt = torch.tanh(xt)
        a = yt * self.action_scale + self.action_bias
        lp = n.log_prob(xt)
        lp -= torch.log(self.action_scale * (1 - yt.pow(2)) + 1e-6)
        return a, lp.sum(1, keepdim=True)


class SoftQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 8)
        self.b = nn.Linear(8, 1)

    def forward(self, x, a):
        return self.b(F.relu(self.a(torch.cat([x, a], 1))))


ac, q1, q2, t1 = Actor(), SoftQ(), SoftQ(), SoftQ()
for k, mm in enumerate((ac, q1, q2)):
    set_weights(mm, 0.3 + 0.05 * k)
t1.load_state_dict(q1.state_dict())
qo, ao = (
    optim.Adam(list(q1.parameters()) + list(q2.parameters()), lr=1e-3),
    optim.Adam(list(ac.parameters()), lr=3e-4),
)
la = torch.zeros(1, requires_grad=True)
lo = optim.Adam([la], lr=1e-3)
for i in range(3):
    o, a, r, nz = waves(6, 3, i), waves(6, 2, i), waves(6, 1, i), waves(6, 2, i + 7)
    alpha = la.exp().item()
    with torch.no_grad():
        na, nlp = ac.get(o, nz)
        tgt = r.flatten() + 0.99 * (t1(o, na) - alpha * nlp).view(-1)
    ql = F.mse_loss(q1(o, a).view(-1), tgt) + F.mse_loss(q2(o, a).view(-1), tgt)
    qo.zero_grad()
    ql.backward()
    qo.step()
    pi, lp = ac.get(o, nz)
    al = ((alpha * lp) - torch.min(q1(o, pi), q2(o, pi))).mean()
    ao.zero_grad()
    al.backward()
    ao.step()
    ll = (-la.exp() * (lp.detach() - 2)).mean()
    lo.zero_grad()
    ll.backward()
    lo.step()
    for pa, tp in zip(q1.parameters(), t1.parameters()):
        tp.data.copy_(0.1 * pa.data + 0.9 * tp.data)
    print("%.5f %.5f %.5f" % (ql.item(), al.item(), ll.item()))
