"""NestedIOFunction: the older form of a Function, with nested arguments and results."""

from __future__ import annotations

import gc
import weakref

import pytest

import retrograd as rg
from retrograd.autograd import grad


@pytest.fixture
def x():
    return rg.tensor([1.0, 2.0], requires_grad=True)


class Mixed(rg.autograd.NestedIOFunction):
    """Products of nested arguments, in the older form."""

    def forward_extended(self, a, pair):
        self.save_for_backward(a, [pair[1]])
        self.k = 5.0
        return a * pair[1], [a * self.k, (pair[0] * 3, None)]

    def backward_extended(self, g, rest):
        a, (b,) = self.saved_tensors
        h, (i, nothing) = rest
        assert nothing is None
        return g * b + h * self.k, (i * 3, g * a)


@pytest.fixture
def quiet(recwarn):
    """Instances of the older form warn, as in PyTorch."""
    yield
    assert {w.category for w in recwarn} == {DeprecationWarning}


@pytest.mark.parametrize("call", [lambda *args: Mixed()(*args), Mixed.apply])
def test_nested_arguments_and_results(x, quiet, call):
    y, z = rg.tensor([3.0, 4.0], requires_grad=True), rg.tensor([5.0, 6.0], requires_grad=True)
    first, (second, (third, nothing)) = call(x, (y, z))
    assert nothing is None
    assert [t.tolist() for t in (first, second, third)] == [[5.0, 12.0], [5.0, 10.0], [9.0, 12.0]]
    assert first.grad_fn is third.grad_fn
    assert first.grad_fn.name() == "MixedBackward"
    found = grad(first.sum() + second.sum() + third.sum(), [x, y, z])
    assert [g.tolist() for g in found] == [[10.0, 11.0], [3.0, 3.0], [1.0, 2.0]]


def test_a_nested_function_can_be_differentiated_twice(x, quiet):
    z = rg.tensor([5.0, 6.0], requires_grad=True)
    first, _ = Mixed()(x, (rg.ones(2), z))
    (g,) = grad(first.sum(), x, create_graph=True)
    assert grad((g * g).sum(), z)[0].tolist() == [10.0, 12.0]


def test_a_nested_function_without_a_graph_and_used_twice(x, quiet):
    f = Mixed()
    with rg.no_grad():
        first, _ = f(x, (x, x))
        assert not first.requires_grad
    first, _ = f(x, (x, x))
    again, _ = f(x, (x, x))
    assert grad(first.sum() + again.sum(), x)[0].tolist() == [4.0, 8.0]


def test_a_nested_function_makes_no_cycle(x, quiet):
    gc.collect()
    gc.disable()
    try:
        first, rest = Mixed()(x, (x, x))
        node = weakref.ref(first.grad_fn)
        del first, rest
        assert node() is None
    finally:
        gc.enable()


def test_nested_none_stands_for_a_missing_gradient(x, quiet):
    class Partial(rg.autograd.NestedIOFunction):
        def forward_extended(self, pair, last):
            return pair[0] * 2 + last

        def backward_extended(self, g):
            return None, g

    y = rg.ones(2, requires_grad=True)
    assert [
        None if g is None else g.tolist() for g in grad(Partial()([x, y], y).sum(), [x, y], allow_unused=True)
    ] == [
        None,
        [1.0, 1.0],
    ]


def test_nested_functions_refuse_what_they_cannot_take(x, quiet):
    with pytest.raises(
        ValueError, match="Auto nesting doesn't know how to process an input object of type int"
    ):
        Mixed()(x, [3])
    with pytest.raises(NotImplementedError, match="NestedIOFunction must implement forward_extended"):
        rg.autograd.NestedIOFunction()(x)

    class Short(rg.autograd.NestedIOFunction):
        def forward_extended(self, a, b):
            return a * b

        def backward_extended(self, g):
            return g

    with pytest.raises(RuntimeError, match="ShortBackward returned an incorrect number of gradients"):
        Short()(x, x).sum().backward()


def test_the_result_of_a_nested_function_may_be_marked(x, quiet):
    class Marked(rg.autograd.NestedIOFunction):
        def forward_extended(self, a):
            a.mul_(2)
            sign = a.sign()
            self.mark_dirty([a])
            self.mark_non_differentiable([sign])
            return a, [sign]

        def backward_extended(self, g, rest):
            return g * 2

    y = x * 1
    z, (sign,) = Marked()(y)
    assert z is y
    assert not sign.requires_grad
    assert grad(z.sum(), x)[0].tolist() == [2.0, 2.0]
