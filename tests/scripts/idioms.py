"""What programs do in passing: a physics-informed network, makemore, decay groups, old names, distributions, meta."""

import contextlib
import copy
import functools
import math
import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import set_weights, waves
from torch import distributions as D
from torch.autograd import Variable, grad
from torch.distributions import constraints, kl_divergence, register_kl


class PINN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.activation = nn.Tanh()
        self.linears = nn.ModuleList([nn.Linear(layers[i], layers[i + 1]) for i in range(len(layers) - 1)])
        self.lambda_1 = nn.Parameter(torch.tensor([0.0]))
        self.register_parameter("lambda_2", nn.Parameter(torch.tensor([-6.0])))
        for l in self.linears:
            nn.init.xavier_normal_(l.weight.data, gain=1.0)
            nn.init.zeros_(l.bias.data)

    def forward(self, x, t):
        a = torch.cat([x, t], dim=1)
        for l in self.linears[:-1]:
            a = self.activation(l(a))
        return self.linears[-1](a)

    def residual(self, x, t):
        u = self(x, t)
        u_t = torch.autograd.grad(
            u, t, grad_outputs=torch.ones_like(u), retain_graph=True, create_graph=True
        )[0]
        u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
        return u_t + self.lambda_1 * u * u_x - torch.exp(self.lambda_2) * u_xx


p = PINN([2, 8, 8, 1])
set_weights(p, 0.5)
x = torch.linspace(-1, 1, 20).reshape(-1, 1).requires_grad_(True)
t = torch.linspace(0, 1, 20).reshape(-1, 1).requires_grad_(True)
opt = torch.optim.LBFGS(
    p.parameters(),
    lr=1.0,
    max_iter=8,
    history_size=5,
    line_search_fn="strong_wolfe",
    tolerance_grad=1e-7,
    tolerance_change=1.0 * np.finfo(float).eps,
)
it = [0]


def closure():
    opt.zero_grad()
    l = F.mse_loss(p(x, t), -torch.sin(math.pi * x)) + p.residual(x, t).pow(2).mean()
    l.backward()
    it[0] += 1
    return l


print("%.5f" % opt.step(closure).item(), it[0] > 0, "%.4f" % closure().item())
# makemore
words = ["emma", "olivia", "ava", "isabella"]
chars = sorted(set("".join(words)))
stoi = {s: i + 1 for i, s in enumerate(chars)}
stoi["."] = 0
V = len(stoi)
N = torch.zeros((V, V), dtype=torch.int32)
for w in words:
    cs = ["."] + list(w) + ["."]
    for a, b in zip(cs, cs[1:]):
        N[stoi[a], stoi[b]] += 1
P = (N + 1).float()
P /= P.sum(1, keepdims=True)
print(
    "%.4f" % P[0].sum().item(),
    "%.4f" % -sum(torch.log(P[stoi[a], stoi[b]]) for w in words for a, b in zip("." + w, w + ".")).item(),
)
g = torch.Generator().manual_seed(2147483647)
ix = torch.multinomial(P[0], num_samples=1, replacement=True, generator=g).item()
print(0 <= ix < V)
C = waves(V, 2).requires_grad_()
W1 = (waves(6, 10, 1) * 0.3).requires_grad_()
b1 = torch.zeros(10, requires_grad=True)
W2 = (waves(10, V, 2) * 0.3).requires_grad_()
b2 = torch.zeros(V).requires_grad_()
bng, bnb = torch.ones((1, 10)).requires_grad_(), torch.zeros((1, 10)).requires_grad_()
ps = [C, W1, b1, W2, b2, bng, bnb]
X = torch.arange(18).view(6, 3) % V
Y = torch.arange(6) % V
for i in range(5):
    emb = C[X]
    hp = emb.view(emb.shape[0], -1) @ W1 + b1
    bm, bs = hp.mean(0, keepdim=True), hp.std(0, keepdim=True)
    h = torch.tanh(bng * (hp - bm) / bs + bnb)
    logits = h @ W2 + b2
    loss = F.cross_entropy(logits, Y)
    for q in ps:
        q.grad = None
    logits.retain_grad()
    loss.backward()
    for q in ps:
        q.data += -0.1 * q.grad
    dl = F.softmax(logits, 1)
    dl[range(6), Y] -= 1
    dl /= 6
    print("%.5f" % loss.item(), torch.allclose(dl, logits.grad, atol=1e-6))
oh = F.one_hot(Y, num_classes=V).float()
print((oh @ P).shape, torch.equal(oh.argmax(1), Y))


class NewGELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


print(torch.allclose(NewGELU()(waves(2, 3)), nn.GELU(approximate="tanh")(waves(2, 3)), atol=1e-6))
# minGPT style decay sets
m = nn.ModuleDict(
    dict(
        wte=nn.Embedding(5, 4),
        h=nn.ModuleList([nn.ModuleDict(dict(ln=nn.LayerNorm(4), fc=nn.Linear(4, 4))) for _ in range(2)]),
    )
)
decay, no = set(), set()
for mn, mod in m.named_modules():
    for pn, pp in mod.named_parameters():
        fpn = "%s.%s" % (mn, pn) if mn else pn
        if pn.endswith("bias"):
            no.add(fpn)
        elif pn.endswith("weight") and isinstance(mod, (nn.Linear,)):
            decay.add(fpn)
        elif pn.endswith("weight") and isinstance(mod, (nn.LayerNorm, nn.Embedding)):
            no.add(fpn)
print(sorted(decay), sorted(no))
# legacy idioms
v = Variable(torch.FloatTensor([1, 2]), requires_grad=True)
(v * v).sum().backward()
print(
    v.grad.data,
    v.data.type(),
    isinstance(v, torch.Tensor),
    torch.is_tensor(v),
    isinstance(torch.LongTensor([1]), torch.LongTensor),
    torch.zeros(2).type(torch.IntTensor),
    v.new(2).zero_(),
    torch.Tensor(2, 3).size(),
)
print(
    torch.from_numpy(np.eye(2)).float().numpy().dtype,
    torch.arange(3).tolist(),
    torch.randperm(4).sort()[0],
    torch.stack([torch.ones(2)] * 2).sum().item(),
    torch.ByteTensor([1]).bool(),
    torch.cuda.device_count(),
    torch.cuda.is_available() or "cpu",
    torch.finfo(torch.float32).eps,
    torch.iinfo(torch.int64).max,
)
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as e:
    print(str(e)[:50])
# distributions
for d in (
    D.Normal(0.0, 1.0),
    D.Categorical(logits=waves(1, 4)[0]),
    D.Independent(D.Normal(waves(2, 3), waves(2, 3).exp()), 1),
    D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([-1.0, 1.0]), torch.ones(2))),
    D.TransformedDistribution(
        D.Normal(0.0, 1.0), [D.transforms.AffineTransform(1.0, 2.0), D.transforms.TanhTransform(cache_size=1)]
    ),
    D.RelaxedOneHotCategorical(torch.tensor(0.5), logits=torch.zeros(3)),
    D.Dirichlet(torch.ones(3)),
    D.MultivariateNormal(torch.zeros(2), scale_tril=torch.eye(2)),
    D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)),
    D.Gamma(2.0, 3.0),
    D.Beta(0.5, 0.5),
    D.VonMises(0.0, 1.0),
    D.NegativeBinomial(3.0, torch.tensor(0.4)),
):
    s = d.sample() if not d.has_rsample else d.rsample()
    print(d, tuple(d.batch_shape), tuple(d.event_shape), tuple(s.shape), tuple(d.log_prob(s).shape))
print(
    "%.5f" % kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)).item(),
    "%.5f"
    % D.kl_divergence(
        D.Categorical(logits=torch.ones(3)), D.Categorical(probs=torch.tensor([0.2, 0.3, 0.5]))
    ).item(),
)
# per-sample stats, weight hooks, grad accumulation with no_sync-like context, tied
lin = nn.Linear(3, 3)
set_weights(lin, 0.3)
h = lin.weight.register_hook(lambda g: g.clamp(-0.1, 0.1))
lin(waves(2, 3)).sum().backward()
print(lin.weight.grad.max().item() <= 0.1001)
h.remove()
opt = torch.optim.SGD(lin.parameters(), 0.1)
pre = opt.register_step_pre_hook(lambda o, a, k: print("pre"))
opt.step()
lin.weight.register_post_accumulate_grad_hook(lambda q: print("post"))
lin(waves(2, 3)).sum().backward()
with torch.no_grad():
    lin.weight.fill_(1.0)
    lin.weight[0, 0] = 5
print(
    lin.weight.sum().item(),
    lin.weight.requires_grad,
    torch.jit.script(lin)(torch.ones(1, 3)).shape,
    torch.jit.trace(lin, torch.ones(1, 3))(torch.ones(2, 3)).shape,
)


@torch.compile
def f(x, y):
    return (x * y).relu()


@torch.jit.script
def g2(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * n


@torch.no_grad()
def h2(x):
    return x * 2


@torch.inference_mode()
def h3(x):
    return x * 2


print(
    f(torch.ones(2), torch.ones(2)),
    g2(torch.ones(2), 3),
    h2(lin.weight).requires_grad,
    h3(lin.weight).is_inference(),
)
print(
    sum(q.numel() for q in lin.parameters()),
    "{:.3f} {}".format(torch.tensor(1.5), torch.tensor(2)),
    f"{torch.tensor(3.14159):.2f}",
    torch.tensor([1, 2]).sum().item().__class__.__name__,
    max(torch.tensor([1, 3])),
    [*torch.arange(3)],
    torch.einsum("ij,jk->ik", torch.ones(2, 2), torch.ones(2, 2))[0, 0].item(),
)
with torch.device("cpu"):
    print(torch.ones(1).device)
with torch.device("meta"):
    big = nn.Linear(1000, 1000)
print(big.weight.device, big.weight.shape, big.weight.is_meta)
big.load_state_dict({"weight": torch.ones(1000, 1000), "bias": torch.zeros(1000)}, assign=True)
print(big.weight.device, big(torch.ones(1, 1000)).sum().item())
e = nn.Linear(3, 2).to("meta")
e = e.to_empty(device="cpu")
set_weights(e, 0.1)
print(e(torch.ones(1, 3)).shape, torch.empty(3, 4, device="meta").shape, torch.empty(2, device="meta"))
