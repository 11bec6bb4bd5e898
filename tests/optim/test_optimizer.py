"""What optimisers promise beyond PyTorch's behaviour, and what holds without an oracle at hand."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import retrograd as rg
from tests.devices import fake


def bowl(x):
    """Lowest at (1, -2)."""
    return ((x - rg.tensor([1.0, -2.0])) ** 2).sum()


@pytest.mark.parametrize(
    "make",
    [
        lambda p: rg.optim.SGD(p, lr=0.1),
        lambda p: rg.optim.SGD(p, lr=0.05, momentum=0.8, nesterov=True),
        lambda p: rg.optim.Adam(p, lr=0.1),
        lambda p: rg.optim.AdamW(p, lr=0.1, weight_decay=0.0, amsgrad=True),
    ],
)
def test_the_lowest_point_is_found(make):
    x = rg.zeros(2, requires_grad=True)
    optimizer = make([x])
    for _ in range(300):
        optimizer.zero_grad()
        bowl(x).backward()
        optimizer.step()
    np.testing.assert_allclose(x.tolist(), [1.0, -2.0], atol=1e-2)


def test_weight_decay_of_adamw_does_not_depend_on_gradients():
    x = rg.full((2,), 10.0, requires_grad=True)
    x.grad = rg.zeros(2)
    optimizer = rg.optim.AdamW([x], lr=0.1, weight_decay=0.5)
    optimizer.step()
    assert x.tolist() == [9.5, 9.5]


def test_a_step_that_calls_its_base_runs_hooks_once():
    class Louder(rg.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    x = rg.ones(2, requires_grad=True)
    x.grad = rg.ones(2)
    log = []
    optimizer = Louder([x], lr=0.5)
    optimizer.register_step_pre_hook(lambda *_: log.append("pre"))
    optimizer.register_step_post_hook(lambda *_: log.append("post"))
    optimizer.step()
    assert (log, x.tolist()) == (["pre", "post"], [0.5, 0.5])


def test_a_refused_group_is_given_back_as_it_was():
    x = rg.ones(2, requires_grad=True)
    optimizer = rg.optim.SGD([x], lr=0.1)
    group = {"params": x}
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group(group)
    assert list(group) == ["params"]
    assert group["params"] is x


def test_the_culprit_of_an_overwritten_parameter_is_the_line_of_the_step():
    x = rg.ones(2, requires_grad=True)
    x.grad = rg.ones(2)
    loss = (x * x).sum()
    optimizer = rg.optim.Adam([x])
    optimizer.step()  # the culprit
    with pytest.raises(
        RuntimeError, match=r"overwritten by.*test_optimizer.*optimizer\.step\(\)  # the culprit"
    ):
        loss.backward()


def test_the_state_can_be_part_of_a_graph():
    x = rg.ones(2, requires_grad=True)
    x.grad = rg.ones(2)
    optimizer = rg.optim.Adam([x])
    optimizer.step()
    kept = optimizer.state[x]["exp_avg"]
    loss = (x * kept * kept).sum()
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_through_many_steps_of_adam():
    """PyTorch's own steps overwrite what this backward needs."""

    def after(rate, start):
        w = start * 1.0
        w.retain_grad()
        optimizer = rg.optim.Adam(
            [w], lr=rate, betas=(0.8, 0.9), eps=0.1, weight_decay=0.1, amsgrad=True, differentiable=True
        )
        for _ in range(4):
            w.grad = rg.exp(start) * 0.5
            optimizer.step()
        return (w * w).sum()

    rate = rg.tensor(0.1, dtype=rg.float64, requires_grad=True)
    start = rg.tensor([1.0, -0.5], dtype=rg.float64, requires_grad=True)
    assert rg.autograd.gradcheck(after, (rate, start))


def test_through_many_steps_of_adamw_on_complex_numbers():
    def after(start):
        w = start * 1.0
        w.retain_grad()
        optimizer = rg.optim.AdamW([w], lr=0.1, eps=0.1, differentiable=True)
        for _ in range(3):
            w.grad = start * 0.5
            optimizer.step()
        return rg.view_as_real(w)

    start = rg.tensor([1.0 + 0.5j, -0.5 + 2j], dtype=rg.complex128, requires_grad=True)
    assert rg.autograd.gradcheck(after, (start,))


def test_a_step_carries_tangents():
    forward = rg.autograd.forward_ad
    with rg.no_grad(), forward.dual_level():
        x = forward.make_dual(rg.tensor([1.0, 2.0]), rg.tensor([1.0, 0.5]))
        x.grad = rg.tensor([1.0, 1.0])
        rg.optim.SGD([x], lr=0.5, weight_decay=0.2).step()
        primal, tangent = forward.unpack_dual(x)
    np.testing.assert_allclose(primal.tolist(), [0.4, 1.3], rtol=1e-6)
    np.testing.assert_allclose(tangent.tolist(), [0.9, 0.45], rtol=1e-6)


def test_a_sealed_value_is_not_overwritten():
    x = rg.ones(2, requires_grad=True)
    x.grad = rg.ones(2)
    with rg.autograd.graph.allow_mutation_on_saved_tensors():
        loss = (x * x).sum()
        rg.optim.SGD([x], lr=0.5).step()
        loss.backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_nothing_keeps_an_optimiser_or_its_parameters_alive():
    x = rg.ones(2, requires_grad=True)
    x.grad = rg.ones(2)
    optimizer = rg.optim.Adam([x])
    optimizer.register_step_pre_hook(lambda *_: None)
    optimizer.step()
    optimizer.state_dict()
    refs = [weakref.ref(optimizer), weakref.ref(x)]
    del optimizer, x
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_parameters_on_another_device_keep_their_state_there():
    fake.install()
    x = rg.ones(2).to("fake:0").requires_grad_()
    x.grad = rg.ones(2).to("fake:0")
    optimizer = rg.optim.Adam([x], lr=0.1)
    optimizer.step()
    assert str(optimizer.state[x]["exp_avg"].device) == "fake:0"
    np.testing.assert_allclose(x.to("cpu").tolist(), [0.9, 0.9], rtol=1e-6)


@pytest.mark.parametrize(
    "name", [name for name in rg.optim.__all__ if name[0].isupper() and name != "Optimizer"]
)
def test_every_optimiser_moves_parameters_on_another_device(name):
    fake.install()

    def run(device):
        x = rg.arange(6.0).reshape(2, 3).to(device).requires_grad_()
        optimizer = getattr(rg.optim, name)([x])

        def closure():
            x.grad = (x.detach() - 1.5) * 2
            return rg.tensor(1.0)

        for _ in range(3):
            optimizer.step(closure)
        kept = [value for value in optimizer.state[x].values() if isinstance(value, rg.Tensor) and value.ndim]
        if name != "LBFGS":  # it clones, and a clone of a fake array is NumPy's
            assert {str(value.device) for value in kept} <= {device}
        return x.to("cpu").tolist()

    np.testing.assert_allclose(run("fake:0"), run("cpu"), rtol=1e-6)
