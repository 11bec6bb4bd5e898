"""Own optimisers, straight-through estimators, LoRA, experts, pruning, MAML, own samplers, parametrisations."""

import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function
from torch.func import functional_call, grad, jacfwd, jvp, vmap
from torch.nn.utils import parametrize, prune
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import (
    DataLoader,
    Dataset,
    Sampler,
    Subset,
    WeightedRandomSampler,
    random_split,
)

torch.manual_seed(0)


class Lion(Optimizer):
    def __init__(
        self, params, lr: float = 1e-4, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0
    ):
        assert lr > 0.0
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable | None = None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in filter(lambda p: p.grad is not None, group["params"]):
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                m, (b1, b2) = state["exp_avg"], group["betas"]
                p.data.mul_(1.0 - group["lr"] * group["weight_decay"])
                update = m.clone().mul_(b1).add(p.grad, alpha=1.0 - b1).sign_()
                p.add_(update, alpha=-group["lr"])
                m.mul_(b2).add_(p.grad, alpha=1.0 - b2)
        return loss


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        norm = torch.norm(
            torch.stack(
                [p.grad.norm(p=2) for g in self.param_groups for p in g["params"] if p.grad is not None]
            ),
            p=2,
        )
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale.to(p))
        self.zero_grad()
        closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.data = self.state[p]["old_p"]
        self.base_optimizer.step()


class Lookahead(Optimizer):
    def __init__(self, base, k=3, alpha=0.5):
        self.base, self.k, self.alpha = base, k, alpha
        self.param_groups = base.param_groups
        self.state = defaultdict(dict)
        for g in self.param_groups:
            g["counter"] = 0
        self.defaults = base.defaults
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = OrderedDict(), OrderedDict()

    def step(self, closure=None):
        loss = self.base.step(closure)
        for g in self.param_groups:
            if g["counter"] == 0:
                for fast in g["params"]:
                    st = self.state[fast]
                    if "slow" not in st:
                        st["slow"] = fast.data.clone()
                    slow = st["slow"]
                    slow += (fast.data - slow) * self.alpha
                    fast.data.copy_(slow)
            g["counter"] = (g["counter"] + 1) % self.k
        return loss


class Shampoo(Optimizer):
    def __init__(self, params, lr=1e-1, eps=1e-4):
        super().__init__(params, {"lr": lr, "eps": eps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                g, st = p.grad, self.state[p]
                if not st:
                    st["step"] = 0
                    for d, n in enumerate(g.size()):
                        st[f"pre_{d}"] = group["eps"] * torch.eye(n, out=g.new(n, n))
                for d, n in enumerate(g.size()):
                    g = g.transpose(0, d).contiguous()
                    shape = g.size()
                    g = g.view(n, -1)
                    st[f"pre_{d}"].add_(g @ g.t())
                    u, s, v = torch.svd(st[f"pre_{d}"])
                    g = (u @ s.pow_(-1 / p.grad.dim() / 2).diag() @ v.t() @ g).view(shape).transpose(0, d)
                st["step"] += 1
                p.add_(g, alpha=-group["lr"])


X = torch.randn(64, 6)
Y = (X[:, 0] * X[:, 1] > 0).long()


def net():
    torch.manual_seed(1)
    return nn.Sequential(
        OrderedDict([("fc1", nn.Linear(6, 16)), ("act", nn.Tanh()), ("fc2", nn.Linear(16, 2))])
    )


for name, make in {
    "lion": lambda p: Lion(p, 1e-2, weight_decay=0.1),
    "sam": lambda p: SAM(p, torch.optim.SGD, lr=0.1, momentum=0.9),
    "lookahead": lambda p: Lookahead(torch.optim.RAdam(p, 1e-2)),
    "shampoo": lambda p: Shampoo(p, 0.1),
}.items():
    m = net()
    opt = make(m.parameters())

    def closure():
        loss = F.cross_entropy(m(X), Y)
        loss.backward()
        return loss

    for _i in range(6):
        opt.zero_grad()
        loss = closure()
        opt.step(closure) if name == "sam" else opt.step()
    print(name, f"{loss.item():.4f}", len(opt.state), opt.__class__.__name__)
    try:
        sd = opt.state_dict()
        print(
            sorted(sd),
            sd["param_groups"][0].keys() - {"params"} and sorted(sd["state"][0])
            if 0 in sd["state"]
            else None,
        )
    except Exception as e:
        print(type(e).__name__, e)
print(repr(Lion(net().parameters(), 1e-3)))


class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return torch.round(x / scale) * scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() < 1).float(), None


class QLinear(nn.Linear):
    def forward(self, x):
        w = RoundSTE.apply(self.weight, 1 / 8)
        return F.linear(x + (torch.sign(x) - x).detach(), w, self.bias)


class LoRA(nn.Module):
    def __init__(self, base: nn.Linear, r=2, alpha=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


class MoE(nn.Module):
    def __init__(self, d, n=4, k=2):
        super().__init__()
        self.gate, self.k = nn.Linear(d, n, bias=False), k
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d, d), nn.SiLU(), nn.Linear(d, d)) for _ in range(n)
        )

    def forward(self, x):
        w, sel = torch.topk(F.softmax(self.gate(x), dim=1, dtype=torch.float), self.k, dim=-1)
        w /= w.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        mask = F.one_hot(sel, num_classes=len(self.experts)).permute(2, 1, 0)
        for e, expert in enumerate(self.experts):
            idx, top = torch.where(mask[e])
            out.index_add_(0, top, expert(x[top]) * w[top, idx, None])
        return out


m = nn.Sequential(QLinear(6, 8), nn.ReLU(), LoRA(nn.Linear(8, 8)), MoE(8), nn.Linear(8, 2))
print([n for n, p in m.named_parameters() if p.requires_grad][:5], m[2])
ema = AveragedModel(m, multi_avg_fn=get_ema_multi_avg_fn(0.9))
opt = torch.optim.AdamW(
    [
        {"params": [p for n, p in m.named_parameters() if "lora" in n], "lr": 1e-2},
        {"params": [p for n, p in m.named_parameters() if "lora" not in n and p.requires_grad]},
    ],
    lr=1e-3,
    foreach=True,
)
for _i in range(5):
    loss = F.cross_entropy(checkpoint(m, X, use_reentrant=False), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update_parameters(m)
    print(f"{loss:.5f}" if not loss.requires_grad else f"{loss.item():.5f}")
print(ema.n_averaged, F.cross_entropy(ema(X), Y))
m = net()
prune.random_unstructured(m.fc1, "weight", amount=0.3)
prune.l1_unstructured(m.fc1, name="bias", amount=3)
prune.ln_structured(m.fc2, "weight", amount=0.5, n=2, dim=1)
prune.global_unstructured(
    [(m.fc1, "weight"), (m.fc2, "weight")], pruning_method=prune.L1Unstructured, amount=0.2
)
print(
    [n for n, _ in m.named_buffers()],
    [int((b == 0).sum()) for b in m.buffers()],
    len(m.fc1._forward_pre_hooks),
)
prune.remove(m.fc1, "weight")
print(prune.is_pruned(m), sorted(m.state_dict()))
params = {k: v.detach() for k, v in net().named_parameters()}


def loss_of(p, x, y):
    return F.cross_entropy(functional_call(net_, p, (x.unsqueeze(0),)), y.unsqueeze(0))


net_ = net()
g = vmap(grad(loss_of), in_dims=(None, 0, 0))(params, X, Y)
norms = torch.stack([v.flatten(1).norm(dim=1) for v in g.values()]).norm(dim=0)
clipped = {k: torch.einsum("i,i...", (1.0 / norms.clamp(min=0.5)), v) / len(X) for k, v in g.items()}
print(norms[:4], {k: round(v.norm().item(), 5) for k, v in clipped.items()})
meta = net()
mo = torch.optim.Adam(meta.parameters(), 1e-2)
for _it in range(3):
    total = 0.0
    for _task in range(2):
        a = torch.rand(1)
        fast = OrderedDict(meta.named_parameters())
        for _ in range(2):
            l = F.mse_loss(functional_call(meta, fast, X[:8])[:, 0], a * X[:8, 0])
            gs = torch.autograd.grad(l, list(fast.values()), create_graph=True, allow_unused=True)
            fast = OrderedDict(
                (k, p - 0.1 * g_ if g_ is not None else p)
                for (k, p), g_ in zip(fast.items(), gs, strict=False)
            )
        total = total + F.mse_loss(functional_call(meta, fast, X[8:16])[:, 0], a * X[8:16, 0])
    mo.zero_grad()
    total.backward()
    mo.step()
    print(f"maml {total:.5f}")


class Balanced(Sampler[list[int]]):
    def __init__(self, labels, per):
        self.by = {int(c): (labels == c).nonzero(as_tuple=True)[0] for c in labels.unique()}
        self.per = per

    def __iter__(self):
        for _ in range(len(self)):
            yield torch.cat([v[torch.randperm(len(v))[: self.per]] for v in self.by.values()]).tolist()

    def __len__(self):
        return 2


class Set(Dataset[tuple[Tensor, int]]):
    def __init__(self, x, y, transform=None):
        self.x, self.y, self.transform = x, y, transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        return {
            "x": self.transform(x) if self.transform else x,
            "y": self.y[i].item(),
            "id": str(i),
            "len": (i, [i]),
        }


ds = Set(X, Y, transform=lambda x: x + 0.1 * torch.randn_like(x))
for b in DataLoader(ds, batch_sampler=Balanced(Y, 2)):
    print(b["x"].sum().item().__round__(3), b["y"], b["id"], b["len"])
tr, va, te = random_split(ds, [0.5, 0.25, 0.25], generator=torch.Generator().manual_seed(42))
print(len(tr), va.indices[:5], te[0]["id"])
w = WeightedRandomSampler(torch.tensor([1.0, 5.0])[Y], 10, replacement=True)
print(
    list(w),
    [
        len(b["y"])
        for b in DataLoader(
            Subset(ds, range(10)),
            4,
            shuffle=True,
            drop_last=False,
            collate_fn=lambda l: {k: [d[k] for d in l] for k in l[0]},
        )
    ],
)


class Sym(nn.Module):
    def forward(self, A):
        return A.triu() + A.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


l = nn.Linear(3, 3)
parametrize.register_parametrization(l, "weight", Sym())
print(l, torch.allclose(l.weight, l.weight.T), list(l.state_dict()))
o = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
print(torch.allclose(o.weight @ o.weight.T, torch.eye(3), atol=1e-6))
s = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))
wn = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
print(torch.linalg.matrix_norm(s.weight, 2), wn.parametrizations.weight.original0)
feats = {}
hs = [
    mod.register_forward_hook(lambda mod, i, o, n=n: feats.update({n: o.detach().mean().item()}))
    for n, mod in net_.named_modules()
    if n
]
hs.append(
    net_.fc1.register_full_backward_hook(
        lambda mod, gi, go: print("bw", gi[0] is None or gi[0].shape, go[0].norm())
    )
)
net_(X).logsumexp(1).sum().backward()
print({k: round(v, 4) for k, v in feats.items()})
[h.remove() for h in hs]
print(
    *[f"{r.item():.4f}" for r in jvp(lambda x: net_(x).sum(), (X[:2],), (torch.ones(2, 6),))],
    jacfwd(lambda x: x.sin() * x.sum())(X[0, :2]),
)
