"""Custom Functions that write in place: views that they mark dirty, tangents, and kinds of gradients."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

from .harness import attempt, program

Jvp = Callable[..., Any]


def doubling(torch: Any, seen: list[Any] | None = None, jvp: Jvp | None = None) -> Any:
    """A Function that doubles its argument in place; with `seen`, it saves the result and notes what comes back."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            if seen is not None:
                ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if seen is not None:
                (saved,) = ctx.saved_tensors
                seen.append((saved.grad_fn, saved.requires_grad, saved.tolist()))
            return g * 2

    if jvp is not None:
        Double.jvp = staticmethod(jvp)
    return Double.apply


def leaf(torch: Any, *numbers: float) -> Any:
    return torch.tensor(numbers or (1.0, 2.0, 3.0, 4.0), requires_grad=True)


# -- views -----------------------------------------------------------------------------------------------------------


@program(phrase="a view of a leaf Variable that requires grad is being used in an in-place operation")
def a_view_of_a_leaf(torch: Any) -> Any:
    return doubling(torch)(leaf(torch)[:2])


@program()
def a_view_of_a_leaf_without_recording(torch: Any) -> Any:
    x = leaf(torch)
    with torch.no_grad():
        y = doubling(torch)(x[:2])
    return x, y, x.is_leaf


@program()
def a_view_of_an_intermediate(torch: Any) -> Any:
    x = leaf(torch)
    h = x * 3
    v, w = h[:2], h[1:3]
    r = doubling(torch)(v)
    (grad,) = torch.autograd.grad(h.sum() + (w * 5).sum(), x)
    return r is v, r, h, w, grad


@program()
def a_view_of_a_view(torch: Any) -> Any:
    x = leaf(torch)
    h = x * 3
    v = h[:2]
    doubling(torch)(v[:1])
    (grad,) = torch.autograd.grad(h.sum(), x)
    return h, v, grad


@program()
def a_view_of_a_base_that_needs_no_gradient(torch: Any) -> Any:
    class Fill(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, target: Any, x: Any) -> Any:
            target.copy_(x * 2)
            ctx.mark_dirty(target)
            return target

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None, g * 2

    base, x = torch.zeros(4), leaf(torch, 1.0, 2.0)
    v = base[:2]
    r = Fill.apply(v, x)
    return r, v, base, torch.autograd.grad(base.sum(), x)


@program()
def a_written_view_that_is_saved(torch: Any) -> Any:
    seen: list[Any] = []
    x = leaf(torch)
    h = x * 3
    v = h[:2]
    doubling(torch, seen)(v)
    (grad,) = torch.autograd.grad(h.sum(), x, create_graph=True)
    return grad, seen


@program()
def a_written_view_that_is_saved_makes_no_cycle(torch: Any) -> Any:
    class Thing:
        pass

    thing = Thing()
    alive = weakref.ref(thing)
    h = leaf(torch) * 3
    v = h[:2]
    r = doubling(torch, [])(v)
    h.grad_fn.metadata["thing"] = thing
    gc.collect()
    gc.disable()
    try:
        del thing, h, v, r
        return alive() is None
    finally:
        gc.enable()


# -- tangents --------------------------------------------------------------------------------------------------------


@program()
def the_tangent_must_be_written_too(torch: Any) -> Any:
    ad = torch.autograd.forward_ad

    def run(jvp: Jvp, part: Any) -> Any:
        with ad.dual_level():
            x = ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).clone()
            y = doubling(torch, jvp=jvp)(part(x))
            return ad.unpack_dual(y).tangent, ad.unpack_dual(x).tangent

    found = []
    for part in (lambda x: x, lambda x: x[:1]):
        for jvp in (
            lambda ctx, t: t,
            lambda ctx, t: t.mul_(2),
            lambda ctx, t: t.add_(0),
            lambda ctx, t: t * 2,
        ):
            found.append(attempt("not modifying the forward mode gradients inplace", run, jvp, part))
    return found


# -- kinds of gradients ----------------------------------------------------------------------------------------------


@program()
def a_complex_gradient_of_a_real_input(torch: Any) -> Any:
    class Twisted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * (1 + 2j)

    def run(create_graph: bool) -> Any:
        x = leaf(torch, 1.0, 2.0)
        return torch.autograd.grad(Twisted.apply(x * 1).sum(), x, create_graph=create_graph)

    phrase = r"Expected isFloatingType\(grad.scalar_type\(\)\) || \(input_is_complex == grad_is_complex\)"
    z = torch.tensor([1.0, 2.0], dtype=torch.complex64, requires_grad=True)
    return [
        attempt(phrase, run, False),
        attempt(phrase, run, True),
        torch.autograd.grad(Twisted.apply(z).real.sum(), z),
    ]


@program()
def a_view_made_by_a_function_of_a_constant(torch: Any) -> Any:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    w = torch.ones(1, requires_grad=True)
    phrase = "created inside a custom Function"

    def write(x: Any) -> Any:
        return attempt(phrase, lambda: x.add_(w))

    with torch.no_grad():
        quiet = Same.apply(torch.ones(2))
    return (
        write(Same.apply(torch.ones(2))),
        write(quiet),
        write(Same.apply(torch.ones(2))[:1]),
        Same.apply(torch.ones(2)).add_(1),
    )
