"""Programs on the strict device: views, in-place writes, the engine, forward mode, vmap, optimisers, custom functions.

Each is run on the CPU and on the device, and must give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd import func
from retrograd.autograd import forward_ad as fwd
from tests.devices import strict
from tests.devices.place import HERE, strict_only

PROGRAMS: dict[str, Callable[[Callable[..., Any]], Any]] = {}
F = rg.nn.functional


def program(function: Callable[[Callable[..., Any]], Any]) -> Callable[[Callable[..., Any]], Any]:
    PROGRAMS[function.__name__] = function
    return function


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)


def numpy_of(value: Any) -> Any:
    if isinstance(value, rg.Tensor):
        return value.detach().cpu().numpy()
    return [numpy_of(v) for v in value] if isinstance(value, (tuple, list)) else value


# -- views and in-place writes -------------------------------------------------------------------------------------


@program
def a_write_through_a_view(make):
    x = make(numbers(4, 3), grad=True)
    y = x * 2
    y[1:3] = x[:2] ** 2
    y.t()[0].mul_(3)
    y.sum().backward()
    return y, x.grad


@program
def writes_by_index_and_mask(make):
    x = make(numbers(5), grad=True)
    y = x.clone()
    y[make(np.array([0, 3]))] = x[:2] * 5
    y[y > 1.2] = 0.0
    (y * y).sum().backward()
    return y, x.grad


@program
def views_of_views(make):
    x = make(numbers(2, 3, 4), grad=True)
    y = (x * 1).permute(2, 0, 1).reshape(4, 6)[1:, ::2].unsqueeze(0).expand(2, 3, 3)
    y.sum().backward()
    return y, x.grad


@program
def an_expanded_base_and_diagonals(make):
    x = make(numbers(3, 3), grad=True)
    y = x.clone()
    y.diagonal().add_(1)
    y.fill_diagonal_(0.5)
    (y @ y).sum().backward()
    return y, x.grad


@program
def in_place_arithmetic(make):
    x = make(numbers(3), grad=True)
    y = x.exp()
    y = y.clone().add_(x).mul_(2).sub_(1).div_(3).neg_()
    y.sum().backward()
    with rg.no_grad():
        x -= 0.1 * x.grad
    return y, x


@program
def the_error_of_an_overwritten_value(make):
    x = make(numbers(3), grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    return []


# -- the engine ------------------------------------------------------------------------------------------------------


@program
def gradients_that_meet(make):
    x = make(numbers(4), grad=True)
    y = x.sin()
    (y * x + y.exp() + y[1:].sum() + x).sum().backward()
    (x * 3).sum().backward()  # accumulates
    return x.grad


@program
def hooks_see_and_change_gradients(make):
    x = make(numbers(3), grad=True)
    y = x * x
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g) or g * 2)
    y.grad_fn.register_hook(lambda ins, outs: seen.append(ins[0]))
    y.sum().backward()
    return x.grad, seen


@program
def gradients_of_gradients(make):
    x = make(numbers(3), grad=True)
    (g,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = rg.autograd.grad((g * g).sum(), x)
    return g, h


@program
def a_custom_function(make):
    class Cube(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    x = make(numbers(3), grad=True)
    Cube.apply(x).sum().backward()
    return x.grad


@program
def saved_values_through_hooks(make):
    x = make(numbers(3), grad=True)
    with rg.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        y = (x * x).exp()
    y.sum().backward()
    return x.grad


@program
def checkpointing(make):
    x = make(numbers(3), grad=True)
    rg.utils.checkpoint.checkpoint(lambda t: t.sin() * t, x, use_reentrant=False).sum().backward()
    return x.grad


@program
def to_the_cpu_and_back(make):
    x = make(numbers(3), grad=True)
    y = x.cpu() * 2
    (y.to(x.device) * x).sum().backward()
    return x.grad


# -- forward mode and transforms -------------------------------------------------------------------------------------


@program
def tangents(make):
    x, t = make(numbers(3)), make(numbers(3, seed=1))
    with fwd.dual_level():
        d = fwd.make_dual(x, t)
        y = (d * d).sin()
        y[:1].mul_(2)
        primal, tangent = fwd.unpack_dual(y)
        return primal, tangent


@program
def a_jacobian_each_way(make):
    x = make(numbers(3))
    f = lambda v: (v * v.sum()).exp()  # noqa: E731
    return func.jacrev(f)(x), func.jacfwd(f)(x), func.hessian(lambda v: f(v).sum())(x)


@program
def per_sample_gradients(make):
    w, x = make(numbers(3, 2)), make(numbers(5, 3, seed=1))
    return func.vmap(func.grad(lambda w, x: (x @ w).tanh().sum()), in_dims=(None, 0))(w, x)


@program
def mapped_functions(make):
    x = make(numbers(4, 3))
    return (
        func.vmap(lambda v: v.softmax(0) * v.max() + v.sort()[0].cumsum(0))(x),
        func.vmap(lambda v: rg.stack([v, v * 2]).reshape(-1)[1:4])(x),
        func.vmap(lambda v: rg.where(v > 1, v, v * 0).sum())(x),
    )


# -- networks and optimisers -----------------------------------------------------------------------------------------


@program
def a_small_network(make):
    w1, w2 = make(numbers(4, 3), grad=True), make(numbers(2, 4, seed=1), grad=True)
    x, y = make(numbers(6, 3, seed=2)), make(np.array([0, 1, 1, 0, 1, 0]))
    loss = F.cross_entropy(F.linear(F.relu(F.linear(x, w1)), w2), y)
    loss.backward()
    return loss, w1.grad, w2.grad


@program
def a_convolution(make):
    x, w, b = (
        make(numbers(2, 3, 6, 6)),
        make(numbers(4, 3, 3, 3, seed=1), grad=True),
        make(numbers(4), grad=True),
    )
    out = F.max_pool2d(F.conv2d(x, w, b, padding=1), 2)
    F.layer_norm(out, (3, 3)).sum().backward()
    F.avg_pool2d(out.detach(), 2).sum()
    return out, w.grad, b.grad


@program
def attention(make):
    q, k, v = (make(numbers(1, 2, 4, 3, seed=i), grad=True) for i in range(3))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    out.sum().backward()
    return out, q.grad, k.grad, v.grad


@program
def optimisers(make):
    ends = []
    for cls, options in (
        (rg.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (rg.optim.Adam, {"lr": 0.1}),
        (rg.optim.AdamW, {"lr": 0.1, "amsgrad": True}),
    ):
        w = make(numbers(3), grad=True)
        optimizer = cls([w], **options)
        for _ in range(3):
            optimizer.zero_grad()
            ((w - 2) ** 2).sum().backward()
            optimizer.step()
        ends.append(w)
    return ends


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_device_gives_what_the_cpu_gives(name: str) -> None:
    def on(where: str) -> Callable[..., Any]:
        def make(values: Any, grad: bool = False) -> Any:
            made = rg.tensor(values).to(where)
            return made.requires_grad_() if grad else made

        return make

    wanted = numpy_of(PROGRAMS[name](on("cpu")))
    found = numpy_of(PROGRAMS[name](on(HERE)))
    _compare(found, wanted)


def _compare(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            _compare(a, b)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


# -- what it refuses -------------------------------------------------------------------------------------------------


@strict_only
@pytest.mark.parametrize(
    "use",
    [
        np.sin,
        np.asarray,
        np.sum,
        lambda a: a + np.ones(3),
        lambda a: np.ones(3) * a,
        lambda a: a[np.array([0])],
    ],
    ids=["ufunc", "asarray", "function", "operand", "reflected", "index"],
)
def test_the_device_refuses_numpy(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        use(strict.StrictArray(np.ones(3)))


def test_tensors_of_two_devices_do_not_mix() -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        rg.ones(3).to(HERE) + rg.ones(3)


SINGLES: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda x, s: x * s,
    "rmul": lambda x, s: s * x,
    "div": lambda x, s: x / s,
    "pow": lambda x, s: x**s,
    "add": lambda x, s: x + s,
    "where": lambda x, s: rg.where(x > 1, x, s),
    "maximum": lambda x, s: rg.maximum(x, s),
    "clamp": lambda x, s: rg.clamp(x, s),
    "atan2": lambda x, s: rg.atan2(x, s),
    "lerp": lambda x, s: rg.lerp(x, x * 2, s),
    "addcmul": lambda x, s: rg.addcmul(x, x, s),
    "in place": lambda x, s: x.clone().mul_(s),
    "fill_": lambda x, s: (x * 2).fill_(s),
    "masked_fill": lambda x, s: x.masked_fill(x > 1, s),
}


@pytest.mark.parametrize("name", SINGLES)
def test_single_numbers_come_from_the_cpu_and_their_gradients_go_back(name: str) -> None:
    def run(where: str) -> list[Any]:
        x = rg.tensor(numbers(3), device=where, requires_grad=True)
        s = rg.tensor(1.25, dtype=rg.float64, requires_grad=True)
        first = rg.autograd.grad(
            (SINGLES[name](x, s) ** 2).sum(), [x, s], create_graph=True, materialize_grads=True
        )
        assert [str(g.device) for g in first] == [where, "cpu"]
        sum(g.sum().cpu() for g in first).backward()
        return numpy_of([*first, x.grad, s.grad])

    for ours, theirs in zip(run(HERE), run("cpu"), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_what_numpy_must_not_see_is_refused_in_pytorchs_words() -> None:
    with pytest.raises(TypeError, match=f"can't convert {HERE} device type tensor to numpy"):
        rg.ones(3).to(HERE).numpy()


def test_a_tensor_of_the_device_says_where_it_is() -> None:
    assert str(rg.ones(2).to(HERE).device) == HERE
    assert f"device='{HERE}'" in repr(rg.ones(2).to(HERE))
