"""`backward` and `grad`: what they take, what they give, and that a refusal changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg

grad = rg.autograd.grad
backward = rg.autograd.backward


class World:
    """Two leaves, a vector and a scalar computed from them, and a stranger."""

    def __init__(self) -> None:
        self.x = rg.tensor([1.0, 2.0], requires_grad=True)
        self.w = rg.tensor([3.0, 4.0], requires_grad=True)
        self.x.grad = rg.tensor([10.0, 20.0])
        self.y = self.x * self.w
        self.s = self.y.sin().sum()
        self.stranger = rg.tensor([5.0], requires_grad=True)
        self.constant = rg.tensor([1.0, 2.0])

    def state(self) -> Any:
        tensors = (self.x, self.w, self.y, self.s, self.stranger, self.constant)
        return [
            (
                t.tolist(),
                t._version,
                t.requires_grad,
                t.retains_grad,
                None if t._grad is None else t._grad.tolist(),
            )
            for t in tensors
        ]


@pytest.fixture
def world() -> World:
    return World()


one = rg.tensor(1.0)
pair = rg.tensor([1.0, 1.0])

REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "a vector without gradient": (
        lambda v: v.y.backward(), RuntimeError, "grad can be implicitly created only for scalar outputs"),
    "a gradient of another shape": (
        lambda v: v.y.backward(rg.ones(3)), RuntimeError, "Mismatch in shape: grad_output\\[0\\] has a shape of"),
    "a complex gradient": (
        lambda v: v.y.backward(rg.tensor([1j, 1j])), RuntimeError,
        "For complex Tensors, both grad_output and output"),
    "a number as gradient": (lambda v: v.y.backward(1), TypeError, "not iterable"),
    "numbers as gradients": (lambda v: backward([v.s], [1.0]), TypeError,
    "gradients can be either Tensors or None"),
    "too few gradients": (lambda v: backward([v.s, v.y], [one]), RuntimeError, "got 2 tensors and 1 gradients"),
    "a constant": (lambda v: v.constant.sum().backward(), RuntimeError,
    "element 0 of tensors does not require grad"),
    "a constant among others": (
        lambda v: backward([v.s, v.constant.sum()]), RuntimeError, "element 1 of tensors does not require grad"),
    "no tensor": (lambda v: backward(["a"]), (TypeError, AssertionError), "Tensor"),
    "empty inputs": (lambda v: v.s.backward(inputs=[]), RuntimeError,
    "`inputs` argument to `backward\\(\\)` cannot be empty"),
    "a constant as input": (lambda v: v.s.backward(inputs=[v.x, v.constant]), RuntimeError,
    "requires_grad|require grad"),
    "text as input": (
        lambda v: v.s.backward(inputs=["x"]), RuntimeError,
        "all inputs have to be Tensors or GradientEdges, but got str"),
    "both names of gradients": (
        lambda v: backward(v.s, one, grad_variables=one), RuntimeError, "`grad_tensors` and `grad_variables`"),
    "a complex scalar": (
        lambda v: (v.x * 1j).sum().backward(), RuntimeError, "only for real scalar outputs"),
    "grad: empty inputs": (lambda v: grad(v.s, []), RuntimeError,
    "`inputs` argument to `grad\\(\\)` cannot be empty"),
    "grad: text as input": (
        lambda v: grad(v.s, "x"), RuntimeError, "all inputs have to be Tensors or GradientEdges, but got str"),
    "grad: a constant as input": (
        lambda v: grad(v.s, v.constant), RuntimeError, "One of the differentiated Tensors does not require grad"),
    "grad: a vector": (lambda v: grad(v.y, v.x), RuntimeError, "only for scalar outputs"),
    "grad: too few gradients": (lambda v: grad([v.s, v.y], v.x, [one]), RuntimeError,
    "got 2 tensors and 1 gradients"),
    "grad: a constant output": (
        lambda v: grad(v.constant.sum(), v.x), RuntimeError, "element 0 of tensors does not require grad"),
    "grad: contradicting options": (
        lambda v: grad(v.s, v.x, allow_unused=False, materialize_grads=True), ValueError, "allow_unused"),
    "grad: batched gradient of another shape": (
        lambda v: grad(v.y, v.x, rg.ones(4, 3), is_grads_batched=True), RuntimeError, "is_grads_batched=True"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSALS)
@pytest.mark.filterwarnings("ignore:`grad_variables` is deprecated")
def test_a_refusal_changes_nothing_and_the_graph_still_runs(world, kind):
    act, error, phrase = REFUSALS[kind]
    before = world.state()
    with pytest.raises(error, match=phrase):
        act(world)
    assert world.state() == before
    world.s.backward()
    np.testing.assert_allclose(world.x.grad.array, [10 + 3 * np.cos(3), 20 + 4 * np.cos(8)], rtol=1e-6)


def test_an_unused_input_is_an_error_after_the_fact(world):
    with pytest.raises(
        RuntimeError, match="The differentiated Tensor at index 1 appears to not have been used"
    ):
        grad(world.s, [world.x, world.stranger], retain_graph=True)
    world.s.backward()


# -- backward --------------------------------------------------------------------------------------


def test_gradients_accumulate_over_backwards():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    for k in range(1, 4):
        (x * 2).sum().backward()
        assert x.grad.tolist() == [2.0 * k, 2.0 * k]


@pytest.mark.parametrize(
    "gradient", [rg.ones(2, dtype=rg.float64), rg.tensor([1, 1]), rg.ones(2, dtype=rg.float16)]
)
def test_a_gradient_of_another_dtype_is_converted(world, gradient):
    world.w.grad = None
    world.y.backward(gradient)
    assert world.w.grad.dtype == rg.float32
    assert world.w.grad.tolist() == [1.0, 2.0]


def test_one_element_is_scalar_enough():
    x = rg.tensor([[3.0]], requires_grad=True)
    (x * x).backward()
    assert x.grad.tolist() == [[6.0]]


def test_several_roots_with_and_without_gradient(world):
    world.x.grad = None
    backward([world.s * 0, world.y], [None, pair])
    assert world.x.grad.tolist() == [3.0, 4.0]


def test_more_gradients_than_tensors_are_left_over(world):
    backward([world.s], [one, one], retain_graph=True)


def test_the_old_name_of_gradients_warns(world):
    world.x.grad = None
    with pytest.warns(FutureWarning, match="grad_variables"):
        backward(world.y, grad_variables=pair)
    assert world.x.grad.tolist() == [3.0, 4.0]


def test_a_given_gradient_is_not_touched(world):
    mine = rg.tensor([1.0, 2.0])
    world.x.grad = world.w.grad = None
    (world.x + 0).backward(mine)
    world.x.grad.array[...] = 99.0
    assert mine.tolist() == [1.0, 2.0]


def test_inputs_get_their_gradient_and_no_others(world):
    world.x.grad = None
    world.s.backward(inputs=[world.x, world.y])
    assert world.x.grad is not None
    assert world.y.grad is not None
    assert world.w.grad is None


@pytest.mark.parametrize("form", ["tensor", "list", "tuple", "dict", "edge"])
def test_inputs_in_every_form(world, form):
    world.x.grad = None
    edge = rg.autograd.graph.get_gradient_edge(world.x)
    inputs = {
        "tensor": world.x,
        "list": [world.x],
        "tuple": (world.x,),
        "dict": {"x": world.x},
        "edge": edge,
    }[form]
    world.y.sum().backward(inputs=inputs)
    assert world.x.grad.tolist() == [3.0, 4.0]
    assert world.w.grad is None


def test_an_input_that_is_not_reached_stays_without_gradient(world):
    world.s.backward(inputs=[world.stranger])
    assert world.stranger.grad is None


@pytest.mark.parametrize(
    ("retain", "create", "kept"),
    [(None, False, False), (True, False, True), (False, True, False), (None, True, True)],
)
def test_the_graph_is_kept_if_asked_for_or_if_recorded(retain, create, kept):
    x = rg.tensor(0.5, requires_grad=True)
    y = x.sin()
    grad(y, x, retain_graph=retain, create_graph=create)
    if kept:
        grad(y, x)
    else:
        with pytest.raises(RuntimeError, match="second time"):
            grad(y, x)


def test_create_graph_warns_of_the_cycle_and_gives_a_differentiable_gradient():
    x = rg.tensor(3.0, requires_grad=True)
    with pytest.warns(UserWarning, match="create a reference cycle"):
        (x**3).backward(create_graph=True)
    first, x.grad = x.grad, None
    assert (first.item(), first.requires_grad) == (27.0, True)
    first.backward()
    assert x.grad.item() == 18.0


# -- grad ------------------------------------------------------------------------------------------


def test_grad_gives_a_tuple_and_leaves_grad_alone(world):
    before = world.state()
    found = grad(world.y.sum(), (world.x, world.w), retain_graph=True)
    assert isinstance(found, tuple)
    assert [g.tolist() for g in found] == [[3.0, 4.0], [1.0, 2.0]]
    assert world.state() == before
    assert not any(g.requires_grad for g in found)


def test_grad_of_a_dict_is_a_dict(world):
    found = grad(world.y.sum(), {"a": world.x, "b": world.w})
    assert {k: v.tolist() for k, v in found.items()} == {"a": [3.0, 4.0], "b": [1.0, 2.0]}


def test_grad_of_an_output_by_itself_is_the_given_gradient(world):
    (found,) = grad(world.y, world.y, rg.tensor([5.0, 6.0]))
    assert found.tolist() == [5.0, 6.0]


def test_grad_for_the_same_input_twice(world):
    a, b = grad(world.y.sum(), [world.x, world.x])
    assert a.tolist() == b.tolist() == [3.0, 4.0]


def test_grad_stops_at_an_inner_tensor(world):
    ran: list[int] = []
    world.x.register_hook(lambda g: ran.append(1))
    (found,) = grad(world.s, world.y)
    np.testing.assert_allclose(found.array, np.cos([3.0, 8.0]), rtol=1e-6)
    assert ran == []


def test_unused_inputs_are_none_or_zeros(world):
    asked = [world.x, world.stranger]
    _, none = grad(world.s, asked, allow_unused=True, retain_graph=True)
    assert none is None
    _, zeros = grad(world.s, asked, materialize_grads=True)
    assert (zeros.tolist(), zeros.dtype) == ([0.0], rg.float32)


def test_batched_gradients_give_batched_results(world):
    rows = rg.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    (found,) = grad(world.y, world.x, rows, is_grads_batched=True)
    assert found.tolist() == [[3.0, 0.0], [0.0, 4.0], [3.0, 4.0]]


def test_derivatives_of_any_order():
    x = rg.tensor(2.0, requires_grad=True)
    y, found = x**5, []
    for _ in range(6):
        found.append(y.item())
        (y,) = grad(y, x, create_graph=True)
    assert found == [32.0, 80.0, 160.0, 240.0, 240.0, 120.0]
    assert y.item() == 0.0


def test_only_inputs_is_ignored_with_a_warning(world):
    with pytest.warns(FutureWarning, match="only_inputs"):
        grad(world.s, world.x, only_inputs=False)


def test_gradients_of_complex_tensors_follow_the_conjugate():
    z = rg.tensor([1 + 2j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2 + 4j]
