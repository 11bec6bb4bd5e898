"""The graph's public face: edges, hooks over several tensors, logging, callbacks."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import retrograd as rg
from retrograd.autograd import graph

engine = rg.autograd.Variable._execution_engine


def leaf(value: Any) -> Any:
    return rg.tensor(value, requires_grad=True)


# -- nodes and edges -------------------------------------------------------------------------------


def test_an_edge_names_the_node_where_a_gradient_arrives():
    x = leaf([1.0, 2.0])
    y = x * 2
    edge = graph.get_gradient_edge(y)
    assert isinstance(edge, graph.GradientEdge)
    assert (edge.node, edge.output_nr) == (y.grad_fn, 0)
    assert graph.get_gradient_edge(x).node is y.grad_fn.next_functions[0][0]


def test_edges_number_the_outputs_of_a_node():
    _, b = leaf([1.0, 2.0]).unbind()
    assert graph.get_gradient_edge(b)[:2] == (b.grad_fn, 1)


def test_an_edge_needs_a_gradient():
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(rg.ones(1))


def test_an_edge_stands_for_its_tensor():
    x = leaf(3.0)
    y = x * x
    edge = graph.get_gradient_edge(y)
    assert rg.autograd.grad(edge, x, retain_graph=True)[0].item() == 6.0
    assert rg.autograd.grad(y * 2, edge, retain_graph=True)[0].item() == 2.0
    rg.autograd.backward(edge, rg.tensor(10.0))
    assert x.grad.item() == 60.0


def test_every_grad_fn_is_a_node():
    y = leaf(1.0).exp()
    assert isinstance(y.grad_fn, graph.Node)
    assert isinstance(y.grad_fn.next_functions[0][0], graph.Node)


def test_a_node_can_be_called_by_hand():
    y = leaf(2.0) * 3
    assert [None if g is None else g.item() for g in y.grad_fn(rg.tensor(10.0))] == [30.0, None]


def test_a_node_shows_what_it_saved():
    x = leaf([0.5])
    assert x.exp().grad_fn._saved_result.tolist() == x.exp().tolist()
    assert x.sin().grad_fn._saved_self is x
    assert (x**3).grad_fn._saved_exponent == 3


def test_what_was_freed_is_not_shown():
    y = leaf(0.5).exp()
    y.backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn._saved_result


def test_a_node_has_no_other_saved_values():
    with pytest.raises(AttributeError):
        _ = leaf(0.5).exp().grad_fn._saved_nonsense


# -- hooks over several tensors --------------------------------------------------------------------


def test_a_multi_hook_is_called_once_with_all_gradients():
    a, b = leaf(2.0), leaf(3.0)
    c = a * b
    got: list[Any] = []
    graph.register_multi_grad_hook([a, b, c], lambda grads: got.append([g.item() for g in grads]))
    (c * 2).backward(retain_graph=True)
    assert got == [[6.0, 4.0, 2.0]]
    (c * 3).backward()
    assert got[1:] == [[9.0, 6.0, 3.0]]


def test_a_multi_hook_gives_none_for_tensors_left_out():
    a, b, stranger = leaf(2.0), leaf(3.0), leaf(4.0)
    got: list[Any] = []
    graph.register_multi_grad_hook([a, stranger, b], lambda grads: got.append([g is None for g in grads]))
    (a * b).backward()
    assert got == [[False, True, False]]
    rg.autograd.grad(a * b, a)
    assert got[1:] == [[False, True, True]]


def test_a_multi_hook_of_any_takes_the_first():
    a, b = leaf(2.0), leaf(3.0)
    got: list[Any] = []
    graph.register_multi_grad_hook([a, b], lambda g: got.append(g.item()), mode="any")
    for k in (1, 2):
        (a * b * k).backward()
    assert got == [3.0, 6.0]


def test_a_multi_hook_can_be_removed():
    a, b = leaf(2.0), leaf(3.0)
    got: list[Any] = []
    with graph.register_multi_grad_hook([a, b], lambda grads: got.append("all")):
        (a * b).backward()
    handle = graph.register_multi_grad_hook([a, b], lambda grads: got.append("again"))
    handle.remove()
    (a * b).backward()
    assert got == ["all"]


def test_a_multi_hook_keeps_apart_backwards_inside_each_other():
    a, b = leaf(2.0), leaf(3.0)
    got: list[Any] = []
    graph.register_multi_grad_hook(
        [a, b], lambda grads: got.append([None if g is None else g.item() for g in grads])
    )
    inner = a * b
    outer = a.exp() * 0 + b * 7
    outer.register_hook(lambda g: inner.backward(retain_graph=True) if len(got) < 1 else None)
    outer.backward()
    assert got == [[3.0, 2.0], [0.0, 7.0]]


@pytest.mark.parametrize(
    ("tensors", "mode", "error"),
    [([rg.ones(1)], "all", (RuntimeError, AssertionError)), ([leaf(1.0)], "some", ValueError)],
    ids=["no gradient", "mode"],
)
def test_a_multi_hook_checks_its_arguments(tensors, mode, error):
    with pytest.raises(error):
        graph.register_multi_grad_hook(tensors, print, mode=mode)


# -- logging ---------------------------------------------------------------------------------------


def test_at_debug_level_every_node_logs_its_run(caplog):
    x = leaf([1.0, 2.0])
    y = (x * 3).exp().sum()
    with caplog.at_level(logging.DEBUG, logger="retrograd.autograd.graph"):
        y.backward()
    names = ("SumBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad")
    assert len(caplog.messages) == len(names)
    for message, name in zip(caplog.messages, names, strict=True):
        assert message.startswith("Executing: <" + name)
    assert "f32[2]" in caplog.messages[1]


def test_the_logging_hooks_are_gone_afterwards(caplog):
    x = leaf(1.0)
    y = x * 3
    with caplog.at_level(logging.DEBUG, logger="retrograd.autograd.graph"):
        y.backward(retain_graph=True)
    count = len(caplog.messages)
    y.backward(retain_graph=True)
    assert len(caplog.messages) == count


def test_the_logging_hooks_are_gone_after_an_error(caplog):
    x = leaf(1.0)
    y = x * 3
    handle = x.register_hook(lambda g: 1 / 0)
    with caplog.at_level(logging.DEBUG, logger="retrograd.autograd.graph"), pytest.raises(ZeroDivisionError):
        y.backward(retain_graph=True)
    handle.remove()
    count = len(caplog.messages)
    y.backward()
    assert len(caplog.messages) == count


def test_without_debug_nothing_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="retrograd.autograd.graph"):
        (leaf(1.0) * 3).backward()
    assert caplog.messages == []


def test_every_way_in_goes_through_the_logged_one(caplog):
    x = leaf(1.0)
    with caplog.at_level(logging.DEBUG, logger="retrograd.autograd.graph"):
        rg.autograd.grad(x.exp(), x)
        rg.autograd.backward(x.sin())
    logged = " ".join(caplog.messages)
    assert "ExpBackward0" in logged
    assert "SinBackward0" in logged


# -- callbacks and checkpointing -------------------------------------------------------------------


def test_callbacks_run_once_when_the_backward_has_finished():
    x = leaf(2.0)
    seen: list[Any] = []
    x.register_hook(lambda g: engine.queue_callback(lambda: seen.append(x.grad.item())))
    (x * 3).backward()
    assert seen == [3.0]
    x.grad = None
    (x * 4).backward()
    assert seen == [3.0, 4.0]


def test_callbacks_run_in_order_and_may_queue_more():
    x = leaf(2.0)
    seen: list[str] = []

    def first() -> None:
        seen.append("first")
        engine.queue_callback(lambda: seen.append("third"))

    def hook(grad: Any) -> None:
        engine.queue_callback(first)
        engine.queue_callback(lambda: seen.append("second"))

    x.register_hook(hook)
    (x * 3).backward()
    assert seen == ["first", "second", "third"]


def test_callbacks_belong_to_their_own_backward():
    x, inner = leaf(2.0), leaf(3.0)
    y = inner * 2
    seen: list[str] = []
    inner.register_hook(lambda g: engine.queue_callback(lambda: seen.append("inner")))

    def hook(grad: Any) -> None:
        engine.queue_callback(lambda: seen.append("outer"))
        y.backward()
        seen.append("after inner")

    x.register_hook(hook)
    (x * 3).backward()
    assert seen == ["inner", "after inner", "outer"]


def test_a_raising_callback_reaches_the_caller():
    x = leaf(2.0)
    handle = x.register_hook(lambda g: engine.queue_callback(lambda: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        (x * 3).backward()
    handle.remove()
    assert engine.current_task() is None
    (x * 3).backward()
    assert x.grad.item() == 6.0


def test_callbacks_need_a_running_backward():
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        engine.queue_callback(lambda: None)


def test_checkpointing_is_valid_unless_only_some_gradients_are_asked_for():
    x = leaf(2.0)
    seen: list[bool] = []
    y = x * 3
    y.register_hook(lambda g: seen.append(engine.is_checkpoint_valid()))
    y.backward(retain_graph=True)
    y.backward(inputs=[x], retain_graph=True)
    rg.autograd.grad(y, x)
    assert seen == [True, False, False]
    assert engine.is_checkpoint_valid()


def test_checkpointing_is_valid_again_after_an_error():
    x = leaf(2.0)
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        rg.autograd.grad(x * 3, x)
    assert engine.is_checkpoint_valid()


# -- Variable --------------------------------------------------------------------------------------


def test_variable_is_tensors_old_name():
    Variable = rg.autograd.Variable
    x = Variable(rg.ones(2), requires_grad=True)
    assert isinstance(x, Variable)
    assert isinstance(x, rg.Tensor)
    assert (x.requires_grad, x.is_leaf) == (True, True)
    assert not Variable(rg.ones(2)).requires_grad
    assert not isinstance(3, Variable)
