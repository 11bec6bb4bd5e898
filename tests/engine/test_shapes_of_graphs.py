"""Graphs of awkward shapes: wide, shared, half used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.engine import reference


def leaf(value: Any = 2.0) -> Any:
    return rg.Tensor(np.asarray(value, float), share=True).requires_grad_()


def test_a_tensor_used_ten_thousand_times():
    x = leaf(0.5)
    y = x * 1
    total = y * 0
    for _ in range(10_000):
        total = total + y
    total.backward()
    assert x.grad.item() == 10_000.0


def test_a_node_fed_from_ten_thousand_sides_at_once():
    x = leaf([0.5, 1.0])
    y = x * 1
    rg.autograd.backward([y.sum() for _ in range(10_000)])
    assert x.grad.tolist() == [10_000.0, 10_000.0]


def test_stacked_diamonds_take_linear_time_for_exponentially_many_paths():
    x = leaf(1.0)
    y = x
    for _ in range(200):
        y = (y + y) * 0.5
    runs: list[int] = []
    for node in reference.reachable([y.grad_fn]):
        node.register_prehook(lambda grads: runs.append(1))
    y.backward()
    assert len(runs) == 401
    assert x.grad.item() == 1.0


def test_two_losses_share_a_graph():
    x = leaf(0.5)
    shared = x.sin()
    a, b = shared * 2, shared.exp()
    a.backward(retain_graph=True)
    first = x.grad.item()
    b.backward()
    assert first == pytest.approx(2 * np.cos(0.5))
    assert x.grad.item() == pytest.approx(first + np.exp(np.sin(0.5)) * np.cos(0.5))


def test_two_losses_at_once_are_their_sum():
    x = leaf(0.5)
    shared = x.sin()
    rg.autograd.backward([shared * 2, shared.exp()])
    assert x.grad.item() == pytest.approx((2 + np.exp(np.sin(0.5))) * np.cos(0.5))


def test_outputs_of_one_node_that_nobody_used_give_zeros():
    x = leaf([1.0, 2.0, 3.0])
    _, middle, _ = x.unbind()
    middle.backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


def test_all_outputs_of_one_node_meet_again():
    x = leaf([1.0, 2.0, 3.0])
    a, b, c = x.unbind()
    (a * b * c + b).backward()
    assert x.grad.tolist() == [6.0, 4.0, 2.0]


def test_branches_that_need_no_gradient_cost_nothing():
    x, constant = leaf(), rg.Tensor(np.asarray(3.0), share=True)
    y = x * (constant * 2).exp()
    assert [n.name() for n in reference.reachable([y.grad_fn])].count("ExpBackward0") == 0
    assert y.grad_fn.next_functions[1] == (None, 0)


def test_an_accumulator_is_shared_by_all_graphs_of_its_leaf():
    x = leaf()
    y, z = x * 2, x.sin()
    assert y.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[0][0]


def test_a_graph_outlives_the_tensors_that_made_it():
    x = leaf(0.5)
    y = x.sin().exp().tanh()
    node = y.grad_fn
    del y
    seen = reference.reachable([node])
    assert sorted(n.name().removeprefix("torch::autograd::") for n in seen) == [
        "AccumulateGrad",
        "ExpBackward0",
        "SinBackward0",
        "TanhBackward0",
    ]


def test_a_backward_in_another_thread_adds_to_the_same_leaves():
    import threading

    x = leaf()
    y = x * 3
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    y = x * 4
    y.backward()
    assert x.grad.item() == 7.0


def test_threads_number_their_nodes_by_themselves():
    import threading

    x = leaf()
    here = x.sin().grad_fn._sequence_nr()
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(x.sin().grad_fn._sequence_nr()))
    thread.start()
    thread.join()
    assert found == [0]
    assert x.sin().grad_fn._sequence_nr() == here + 1


def test_separate_graphs_run_in_parallel_threads():
    import threading

    results: list[float] = []

    def work(k: int) -> None:
        x = leaf(float(k))
        for _ in range(20):
            y = x
            for _ in range(20):
                y = y.sin()
            y.backward()
        results.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(results) == [0, 1, 2, 3]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3,), (2, 3)], ids=str)
def test_roots_of_every_shape(shape):
    x = leaf(np.ones(shape))
    (x * 3).backward(rg.Tensor(np.full(shape, 2.0), share=True))
    assert x.grad.shape == shape
    assert (x.grad.array == 6.0).all()
