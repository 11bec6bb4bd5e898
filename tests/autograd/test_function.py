"""Custom Functions: what forward and backward get, what they may return, and what is refused."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import retrograd as rg
from retrograd.autograd.function import once_differentiable

Function = rg.autograd.Function
grad = rg.autograd.grad


@pytest.fixture
def x() -> Any:
    return rg.tensor([1.0, 2.0], requires_grad=True)


def made(forward: Any, backward: Any) -> Any:
    """A Function named My of two plain functions."""
    return type("My", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


class Scale(Function):
    """x times a number."""

    @staticmethod
    def forward(ctx: Any, x: Any, k: float) -> Any:
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.k, None


class Product(Function):
    """x times y, with both saved."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y, g * x


# -- the graph -----------------------------------------------------------------------------------------


def test_apply_makes_a_node_named_after_the_function(x):
    y = Scale.apply(x, 3)
    assert y.grad_fn.name() == "ScaleBackward"
    assert repr(y) == "tensor([3., 6.], grad_fn=<ScaleBackward>)"
    assert len(y.grad_fn.next_functions) == 1
    assert grad(y.sum(), x)[0].tolist() == [3.0, 3.0]


def test_without_a_gradient_there_is_no_node(x):
    assert Scale.apply(x.detach(), 3).grad_fn is None
    with rg.no_grad():
        assert not Scale.apply(x, 3).requires_grad


def test_forward_does_not_record_and_knows_who_needs_a_gradient(x):
    seen: list[Any] = []

    def forward(ctx, a, b, n):
        seen.append((ctx.needs_input_grad, rg.is_grad_enabled(), (a * 2).requires_grad))
        return a + b

    y = made(forward, lambda ctx, g: (g, g, None)).apply(x, rg.ones(2), 5)
    assert seen == [((True, False, False), False, False)]
    assert y.grad_fn.next_functions[1] == (None, 0)


def test_tensors_inside_lists_are_not_tracked(x):
    assert not made(lambda ctx, xs: xs[0] * 2, lambda ctx, g: g).apply([x]).requires_grad


def test_an_input_given_back_is_a_new_tensor(x):
    y = made(lambda ctx, a: a, lambda ctx, g: g * 7).apply(x)
    assert y is not x
    assert grad(y.sum(), x)[0].tolist() == [7.0, 7.0]


def test_setup_context_may_be_apart_from_forward(x):
    class Square(Function):
        @staticmethod
        def forward(a):
            return a * a

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    assert grad(Square.apply(x).sum(), x)[0].tolist() == [2.0, 4.0]


# -- outputs -------------------------------------------------------------------------------------------


def test_backward_gets_zeros_for_outputs_nobody_used(x):
    got: list[Any] = []

    def backward(ctx, g, h):
        got.append((g.tolist(), h.tolist()))
        return g * 2 + h * 3

    a, _ = made(lambda ctx, a: (a * 2, a * 3), backward).apply(x)
    assert grad(a.sum(), x)[0].tolist() == [2.0, 2.0]
    assert got == [([1.0, 1.0], [0.0, 0.0])]


def test_backward_gets_none_instead_if_it_wishes(x):
    got: list[Any] = []

    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 2, a * 3

    def backward(ctx, g, h):
        got.append((g is None, h is None))
        return h * 3

    _, b = made(forward, backward).apply(x)
    grad(b.sum(), x)
    assert got == [(True, False)]


def test_marked_outputs_have_no_gradient_but_keep_their_place_in_backward(x):
    def forward(ctx, a):
        order = a.sign()
        ctx.mark_non_differentiable(order)
        return a * 2, order

    value, order = made(forward, lambda ctx, g, h: g * 2 + h).apply(x)
    assert (value.requires_grad, order.requires_grad) == (True, False)
    assert grad(value.sum(), x)[0].tolist() == [2.0, 2.0]


def test_integer_outputs_keep_their_place_in_backward(x):
    value, place = made(lambda ctx, a: (a * 2, a.argmax()), lambda ctx, g, h: g * 2).apply(x)
    assert (place.item(), place.requires_grad) == (1, False)
    assert grad(value.sum(), x)[0].tolist() == [2.0, 2.0]


def test_outputs_that_are_no_tensors_pass_and_keep_their_place_in_backward(x):
    got: list[Any] = []

    def backward(ctx, *gs):
        got.append([g is None for g in gs])
        return gs[0]

    value, text, nothing = made(lambda ctx, a: (a * 2, "text", None), backward).apply(x)
    assert (text, nothing) == ("text", None)
    grad(value.sum(), x)
    assert got == [[False, True, True]]


def test_a_written_input_is_the_output(x):
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a.mul_(2)

    y = x * 1
    z = made(forward, lambda ctx, g: g * 2).apply(y)
    assert z is y
    assert y.grad_fn.name() == "MyBackward"
    assert grad(y.sum(), x)[0].tolist() == [2.0, 2.0]


def test_a_written_leaf_is_refused(x):
    def forward(ctx, a):
        ctx.mark_dirty(a)
        return a.mul_(2)

    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place"):
        made(forward, lambda ctx, g: g).apply(x)


def test_a_view_made_inside_cannot_be_written(x):
    v = made(lambda ctx, a: a.view(-1), lambda ctx, g: g).apply(x * 1)
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        v.mul_(2)


# -- saved tensors -------------------------------------------------------------------------------------


def test_saved_tensors_come_back_and_are_freed(x):
    w = rg.tensor([3.0, 4.0], requires_grad=True)
    y = Product.apply(x, w)
    assert [s.tolist() for s in y.grad_fn.saved_tensors] == [[1.0, 2.0], [3.0, 4.0]]
    assert [g.tolist() for g in grad(y.sum(), [x, w])] == [[3.0, 4.0], [1.0, 2.0]]
    with pytest.raises(RuntimeError, match="second time"):
        grad(y.sum(), [x, w])


def test_an_overwritten_saved_tensor_is_noticed(x):
    a = x * 1
    y = Product.apply(a, rg.ones(2))
    a.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("of", ["input", "output"])
def test_the_second_derivative_goes_through_what_was_saved(x, of):
    def forward(ctx, a):
        out = a.exp()
        ctx.save_for_backward(out if of == "output" else a)
        return out

    def backward(ctx, g):
        (saved,) = ctx.saved_tensors
        return g * (saved if of == "output" else saved.exp())

    (first,) = grad(made(forward, backward).apply(x).sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    assert second.tolist() == pytest.approx(x.exp().tolist())


def test_none_may_be_saved(x):
    def forward(ctx, a):
        ctx.save_for_backward(None, a)
        return a * 2

    y = made(forward, lambda ctx, g: g * 2).apply(x)
    assert y.grad_fn.saved_tensors[0] is None


def test_once_differentiable_ends_the_graph(x):
    square = made(lambda ctx, a: a * a, once_differentiable(lambda ctx, g: g * 3))
    (first,) = grad(square.apply(x).sum(), x, create_graph=True)
    assert first.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError):
        grad(first.sum(), x)


@pytest.mark.parametrize("saved", ["input", "output"])
def test_a_function_makes_no_cycle(x, saved):
    def forward(ctx, a):
        out = a * 2
        ctx.save_for_backward(out if saved == "output" else a)
        return out

    gc.collect()
    gc.disable()
    try:
        y = made(forward, lambda ctx, g: g * 2).apply(x)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


# -- refusals ------------------------------------------------------------------------------------------

WRONG_BACKWARDS = {
    "too few": (lambda ctx, g: g, "returned an incorrect number of gradients \\(expected 2, got 1\\)"),
    "too many": (
        lambda ctx, g: (g, None, g),
        "returned an incorrect number of gradients \\(expected 2, got 3\\)",
    ),
    "for a number": (lambda ctx, g: (g, g), "returned a gradient different than None at position 2"),
    "text": (lambda ctx, g: ("a", None), "expected Variable or None \\(got str\\)"),
    "another shape": (
        lambda ctx, g: (rg.ones(3), None),
        "returned an invalid gradient at index 0 - got \\[3\\]",
    ),
}


@pytest.mark.parametrize("kind", WRONG_BACKWARDS)
def test_a_backward_must_return_what_fits(x, kind):
    backward, phrase = WRONG_BACKWARDS[kind]
    y = made(lambda ctx, a, k: a * k, backward).apply(x, 3)
    with pytest.raises(RuntimeError, match=phrase):
        y.sum().backward()
    assert x.grad is None


def test_gradients_are_fitted_to_the_input(x):
    wide = made(lambda ctx, a: a.double(), lambda ctx, g: g)
    assert grad(wide.apply(x).sum(), x)[0].dtype == rg.float32
    broad = made(lambda ctx, a: a * rg.ones(3, 2), lambda ctx, g: g)
    assert grad(broad.apply(x).sum(), x)[0].tolist() == [3.0, 3.0]


def test_more_nones_than_inputs_are_left_over(x):
    y = made(lambda ctx, a: a * 2, lambda ctx, g: (g * 2, None, None)).apply(x)
    assert grad(y.sum(), x)[0].tolist() == [2.0, 2.0]


def test_forward_and_backward_must_be_written(x):
    class Nothing(Function):
        pass

    class NoBackward(Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        Nothing.apply(x)
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        NoBackward.apply(x).sum().backward()


def test_only_tensors_can_be_saved(x):
    def forward(ctx, a):
        ctx.save_for_backward(3)
        return a

    with pytest.raises(
        TypeError, match="save_for_backward can only save variables, but argument 0 is of type int"
    ):
        made(forward, lambda ctx, g: g).apply(x)


def test_an_error_in_backward_keeps_its_type_and_names_the_function(x):
    y = made(lambda ctx, a: a * 2, lambda ctx, g: 1 / 0).apply(x)
    with pytest.raises(ZeroDivisionError) as caught:
        y.sum().backward()
    assert "MyBackward" in caught.value.__notes__[0]


def test_a_function_may_run_a_backward_of_its_own(x):
    def backward(ctx, g):
        with rg.enable_grad():
            inner = rg.tensor(3.0, requires_grad=True)
            (slope,) = grad(inner * inner, inner)
        return g * slope

    assert grad(made(lambda ctx, a: a * 1, backward).apply(x).sum(), x)[0].tolist() == [6.0, 6.0]


# -- how long it lives -----------------------------------------------------------------------------------------


def test_attributes_of_the_context_die_with_the_node(x):
    class Thing:
        pass

    refs = []

    def forward(ctx, a):
        ctx.thing = Thing()
        refs.append(weakref.ref(ctx.thing))
        return a * 2

    gc.collect()
    gc.disable()
    try:
        y = made(forward, lambda ctx, g: g * 2).apply(x)
        z = y.exp()
        del y
        assert refs[0]() is not None
        z.sum().backward()
        del z
        assert refs[0]() is None
        with rg.no_grad():
            made(forward, lambda ctx, g: g).apply(x)
        assert refs[1]() is None
    finally:
        gc.enable()


def test_saved_tensors_are_given_away_once(x):
    class Once(Product):
        clear_saved_tensors_on_access = True

    y = Once.apply(x, x)
    assert len(y.grad_fn.saved_tensors) == 2
    with pytest.raises(RuntimeError, match="only be accessed once .* as on Once"):
        y.sum().backward()


def test_gradients_may_come_in_a_box(x):
    class Boxed(Scale):
        boxed_grads_call = True

        @staticmethod
        def backward(ctx, grads):
            return grads.pop() * ctx.k, None

    assert grad(Boxed.apply(x, 3).sum(), x)[0].tolist() == [3.0, 3.0]


def test_a_leaf_saved_through_hooks_keeps_its_place(x):
    with rg.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), rg.tensor):
        y = Product.apply(x, x)
    (first,) = grad(y.sum(), x, create_graph=True)
    assert grad(first.sum(), x)[0].tolist() == [2.0, 2.0]
