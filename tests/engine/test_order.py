"""In which order nodes run: Note [Node order]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.engine import reference


def leaf(value: Any = 1.0) -> Any:
    return rg.Tensor(np.asarray(value, float), share=True).requires_grad_()


def watch(*tensors: Any) -> list[str]:
    """Writes down the nodes behind `tensors` as they run."""
    ran: list[str] = []
    for node in reference.reachable(t.grad_fn for t in tensors):
        node.register_prehook(
            lambda grads, node=node: ran.append(node.name().removeprefix("torch::autograd::"))
        )
    return ran


def test_what_was_done_last_is_undone_first():
    x = leaf()
    y = x.sin().cos().tanh()
    ran = watch(y)
    y.backward()
    assert ran == ["TanhBackward0", "CosBackward0", "SinBackward0", "AccumulateGrad"]


def test_branches_interleave_by_age_not_by_depth():
    x = leaf()
    a = x.sin()
    b = x.cos()
    a = a.tanh()
    b = b.exp()
    z = a + b
    ran = watch(z)
    z.backward()
    assert ran == [
        "AddBackward0",
        "ExpBackward0",
        "TanhBackward0",
        "CosBackward0",
        "SinBackward0",
        "AccumulateGrad",
    ]


def test_an_accumulator_runs_as_soon_as_it_has_its_gradient():
    x, y = leaf(), leaf()
    z = y * x.sin().cos()
    ran = watch(z)
    z.backward()
    assert ran == ["MulBackward0", "AccumulateGrad", "CosBackward0", "SinBackward0", "AccumulateGrad"]


def test_accumulators_run_in_the_order_in_which_they_became_ready():
    a, b = leaf(), leaf()
    order: list[str] = []
    a.register_post_accumulate_grad_hook(lambda t: order.append("a"))
    b.register_post_accumulate_grad_hook(lambda t: order.append("b"))
    (b * a).backward()
    assert order == ["b", "a"]


def test_roots_run_by_age_whatever_their_place_in_the_call():
    x = leaf()
    first, second = x.sin(), x.cos()
    ran = watch(first, second)
    rg.autograd.backward([first, second])
    assert ran == ["CosBackward0", "SinBackward0", "AccumulateGrad"]


def test_a_root_inside_the_graph_of_another_waits_for_it():
    x = leaf(0.5)
    y = x.sin()
    z = y.tanh()
    ran = watch(z)
    rg.autograd.backward([y, z])
    assert ran == ["TanhBackward0", "SinBackward0", "AccumulateGrad"]
    slope = 1 - np.tanh(np.sin(0.5)) ** 2
    assert x.grad.item() == pytest.approx(np.cos(0.5) * (1 + slope))


def test_the_same_root_twice_counts_twice():
    x = leaf(3.0)
    y = x * x
    rg.autograd.backward([y, y])
    assert x.grad.item() == 12.0


def test_a_leaf_can_be_a_root():
    x = leaf(3.0)
    rg.autograd.backward([x, x * 2])
    assert x.grad.item() == 3.0


def test_a_sequence_number_set_by_hand_decides():
    x = leaf()
    a, b = x.sin(), x.cos()
    z = a + b
    a.grad_fn._set_sequence_nr(z.grad_fn._sequence_nr() + 100)
    ran = watch(z)
    z.backward()
    assert ran[:3] == ["AddBackward0", "SinBackward0", "CosBackward0"]


def test_sequence_numbers_rise_by_one_with_each_node():
    x = leaf()
    y = x.sin()
    z = y.cos()
    w = x * 2
    assert [t.grad_fn._sequence_nr() - y.grad_fn._sequence_nr() for t in (y, z, w)] == [0, 1, 2]


def test_unrecorded_operations_take_no_number():
    x = leaf()
    y = x.sin()
    with rg.no_grad():
        x.cos()
    x.detach().cos()
    assert x.cos().grad_fn._sequence_nr() == y.grad_fn._sequence_nr() + 1


def test_accumulators_have_the_highest_number():
    assert leaf().sin().grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1


def test_depth_is_counted_from_the_leaves():
    x = leaf()
    y = x.sin().cos() + x
    assert y.grad_fn.topological_nr == 3
    assert x.sin().grad_fn.topological_nr == 1
