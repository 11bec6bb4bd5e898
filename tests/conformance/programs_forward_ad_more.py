"""Forward mode with modes, backward and custom Functions."""

# mypy: disable-error-code=untyped-decorator
from __future__ import annotations

from typing import Any

from .harness import attempt, program
from .programs_forward_ad import dual, inside, tan
from .programs_function import custom


def tracked(torch: Any) -> tuple[Any, Any]:
    """A leaf, and its dual."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    return x, torch.autograd.forward_ad.make_dual(x, torch.tensor([0.1, 0.2, 0.3]))


# -- modes ---------------------------------------------------------------------------------------------------------


@program()
@inside
def no_grad_does_not_stop_tangents(torch: Any) -> Any:
    _, d = tracked(torch)
    with torch.no_grad():
        y, v = d * 2, d[0]
        made = torch.autograd.forward_ad.unpack_dual(y).tangent
    return y, made, tan(torch, v)


@program()
@inside
def inference_mode_has_no_tangents(torch: Any) -> Any:
    d = dual(torch)
    with torch.inference_mode():
        made = torch.autograd.forward_ad.make_dual(torch.ones(3), torch.ones(3))
        found = [tan(torch, y) for y in (d, d * 2, d.view(3, 1), made, made * 2)]
        view = d.view(3, 1)
    return found, tan(torch, d), tan(torch, made), tan(torch, view)


@program()
def a_level_inside_inference_mode(torch: Any) -> Any:
    with torch.inference_mode(), torch.autograd.forward_ad.dual_level():
        d = dual(torch)
        inside_it = tan(torch, d * d)
        with torch.inference_mode(False):
            return inside_it, tan(torch, dual(torch) * 2)


@program()
@inside
def tangents_are_switched_off(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    d = dual(torch)
    with fwd._set_fwd_grad_enabled(False):
        hidden, y, v = tan(torch, d), d * 2, d[1:]
        made = dual(torch)
        d.mul_(2)
    return hidden, tan(torch, y), tan(torch, v), tan(torch, made), tan(torch, d), tan(torch, d * 2)


# -- with backward -------------------------------------------------------------------------------------------------


@program()
@inside
def forward_over_reverse(torch: Any) -> Any:
    x, d = tracked(torch)
    (g,) = torch.autograd.grad((d * d * d).sum(), d)
    (h,) = torch.autograd.grad((d.sin() * d.exp()).sum(), x, create_graph=True)
    found = torch.autograd.forward_ad.unpack_dual(h).tangent
    return g, tan(torch, g), h.detach(), found.detach(), found.requires_grad


@program()
@inside
def forward_over_reverse_of_a_leaf(torch: Any) -> Any:
    d = dual(torch).requires_grad_()
    (g,) = torch.autograd.grad((d * d).sum(), d)
    return d.is_leaf, g, tan(torch, g)


@program()
@inside
def reverse_over_forward(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    t = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    d = torch.autograd.forward_ad.make_dual(x, t)
    y = torch.autograd.forward_ad.unpack_dual(d.sin() * d).tangent
    gx, gt = torch.autograd.grad(y.sum(), (x, t))
    return gx, gt, tan(torch, gx), tan(torch, gt)


@program()
def reverse_over_forward_after_the_level(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        d = torch.autograd.forward_ad.make_dual(x, torch.ones(2))
        y = torch.autograd.forward_ad.unpack_dual(d**3).tangent
    return torch.autograd.grad(y.sum(), x)


@program()
def a_backward_after_the_level_has_no_tangents(torch: Any) -> Any:
    fwd = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with fwd.dual_level():
        y = fwd.make_dual(x, torch.ones(2)).exp().sum()
    with fwd.dual_level():
        (g,) = torch.autograd.grad(y, x)
        return g, fwd.unpack_dual(g).tangent


@program()
@inside
def the_third_derivative(torch: Any) -> Any:
    x, d = tracked(torch)
    (g,) = torch.autograd.grad((d**4).sum(), x, create_graph=True)
    found = torch.autograd.forward_ad.unpack_dual(g).tangent
    return torch.autograd.grad(found.sum(), x)


@program()
@inside
def writes_in_place_in_reverse_over_forward(torch: Any) -> Any:
    x, d = tracked(torch)
    y, z, w = d * 1, d * 1, torch.zeros(3)
    y.sin_()
    y.exp_()
    z[1:].pow_(3)
    w[1:] = (d * d)[1:]
    unpack = torch.autograd.forward_ad.unpack_dual
    return [torch.autograd.grad(unpack(v).tangent.sum(), x, retain_graph=True) for v in (y, z, w)]


@program()
@inside
def writes_in_place_in_forward_over_reverse(torch: Any) -> Any:
    x, d = tracked(torch)
    y, z = d * 1, torch.zeros(3)
    y.pow_(3)
    y.mul_(d)
    z.copy_(d * d)
    z[0] *= 3
    found = [torch.autograd.grad(v.sum(), x, retain_graph=True)[0] for v in (y, z)]
    return found, [tan(torch, g) for g in found]


@program()
@inside
def accumulated_gradients(torch: Any) -> Any:
    x, d = tracked(torch)
    d.exp().sum().backward()
    first = tan(torch, x.grad)
    kept = x.grad
    d.exp().sum().backward()
    return first, tan(torch, x.grad), x.grad, x.grad is kept


@program()
@inside
def retained_gradients_and_hooks(torch: Any) -> Any:
    _, d = tracked(torch)
    seen: list[Any] = []
    y = d.exp()
    y.retain_grad()
    y.register_hook(lambda g: seen.append(tan(torch, g)))
    (y * y).sum().backward()
    return seen, tan(torch, y.grad)


@program()
@inside
def a_dual_as_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (g,) = torch.autograd.grad(x * x, x, dual(torch))
    return g, tan(torch, g)


@program()
@inside
def saved_tensor_hooks_keep_tangents(torch: Any) -> Any:
    x, d = tracked(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda v: v.detach().clone(), lambda v: v):
        y = d.exp()
    (g,) = torch.autograd.grad(y.sum(), x)
    return g, tan(torch, g)


def checkpointed(torch: Any, use_reentrant: bool) -> Any:
    """A function run again in backward."""
    x, d = tracked(torch)
    module = __import__(f"{torch.__name__}.utils.checkpoint", fromlist=["checkpoint"])
    y = module.checkpoint(lambda v: v.sin() * v, d, use_reentrant=use_reentrant)
    (g,) = torch.autograd.grad(y.sum(), x)
    return tan(torch, y), g, tan(torch, g)


@program()
@inside
def checkpoint_keeps_tangents(torch: Any) -> Any:
    return checkpointed(torch, False)


@program("You must implement the jvp function")
@inside
def checkpoint_that_reenters_has_no_jvp(torch: Any) -> Any:
    return checkpointed(torch, True)


# -- custom Functions ----------------------------------------------------------------------------------------------


@program()
@inside
def a_function_with_jvp(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append((tan(torch, x), tan(torch, x * 2)))
        ctx.save_for_forward(x)
        return x * x

    def jvp(ctx: Any, t: Any) -> Any:
        (x,) = ctx.saved_tensors
        seen.append((tan(torch, x), tan(torch, x * 2), torch.is_grad_enabled(), x.requires_grad))
        return 2 * x * t

    y = custom(torch, forward, lambda ctx, g: g, jvp=jvp).apply(tracked(torch)[1])
    return seen, y, tan(torch, y)


@program()
@inside
def a_function_with_setup_context(torch: Any) -> Any:
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_forward(output)
        ctx.save_for_backward(output)

    def times(ctx: Any, v: Any) -> Any:
        return ctx.saved_tensors[0] * v

    function = custom(torch, lambda x: x.exp(), times, jvp=times, setup_context=setup_context)
    x, d = tracked(torch)
    y = function.apply(d)
    tangent = torch.autograd.forward_ad.unpack_dual(y).tangent
    (over_forward,) = torch.autograd.grad(tangent.sum(), x, retain_graph=True)
    (g,) = torch.autograd.grad(y.sum(), x)
    return tangent.detach(), over_forward, g, tan(torch, g)


@program("You must implement the jvp function for custom autograd.Function")
@inside
def a_function_without_jvp(torch: Any) -> Any:
    custom(torch, lambda ctx, x: x * 2, None).apply(dual(torch))


@program()
@inside
def jvp_is_not_called_without_tangents(torch: Any) -> Any:
    return tan(torch, custom(torch, lambda ctx, x: x * 2, None).apply(torch.ones(2)))


@program()
@inside
def missing_tangents_are_zeros_or_none(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, y: Any, count: int, materialize: bool) -> Any:
        ctx.set_materialize_grads(materialize)
        return x * y

    def jvp(ctx: Any, *tangents: Any) -> Any:
        seen.append(tangents)
        return tangents[0]

    function = custom(torch, forward, None, jvp=jvp)
    for other in (torch.ones(3), torch.ones(3).long()):
        for materialize in (True, False):
            function.apply(dual(torch), other, 3, materialize)
    return seen


@program()
@inside
def what_jvp_returns_is_checked(torch: Any) -> Any:
    def tried(phrase: str, result: Any, forward: Any = lambda ctx, x: x * 2) -> Any:
        function = custom(torch, forward, None, jvp=lambda ctx, t: result(t))
        return attempt(phrase, lambda: [tan(torch, y) for y in (function.apply(dual(torch)),)])

    def two(ctx: Any, x: Any) -> Any:
        return x * 2, x * 3

    return (
        tried("invalid number of forward gradients .expected 1 but got 2", lambda t: (t, t)),
        tried("invalid number of forward gradients .expected 2 but got 1", lambda t: t, two),
        tried("different size than that of the original Tensor", lambda t: t.sum()),
        tried("Expected both tensor and its forward grad to be floating point", lambda t: None),
        tried("Expected both tensor and its forward grad to be floating point", lambda t: t.long()),
        tried("expected Variable or None .got float. for grad output 0", lambda t: 3.0),
        tried("nothing is wrong", lambda t: t * 2),
    )


@program()
@inside
def outputs_without_a_tangent(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        above, apart = x > 1, x * 3
        ctx.mark_non_differentiable(above, apart)
        return above, x * 2, apart, 5

    def run(*tangents: Any) -> Any:
        return custom(
            torch, forward, None, jvp=lambda ctx, t: tuple(t if w else None for w in tangents)
        ).apply(dual(torch))

    wrong = "returned a gradient at position {}, but  the corresponding forward output is not a differentiable Tensor"
    return (
        [tan(torch, y) for y in run(False, True, False, False)[:3]],
        attempt(wrong.format(0), run, True, True, False, False),
        attempt(wrong.format(2), run, False, True, True, False),
    )


@program()
@inside
def a_function_that_writes_in_place(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    d, other = dual(torch), dual(torch)
    custom(torch, forward, None, jvp=lambda ctx, t: t.mul_(2)).apply(d)
    function = custom(torch, forward, None, jvp=lambda ctx, t: t * 2)
    return (
        d,
        tan(torch, d),
        attempt("not modifying the forward mode gradients inplace", function.apply, other),
    )


@program()
@inside
def a_function_that_gives_a_plain_input_a_tangent(torch: Any) -> Any:
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(y)

    base = torch.ones(2, 3)
    function = custom(torch, forward, None, jvp=lambda ctx, tx, ty: ty * 3)
    y = function.apply(base[0], dual(torch))
    return y, tan(torch, y), tan(torch, base)


@program()
@inside
def a_function_that_returns_a_view(torch: Any) -> Any:
    why = "returning a view .or an input as-is. but the jvp is not returning a view"

    def run(forward: Any, jvp: Any) -> Any:
        return attempt(why, lambda: tan(torch, custom(torch, forward, None, jvp=jvp).apply(dual(torch))))

    def column(ctx: Any, v: Any) -> Any:
        return v.view(3, 1)

    def same(ctx: Any, v: Any) -> Any:
        return v

    return (
        run(column, column),
        run(column, lambda ctx, t: t.view(3, 1) * 1),
        run(same, lambda ctx, t: t.view_as(t)),
        run(same, same),
        run(same, lambda ctx, t: t * 1),
    )


@program("boom")
@inside
def errors_of_jvp_reach_the_caller(torch: Any) -> Any:
    def jvp(ctx: Any, t: Any) -> Any:
        raise KeyError("boom")

    custom(torch, lambda ctx, x: x * 2, None, jvp=jvp).apply(dual(torch))


@program()
@inside
def after_an_error_of_jvp_tangents_go_on(torch: Any) -> Any:
    attempt("boom", errors_of_jvp_inside, torch)
    return tan(torch, dual(torch) * 2)


def errors_of_jvp_inside(torch: Any) -> Any:
    def jvp(ctx: Any, t: Any) -> Any:
        raise KeyError("boom")

    custom(torch, lambda ctx, x: x * 2, None, jvp=jvp).apply(dual(torch))


@program("save_for_forward expects all arguments to be tensors")
@inside
def only_tensors_are_saved_for_forward(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(3)
        return x * 2

    custom(torch, forward, None).apply(dual(torch))


@program()
def a_tangent_that_is_a_conjugate_where_the_tensor_is_none_is_copied(torch: Any) -> Any:
    x = torch.tensor([1 + 2j, 3 - 1j])
    kinds = {"plain": lambda t: t, "conjugate": lambda t: t.conj(), "negative": lambda t: t._neg_view()}
    found = {}
    for name, of_tensor in kinds.items():
        for other, of_tangent in kinds.items():
            tangent = of_tangent(x * 2)
            with torch.autograd.forward_ad.dual_level():
                dual = torch.autograd.forward_ad.make_dual(of_tensor(x), tangent)
                kept = torch.autograd.forward_ad.unpack_dual(dual).tangent
                real = torch.autograd.forward_ad.unpack_dual(torch.real(dual)).tangent
                found[f"{name} {other}"] = (
                    kept is tangent,
                    kept.resolve_conj().resolve_neg(),
                    real.resolve_neg(),
                )
    return found


@program()
def a_view_whose_tangent_is_a_view_of_something_else(torch: Any) -> Any:
    forward_ad, found = torch.autograd.forward_ad, []
    for of_leaf in (True, False):
        for made in (lambda t: t[:2].clone(), lambda t: t[:2].clone().view(2)):

            class Narrows(torch.autograd.Function):
                @staticmethod
                def forward(_: Any, x: Any) -> Any:
                    return x.narrow(0, 0, 2)

                @staticmethod
                def jvp(_: Any, tangent: Any, made: Any = made) -> Any:
                    return made(tangent)

            with forward_ad.dual_level():
                dual = forward_ad.make_dual(torch.ones(4), torch.ones(4))
                given = dual if of_leaf else dual.view_as(dual)
                phrase = "jvp is not returning a view"
                error = attempt(phrase, Narrows.apply, given)
                found.append(
                    (error.types, "of the same base" in error.message, "of the given" in error.message)
                )
    return found
