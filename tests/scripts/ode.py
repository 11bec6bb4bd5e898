"""A solver of differential equations with the adjoint method, in the form of the packages that have one."""

import torch
import torch.nn as nn
from common import set_weights


class RK4:
    """Fixed steps of the classical method."""

    def __init__(self, func, step):
        self.func, self.step = func, step

    def increment(self, t, dt, y):
        k1 = self.func(t, y)
        k2 = self.func(t + dt / 2, y + dt * k1 / 2)
        k3 = self.func(t + dt / 2, y + dt * k2 / 2)
        k4 = self.func(t + dt, y + dt * k3)
        return (k1 + 2 * k2 + 2 * k3 + k4) * dt / 6

    def integrate(self, y, t):
        found = [y]
        for t0, t1 in zip(t[:-1], t[1:]):
            n = max(1, int(torch.ceil((t1 - t0).abs() / self.step).item()))
            dt = (t1 - t0) / n
            for i in range(n):
                y = y + self.increment(t0 + i * dt, dt, y)
            found.append(y)
        return torch.stack(found)


def odeint(func, y0, t, step=0.1):
    return RK4(func, step).integrate(y0, t)


class OdeintAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, t, step, *params):
        with torch.no_grad():
            ys = odeint(func, y0, t, step)
        ctx.func, ctx.step = func, step
        ctx.save_for_backward(t, ys, *params)
        return ys

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_ys):
        t, ys, *params = ctx.saved_tensors
        func = ctx.func
        n = ys[0].numel()

        def augmented(time, state):
            y, a = state[:n].view_as(ys[0]), state[n : 2 * n].view_as(ys[0])
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                f = func(time, y)
                dy, *dps = torch.autograd.grad(f, (y, *params), -a, allow_unused=True)
            dps = [torch.zeros_like(p) if d is None else d for d, p in zip(dps, params)]
            return torch.cat([f.detach().reshape(-1), dy.reshape(-1), *[d.reshape(-1) for d in dps]])

        a = grad_ys[-1]
        total = torch.zeros(sum(p.numel() for p in params), dtype=ys.dtype)
        for i in range(len(t) - 1, 0, -1):
            state = torch.cat([ys[i].reshape(-1), a.reshape(-1), total])
            state = odeint(augmented, state, torch.stack([t[i], t[i - 1]]), ctx.step)[-1]
            a = state[n : 2 * n].view_as(a) + grad_ys[i - 1]
            total = state[2 * n :]
        grads = [g.view_as(p) for g, p in zip(total.split([p.numel() for p in params]), params)]
        return None, a, None, None, *grads


def odeint_adjoint(func, y0, t, step=0.1):
    return OdeintAdjoint.apply(func, y0, t, step, *func.parameters())


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


class Lambda(nn.Module):
    def forward(self, t, y):
        return torch.mm(y**3, torch.tensor([[-0.1, 2.0], [-2.0, -0.1]], dtype=y.dtype))


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    true_y0 = torch.tensor([[2.0, 0.0]])
    t = torch.linspace(0.0, 1.0, 6)
    with torch.no_grad():
        true_y = odeint(Lambda(), true_y0, t, step=0.02)
    print("end", [round(v, 4) for v in true_y[-1, 0].tolist()])
    func = ODEFunc()
    set_weights(func, 0.3)
    direct = torch.autograd.grad(odeint(func, true_y0, t).pow(2).mean(), list(func.parameters()))
    by_adjoint = torch.autograd.grad(odeint_adjoint(func, true_y0, t).pow(2).mean(), list(func.parameters()))
    worst = max((a - b).abs().max().item() for a, b in zip(direct, by_adjoint))
    print("the adjoint agrees:", worst < 1e-3)
    optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
    for itr in range(1, 9):
        optimizer.zero_grad()
        loss = torch.mean(torch.abs(odeint_adjoint(func, true_y0, t) - true_y))
        loss.backward()
        optimizer.step()
        if itr % 4 == 0:
            print(f"iter {itr:04d} | total loss {loss.item():.4f}")
