"""Options and states of optimisers that only a comparison of whole runs under one seed showed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import retrograd as rg

torch = pytest.importorskip("torch")


def trained(lib: Any, make: Any, steps: int = 4) -> tuple[list[float], Any]:
    """The losses of a small net, and its optimiser."""
    lib.manual_seed(3)
    net = lib.nn.Sequential(lib.nn.Linear(4, 16), lib.nn.Dropout(0.2), lib.nn.Linear(16, 1)).double()
    x = lib.randn(32, 4, dtype=lib.float64)
    optimizer = make(lib, net)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((net(x) - x.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(steps)], optimizer


def groups(net: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"params": net[0].parameters()}, {"params": net[2].parameters(), **more}]


def test_rprop_has_no_weight_decay_even_if_a_group_does():
    def make(lib: Any, net: Any) -> Any:
        return lib.optim.Rprop(groups(net, weight_decay=0.5), lr=0.01)

    (theirs, _), (ours, optimizer) = trained(torch, make), trained(rg, make)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert optimizer.param_groups[1]["weight_decay"] == 0.5


@pytest.mark.parametrize("options", [{}, {"max_iter": 1}, {"max_iter": 3, "history_size": 2}], ids=str)
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_the_state_of_lbfgs(options, search):
    def make(lib: Any, net: Any) -> Any:
        return lib.optim.LBFGS(net.parameters(), line_search_fn=search, **options)

    for steps in (1, 2):
        (_, theirs), (_, ours) = trained(torch, make, steps), trained(rg, make, steps)
        entry, other = ours.state_dict()["state"][0], theirs.state_dict()["state"][0]
        assert list(entry) == list(other)
        assert [w is None for w in entry.get("al", [])] == [w is None for w in other.get("al", [])]
        for weight, expected in zip(entry.get("al", []), other.get("al", []), strict=True):
            if weight is not None:
                assert weight.item() == pytest.approx(expected.item(), rel=1e-3, abs=1e-6)


def test_a_step_of_lbfgs_without_moves():
    for lib in (torch, rg):
        x = lib.ones(2, requires_grad=True)
        optimizer = lib.optim.LBFGS([x], max_iter=0)
        x.grad = lib.ones(2)
        for _ in range(2):
            assert optimizer.step(lambda x=x: x.square().sum()) is not None
        assert x.tolist() == [1, 1]
        copy.deepcopy(optimizer.state_dict())
