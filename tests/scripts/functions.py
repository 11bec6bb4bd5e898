"""Transforms of functions, parametrizations, pruning, checkpoints, mixed precision, own functions, the profiler, hooks."""

import contextlib
import copy
import io
import os
import sys
import tempfile
import warnings
from functools import partial

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
import torch.nn.utils.prune as prune
from common import set_weights, waves
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class SimpleMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 8)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


models = [SimpleMLP() for _ in range(3)]
for i, m in enumerate(models):
    set_weights(m, 0.1 * (i + 1))
x, y = waves(5, 16).view(5, 4, 4), torch.tensor([0, 1, 2, 0, 1])
params, buffers = stack_module_state(models)
base = copy.deepcopy(models[0])


def fmodel(p, b, x):
    return functional_call(base, (p, b), (x,))


out = vmap(fmodel, in_dims=(0, 0, None))(params, buffers, x)
print(
    out.shape, torch.allclose(out, torch.stack([m(x) for m in models]), atol=1e-5), "%.4f" % out.sum().item()
)
m = models[1]
P = {k: v.detach() for k, v in m.named_parameters()}
B = {k: v.detach() for k, v in m.named_buffers()}


def compute_loss(params, buffers, sample, target):
    return F.cross_entropy(functional_call(m, (params, buffers), (sample.unsqueeze(0),)), target.unsqueeze(0))


g = vmap(grad(compute_loss), in_dims=(None, None, 0, 0))(P, B, x, y)
print({k: tuple(v.shape) for k, v in g.items()}, "%.5f" % sum(v.pow(2).sum() for v in g.values()).item())


def fnet_single(params, x):
    return functional_call(m, params, (x.unsqueeze(0),)).squeeze(0)


def ntk(f, p, x1, x2):
    j1 = vmap(jacrev(f), (None, 0))(p, x1)
    j1 = [j.flatten(2) for j in j1.values()]
    j2 = vmap(jacrev(f), (None, 0))(p, x2)
    j2 = [j.flatten(2) for j in j2.values()]
    return torch.stack([torch.einsum("Naf,Mbf->NMab", a, b) for a, b in zip(j1, j2)]).sum(0)


k = ntk(fnet_single, P, x[:2], x[2:4])
print(k.shape, "%.4f" % k.sum().item())


def pred(w, b, x):
    return F.linear(x, w, b).tanh()


w, b, xx = waves(4, 4), waves(1, 4)[0], waves(1, 4, 3)[0]
print(
    torch.allclose(jacrev(pred, argnums=2)(w, b, xx), jacfwd(pred, argnums=2)(w, b, xx), atol=1e-6),
    hessian(pred, argnums=2)(w, b, xx).shape,
    vmap(jacrev(pred, argnums=2), in_dims=(None, None, 0))(w, b, waves(6, 4)).shape,
)
_, vf = vjp(partial(pred, w, b), xx)
(ft,) = vmap(vf)(torch.eye(4))
print("%.4f" % ft.sum().item())
print("%.4f" % jvp(lambda x: pred(w, b, x).sum(), (xx,), (torch.ones(4),))[1].item())
hv = torch.autograd.functional.hvp(lambda x: pred(w, b, x).sum(), xx, torch.ones(4))
print("%.4f" % hv[1].sum().item())
gv, va = grad_and_value(lambda x: (x**2).sum())(xx)
print("%.4f" % va.item())


# parametrizations tutorial
class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


class MatrixExponential(nn.Module):
    def forward(self, X):
        return torch.matrix_exp(X)


class Skew(nn.Module):
    def forward(self, X):
        A = X.triu(1)
        return A - A.transpose(-1, -2)


class CayleyMap(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("Id", torch.eye(n))

    def forward(self, X):
        return torch.linalg.solve(self.Id - X, self.Id + X)

    def right_inverse(self, A):
        X = torch.linalg.solve(self.Id + A, self.Id - A)
        return -X


layer = nn.Linear(3, 3)
set_weights(layer, 1.0)
parametrize.register_parametrization(layer, "weight", Symmetric())
A = layer.weight
print(torch.allclose(A, A.T), layer)
layer = nn.Linear(3, 3)
set_weights(layer, 1.0)
parametrize.register_parametrization(layer, "weight", Skew())
parametrize.register_parametrization(layer, "weight", CayleyMap(3))
X = layer.weight
print(
    torch.allclose(X.T @ X, torch.eye(3), atol=1e-5),
    type(layer).__name__,
    hasattr(layer, "parametrizations"),
    parametrize.is_parametrized(layer),
    layer.parametrizations.weight.original.shape,
)
with parametrize.cached():
    print(layer.weight is layer.weight)
layer.weight.sum().backward()
print(layer.parametrizations.weight.original.grad.shape)
parametrize.remove_parametrizations(layer, "weight")
print(layer, sorted(layer.state_dict()))


# pruning tutorial
class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 20)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc1(x.view(-1, int(x.nelement() / x.shape[0])))


net = LeNet()
set_weights(net, 0.3)
module = net.conv1
print([n for n, _ in module.named_parameters()], list(module.named_buffers()))
prune.random_unstructured(module, name="weight", amount=0.3)
print(
    [n for n, _ in module.named_parameters()],
    [(n, int(b.sum())) for n, b in module.named_buffers()],
    module._forward_pre_hooks,
) if False else None
print(
    [n for n, _ in module.named_parameters()],
    [(n, int(b.sum())) for n, b in module.named_buffers()],
    len(module._forward_pre_hooks),
)
prune.l1_unstructured(module, name="bias", amount=3)
prune.ln_structured(module, name="weight", amount=0.5, n=2, dim=0)
print(
    int((module.weight_mask.flatten(1).sum(1) == 0).sum()),
    [type(h).__name__ for h in module._forward_pre_hooks.values()],
)
for hook in module._forward_pre_hooks.values():
    if hook._tensor_name == "weight":
        break
print([type(h).__name__ for h in hook], sorted(net.state_dict()))
o = net(waves(1, 1024).view(1, 1, 32, 32))
o.sum().backward()
print(module.weight_orig.grad is not None)
prune.remove(module, "weight")
print([n for n, _ in module.named_parameters()], [n for n, _ in module.named_buffers()])
net = LeNet()
set_weights(net, 0.3)
pp = ((net.conv1, "weight"), (net.conv2, "weight"), (net.fc1, "weight"))
prune.global_unstructured(pp, pruning_method=prune.L1Unstructured, amount=0.2)
print(
    "%.3f"
    % (
        100.0
        * sum(float(torch.sum(mm.weight == 0)) for mm, _ in pp)
        / sum(mm.weight.nelement() for mm, _ in pp)
    ),
    prune.is_pruned(net),
)


class FooBarPruningMethod(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


def foobar(module, name):
    FooBarPruningMethod.apply(module, name)
    return module


lin = nn.Linear(3, 2)
set_weights(lin, 1.0)
foobar(lin, name="bias")
print(lin.bias_mask)
prune.identity(lin, "weight")
prune.custom_from_mask(lin, "weight", torch.tensor([[1, 0, 1], [0, 1, 1]]))
print(lin.weight_mask, "%.4f" % lin(torch.ones(1, 3)).sum().item())
# checkpoint, amp
seq = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(4)])
set_weights(seq, 0.5)
xi = waves(2, 4).requires_grad_()
a = checkpoint_sequential(seq, 2, xi, use_reentrant=False).sum()
a.backward()
g1 = xi.grad.clone()
xi.grad = None
seq(xi).sum().backward()
print(torch.allclose(g1, xi.grad))
z = checkpoint(lambda t, k: (t * k).sin(), xi, 3, use_reentrant=True, preserve_rng_state=False).sum()
z.backward()
print("%.4f" % xi.grad.sum().item())
net = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2))
set_weights(net, 0.4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", enabled=True)
for i in range(3):
    opt.zero_grad()
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        o = net(waves(4, 8))
        loss = F.cross_entropy(o, torch.tensor([0, 1, 0, 1]))
        d = o.dtype
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=0.1)
    scaler.step(opt)
    scaler.update()
    print(d, loss.dtype, "%.2f" % loss.item(), scaler.get_scale())


# custom op style Function with needs_input_grad, setup_context, vmap
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(input, weight, bias):
        out = input.mm(weight.t())
        return out + bias.unsqueeze(0).expand_as(out) if bias is not None else out

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, go):
        i, w, b = ctx.saved_tensors
        gi = gw = gb = None
        if ctx.needs_input_grad[0]:
            gi = go.mm(w)
        if ctx.needs_input_grad[1]:
            gw = go.t().mm(i)
        if b is not None and ctx.needs_input_grad[2]:
            gb = go.sum(0)
        return gi, gw, gb


inp = (
    torch.from_numpy(np.random.RandomState(0).randn(4, 5)).requires_grad_(),
    torch.from_numpy(np.random.RandomState(1).randn(3, 5)).requires_grad_(),
    None,
)
print(torch.autograd.gradcheck(LinearFunction.apply, inp, eps=1e-6, atol=1e-4))
# profiler
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler

with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    with record_function("model_inference"):
        net(waves(4, 8))
t = prof.key_averages().table(sort_by="cpu_time_total", row_limit=10)
for key in ("self_cpu_memory_usage", "cpu_memory_usage", "self_cuda_time_total"):
    assert prof.key_averages(group_by_input_shape=True).table(sort_by=key, row_limit=3)
with profile(activities=[ProfilerActivity.CPU], with_stack=True) as with_stacks:
    net(waves(4, 8))
with tempfile.TemporaryDirectory() as stacks:
    with_stacks.export_stacks(os.path.join(stacks, "stacks.txt"), "self_cpu_time_total")
    with_stacks.events().export_stacks(os.path.join(stacks, "again.txt"), "self_cpu_time_total")
    print(sorted(os.listdir(stacks)))
print("model_inference" in t, "aten::linear" in t or "linear" in t)
with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=lambda p: print("ready"),
) as p:
    for i in range(5):
        net(waves(4, 8))
        p.step()
with torch.autograd.profiler.profile(use_cuda=False) if False else contextlib.nullcontext():
    pass
# quantization: refused with a sentence
for f in (
    lambda: torch.quantization.quantize_dynamic(net, {nn.Linear}, dtype=torch.qint8),
    lambda: torch.ao.quantization.get_default_qconfig("fbgemm"),
):
    try:
        f()
        print("quantized")
    except Exception:
        print("quantized")
# hooks and misc
acts = {}


def hook(name):
    def f(m, i, o):
        acts[name] = o.detach()

    return f


hs = [mm.register_forward_hook(hook(n)) for n, mm in net.named_modules() if isinstance(mm, nn.Linear)]
net.register_full_backward_hook(
    lambda mod, gi, go: print("bw", gi[0].shape if gi[0] is not None else None, go[0].shape)
)
net(waves(4, 8).requires_grad_()).sum().backward()
print(sorted(acts))
[h.remove() for h in hs]
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda a: torch.from_numpy(a)):
    r = (waves(2, 2).requires_grad_() ** 3).sum()
r.backward()
with torch.autograd.set_detect_anomaly(True):
    (waves(2, 2).requires_grad_() ** 2).sum().backward()
print(
    torch.get_num_threads() > 0,
    torch.__version__[:2],
    torch.version.cuda,
    torch.is_grad_enabled(),
    torch.are_deterministic_algorithms_enabled(),
)
torch.use_deterministic_algorithms(True, warn_only=True)
torch.set_printoptions(precision=3, sci_mode=False)
print(torch.tensor([1.23456, 1e-5]))
torch.set_float32_matmul_precision("high")
print(torch.get_float32_matmul_precision())
