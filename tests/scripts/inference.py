"""Sampling and inference: GP by Cholesky, HMC, SVGD, Bayes by backprop, Kalman filter."""

import math

import torch
import torch.distributions as dist
import torch.nn as nn
from torch.distributions import Gamma, MultivariateNormal, Normal
from torch.func import functional_call, grad, hessian, jacrev, stack_module_state, vmap

torch.manual_seed(1)
torch.set_printoptions(precision=4, sci_mode=False, linewidth=120)
torch.set_default_dtype(torch.float64)


class RBF(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw_l = nn.Parameter(torch.tensor(0.0))
        self.raw_s = nn.Parameter(torch.tensor(0.0))
        self.raw_n = nn.Parameter(torch.tensor(-2.0))

    @property
    def noise(self):
        return nn.functional.softplus(self.raw_n)

    def forward(self, a, b):
        d = torch.cdist(a / nn.functional.softplus(self.raw_l), b / nn.functional.softplus(self.raw_l))
        return nn.functional.softplus(self.raw_s) * torch.exp(-0.5 * d**2)


X = torch.linspace(0, 1, 12).unsqueeze(-1)
y = torch.sin(X * 2 * math.pi).squeeze() + 0.1 * torch.randn(12)
k = RBF()
opt = torch.optim.LBFGS(k.parameters(), lr=0.1, max_iter=10, line_search_fn="strong_wolfe")


def nll():
    K = k(X, X) + k.noise * torch.eye(len(X))
    L = torch.linalg.cholesky(K)
    a = torch.cholesky_solve(y.unsqueeze(-1), L).squeeze()
    return 0.5 * y @ a + L.diagonal().log().sum() + 0.5 * len(X) * math.log(2 * math.pi)


def closure():
    opt.zero_grad()
    l = nll()
    l.backward()
    return l


for i in range(4):
    print("%.5f" % opt.step(closure).item(), [round(p.item(), 3) for p in k.parameters()])
with torch.no_grad():
    K = k(X, X) + k.noise * torch.eye(12)
    Xs = torch.tensor([[0.25], [0.6]])
    Ks = k(Xs, X)
    L, info = torch.linalg.cholesky_ex(K)
    v = torch.linalg.solve_triangular(L, Ks.mT, upper=False)
    mean = Ks @ torch.cholesky_solve(y[:, None], L)
    cov = k(Xs, Xs) - v.mT @ v
    print(mean.squeeze(), cov, info)
    print(MultivariateNormal(mean.squeeze(), cov + 1e-6 * torch.eye(2)).sample((3,)))


def hmc(logp, x, eps=0.1, steps=10, n=20):
    g = grad(logp)
    out, acc = [], 0
    for _ in range(n):
        p = torch.randn_like(x)
        q, pp = x.clone(), p.clone()
        pp = pp + 0.5 * eps * g(q)
        for i in range(steps):
            q = q + eps * pp
            if i != steps - 1:
                pp = pp + eps * g(q)
        pp = pp + 0.5 * eps * g(q)
        a = logp(q) - 0.5 * pp.dot(pp) - logp(x) + 0.5 * p.dot(p)
        if torch.rand(()).log() < a:
            x, acc = q, acc + 1
        out.append(x)
    return torch.stack(out), acc


A = torch.tensor([[2.0, 0.6], [0.6, 1.0]])
s, acc = hmc(lambda q: -0.5 * q @ torch.linalg.inv(A) @ q, torch.zeros(2))
print(s[-3:], acc, s.mean(0), torch.cov(s.T))
print(hessian(lambda q: (q**4).sum() + q.prod())(torch.tensor([1.0, 2.0])))


def svgd(logp, x, steps=10, lr=0.1):
    opt = torch.optim.Adagrad([x], lr=lr)
    for _ in range(steps):
        xr = x.detach().requires_grad_(True)
        score = torch.autograd.grad(logp(xr).sum(), xr)[0]
        d2 = torch.cdist(xr, x.detach()) ** 2
        h = d2.median() / (2 * math.log(x.shape[0] + 1))
        K = torch.exp(-d2 / h / 2)
        gk = -torch.autograd.grad(K.sum(), xr)[0]
        phi = (K.detach() @ score + gk) / x.shape[0]
        opt.zero_grad()
        x.grad = -phi
        opt.step()
    return x


mix = dist.MixtureSameFamily(
    dist.Categorical(torch.tensor([0.3, 0.7])),
    dist.Independent(Normal(torch.tensor([[-2.0, 0], [2.0, 0]]), 1.0), 1),
)
x = svgd(mix.log_prob, torch.randn(10, 2))
print(x[:3], mix.log_prob(x).mean(), mix)


class BayesLinear(nn.Module):
    def __init__(self, i, o, prior=1.0):
        super().__init__()
        self.mu = nn.Parameter(torch.empty(o, i).uniform_(-0.2, 0.2))
        self.rho = nn.Parameter(torch.full((o, i), -3.0))
        self.prior = Normal(0.0, prior)
        self.kl = 0

    def forward(self, x):
        q = Normal(self.mu, torch.log1p(self.rho.exp()))
        w = q.rsample()
        self.kl = (q.log_prob(w) - self.prior.log_prob(w)).sum()
        return x @ w.t()


net = nn.Sequential(BayesLinear(1, 8), nn.Tanh(), BayesLinear(8, 1))
opt = torch.optim.RMSprop(net.parameters(), 1e-2, momentum=0.9, centered=True)
for i in range(15):
    opt.zero_grad()
    pred = net(X).squeeze(-1)
    loss = -Normal(pred, 0.1).log_prob(y).sum() + sum(m.kl for m in net if isinstance(m, BayesLinear)) / 10
    loss.backward()
    opt.step()
    if i % 5 == 0:
        print(f"{loss.item():.3f}")


def kalman(ys, F, H, Q, R, m, P):
    ll = 0.0
    for z in ys:
        m, P = F @ m, F @ P @ F.T + Q
        S = H @ P @ H.T + R
        ll = ll + MultivariateNormal(H @ m, S).log_prob(z)
        K = torch.linalg.solve(S, H @ P).mT
        m = m + K @ (z - H @ m)
        P = (torch.eye(2) - K @ H) @ P
    return m, P, ll


logq = torch.zeros((), requires_grad=True)
F_ = torch.tensor([[1.0, 0.1], [0.0, 1.0]])
H = torch.tensor([[1.0, 0.0]])
m, P, ll = kalman(
    torch.linspace(0, 1, 6)[:, None] + 0.01 * torch.randn(6, 1),
    F_,
    H,
    logq.exp() * torch.eye(2),
    0.1 * torch.eye(1),
    torch.zeros(2),
    torch.eye(2),
)
ll.backward()
print(m, P, ll, logq.grad)

ens = [nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1)) for _ in range(3)]
params, buffers = stack_module_state(ens)
base = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1)).to("meta")
out = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, X)
print(out.shape, out.mean(0)[:3].squeeze())
g = vmap(
    grad(lambda p, x, t: ((functional_call(ens[0], p, (x[None],)) - t) ** 2).sum()), in_dims=(None, 0, 0)
)(dict(ens[0].named_parameters()), X, y)
print({n: (tuple(v.shape), round(v.norm().item(), 4)) for n, v in g.items()})
print(
    Gamma(torch.tensor([2.0, 3.0]), 1.5).rsample((2,)),
    dist.Poisson(torch.tensor([3.0, 10.0])).sample(),
    dist.Dirichlet(torch.ones(3)).sample(),
    dist.StudentT(3.0).sample((2,)),
    dist.Beta(0.5, 2.0).sample((2,)),
)
print(
    dist.kl_divergence(Normal(0.0, 1.0), Normal(torch.ones(2), 2.0)),
    dist.Binomial(10, torch.tensor(0.3)).sample((4,)),
    dist.Geometric(0.3).sample((4,)),
    dist.LKJCholesky(3, 1.0).sample(),
)
