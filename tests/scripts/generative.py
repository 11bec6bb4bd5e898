"""Generative models: adversarial ones, diffusion with averaged weights, flows, style transfer, super resolution."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
import torch.optim as optim
from common import set_weights, waves
from torch.distributions import (
    Independent,
    MultivariateNormal,
    Normal,
    TransformedDistribution,
    kl_divergence,
)
from torch.nn.utils import spectral_norm
from torch.nn.utils.parametrizations import orthogonal, weight_norm
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_avg_fn, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.0)
        nn.init.constant_(m.bias.data, 0)


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(6, 16, 4, 1, 0, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(True),
            nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(True),
            nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, x):
        return self.main(x)


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(8, 16, 4, 2, 1, bias=False),
            nn.BatchNorm2d(16),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(16, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.main(x).view(-1, 1).squeeze(1)


g, d = G(), D()
g.apply(weights_init)
d.apply(weights_init)
set_weights(g, 0.1)
set_weights(d, 0.1)
crit = nn.BCELoss()
od, og = (
    optim.Adam(d.parameters(), lr=2e-4, betas=(0.5, 0.999)),
    optim.Adam(g.parameters(), lr=2e-4, betas=(0.5, 0.999)),
)
real = waves(4, 256).view(4, 1, 16, 16)
for i in range(3):
    d.zero_grad()
    label = torch.full((4,), 1.0, dtype=torch.float)
    err_d = crit(d(real), label)
    err_d.backward()
    noise = waves(4, 6, i).view(4, 6, 1, 1)
    fake = g(noise)
    label.fill_(0.0)
    e2 = crit(d(fake.detach()), label)
    e2.backward()
    od.step()
    g.zero_grad()
    label.fill_(1.0)
    eg = crit(d(fake), label)
    eg.backward()
    og.step()
    print("%.4f %.4f %.4f" % (err_d.item(), e2.item(), eg.item()))


# spectral norm critic with gradient penalty
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = spectral_norm(nn.Linear(4, 8))
        self.b = nn.utils.parametrizations.spectral_norm(nn.Linear(8, 1))

    def forward(self, x):
        return self.b(F.leaky_relu(self.a(x), 0.1))


c = Critic()
with torch.no_grad():
    for n, p in c.named_parameters():
        p.copy_(torch.sin(torch.arange(p.numel()).float() * 1.3).view_as(p))
    c.a.weight_u.copy_(F.normalize(torch.ones(8), dim=0))
    c.a.weight_v.copy_(F.normalize(torch.ones(4), dim=0))
    c.b.parametrizations.weight[0]._u.fill_(1.0)
    c.b.parametrizations.weight[0]._v.copy_(F.normalize(torch.ones(8), dim=0))
oc = optim.RMSprop(c.parameters(), lr=5e-3)
for i in range(3):
    x, f = waves(5, 4, i), waves(5, 4, 9 + i)
    eps = torch.linspace(0, 1, 5).unsqueeze(1)
    mix = (eps * x + (1 - eps) * f).requires_grad_(True)
    out = c(mix)
    gr = torch.autograd.grad(
        outputs=out,
        inputs=mix,
        grad_outputs=torch.ones_like(out),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    gp = ((gr.norm(2, dim=1) - 1) ** 2).mean()
    loss = c(f).mean() - c(x).mean() + 10 * gp
    oc.zero_grad()
    loss.backward()
    oc.step()
    print("%.4f %.4f" % (loss.item(), gp.item()))
print(sorted(c.state_dict()), c)


# DDPM with EMA
class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        e = torch.exp(torch.arange(half, device=t.device) * -(math.log(10000) / (half - 1)))
        e = t[:, None] * e[None, :]
        return torch.cat((e.sin(), e.cos()), dim=-1)


class Res(nn.Module):
    def __init__(self, i, o, te):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(te, o * 2))
        self.c = nn.Conv2d(i, o, 3, padding=1)
        self.n = nn.GroupNorm(2, o)
        self.r = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, t):
        s, b = self.mlp(t)[:, :, None, None].chunk(2, dim=1)
        return F.silu(self.n(self.c(x)) * (s + 1) + b) + self.r(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Sequential(SinusoidalPosEmb(8), nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 16))
        self.d = Res(1, 4, 16)
        self.down = nn.Conv2d(4, 4, 4, 2, 1)
        self.mid = Res(4, 4, 16)
        self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(4, 4, 3, padding=1))
        self.u = Res(8, 4, 16)
        self.o = nn.Conv2d(4, 1, 1)

    def forward(self, x, t):
        t = self.t(t)
        a = self.d(x, t)
        return self.o(self.u(torch.cat((self.up(self.mid(self.down(a), t)), a), dim=1), t))


T = 20
betas = torch.linspace(1e-4, 0.02, T, dtype=torch.float64).float()
alphas = 1.0 - betas
ac = torch.cumprod(alphas, dim=0)
acp = F.pad(ac[:-1], (1, 0), value=1.0)


def extract(a, t, shape):
    return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))


u = UNet()
set_weights(u, 0.2)
opt = optim.Adam(u.parameters(), lr=1e-3)
ema = AveragedModel(u, multi_avg_fn=get_ema_multi_avg_fn(0.9))
swa = AveragedModel(u, use_buffers=True)
sl = SWALR(opt, swa_lr=5e-4, anneal_epochs=2)
for i in range(4):
    x0, nz = waves(2, 64).view(2, 1, 8, 8), waves(2, 64, i + 1).view(2, 1, 8, 8)
    t = torch.tensor([i, T - 1 - i])
    xt = extract(ac.sqrt(), t, x0.shape) * x0 + extract((1 - ac).sqrt(), t, x0.shape) * nz
    loss = F.smooth_l1_loss(u(xt, t), nz)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update_parameters(u)
    swa.update_parameters(u)
    sl.step()
    print("%.5f" % loss.item(), "%.6f" % opt.param_groups[0]["lr"])
with torch.no_grad():
    x = waves(1, 64, 3).view(1, 1, 8, 8)
    for i in reversed(range(T)):
        t = torch.full((1,), i, dtype=torch.long)
        e = ema(x, t)
        x = (x - extract(betas, t, x.shape) / extract((1 - ac).sqrt(), t, x.shape) * e) / extract(
            alphas.sqrt(), t, x.shape
        )
    print(
        "%.4f" % x.abs().mean().item(), ema.n_averaged, "%.5f" % sum(p.sum() for p in swa.parameters()).item()
    )


# RealNVP and flow matching
class Coupling(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.register_buffer("m", m)
        self.s = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
        self.t = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))

    def forward(self, x):
        xm = x * self.m
        s, t = self.s(xm) * (1 - self.m), self.t(xm) * (1 - self.m)
        return xm + (1 - self.m) * (x * torch.exp(s) + t), s.sum(-1)

    def inverse(self, y):
        ym = y * self.m
        s, t = self.s(ym) * (1 - self.m), self.t(ym) * (1 - self.m)
        return ym + (1 - self.m) * ((y - t) * torch.exp(-s))


flow = nn.ModuleList([Coupling(torch.tensor([1.0, 0.0])), Coupling(torch.tensor([0.0, 1.0]))])
set_weights(flow, 0.4)
base = MultivariateNormal(torch.zeros(2), torch.eye(2))
opt = optim.Adam(flow.parameters(), 1e-2)
for i in range(4):
    z, ld = waves(20, 2) + 1, 0
    for l in flow:
        z, a = l(z)
        ld = ld + a
    loss = -(base.log_prob(z) + ld).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("%.5f" % loss.item())
x = waves(3, 2)
y = x
for l in flow:
    y, _ = l(y)
for l in reversed(flow):
    y = l.inverse(y)
print(torch.allclose(x, y, atol=1e-5))
vf = nn.Sequential(nn.Linear(3, 16), nn.ELU(), nn.Linear(16, 2))
set_weights(vf, 0.3)
opt = optim.AdamW(vf.parameters(), 1e-2)
sch = optim.lr_scheduler.OneCycleLR(opt, max_lr=2e-2, total_steps=6)
for i in range(5):
    x1, x0, t = waves(16, 2), waves(16, 2, 4), torch.linspace(0, 1, 16)[:, None]
    xt = (1 - t) * x0 + t * x1
    loss = (vf(torch.cat((t, xt), -1)) - (x1 - x0)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sch.step()
    print("%.5f %.6f" % (loss.item(), sch.get_last_lr()[0]))


# style / superres
def gram_matrix(y):
    (b, ch, h, w) = y.size()
    f = y.view(b, ch, w * h)
    return f.bmm(f.transpose(1, 2)) / (ch * h * w)


class ConvLayer(nn.Module):
    def __init__(self, i, o, k, s):
        super().__init__()
        self.reflection_pad = nn.ReflectionPad2d(k // 2)
        self.conv2d = nn.Conv2d(i, o, k, s)

    def forward(self, x):
        return self.conv2d(self.reflection_pad(x))


class UpConv(nn.Module):
    def __init__(self, i, o, k, up):
        super().__init__()
        self.up = up
        self.c = ConvLayer(i, o, k, 1)

    def forward(self, x):
        return self.c(F.interpolate(x, mode="nearest", scale_factor=self.up))


st = nn.Sequential(ConvLayer(3, 4, 3, 2), nn.InstanceNorm2d(4, affine=True), nn.ReLU(), UpConv(4, 3, 3, 2))
set_weights(st, 0.2)
x = waves(1, 300).view(1, 3, 10, 10)
gm = gram_matrix(x)
opt = optim.Adam(st.parameters(), 1e-2)
for i in range(3):
    y = st(x)
    loss = F.mse_loss(gram_matrix(y), gm) * 1e2 + F.mse_loss(y, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("%.5f" % loss.item())


class SR(nn.Module):
    def __init__(self, r):
        super().__init__()
        self.relu = nn.ReLU()
        self.c1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
        self.c2 = nn.Conv2d(8, r**2, (3, 3), (1, 1), (1, 1))
        self.ps = nn.PixelShuffle(r)
        init.orthogonal_(self.c1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.c2.weight)

    def forward(self, x):
        return self.ps(self.c2(self.relu(self.c1(x))))


sr = SR(3)
w = sr.c1.weight.flatten(1)
print(torch.allclose(w @ w.T, 2 * torch.eye(8), atol=1e-4))
set_weights(sr, 0.2)
y = sr(waves(1, 16).view(1, 1, 4, 4))
print(y.shape, "%.5f" % y.sum().item(), "%.4f" % (10 * math.log10(1 / F.mse_loss(y, y + 0.1).item())))


# forward-forward layer
class FF(nn.Linear):
    def __init__(self, i, o):
        super().__init__(i, o)
        self.relu = nn.ReLU()
        self.threshold = 2.0

    def forward(self, x):
        return self.relu(
            torch.mm(x / (x.norm(2, 1, keepdim=True) + 1e-4), self.weight.T) + self.bias.unsqueeze(0)
        )


ff = FF(6, 5)
set_weights(ff, 0.5)
opt = optim.Adam(ff.parameters(), lr=0.03)
for i in range(3):
    gp, gn = ff(waves(4, 6)).pow(2).mean(1), ff(waves(4, 6, 3)).pow(2).mean(1)
    loss = torch.log(1 + torch.exp(torch.cat([-gp + 2.0, gn - 2.0]))).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("%.5f" % loss.item())
