"""Denoising diffusion on two moons."""

import argparse
import math
from dataclasses import dataclass, field
from typing import Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    timesteps: int = 50
    hidden: int = 64
    layers: int = 2
    emb: int = 32
    lr: float = 1e-3
    epochs: int = 4
    batch_size: int = 64
    ema_decay: float = 0.99
    schedule: str = "cosine"
    seed: int = 42
    betas: Tuple[float, float] = field(default=(0.9, 0.95))


class SinusoidalEmbedding(nn.Module):
    def __init__(self, size: int, scale: float = 1.0):
        super().__init__()
        self.size = size
        self.scale = scale

    def forward(self, x: torch.Tensor):
        x = x * self.scale
        half_size = self.size // 2
        emb = torch.log(torch.Tensor([10000.0])) / (half_size - 1)
        emb = torch.exp(-emb * torch.arange(half_size))
        emb = x.unsqueeze(-1) * emb.unsqueeze(0)
        return torch.cat((torch.sin(emb), torch.cos(emb)), dim=-1)

    def __len__(self):
        return self.size


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.ff = nn.Linear(size, size)
        self.act = nn.GELU()

    def forward(self, x):
        return x + self.act(self.ff(x))


class MLP(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.time_mlp = SinusoidalEmbedding(c.emb)
        self.in1 = SinusoidalEmbedding(c.emb, 25.0)
        self.in2 = SinusoidalEmbedding(c.emb, 25.0)
        cat = len(self.time_mlp) + len(self.in1) + len(self.in2)
        layers = [nn.Linear(cat, c.hidden), nn.GELU()]
        layers += [Block(c.hidden) for _ in range(c.layers)]
        layers.append(nn.Linear(c.hidden, 2))
        self.joint_mlp = nn.Sequential(*layers)

    def forward(self, x, t):
        return self.joint_mlp(torch.cat((self.in1(x[:, 0]), self.in2(x[:, 1]), self.time_mlp(t)), dim=-1))


def extract(a: torch.Tensor, t: torch.Tensor, x_shape) -> torch.Tensor:
    b, *_ = t.shape
    out = a.gather(-1, t)
    return out.reshape(b, *((1,) * (len(x_shape) - 1)))


class GaussianDiffusion(nn.Module):
    def __init__(self, model, c: Config):
        super().__init__()
        self.model = model
        self.T = c.timesteps
        if c.schedule == "cosine":
            steps = torch.linspace(0, self.T, self.T + 1, dtype=torch.float64)
            ac = torch.cos(((steps / self.T) + 0.008) / 1.008 * math.pi * 0.5) ** 2
            ac = ac / ac[0]
            betas = torch.clip(1 - ac[1:] / ac[:-1], 0, 0.999)
        else:
            betas = torch.linspace(1e-4, 0.02, self.T, dtype=torch.float64)

        def reg(name, v):
            return self.register_buffer(name, v.to(torch.float32))

        alphas = 1.0 - betas
        ac = torch.cumprod(alphas, dim=0)
        prev = F.pad(ac[:-1], (1, 0), value=1.0)
        reg("betas", betas)
        reg("ac", ac)
        reg("sqrt_ac", ac.sqrt())
        reg("sqrt_1mac", (1 - ac).sqrt())
        reg("recip", (1 / ac).sqrt())
        reg("recipm1", (1 / ac - 1).sqrt())
        pv = betas * (1 - prev) / (1 - ac)
        reg("plogvar", torch.log(pv.clamp(min=1e-20)))
        reg("c1", betas * torch.sqrt(prev) / (1 - ac))
        reg("c2", (1 - prev) * torch.sqrt(alphas) / (1 - ac))

    def q_sample(self, x0, t, noise=None):
        noise = torch.randn_like(x0) if noise is None else noise
        return extract(self.sqrt_ac, t, x0.shape) * x0 + extract(self.sqrt_1mac, t, x0.shape) * noise

    def forward(self, x0):
        t = torch.randint(0, self.T, (x0.shape[0],), device=x0.device).long()
        noise = torch.randn_like(x0)
        return F.mse_loss(self.model(self.q_sample(x0, t, noise), t), noise)

    @torch.inference_mode()
    def p_sample(self, x, t: int):
        bt = torch.full((x.shape[0],), t, dtype=torch.long)
        eps = self.model(x, bt)
        x0 = (extract(self.recip, bt, x.shape) * x - extract(self.recipm1, bt, x.shape) * eps).clamp_(-3, 3)
        mean = extract(self.c1, bt, x.shape) * x0 + extract(self.c2, bt, x.shape) * x
        noise = torch.randn_like(x) if t > 0 else 0.0
        return mean + (0.5 * extract(self.plogvar, bt, x.shape)).exp() * noise

    @torch.no_grad()
    def sample(self, n):
        x = torch.randn(n, 2)
        for t in reversed(range(self.T)):
            x = self.p_sample(x, t)
        return x

    @torch.no_grad()
    def ddim(self, n, steps=10, eta=0.0):
        times = list(reversed(torch.linspace(-1, self.T - 1, steps=steps + 1).int().tolist()))
        x = torch.randn(n, 2)
        for t, tn in zip(times[:-1], times[1:]):
            bt = torch.full((n,), t, dtype=torch.long)
            eps = self.model(x, bt)
            x0 = extract(self.recip, bt, x.shape) * x - extract(self.recipm1, bt, x.shape) * eps
            if tn < 0:
                x = x0
                continue
            a, an = self.ac[t], self.ac[tn]
            sigma = eta * ((1 - a / an) * (1 - an) / (1 - a)).sqrt()
            c = (1 - an - sigma**2).sqrt()
            x = x0 * an.sqrt() + c * eps + sigma * torch.randn_like(x)
        return x


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].lerp_(p, 1 - self.decay)

    def copy_to(self, model):
        for n, p in model.named_parameters():
            p.data.copy_(self.shadow[n].data)


def moons(n, noise=0.05):
    t = torch.rand(n) * math.pi
    s = torch.randint(0, 2, (n,))
    x = torch.stack(
        [torch.where(s == 0, t.cos(), 1 - t.cos()), torch.where(s == 0, t.sin(), 0.5 - t.sin())], 1
    )
    return x + noise * torch.randn_like(x)


def main():
    parser = argparse.ArgumentParser()
    for k, v in Config.__dataclass_fields__.items():
        if k != "betas":
            parser.add_argument(f"--{k}", type=type(v.default), default=v.default)
    c = Config(**vars(parser.parse_args()))
    print(c)
    torch.manual_seed(c.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = moons(512)
    loader = DataLoader(TensorDataset(data), batch_size=c.batch_size, shuffle=True, drop_last=True)
    diff = GaussianDiffusion(MLP(c), c).to(device)
    print(diff, sum(p.numel() for p in diff.parameters()))
    opt = torch.optim.AdamW(diff.parameters(), lr=c.lr, betas=c.betas)
    sched = CosineAnnealingLR(opt, T_max=c.epochs * len(loader))
    ema = EMA(diff, c.ema_decay)
    for epoch in range(c.epochs):
        losses = []
        for (x,) in loader:
            loss = diff(x.to(device))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            gn = nn.utils.clip_grad_norm_(diff.parameters(), 1.0)
            opt.step()
            sched.step()
            ema.update(diff)
            losses.append(loss.item())
        print(
            f"epoch {epoch} loss {sum(losses) / len(losses):.4f} grad {gn:.4f} lr {sched.get_last_lr()[0]:.2e}"
        )
    ema.copy_to(diff)
    diff.eval()
    print(diff.sample(4))
    print(diff.ddim(4, eta=0.5))
    print({k: tuple(v.shape) for k, v in diff.state_dict().items() if not k.startswith("model")})


if __name__ == "__main__":
    main()
