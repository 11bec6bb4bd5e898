"""REINFORCE, A2C, PPO and SAC on a pole written here."""

import math
import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical, Normal
from torch.distributions.categorical import Categorical as Cat

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward", "done"))


class Pole:
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a == 1 else -10.0 if isinstance(a, (int, np.integer)) else 10 * float(a)
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * w * w * s) / 1.1
        al = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        ac = tmp - 0.05 * al * c / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * ac, th + 0.02 * w, w + 0.02 * al])
        self.t += 1
        done = bool(abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095) or self.t >= 40
        return self.s.astype(np.float32), 1.0, done, {}


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True)


seed_everything(543)
eps = np.finfo(np.float32).eps.item()
SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 32)
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = Policy()
optimizer = optim.Adam(model.parameters(), lr=3e-2)
env = Pole()
running = 10
for ep in range(6):
    state, ep_r = env.reset(), 0
    for t in range(1, 100):
        state = torch.from_numpy(state).float()
        probs, v = model(state)
        m = Categorical(probs)
        action = m.sample()
        model.saved_actions.append(SavedAction(m.log_prob(action), v))
        state, reward, done, _ = env.step(action.item())
        model.rewards.append(reward)
        ep_r += reward
        if done:
            break
    running = 0.05 * ep_r + 0.95 * running
    R, returns, pl, vl = 0, [], [], []
    for r in model.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (lp, value), R in zip(model.saved_actions, returns):
        pl.append(-lp * (R - value.item()))
        vl.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(pl).sum() + torch.stack(vl).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    print(f"Episode {ep}\tLast reward: {ep_r:.2f}\tAverage reward: {running:.2f} loss {loss:.3f}")


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(4, 32)), nn.Tanh(), layer_init(nn.Linear(32, 1), std=1.0)
        )
        self.actor = nn.Sequential(
            layer_init(nn.Linear(4, 32)), nn.Tanh(), layer_init(nn.Linear(32, 2), std=0.01)
        )

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Cat(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


agent = Agent()
opt = optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
N, S = 2, 32
envs = [Pole(i) for i in range(N)]
obs = torch.zeros((S, N) + (4,))
actions = torch.zeros((S, N))
logprobs, rewards, dones, values = (torch.zeros((S, N)) for _ in range(4))
next_obs = torch.Tensor(np.stack([e.reset() for e in envs]))
next_done = torch.zeros(N)
for update in range(1, 4):
    frac = 1.0 - (update - 1.0) / 3
    opt.param_groups[0]["lr"] = frac * 2.5e-4
    for step in range(S):
        obs[step] = next_obs
        dones[step] = next_done
        with torch.no_grad():
            action, lp, _, value = agent.get_action_and_value(next_obs)
            values[step] = value.flatten()
        actions[step] = action
        logprobs[step] = lp
        out = [e.step(a) for e, a in zip(envs, action.cpu().numpy())]
        rewards[step] = torch.tensor([o[1] for o in out]).view(-1)
        nd = np.array([o[2] for o in out])
        no = np.stack([e.reset() if d else o[0] for e, o, d in zip(envs, out, nd)])
        next_obs, next_done = torch.Tensor(no), torch.Tensor(nd)
    with torch.no_grad():
        nv = agent.get_value(next_obs).reshape(1, -1)
        adv = torch.zeros_like(rewards)
        last = 0
        for t in reversed(range(S)):
            if t == S - 1:
                nnt, nvv = 1.0 - next_done, nv
            else:
                nnt, nvv = 1.0 - dones[t + 1], values[t + 1]
            delta = rewards[t] + 0.99 * nvv * nnt - values[t]
            adv[t] = last = delta + 0.99 * 0.95 * nnt * last
        ret = adv + values
    b_obs = obs.reshape((-1, 4))
    b_lp, b_a, b_adv, b_ret, b_v = (q.reshape(-1) for q in (logprobs, actions, adv, ret, values))
    inds = np.arange(N * S)
    clipfracs = []
    for epoch in range(2):
        np.random.shuffle(inds)
        for start in range(0, N * S, 16):
            mb = inds[start : start + 16]
            _, nlp, ent, nval = agent.get_action_and_value(b_obs[mb], b_a.long()[mb])
            logratio = nlp - b_lp[mb]
            ratio = logratio.exp()
            with torch.no_grad():
                kl = ((ratio - 1) - logratio).mean()
                clipfracs += [((ratio - 1.0).abs() > 0.2).float().mean().item()]
            a = b_adv[mb]
            a = (a - a.mean()) / (a.std() + 1e-8)
            pg = torch.max(-a * ratio, -a * torch.clamp(ratio, 0.8, 1.2)).mean()
            nval = nval.view(-1)
            vu = (nval - b_ret[mb]) ** 2
            vc = b_v[mb] + torch.clamp(nval - b_v[mb], -0.2, 0.2)
            vl = 0.5 * torch.max(vu, (vc - b_ret[mb]) ** 2).mean()
            loss = pg - 0.01 * ent.mean() + vl * 0.5
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            opt.step()
    yp, yt = b_v.cpu().numpy(), b_ret.cpu().numpy()
    print(
        update,
        f"{vl.item():.4f} {pg.item():.4f} {ent.mean().item():.4f} {kl.item():.5f} {np.mean(clipfracs):.3f} {1 - np.var(yt - yp) / np.var(yt):.4f}",
    )

LOG_STD_MAX, LOG_STD_MIN = 2, -5


class SoftQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(5, 32), nn.Linear(32, 1)

    def forward(self, x, a):
        return self.fc2(F.relu(self.fc1(torch.cat([x, a], 1))))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 32)
        self.fc_mean, self.fc_logstd = nn.Linear(32, 1), nn.Linear(32, 1)
        self.register_buffer("action_scale", torch.tensor(1.0, dtype=torch.float32))
        self.register_buffer("action_bias", torch.tensor(0.0, dtype=torch.float32))

    def get_action(self, x):
        x = F.relu(self.fc1(x))
        mean, log_std = self.fc_mean(x), torch.tanh(self.fc_logstd(x))
        std = (LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)).exp()
        normal = Normal(mean, std)
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        lp = normal.log_prob(x_t)
        lp -= torch.log(self.action_scale * (1 - y_t.pow(2)) + 1e-6)
        return action, lp.sum(1, keepdim=True), torch.tanh(mean) * self.action_scale


class Replay:
    def __init__(self, n):
        self.buffer = deque(maxlen=n)

    def push(self, *a):
        self.buffer.append(Transition(*a))

    def sample(self, n):
        b = Transition(*zip(*random.sample(self.buffer, n)))
        return (torch.as_tensor(np.array(x), dtype=torch.float32) for x in b)


actor, q1, q2, t1, t2 = Actor(), SoftQ(), SoftQ(), SoftQ(), SoftQ()
t1.load_state_dict(q1.state_dict())
t2.load_state_dict(q2.state_dict())
qo = optim.Adam(list(q1.parameters()) + list(q2.parameters()), lr=1e-3)
ao = optim.Adam(list(actor.parameters()), lr=3e-4)
target_entropy = -torch.prod(torch.Tensor((1,))).item()
log_alpha = torch.zeros(1, requires_grad=True)
alpha = log_alpha.exp().item()
lo = optim.Adam([log_alpha], lr=1e-3)
rb = Replay(200)
o = env.reset()
for step in range(60):
    if step < 20:
        a = np.array([random.uniform(-1, 1)])
    else:
        a = actor.get_action(torch.Tensor(o[None]))[0].detach().cpu().numpy()[0]
    no, r, d, _ = env.step(a[0])
    rb.push(o, a, no, [r], [float(d)])
    o = env.reset() if d else no
    if step > 20:
        s, ac, ns, rew, dn = rb.sample(16)
        with torch.no_grad():
            na, nlp, _ = actor.get_action(ns)
            mq = torch.min(t1(ns, na), t2(ns, na)) - alpha * nlp
            nq = rew.flatten() + (1 - dn.flatten()) * 0.99 * mq.view(-1)
        l1, l2 = F.mse_loss(q1(s, ac).view(-1), nq), F.mse_loss(q2(s, ac).view(-1), nq)
        ql = l1 + l2
        qo.zero_grad()
        ql.backward()
        qo.step()
        pi, lp, _ = actor.get_action(s)
        al = ((alpha * lp) - torch.min(q1(s, pi), q2(s, pi))).mean()
        ao.zero_grad()
        al.backward()
        ao.step()
        with torch.no_grad():
            _, lp, _ = actor.get_action(s)
        aloss = (-log_alpha.exp() * (lp + target_entropy)).mean()
        lo.zero_grad()
        aloss.backward()
        lo.step()
        alpha = log_alpha.exp().item()
        for p, tp in zip(q1.parameters(), t1.parameters()):
            tp.data.copy_(0.005 * p.data + (1 - 0.005) * tp.data)
        if step % 10 == 0:
            print(f"{step} {ql.item():.4f} {al.item():.4f} {alpha:.5f} {aloss:.5f}")
