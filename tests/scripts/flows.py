"""RealNVP and a neural spline and MAF on a 2-d density."""

import numpy as np
import torch
from torch import distributions, nn, optim
from torch.distributions import constraints
from torch.nn import functional as F

torch.manual_seed(0)
np.random.seed(0)
torch.set_default_dtype(torch.float32)


class RealNVP(nn.Module):
    def __init__(self, nets, nett, mask, prior):
        super(RealNVP, self).__init__()
        self.prior = prior
        self.mask = nn.Parameter(mask, requires_grad=False)
        self.t = torch.nn.ModuleList([nett() for _ in range(len(mask))])
        self.s = torch.nn.ModuleList([nets() for _ in range(len(mask))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp

    def sample(self, n):
        z = self.prior.sample((n, 1))
        return self.g(z)


def nets():
    return nn.Sequential(
        nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 16), nn.LeakyReLU(), nn.Linear(16, 2), nn.Tanh()
    )


def nett():
    return nn.Sequential(
        nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 16), nn.LeakyReLU(), nn.Linear(16, 2)
    )


masks = torch.from_numpy(np.array([[0, 1], [1, 0]] * 3).astype(np.float32))
prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
flow = RealNVP(nets, nett, masks, prior)
optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad], lr=1e-3)
for t in range(21):
    noisy = torch.randn(64, 2).mul(torch.tensor([1.0, 0.3])) @ torch.tensor([[0.8, -0.6], [0.6, 0.8]]) + 1
    loss = -flow.log_prob(noisy).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    if t % 5 == 0:
        print("iter %s:" % t, "loss = %.3f" % loss)
x = flow.sample(3).detach().numpy()
print(x.shape, np.round(x[:, 0, 0], 3))
z, ld = flow.f(flow.g(torch.randn(5, 2)))
print(z, ld)


class MaskedLinear(nn.Linear):
    def __init__(self, i, o, bias=True):
        super().__init__(i, o, bias)
        self.register_buffer("mask", torch.ones(o, i))

    def set_mask(self, mask):
        self.mask.data.copy_(torch.from_numpy(mask.astype(np.uint8).T))

    def forward(self, input):
        return F.linear(input, self.mask * self.weight, self.bias)


class MADE(nn.Module):
    def __init__(self, nin, hidden, nout):
        super().__init__()
        self.nin = nin
        hs = [nin] + hidden + [nout]
        self.net = []
        for a, b in zip(hs, hs[1:]):
            self.net.extend([MaskedLinear(a, b), nn.ReLU()])
        self.net.pop()
        self.net = nn.Sequential(*self.net)
        rng = np.random.RandomState(1)
        m = {-1: np.arange(nin)}
        L = len(hidden)
        for l in range(L):
            m[l] = rng.randint(m[l - 1].min(), nin - 1, size=hidden[l])
        ms = [m[l - 1][:, None] <= m[l][None, :] for l in range(L)]
        ms.append(m[L - 1][:, None] < m[-1][None, :])
        k = int(nout / nin)
        ms[-1] = np.concatenate([ms[-1]] * k, axis=1)
        for l, mm in zip([l for l in self.net.modules() if isinstance(l, MaskedLinear)], ms):
            l.set_mask(mm)

    def forward(self, x):
        return self.net(x)


made = MADE(4, [20, 20], 8)
x = torch.randn(1, 4, requires_grad=True)
J = torch.autograd.functional.jacobian(lambda x: made(x)[0], x)
print((J.abs() > 0).int().squeeze())
opt = optim.Adam(made.parameters(), 1e-2, weight_decay=1e-4)
for i in range(5):
    x = torch.randn(32, 4).cumsum(-1)
    s, t = made(x).chunk(2, -1)
    z = x * s.exp() + t
    nll = -(distributions.Normal(0, 1).log_prob(z).sum(-1) + s.sum(-1)).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    print(f"{nll.item():.4f}")

# spline
DEFAULT_MIN = 1e-3


def searchsorted(bin_locations, inputs, eps=1e-6):
    bin_locations[..., -1] += eps
    return torch.sum(inputs[..., None] >= bin_locations, dim=-1) - 1


def RQS(inputs, uw, uh, ud, inverse=False, left=0.0, right=1.0, bottom=0.0, top=1.0):
    if torch.min(inputs) < left or torch.max(inputs) > right:
        raise ValueError("Input outside domain")
    nb = uw.shape[-1]
    widths = F.softmax(uw, dim=-1)
    widths = DEFAULT_MIN + (1 - DEFAULT_MIN * nb) * widths
    cw = torch.cumsum(widths, dim=-1)
    cw = F.pad(cw, pad=(1, 0), mode="constant", value=0.0)
    cw = (right - left) * cw + left
    cw[..., 0] = left
    cw[..., -1] = right
    widths = cw[..., 1:] - cw[..., :-1]
    der = DEFAULT_MIN + F.softplus(ud)
    heights = F.softmax(uh, dim=-1)
    heights = DEFAULT_MIN + (1 - DEFAULT_MIN * nb) * heights
    ch = torch.cumsum(heights, dim=-1)
    ch = F.pad(ch, pad=(1, 0), mode="constant", value=0.0)
    ch[..., 0] = bottom
    ch[..., -1] = top
    heights = ch[..., 1:] - ch[..., :-1]
    idx = searchsorted(ch if inverse else cw, inputs)[..., None]
    icw = cw.gather(-1, idx)[..., 0]
    iw = widths.gather(-1, idx)[..., 0]
    ich = ch.gather(-1, idx)[..., 0]
    delta = heights / widths
    idl = delta.gather(-1, idx)[..., 0]
    d0 = der.gather(-1, idx)[..., 0]
    d1 = der[..., 1:].gather(-1, idx)[..., 0]
    ih = heights.gather(-1, idx)[..., 0]
    if inverse:
        a = (inputs - ich) * (d0 + d1 - 2 * idl) + ih * (idl - d0)
        b = ih * d0 - (inputs - ich) * (d0 + d1 - 2 * idl)
        c = -idl * (inputs - ich)
        disc = b.pow(2) - 4 * a * c
        assert (disc >= 0).all()
        root = (2 * c) / (-b - torch.sqrt(disc))
        return root * iw + icw
    theta = (inputs - icw) / iw
    tt = theta * (1 - theta)
    num = ih * (idl * theta.pow(2) + d0 * tt)
    den = idl + (d0 + d1 - 2 * idl) * tt
    out = ich + num / den
    dn = idl.pow(2) * (d1 * theta.pow(2) + 2 * idl * tt + d0 * (1 - theta).pow(2))
    return out, torch.log(dn) - 2 * torch.log(den)


u = torch.rand(6)
w, h, d = (torch.randn(6, n, requires_grad=True) for n in (5, 5, 6))
y, lad = RQS(u, w, h, d)
(y.sum() + lad.sum()).backward()
print(y, lad, w.grad[0], h.grad[1], d.grad[2], sep="\n")
print((RQS(y.detach(), w, h, d, inverse=True) - u).abs().max() < 1e-4)
try:
    RQS(u + 2, w, h, d)
except ValueError as e:
    print(repr(e))

base = distributions.Independent(distributions.Normal(torch.zeros(2), torch.ones(2)), 1)
tr = [
    distributions.transforms.AffineTransform(torch.tensor([1.0, 2.0]), torch.tensor([0.5, 2.0]), event_dim=1),
    distributions.SigmoidTransform(),
    distributions.transforms.ComposeTransform(
        [
            distributions.transforms.LogitTransform()
            if hasattr(distributions.transforms, "LogitTransform")
            else distributions.SigmoidTransform().inv
        ]
    ),
]
td = distributions.TransformedDistribution(base, tr)
s = td.rsample((3,))
print(s, td.log_prob(s), td, td.support)
