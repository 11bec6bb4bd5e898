"""The worked examples of the documents this library was built from: one line of theirs, one test of ours."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core.node import Edge

engine = torch.autograd.Variable._execution_engine


# -- the walk through  z = x * 3 + 5 ---------------------------------------------------------------


@pytest.fixture
def walk() -> Any:
    x = torch.tensor([2.0], requires_grad=True)
    y = x * 3
    z = y + 5
    return x, y, z


def test_the_graph_of_the_walk(walk):
    x, y, z = walk
    assert (z.grad_fn.name(), y.grad_fn.name()) == ("AddBackward0", "MulBackward0")
    assert z.grad_fn.next_functions[0] == (y.grad_fn, 0)
    accumulate, input_nr = y.grad_fn.next_functions[0]
    assert (type(accumulate).__name__, input_nr) == ("AccumulateGrad", 0)
    assert accumulate.variable is x
    assert accumulate.next_functions == ()


def test_the_gradient_of_each_step(walk):
    x, y, z = walk
    passed: list[tuple[str, list[Any], list[Any]]] = []

    def numbers(grads: Any) -> list[Any]:
        return [None if g is None else g.tolist() for g in grads]

    for t in (z, y):
        t.grad_fn.register_hook(
            lambda gives, gets, name=t.grad_fn.name(): passed.append((name, numbers(gets), numbers(gives)))
        )
    z.backward()
    assert [(name, gets, gives[0]) for name, gets, gives in passed] == [
        ("AddBackward0", [[1.0]], [1.0]),
        ("MulBackward0", [[1.0]], [3.0]),
    ]
    assert x.grad.tolist() == [3.0]


def test_grad_fn_prints_its_name_and_address():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    assert repr(y.grad_fn).startswith("<MulBackward0 object at 0x")
    ((node, nr), *_) = y.grad_fn.next_functions
    assert repr(node).startswith("<AccumulateGrad object at 0x")
    assert nr == 0


# -- leaf and non-leaf tensors ---------------------------------------------------------------------


def test_a_leaf_tensor(walk):
    x, _, z = walk
    assert (x.grad_fn, x.is_leaf, x.grad) == (None, True, None)
    z.backward()
    assert x.grad is not None


def test_a_non_leaf_tensor(walk):
    _, y, z = walk
    assert y.grad_fn is not None
    assert not y.is_leaf
    z.backward()
    with pytest.warns(UserWarning, match="not a leaf"):
        assert y.grad is None


def test_a_non_leaf_tensor_that_retains_its_gradient(walk):
    _, y, z = walk
    y.retain_grad()
    z.backward()
    assert y.grad.tolist() == [1.0]


# -- graph retention -------------------------------------------------------------------------------


def test_the_graph_is_freed_by_default():
    x = torch.tensor([2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()


def test_retain_graph_keeps_it():
    x = torch.tensor([2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [8.0]


def test_create_graph_builds_a_graph_of_the_derivative():
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item()) == (12.0, 12.0)


def test_gradients_accumulate_until_they_are_reset():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_the_gradient_of_the_loss_by_itself_is_one():
    loss = (torch.tensor([2.0], requires_grad=True) * 3).sum()
    seen: list[float] = []
    loss.register_hook(lambda g: seen.append(g.item()))
    loss.backward()
    assert seen == [1.0]


def test_gradients_on_one_edge_are_summed():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    (y * 4 + y * 5 + y).backward()
    assert x.grad.item() == 30.0


# -- ExpBackward0: grad_inputs[0] = grad_outputs[0] * result.conj() --------------------------------


@pytest.mark.parametrize("value", [0.5, 0.5 + 2j])
def test_exp_backward_multiplies_by_the_conjugate_result(value):
    x = torch.tensor([value], requires_grad=True)
    y = x.exp()
    assert y.grad_fn.name() == "ExpBackward0"
    g = torch.tensor([value * 2 + 1])
    y.backward(g)
    np.testing.assert_allclose(x.grad.array, g.array * np.conj(y.detach().array), rtol=1e-6)


def test_exp_backward_keeps_its_result():
    y = torch.tensor([0.5], requires_grad=True).exp()
    assert y.grad_fn._saved_result.tolist() == y.tolist()


# -- the chain of calls ----------------------------------------------------------------------------


def names(function: Any) -> list[str]:
    return [p for p in inspect.signature(function).parameters if p != "self"]


SIGNATURES = {
    "Tensor.backward": (torch.Tensor.backward, ["gradient", "retain_graph", "create_graph", "inputs"]),
    "autograd.backward": (
        torch.autograd.backward,
        ["tensors", "grad_tensors", "retain_graph", "create_graph", "grad_variables", "inputs"],
    ),
    "_engine_run_backward": (torch.autograd.graph._engine_run_backward, ["t_outputs", "args", "kwargs"]),
    "Engine.run_backward": (
        engine.run_backward,
        [
            "tensors",
            "grad_tensors",
            "keep_graph",
            "create_graph",
            "inputs",
            "allow_unreachable",
            "accumulate_grad",
        ],
    ),
    "Engine.execute": (
        engine.execute,
        ["roots", "inputs", "keep_graph", "create_graph", "accumulate_grad", "outputs"],
    ),
    "Engine.queue_callback": (engine.queue_callback, ["callback"]),
    "Engine.is_checkpoint_valid": (engine.is_checkpoint_valid, []),
}


@pytest.mark.parametrize("kind", SIGNATURES)
def test_the_arguments_have_the_names_of_the_documents(kind):
    function, wanted = SIGNATURES[kind]
    assert names(function) == wanted


def test_defaults_of_backward():
    defaults = {k: p.default for k, p in inspect.signature(torch.autograd.backward).parameters.items()}
    del defaults["tensors"]
    assert defaults.pop("create_graph") is False
    assert set(defaults.values()) == {None}


def test_run_backward_by_hand():
    x = torch.tensor([2.0], requires_grad=True)
    loss = (x * 3).sum()
    result = engine.run_backward(
        (loss,),
        (torch.tensor(1.0),),
        keep_graph=False,
        create_graph=False,
        inputs=(),
        allow_unreachable=True,
        accumulate_grad=True,
    )
    assert result is None
    assert x.grad.tolist() == [3.0]


def test_run_backward_returns_the_gradients_of_inputs():
    x = torch.tensor([2.0], requires_grad=True)
    (found,) = engine.run_backward(((x * 3).sum(),), (torch.tensor(1.0),), False, False, (x,))
    assert found.tolist() == [3.0]
    assert x.grad is None


def test_run_backward_refuses_a_tensor_without_gradient():
    with pytest.raises(
        RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"
    ):
        engine.run_backward((torch.tensor(1.0),), (torch.tensor(1.0),), False, False)


def test_run_backward_refuses_an_unused_input():
    x, other = torch.tensor(2.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="appears to not have been used in the graph. Set allow_unused=True"
    ):
        engine.run_backward((x * 3,), (torch.tensor(1.0),), False, False, (other,))


def test_execute_takes_edges():
    x = torch.tensor([2.0], requires_grad=True)
    y = x * 3
    root = Edge(y.grad_fn, y.output_nr)
    accumulator = Edge(*y.grad_fn.next_functions[0])
    (found,) = engine.execute([root], [torch.tensor([1.0])], True, False, False, [accumulator])
    assert found.tolist() == [3.0]
    assert x.grad is None
    assert engine.execute([root], [torch.tensor([1.0])], False, False, True) == []
    assert x.grad.tolist() == [3.0]


def test_there_is_one_engine():
    assert torch.autograd.Variable._execution_engine is torch.autograd.Variable._execution_engine
    assert torch.autograd.graph.ENGINE is engine


# -- a custom Function -----------------------------------------------------------------------------


def my_function() -> Any:
    class MyFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> Any:
            x, y = ctx.saved_tensors
            return grad_output * y, grad_output * x

    return MyFunction


def test_a_custom_function():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    z = my_function().apply(x, y)
    assert z.grad_fn.name() == "MyFunctionBackward"
    z.backward(torch.tensor([10.0, 100.0]))
    assert (z.tolist(), x.grad.tolist(), y.grad.tolist()) == ([3.0, 8.0], [30.0, 400.0], [10.0, 200.0])


def test_a_custom_function_can_be_differentiated_twice():
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    (first,) = torch.autograd.grad(my_function().apply(x, y), x, create_graph=True)
    (second,) = torch.autograd.grad(first, y)
    assert (first.item(), second.item()) == (3.0, 1.0)
