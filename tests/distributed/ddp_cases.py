"""Models and graphs whose gradients over all ranks are those of one process: run by test_ddp.py."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import pickle

import numpy as np
import pytest

import retrograd as rg
import retrograd.distributed as dist
from retrograd import nn
from retrograd.distributed.algorithms.ddp_comm_hooks import (
    DDPCommHookType,
    default_hooks,
    powerSGD_hook,
    register_ddp_comm_hook,
)
from retrograd.nn import parallel
from retrograd.utils.checkpoint import checkpoint

DDP = parallel.DistributedDataParallel
CASES = {}
TINY = 1e-4  # MiB: buckets of some hundred bytes, so that there are many


def case(function):
    """Adds a case."""
    CASES[function.__name__] = function
    return function


def digest(tensors):
    """The bits of tensors."""
    whole = hashlib.sha256()
    for tensor in tensors:
        whole.update(
            b"None" if tensor is None else np.ascontiguousarray(tensor.detach().float().numpy()).tobytes()
        )
    return whole.hexdigest()


def same_everywhere(tensors):
    """Whether all ranks have the same bits."""
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, digest(tensors))
    return len(set(found)) == 1


def wrapped(model, rank, **options):
    """A model that began differently on each rank, as DDP; and a copy for one process."""
    with rg.no_grad():
        for param in model.parameters():
            param.add_(rank * 0.01)
    ddp = DDP(model, **{"bucket_cap_mb": TINY, **options})
    return ddp, copy.deepcopy(ddp.module)


def agree(ddp, reference, rtol=1e-4, atol=1e-6):
    """Gradients are those of one process, None where those are, and the same bits on all ranks."""
    found = [param.grad for param in ddp.module.parameters()]
    wanted = [param.grad for param in reference.parameters()]
    names = [name for name, _ in ddp.module.named_parameters()]
    for name, a, b in zip(names, found, wanted, strict=True):
        assert (a is None) == (b is None), (name, a, b)
        if a is not None:
            assert a.dtype == b.dtype
            np.testing.assert_allclose(
                a.detach().float().numpy() if not a.is_complex() else a.numpy(),
                b.detach().float().numpy() if not b.is_complex() else b.numpy(),
                rtol=rtol, atol=atol, err_msg=name,
            )  # fmt: skip
    assert same_everywhere([g.real if g is not None and g.is_complex() else g for g in found])


def inputs(size, *shape, dtype=rg.float32):
    """The inputs of all ranks, the same everywhere."""
    generator = rg.Generator().manual_seed(7)
    return [rg.randn(*shape, generator=generator, dtype=dtype) for _ in range(size)]


def check(
    model, rank, size, shape=(3, 4), loss=None, steps=2, dtype=rg.float32, rtol=1e-4, atol=1e-6, **options
):
    """Some steps of SGD: gradients agree in each, and the models stay the same."""
    ddp, reference = wrapped(model, rank, **options)
    loss = loss or (lambda model, x, rank, step: model(x).pow(2).mean())
    parts = inputs(size, *shape, dtype=dtype)
    for step in range(steps):
        for each in (ddp, reference):
            each.zero_grad()
        loss(ddp, parts[rank], rank, step).backward()
        sum(loss(reference, parts[r], r, step) / size for r in range(size)).backward()
        agree(ddp, reference, rtol, atol)
        with rg.no_grad():
            for each in (ddp.module, reference):
                for param in each.parameters():
                    if param.grad is not None:
                        param -= 0.05 * param.grad
    return ddp, reference


def mlp(width=4, depth=3):
    return nn.Sequential(*[m for _ in range(depth) for m in (nn.Linear(width, width), nn.Tanh())])


# -- models --------------------------------------------------------------------------------------------------------


@case
def linear(rank, size):
    check(nn.Linear(4, 2), rank, size)


@case
def deep_with_many_buckets(rank, size):
    ddp, _ = check(mlp(depth=8), rank, size)
    assert len(ddp.reducer.buckets) >= 4


@case
def one_bucket(rank, size):
    ddp, _ = check(mlp(), rank, size, bucket_cap_mb=None)
    assert len(ddp.reducer.buckets) == 1


@case
def larger_than_a_small_message(rank, size):
    check(nn.Sequential(nn.Linear(4, 3000), nn.ReLU(), nn.Linear(3000, 4)), rank, size, bucket_cap_mb=0.02)


@case
def convolutions(rank, size):
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3))
    check(net, rank, size, (2, 2, 6, 6))


@case
def channels_last(rank, size):
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3)).to(memory_format=rg.channels_last)
    for views in (False, True):
        ddp, _ = check(copy.deepcopy(net), rank, size, (2, 3, 6, 6), gradient_as_bucket_view=views)
        weight = ddp.module[0].weight
        assert weight.grad.stride() == weight.stride()


@case
def batch_norm_with_buffers(rank, size):
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    ddp, _ = wrapped(net, rank)
    x = inputs(size, 5, 4)[rank]
    ddp(x).sum().backward()
    assert not same_everywhere([net[1].running_mean])  # each rank has seen other data …
    ddp(x).sum().backward()  # … and gets the first rank's buffers before the next forward
    net.eval()
    ddp(x)
    assert same_everywhere([net[1].running_mean, net[1].running_var])


@case
def buffers_left_alone(rank, size):
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    ddp, _ = wrapped(net, rank, forward_sync_buffers=False)
    for _ in range(2):
        ddp(inputs(size, 5, 4)[rank]).sum().backward()
    assert not same_everywhere([net[1].running_mean])


@case
def what_each_rank_keeps(rank, size):
    """Parameters and buffers that are to be left alone may be of another shape on each rank."""
    for options in ({}, {"broadcast_buffers": False}, {"forward_sync_buffers": False}):
        net = nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 1 + rank, bias=False))
        net[1].register_buffer("noise", rg.full((1 + rank,), float(rank)))
        DDP._set_params_and_buffers_to_ignore_for_model(net, ["1.weight", "1.noise"])
        own = net[1].weight.detach().clone()
        ddp, _ = wrapped(net, rank, **options)
        ddp(inputs(size, 2, 3)[rank]).mean().backward()
        assert same_everywhere([net[0].weight.grad, net[0].weight])
        assert rg.equal(net[1].weight.detach(), own + rank * 0.01)
        assert (net[1].noise[0].item(), net[1].weight.grad.shape) == (rank, own.shape)


@case
def transformer(rank, size):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    check(nn.TransformerEncoder(layer, 2), rank, size, (2, 5, 8), rtol=1e-3, atol=1e-5)


@case
def recurrent(rank, size):
    check(nn.LSTM(4, 5, 2), rank, size, (6, 2, 4), lambda m, x, *_: m(x)[0].pow(2).mean())


@case
def embeddings(rank, size):
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(10, 4), nn.Linear(4, 10)

        def forward(self, x):
            return self.head(self.table((x.abs() * 4).long() % 10))

    check(Words(), rank, size)


@case
def dtypes_together(rank, size):
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.single, self.double = nn.Linear(4, 4), nn.Linear(4, 4).double()

        def forward(self, x):
            return self.double(self.single(x).double())

    ddp, _ = check(Mixed(), rank, size)
    assert len({bucket.params[0].dtype for bucket in ddp.reducer.buckets}) == 2


@case
def halves(rank, size):
    check(nn.Linear(4, 2).half(), rank, size, dtype=rg.float16, rtol=1e-2, atol=1e-3, steps=1)


@case
def complex_numbers(rank, size):
    class Waves(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(rg.ones(4, dtype=rg.complex64) * (1 + 2j))
            self.v = nn.Parameter(rg.ones(4))

        def forward(self, x):
            return (x * self.v * self.w).abs()

    check(Waves(), rank, size)


@case
def single_numbers_and_lists(rank, size):
    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(rg.tensor(2.0))
            self.rest = nn.ParameterList([rg.ones(4), rg.zeros(1)])

        def forward(self, x):
            return x * self.scale * self.rest[0] + self.rest[1]

    check(Small(), rank, size)


@case
def parametrised(rank, size):
    check(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), rank, size)


@case
def mixed_precision(rank, size):
    def loss(model, x, *_):
        with rg.autocast("cpu", rg.float16):
            return model(x).float().pow(2).mean()

    check(mlp(), rank, size, loss=loss, rtol=5e-2, atol=5e-3, steps=1)


# -- graphs --------------------------------------------------------------------------------------------------------


class Branches(nn.Module):
    """Parts of which a forward may use some."""

    def __init__(self, count=4):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(4, 4) for _ in range(count)])

    def forward(self, x, *chosen):
        for i in chosen:
            x = self.parts[i](x).tanh()
        return x


@case
def never_used(rank, size):
    ddp, _ = check(Branches(), rank, size, loss=lambda m, x, *_: m(x, 0, 2).pow(2).mean())
    assert ddp.module.parts[1].weight.grad is None


@case
def used_on_one_rank_only(rank, size):
    check(Branches(), rank, size, loss=lambda m, x, r, s: m(x, 0, *([1] if r == size - 1 else []), 3).sum())


@case
def another_part_on_each_rank(rank, size):
    check(Branches(), rank, size, loss=lambda m, x, r, s: m(x, r % 4).pow(2).mean())


@case
def another_order_on_each_rank(rank, size):
    check(Branches(), rank, size, loss=lambda m, x, r, s: m(x, *(range(4) if r % 2 else (3, 1, 2, 0))).sum())


@case
def another_graph_in_each_step(rank, size):
    check(Branches(), rank, size, steps=6, loss=lambda m, x, r, s: m(x, s % 4, (s + r) % 4).pow(2).mean())


@case
def other_depths(rank, size):
    check(Branches(), rank, size, steps=3, loss=lambda m, x, r, s: m(x, *[0] * (1 + r + s)).pow(2).mean())


@case
def no_parameter_at_all_on_a_rank(rank, size):
    def loss(model, x, r, step):
        x = x.clone().requires_grad_()
        return (model(x * 1) if r == 0 else model(x * 1, 0, 1)).pow(2).mean()

    check(Branches(), rank, size, loss=loss)


@case
def shared_weights(rank, size):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(4, 4, bias=False), nn.Linear(4, 4)
            self.last.weight = self.first.weight

        def forward(self, x):
            return self.last(self.first(x).tanh())

    ddp, _ = check(Tied(), rank, size)
    assert len(ddp.reducer.params) == 2


@case
def used_several_times(rank, size):
    layer = nn.Linear(4, 4)
    check(layer, rank, size, loss=lambda m, x, *_: m(m(m(x).tanh()).tanh()).sum() + m(x).pow(2).mean())


@case
def frozen(rank, size):
    net = mlp()
    net[0].requires_grad_(False)
    check(net, rank, size)
    assert net[0].weight.grad is None


@case
def frozen_later(rank, size):
    ddp, reference = check(mlp(), rank, size)
    for each in (ddp.module, reference):
        each.zero_grad()
        each[0].requires_grad_(False)
    parts = inputs(size, 3, 4)
    ddp(parts[rank]).sum().backward()
    sum(reference(part).sum() / size for part in parts).backward()
    agree(ddp, reference)


@case
def packed_outputs(rank, size):
    @dataclasses.dataclass
    class Result:
        value: object
        others: tuple

    class Packs(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(4, 1), nn.Linear(4, 1), nn.Linear(4, 1)

        def forward(self, x):
            return Result(self.a(x), ({"b": self.b(x)}, [self.c(x), None, "text"]))

    check(Packs(), rank, size, loss=lambda m, x, *_: m(x).value.sum() + m(x).others[0]["b"].sum())


@case
def outputs_in_a_class_of_its_own(rank, size):
    class Box:
        pass

    class Boxes(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 1), nn.Linear(4, 1)

        def forward(self, x):
            box = Box()
            box.inside = self.a(x)
            return box

    check(Boxes(), rank, size, loss=lambda m, x, *_: m(x).inside.sum())


@case
def input_gradients(rank, size):
    ddp, reference = wrapped(mlp(), rank)
    x = inputs(size, 3, 4)[rank].requires_grad_()
    ddp(x).sum().backward()
    mine, x.grad = x.grad, None
    reference(x).sum().backward()
    np.testing.assert_allclose(mine.numpy(), x.grad.numpy(), rtol=1e-5)


# -- several forwards and backwards --------------------------------------------------------------------------------


@case
def accumulated_without_sync(rank, size):
    ddp, reference = wrapped(mlp(), rank)
    parts = inputs(3 * size, 2, 4)
    own = parts[3 * rank : 3 * rank + 3]
    for _ in range(2):
        ddp.zero_grad()
        reference.zero_grad()
        with ddp.no_sync():
            ddp(own[0]).sum().backward()
            ddp(own[1]).sum().backward()
        assert not same_everywhere([param.grad for param in ddp.parameters()])
        ddp(own[2]).sum().backward()
        sum(reference(part).sum() / size for part in parts).backward()
        agree(ddp, reference)


@case
def unused_in_the_last_of_several(rank, size):
    ddp, reference = wrapped(Branches(), rank)
    parts = inputs(size, 2, 4)
    with ddp.no_sync():
        ddp(parts[rank], 0, 1).sum().backward()
    ddp(parts[rank], 2).sum().backward()
    sum((reference(part, 0, 1).sum() + reference(part, 2).sum()) / size for part in parts).backward()
    agree(ddp, reference)


@case
def added_to_earlier_gradients(rank, size):
    for views in (False, True):
        ddp, reference = wrapped(Branches(), rank, gradient_as_bucket_view=views)
        parts = inputs(size, 2, 4)
        for step in range(3):
            ddp(parts[rank], step, 3).sum().backward()
            sum(reference(part, step, 3).sum() / size for part in parts).backward()
            agree(ddp, reference)


@case
def zeroed_in_place(rank, size):
    for views in (False, True):
        ddp, reference = wrapped(mlp(), rank, gradient_as_bucket_view=views)
        parts = inputs(size, 2, 4)
        for _ in range(2):
            ddp.zero_grad(set_to_none=False)
            reference.zero_grad()
            ddp(parts[rank]).sum().backward()
            sum(reference(part).sum() / size for part in parts).backward()
            agree(ddp, reference)


@case
def bucket_views(rank, size):
    ddp, _ = check(mlp(), rank, size, gradient_as_bucket_view=True)
    for bucket in ddp.reducer.buckets:
        for param, view in zip(bucket.params, bucket.views, strict=True):
            assert param.grad.data_ptr() == view.data_ptr()


@case
def two_forwards_one_backward(rank, size):
    check(mlp(), rank, size, loss=lambda m, x, *_: m(x).sum() + m(2 * x).pow(2).mean())


@case
def two_forwards_two_backwards(rank, size):
    ddp, reference = wrapped(mlp(), rank)
    parts = inputs(size, 2, 4)
    first, second = ddp(parts[rank]).sum(), ddp(2 * parts[rank]).sum()
    first.backward()
    second.backward()
    sum((reference(part).sum() + reference(2 * part).sum()) / size for part in parts).backward()
    agree(ddp, reference)


@case
def retained_graph(rank, size):
    ddp, reference = wrapped(mlp(), rank)
    parts = inputs(size, 2, 4)
    out = ddp(parts[rank]).sum()
    out.backward(retain_graph=True)
    out.backward()
    (2 * sum(reference(part).sum() / size for part in parts)).backward()
    agree(ddp, reference)


@case
def two_models_in_one_backward(rank, size):
    a, a_alone = wrapped(mlp(), rank)
    b, b_alone = wrapped(mlp(), rank)
    parts = inputs(size, 2, 4)
    # On odd ranks the second comes first: its buckets are ready before the other's.
    (b(a(parts[rank])) if rank % 2 == 0 else a(b(parts[rank]))).sum().backward()
    results = [b_alone(a_alone(p)) if r % 2 == 0 else a_alone(b_alone(p)) for r, p in enumerate(parts)]
    sum(result.sum() / size for result in results).backward()
    agree(a, a_alone)
    agree(b, b_alone)


@case
def plain_module_is_not_reduced(rank, size):
    ddp, _ = wrapped(mlp(), rank)
    ddp(inputs(size, 2, 4)[rank]).sum().backward()
    ddp.zero_grad()
    ddp.module(inputs(size, 2, 4)[rank]).sum().backward()
    assert not same_everywhere([param.grad for param in ddp.parameters()])


@case
def gradients_asked_for_are_the_ranks_own(rank, size):
    ddp, reference = wrapped(mlp(), rank)
    parts = inputs(size, 2, 4)
    loss = ddp(parts[rank]).sum()
    if rank == 0:  # which concerns nobody else
        rg.autograd.grad(loss, list(ddp.parameters()), retain_graph=True)
    loss.backward()
    sum(reference(part).sum() / size for part in parts).backward()
    agree(ddp, reference)


@case
def gradient_penalty(rank, size):
    def loss(model, x, *_):
        x = x.clone().requires_grad_()
        (slope,) = rg.autograd.grad(model(x).sum(), x, create_graph=True)
        return (slope.norm() - 1) ** 2

    check(mlp(), rank, size, loss=loss, steps=1)


@case
def after_an_error(rank, size):
    ddp, reference = wrapped(mlp(), rank)
    parts = inputs(size, 2, 4)
    x = parts[rank].clone().requires_grad_()

    def refuse(grad):
        raise ArithmeticError("no")

    x.register_hook(refuse)
    with pytest.raises(ArithmeticError):
        ddp(x).sum().backward()
    ddp.zero_grad()
    ddp(parts[rank]).sum().backward()
    sum(reference(part).sum() / size for part in parts).backward()
    agree(ddp, reference)


# -- checkpoints ---------------------------------------------------------------------------------------------------


class Recomputed(nn.Module):
    """Parts that are computed again in backward."""

    def __init__(self, reentrant, shared=False):
        super().__init__()
        self.reentrant = reentrant
        self.parts = nn.ModuleList([mlp(depth=1) for _ in range(3)])
        self.last = nn.Linear(4, 4)
        self.shared = shared

    def forward(self, x):
        for part in self.parts:
            x = checkpoint(self.last if self.shared else part, part(x), use_reentrant=self.reentrant)
        return self.last(x)


@case
def checkpointed(rank, size):
    check(Recomputed(False), rank, size)


@case
def checkpointed_and_shared(rank, size):
    check(Recomputed(False, shared=True), rank, size)


@case
def checkpointed_reentrant(rank, size):
    check(Recomputed(True), rank, size, loss=lambda m, x, *_: m(x.clone().requires_grad_()).pow(2).mean())


@case
def checkpointed_reentrant_and_shared(rank, size):
    # Parts of the gradient come after the bucket has gone. In PyTorch that is an error.
    check(
        Recomputed(True, shared=True), rank, size, loss=lambda m, x, *_: m(x.clone().requires_grad_()).sum()
    )


@case
def checkpointed_reentrant_and_shared_as_views(rank, size):
    ddp, _ = wrapped(Recomputed(True, shared=True), rank, gradient_as_bucket_view=True)
    with pytest.raises(RuntimeError, match="re-entrant checkpoints"):
        ddp(inputs(size, 2, 4)[rank].requires_grad_()).sum().backward()


@case
def whole_model_checkpointed(rank, size):
    ddp, reference = wrapped(mlp(), rank)
    parts = inputs(size, 2, 4)
    for reentrant in (False, True):
        ddp.zero_grad()
        reference.zero_grad()
        checkpoint(ddp, parts[rank].clone().requires_grad_(), use_reentrant=reentrant).sum().backward()
        sum(reference(part).sum() / size for part in parts).backward()
        agree(ddp, reference)


# -- hooks ---------------------------------------------------------------------------------------------------------


@case
def hooks_of_tensors_and_modules(rank, size):
    def hooked(model):
        inner = model.module if isinstance(model, DDP) else model
        handles = [inner[0].weight.register_hook(lambda g: 2 * g)]
        handles.append(inner[2].register_full_backward_hook(lambda m, gi, go: (3 * gi[0],)))
        return handles

    ddp, reference = wrapped(mlp(), rank)
    hooked(ddp), hooked(reference)
    parts = inputs(size, 2, 4)
    ddp(parts[rank].requires_grad_()).sum().backward()
    sum(reference(part.requires_grad_()).sum() / size for part in parts).backward()
    agree(ddp, reference)


@case
def post_accumulate_hooks_see_gradients(rank, size):
    net = mlp()
    seen = []
    net[0].weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad is not None))
    check(net, rank, size, steps=1)
    assert seen == [True]


def with_hook(rank, size, register, rtol=1e-4, atol=1e-6, steps=2, net=None):
    ddp, reference = wrapped(net or mlp(), rank)
    register(ddp)
    parts = inputs(size, 2, 4)
    for _ in range(steps):
        ddp.zero_grad()
        reference.zero_grad()
        ddp(parts[rank]).sum().backward()
        sum(reference(part).sum() / size for part in parts).backward()
        agree(ddp, reference, rtol, atol)
    return ddp


@case
def hook_allreduce(rank, size):
    with_hook(rank, size, lambda d: d.register_comm_hook(None, default_hooks.allreduce_hook))
    with_hook(rank, size, lambda d: d.register_comm_hook(dist.group.WORLD, default_hooks.allreduce_hook))


@case
def hook_float16(rank, size):
    with_hook(rank, size, lambda d: register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, d), 1e-2, 1e-3)


@case
def hook_bfloat16(rank, size):
    try:
        import ml_dtypes  # noqa: F401
    except ImportError:
        return
    with_hook(rank, size, lambda d: d.register_comm_hook(None, default_hooks.bf16_compress_hook), 5e-2, 1e-2)


@case
def hook_wrapped(rank, size):
    hook = default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)
    with_hook(rank, size, lambda d: d.register_comm_hook(None, hook), 1e-2, 1e-3)


@case
def hook_power_sgd(rank, size):
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 32))
    # Of full rank: the products are the gradients.
    state = powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=4, start_powerSGD_iter=2, min_compression_rate=0
    )
    with_hook(
        rank, size, lambda d: d.register_comm_hook(state, powerSGD_hook.powerSGD_hook), 1e-3, 1e-4, 4, net
    )
    assert state.iter == 4
    assert state.compression_stats()[2] > 0


@case
def hook_power_sgd_in_halves(rank, size):
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 32))
    state = powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=4, start_powerSGD_iter=2, min_compression_rate=0
    )
    hook = default_hooks.fp16_compress_wrapper(powerSGD_hook.powerSGD_hook)
    with_hook(rank, size, lambda d: d.register_comm_hook(state, hook), 2e-2, 1e-2, 4, net)
    assert state.compression_stats()[2] > 0


@case
def hook_power_sgd_of_low_rank_learns(rank, size):
    for hook in (powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook):
        ddp, _ = wrapped(
            nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Linear(64, 1)),
            rank,
            bucket_cap_mb=None,
        )
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
        ddp.register_comm_hook(state, hook)
        x = inputs(size, 16, 4)[rank]
        losses = []
        for _ in range(40):
            ddp.zero_grad()
            loss = (ddp(x) - x.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()
            with rg.no_grad():
                for param in ddp.parameters():
                    param -= 0.02 * param.grad
            losses.append(loss.item())
        assert losses[-1] < 0.5 * losses[0]
        assert same_everywhere(ddp.parameters())
        assert state.compression_stats()[0] > 1.2


@case
def hook_that_returns_rubbish(rank, size):
    ddp, _ = wrapped(mlp(), rank)
    ddp.register_comm_hook(None, lambda state, bucket: bucket.buffer())
    with pytest.raises(TypeError, match="Future"):
        ddp(inputs(size, 2, 4)[rank]).sum().backward()


@case
def what_a_hook_is_given(rank, size):
    seen = []

    def hook(state, bucket):
        state.append((bucket.index(), bucket.is_last(), bucket.buffer().numel()))
        assert sum(g.numel() for g in bucket.gradients()) == bucket.buffer().numel()
        assert [g.shape for g in bucket.gradients()] == [p.shape for p in bucket.parameters()]
        return default_hooks.allreduce_hook(None, bucket)

    with_hook(rank, size, lambda d: d.register_comm_hook(seen, hook), steps=1)
    assert [index for index, _, _ in seen] == list(range(len(seen)))
    assert [last for _, last, _ in seen] == [False] * (len(seen) - 1) + [True]


# -- the wrapper ---------------------------------------------------------------------------------------------------


@case
def copies_and_pickles(rank, size):
    ddp, reference = wrapped(mlp(), rank)
    for copied in (copy.deepcopy(ddp), pickle.loads(pickle.dumps(ddp))):
        copied.zero_grad()
        reference.zero_grad()
        parts = inputs(size, 2, 4)
        copied(parts[rank]).sum().backward()
        sum(reference(part).sum() / size for part in parts).backward()
        agree(copied, reference)


@case
def wrapped_again(rank, size):
    net = mlp()
    first, _ = wrapped(net, rank)
    first(inputs(size, 2, 4)[rank]).sum().backward()
    before = first.reducer
    del first
    second, reference = wrapped(net, rank)
    second.zero_grad()
    parts = inputs(size, 2, 4)
    second(parts[rank]).sum().backward()
    sum(reference(part).sum() / size for part in parts).backward()
    agree(second, reference)
    assert before.task is None


@case
def evaluation_on_one_rank(rank, size):
    ddp, _ = wrapped(mlp(), rank)
    ddp(inputs(size, 2, 4)[rank]).sum().backward()
    if rank == 0:
        with rg.no_grad():
            ddp(inputs(size, 2, 4)[0])


@case
def second_derivatives_are_refused(rank, size):
    ddp, _ = wrapped(mlp(), rank)
    with pytest.raises(RuntimeError, match="create_graph"):
        ddp(inputs(size, 2, 4)[rank]).sum().backward(create_graph=True)
    ddp.zero_grad()
    ddp(inputs(size, 2, 4)[rank]).sum().backward()
    assert same_everywhere([param.grad for param in ddp.parameters()])


@case
def reductions_begin_before_the_last_gradient(rank, size):
    ddp, _ = check(mlp(width=64, depth=6), rank, size, (8, 64))
    times = ddp.reducer.times
    assert len(times["launch"]) == len(ddp.reducer.buckets)
    assert times["launch"][0] < times["last gradient"]
    figures = ddp._get_ddp_logging_data()
    assert figures["backward_compute_comm_overlap_time"] > 0
    assert figures["world_size"] == size


class Backwards(nn.Module):
    """Layers that are used from the last to the first."""

    def __init__(self, depth=6, width=16):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x):
        for layer in reversed(self.layers):
            x = layer(x).tanh()
        return x


@case
def buckets_follow_the_gradients(rank, size):
    for views in (False, True):
        net = Backwards()
        ddp, _ = wrapped(net, rank, gradient_as_bucket_view=views)
        assert 0 not in ddp.reducer.buckets[0].members  # planned from the last parameter to the first
        ddp(inputs(size, 8, 16)[rank]).sum().backward()
        assert (
            ddp.reducer.times["launch"][0] > ddp.reducer.times["last gradient"]
        )  # the first bucket was last
        assert set(ddp.reducer.buckets[0].members) & {0, 1}
        assert sorted(p for b in ddp.reducer.buckets for p in b.members) == list(range(12))
        ddp(inputs(size, 8, 16)[rank]).sum().backward()
        assert ddp.reducer.times["launch"][0] < ddp.reducer.times["last gradient"]
        check(Backwards(), rank, size, (8, 16), steps=3, gradient_as_bucket_view=views)


@case
def buckets_follow_the_first_rank(rank, size):
    # Each rank has another order; the buckets must be the same everywhere.
    def loss(model, x, r, step):
        return model(x, *((0, 1, 2, 3) if r % 2 else (2, 0, 3, 1))).pow(2).mean()

    ddp, _ = check(Branches(), rank, size, loss=loss, steps=3)
    found = [None] * size
    dist.all_gather_object(found, [bucket.members for bucket in ddp.reducer.buckets])
    assert all(each == found[0] for each in found)
    assert set(found[0][0][:2]) == {2, 3}  # the first rank's last part is number 1


def difference(rank, make, *words):
    """All ranks are told what is different, on both sides."""
    with pytest.raises(RuntimeError, match="DDP expects same model across all ranks") as error:
        DDP(make(rank))
    for word in words:
        assert word in str(error.value)


@case
def other_shapes(rank, size):
    difference(
        rank,
        lambda r: nn.Linear(4, 2 + (r == 1)),
        "rank 0: weight: float32 [2, 4]",
        "rank 1: weight: float32 [3, 4]",
    )


@case
def other_numbers_of_parameters(rank, size):
    difference(rank, lambda r: mlp(depth=2 + (r == size - 1)), "rank 0 has 4", "4.weight: float32 [4, 4]")


@case
def other_order(rank, size):
    def make(r):
        names = ["a", "b"] if r != 1 else ["b", "a"]
        return nn.ModuleDict({name: nn.Linear(2, 2) for name in names})

    difference(rank, make, "a.weight", "b.weight")


@case
def other_dtypes(rank, size):
    difference(rank, lambda r: nn.Linear(2, 2).to(rg.float64 if r == 1 else rg.float32), "float32", "float64")


# -- without modules -----------------------------------------------------------------------------------------------


@case
def plain_functions(rank, size):
    w = rg.full((3,), float(rank), requires_grad=True)
    b = rg.zeros(1, requires_grad=True)
    unused = rg.zeros(1, requires_grad=True)
    x = inputs(size, 3)
    with dist.synchronized([w, b, unused]) as sync:
        assert w.tolist() == [0.0] * 3
        ((w + x[rank]) * x[rank] + b).sum().backward()
        np.testing.assert_allclose(w.grad.numpy(), sum(x).numpy() / size, rtol=1e-5)
        assert b.grad.tolist() == [3.0]
        assert unused.grad is None
        w.grad = None
        with sync.no_sync():
            (w * x[rank]).sum().backward()
        np.testing.assert_array_equal(w.grad.numpy(), x[rank].numpy())
        (w * x[rank]).sum().backward()
        np.testing.assert_allclose(w.grad.numpy(), 2 * sum(x).numpy() / size, rtol=1e-5)
    w.grad = None
    (w * x[rank]).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), x[rank].numpy())


@case
def synchronised_batch_norm(rank, size):
    for dims, shape in ((1, (2, 3)), (2, (2, 3, 4, 4))):
        plain = nn.Sequential(nn.BatchNorm1d(3) if dims == 1 else nn.BatchNorm2d(3), nn.Tanh())
        sync = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain))
        assert type(sync[0]) is nn.SyncBatchNorm
        parts = [part.requires_grad_() for part in inputs(size, *shape)]
        parts[0] = rg.cat([parts[0].detach()] * 2).requires_grad_()  # as many as it likes
        whole = rg.cat([part.detach() for part in parts]).requires_grad_()
        out = sync(parts[rank])
        plain(whole).pow(2).sum().backward()
        out.pow(2).sum().backward()
        begin = sum(len(part) for part in parts[:rank])
        np.testing.assert_allclose(
            parts[rank].grad.numpy(),
            whole.grad[begin : begin + len(parts[rank])].numpy(),
            rtol=1e-3,
            atol=1e-5,
        )
        total = sync[0].weight.grad.clone()
        dist.all_reduce(total)
        np.testing.assert_allclose(total.numpy(), plain[0].weight.grad.numpy(), rtol=1e-3, atol=1e-5)
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            np.testing.assert_allclose(
                getattr(sync[0], name).numpy(), getattr(plain[0], name).numpy(), rtol=1e-5
            )


@case
def batch_norm_of_all_ranks_inside_ddp(rank, size):
    net = nn.SyncBatchNorm.convert_sync_batchnorm(
        nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)
        )
    )
    ddp, _ = wrapped(net, rank)
    for _ in range(3):
        ddp.zero_grad()
        ddp(inputs(size, 4, 4)[rank]).pow(2).mean().backward()
        assert same_everywhere([param.grad for param in ddp.parameters()])
    assert same_everywhere(net.buffers())
