"""The decorator `custom_gradient`."""

from __future__ import annotations

import gc
import inspect
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import custom_gradient, grad
from retrograd.autograd.graph import saved_tensors_hooks


@pytest.fixture
def x():
    return rg.tensor([1.0, 2.0], requires_grad=True)


@custom_gradient
def log1pexp(x):
    """log(1 + exp(x)), stable."""
    e = rg.exp(x)

    def gradient(g):
        return g * (1 - 1 / (1 + e))

    return rg.log(1 + e), gradient


@custom_gradient
def tripled(x):
    """x * 3, said to have the slope 100."""
    return x * 3, lambda g: g * 100


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


# -- values and first derivatives --------------------------------------------------------------------------------------


def test_the_gradient_is_what_the_function_says(x):
    y = tripled(x)
    assert y.tolist() == [3.0, 6.0]
    assert grad(y.sum(), x)[0].tolist() == [100.0, 100.0]


def test_the_stable_gradient_where_the_naive_one_fails():
    x = rg.tensor([100.0, -100.0, 0.0], requires_grad=True)
    (stable,) = grad(log1pexp(x).sum(), x)
    assert stable.tolist() == pytest.approx([1.0, 0.0, 0.5])
    (naive,) = grad(rg.log(1 + rg.exp(x)).sum(), x)
    assert np.isnan(naive[0].item())


def test_it_keeps_name_text_and_signature(x):
    assert (log1pexp.__name__, log1pexp.__doc__) == ("log1pexp", "log(1 + exp(x)), stable.")
    assert list(inspect.signature(log1pexp).parameters) == ["x"]
    y = log1pexp(x)
    assert y.grad_fn.name() == "log1pexpBackward"
    assert "grad_fn=<log1pexpBackward>" in repr(y)


def test_it_is_offered_at_both_places():
    assert rg.custom_gradient is rg.autograd.custom_gradient


def test_it_is_part_of_a_larger_graph(x):
    (g,) = grad((tripled(x * 2) * x).sum(), x)
    assert g.tolist() == [200.0 + 6.0, 400.0 + 12.0]


def test_several_arguments_and_results(x):
    @custom_gradient
    def both(a, b):
        def gradient(g, h):
            return g * 10 + h, g + h * 10

        return (a + b, a * b), gradient

    w = rg.tensor([5.0, 6.0], requires_grad=True)
    s, p = both(x, w)
    assert (s.tolist(), p.tolist()) == ([6.0, 8.0], [5.0, 12.0])
    assert [g.tolist() for g in grad(s.sum() + 2 * p.sum(), [x, w])] == [[12.0, 12.0], [21.0, 21.0]]


def test_a_result_that_nobody_used_arrives_as_zeros(x):
    got = []

    @custom_gradient
    def both(a):
        def gradient(g, h):
            got.append((g.tolist(), h.tolist()))
            return g

        return [a * 2, a * 3], gradient

    first, _ = both(x)
    first.sum().backward()
    assert got == [([1.0, 1.0], [0.0, 0.0])]


def test_keywords_and_other_arguments_are_constants(x):
    @custom_gradient
    def scaled(a, k, *, shift=None):
        return a * k + shift, lambda g: g * k

    shift = rg.ones(2, requires_grad=True)
    y = scaled(x, 3, shift=shift)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist(), shift.grad) == ([4.0, 7.0], [3.0, 3.0], None)


def test_gradients_may_be_given_for_every_argument_with_none_for_constants(x):
    @custom_gradient
    def scaled(k, a, b):
        return a * k, lambda g: (None, g * k, None)

    y = scaled(3, x, rg.ones(2))
    assert grad(y.sum(), x)[0].tolist() == [3.0, 3.0]


def test_none_is_no_gradient(x):
    @custom_gradient
    def cut(a):
        return a * 2, lambda g: None

    assert grad(cut(x).sum(), x, allow_unused=True) == (None,)


def test_tensors_of_the_surroundings_are_constants(x):
    w = rg.tensor([3.0, 4.0], requires_grad=True)

    @custom_gradient
    def weighted(a):
        return a * w, lambda g: g * w

    weighted(x).sum().backward()
    assert (x.grad.tolist(), w.grad) == ([3.0, 4.0], None)


def test_nothing_is_recorded_inside_and_without_need(x):
    seen = []

    @custom_gradient
    def watched(a):
        seen.append((rg.is_grad_enabled(), (a * 2).requires_grad))
        return a * 2, lambda g: g * 2

    assert watched(x).requires_grad
    assert not watched(x.detach()).requires_grad
    with rg.no_grad():
        assert not watched(x).requires_grad
    assert seen == [(False, False)] * 3


def test_a_method_can_be_decorated(x):
    class Layer:
        factor = 4.0

        @custom_gradient
        def __call__(self, a):
            return a * self.factor, lambda g: g * self.factor

    assert grad(Layer()(x).sum(), x)[0].tolist() == [4.0, 4.0]


def test_a_forward_outside_the_library():
    @custom_gradient
    def softplus(a):
        values = a.detach().numpy()
        slope = rg.from_numpy(sigmoid(values))
        return rg.from_numpy(np.log1p(np.exp(values))), lambda g: g * slope

    x = rg.tensor([0.5, -1.5], dtype=rg.float64, requires_grad=True)
    y = softplus(x)
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx(sigmoid(np.array([0.5, -1.5])).tolist())


def test_an_argument_given_back_and_a_view_given_back(x):
    @custom_gradient
    def same(a):
        return a, lambda g: g * 7

    @custom_gradient
    def column(a):
        return a.view(2, 1), lambda g: g.view(2) * 7

    for function in (same, column):
        y = function(x)
        assert y is not x
        assert grad(y.sum(), x)[0].tolist() == [7.0, 7.0]
        with pytest.raises(RuntimeError, match="created inside a custom Function"):
            y.mul_(2)


def test_gradients_are_fitted_to_the_argument(x):
    @custom_gradient
    def widened(a):
        return a.double() * rg.ones(3, 2), lambda g: g

    (g,) = grad(widened(x).sum(), x)
    assert (g.tolist(), g.dtype) == ([3.0, 3.0], rg.float32)


# -- second derivatives ------------------------------------------------------------------------------------------------


def test_the_second_derivative_through_a_tensor_computed_inside():
    x = rg.tensor([0.5, -1.5], dtype=rg.float64, requires_grad=True)
    (first,) = grad(log1pexp(x).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x, create_graph=True)
    (third,) = grad(second.sum(), x)
    s = sigmoid(x.detach().numpy())
    assert first.tolist() == pytest.approx(s.tolist())
    assert second.tolist() == pytest.approx((s * (1 - s)).tolist())
    assert third.tolist() == pytest.approx((s * (1 - s) * (1 - 2 * s)).tolist())


def test_the_second_derivative_is_that_of_the_gradient_function(x):
    @custom_gradient
    def odd(a):
        return a * 5, lambda g: g * a**3

    (first,) = grad(odd(x).sum(), x, create_graph=True)
    assert first.tolist() == [1.0, 8.0]
    assert grad(first.sum(), x)[0].tolist() == [3.0, 12.0]


def test_the_second_derivative_through_the_result(x):
    @custom_gradient
    def exp(a):
        out = a.exp()
        return out, lambda g: g * out

    y = exp(x * 1)
    (first,) = grad(y.sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    assert second.tolist() == pytest.approx(np.exp([1.0, 2.0]).tolist())


def test_the_second_derivative_with_respect_to_the_upstream_gradient(x):
    g = rg.ones(2, requires_grad=True)
    (first,) = grad(tripled(x), x, g, create_graph=True)
    assert grad(first.sum(), g)[0].tolist() == [100.0, 100.0]


def test_mixed_second_derivatives_of_two_arguments(x):
    @custom_gradient
    def product(a, b):
        return a * b, lambda g: (g * b, g * a)

    w = rg.tensor([3.0, 4.0], requires_grad=True)
    gx, gw = grad((product(x, w) ** 2).sum(), [x, w], create_graph=True)
    found = grad(gx.sum() + gw.sum(), [x, w])
    a, b = rg.tensor([1.0, 2.0], requires_grad=True), rg.tensor([3.0, 4.0], requires_grad=True)
    ga, gb = grad(((a * b) ** 2).sum(), [a, b], create_graph=True)
    assert [t.tolist() for t in found] == [t.tolist() for t in grad(ga.sum() + gb.sum(), [a, b])]


def test_the_function_runs_again_only_when_the_backward_is_recorded(x):
    runs = []

    @custom_gradient
    def counted(a):
        runs.append(rg.is_grad_enabled())
        return a * 2, lambda g: g * 2

    y = counted(x)
    grad(y.sum(), x, retain_graph=True)
    assert runs == [False]
    grad(y.sum(), x, create_graph=True)
    assert runs == [False, True]


# -- life and guards ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("captured", ["argument", "result", "inside"])
def test_it_makes_no_cycle_and_frees_what_was_captured(x, captured):
    watched = []

    @custom_gradient
    def capturing(a):
        e = a.exp()
        out = e * 1
        held = {"argument": a, "result": out, "inside": e}[captured]
        if held is not a:
            watched.append(weakref.ref(held))
        return out, lambda g: g * held

    gc.collect()
    gc.disable()
    try:
        y = capturing(x)
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        assert all(ref() is None for ref in watched), (
            "a backward that does not keep the graph frees the closure"
        )
        y = capturing(x)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
        assert all(ref() is None for ref in watched)
    finally:
        gc.enable()


def test_a_second_backward_says_so(x):
    y = tripled(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_a_retained_graph_runs_again(x):
    y = log1pexp(x).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    assert x.grad.tolist() == pytest.approx((2 * first).tolist())


@pytest.mark.parametrize("what", ["argument", "result", "default"])
def test_a_captured_tensor_that_was_overwritten_is_noticed(x, what):
    @custom_gradient
    def exp(a):
        out = a.exp()
        if what == "argument":
            return out, lambda g: g * a.exp()
        if what == "default":
            return out, lambda g, kept=a: g * kept.exp()
        return out, lambda g: g * out

    a = x * 1
    y = exp(a)
    total = y.sum()
    with rg.no_grad():
        (y if what == "result" else a).zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_what_was_not_captured_may_be_overwritten(x):
    a = x * 1
    y = tripled(a)
    total = y.sum()
    with rg.no_grad():
        a.zero_()
        y.zero_()
    assert grad(total, x)[0].tolist() == [100.0, 100.0]


def test_saved_tensor_hooks_see_the_arguments(x):
    packed = []

    @custom_gradient
    def square(a):
        return a * a, lambda g: 2 * g * a

    with saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t.tolist(), lambda v: rg.tensor(v) * 10):
        y = square(x)
    y.sum().backward()
    assert packed == [[1.0, 2.0]]
    assert x.grad.tolist() == [20.0, 40.0]


def test_hooks_on_its_node(x):
    y = tripled(x)
    y.grad_fn.register_hook(lambda inputs, outputs: tuple(None if g is None else g * 2 for g in inputs))
    assert grad(y.sum(), x)[0].tolist() == [200.0, 200.0]


# -- refusals ----------------------------------------------------------------------------------------------------------

FORGOTTEN = {
    "the gradient function": (lambda a: a * 2, "must return a pair .* but returned .*Tensor"),
    "the pair": (lambda a: (a, a, lambda g: g), "forgetful\\(\\) must return a pair"),
    "that it is called": (lambda a: (a * 2, a * 2), "forgetful\\(\\) must return a pair"),
    "everything": (lambda a: None, "but returned NoneType"),
    "that values are tensors": (
        lambda a: (3.0, lambda g: g),
        "value 0 of forgetful\\(\\) must be a Tensor, got float",
    ),
}


@pytest.mark.parametrize("what", FORGOTTEN)
def test_a_function_that_returns_something_else(x, what):
    function, message = FORGOTTEN[what]

    def forgetful(a):
        return function(a)

    with pytest.raises(TypeError, match=message):
        custom_gradient(forgetful)(x)


WRONG = {
    "too few": (lambda g: g, "wrong\\(\\) returned an incorrect number of gradients \\(expected 2, got 1\\)"),
    "too many": (lambda g: (g, g, g, g), "\\(expected 2, got 4\\)"),
    "shape": (
        lambda g: (g, rg.ones(3)),
        "wrong\\(\\) returned an invalid gradient for argument 'b' - got \\[3\\] but expected .*\\[2\\]",
    ),
    "smaller": (lambda g: (rg.ones(()), g), "argument 'a' - got \\[\\] but expected"),
    "number": (lambda g: (1.0, g), "wrong\\(\\) returned float for argument 'a': expected a Tensor or None"),
    "array": (
        lambda g: (np.ones(2), g),
        "wrap numbers and arrays in tensor|Wrap numbers and arrays in tensor",
    ),
    "for a constant": (lambda g: (g, g, g), "a gradient for argument 'k', which is no tensor"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_gradient_function_that_returns_what_does_not_fit(x, kind):
    function, message = WRONG[kind]

    @custom_gradient
    def wrong(a, b, k):
        return a * b * k, function

    y = wrong(x, rg.ones(2, requires_grad=True), 3)
    with pytest.raises(RuntimeError, match=message):
        y.sum().backward()
    assert x.grad is None


def test_an_error_inside_keeps_its_type_and_names_the_function(x):
    @custom_gradient
    def failing(a):
        return a * 2, lambda g: 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        failing(x).sum().backward()
    assert "failingBackward" in caught.value.__notes__[0]


def test_only_functions_can_be_decorated():
    with pytest.raises(TypeError, match="expected a function, got int"):
        custom_gradient(3)
