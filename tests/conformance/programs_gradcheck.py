"""`gradcheck` and `gradgradcheck`: what passes, what does not, and what they say of it."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program
from .programs_functional_whole import quietly


def vec(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)


def other(torch: Any) -> Any:
    return torch.tensor([0.5, -1.5, 2.5], dtype=torch.float64, requires_grad=True)


def comp(torch: Any) -> Any:
    return torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)


def custom(torch: Any, forward: Any, backward: Any, jvp: Any = None, materialize: bool = True) -> Any:
    """A custom operation: `backward(x, *gradients)` and `jvp(tangent)` may be as wrong as they like."""

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.set_materialize_grads(materialize)
            return forward(x)

        @staticmethod
        def backward(ctx, *gradients):
            return backward(ctx.saved_tensors[0], *gradients)

        @staticmethod
        def jvp(ctx, tangent):
            return jvp(tangent)

    return Custom.apply


def wrong_square(torch: Any) -> Any:
    return custom(torch, lambda x: x * x, lambda x, g: g * x * 3)


def tried(torch: Any, phrase: str, func: Any, inputs: Any, **options: Any) -> Any:
    """What both modes, with and without an exception, make of the same arguments."""
    check = torch.autograd.gradcheck
    return [
        attempt(phrase, check, func, inputs, **options),
        attempt(phrase, check, func, inputs, fast_mode=True, **options),
        attempt(phrase, check, func, inputs, raise_exception=False, **options),
        attempt(phrase, check, func, inputs, raise_exception=False, fast_mode=True, **options),
    ]


def tried_twice(torch: Any, phrase: str, func: Any, inputs: Any, *grads: Any, **options: Any) -> Any:
    check = torch.autograd.gradgradcheck
    return [
        attempt(phrase, check, func, inputs, *grads, **options),
        attempt(phrase, check, func, inputs, *grads, fast_mode=True, **options),
    ]


# -- what passes ------------------------------------------------------------------------------------------------------


@program()
def right_gradients(torch: Any) -> Any:
    return tried(torch, "", lambda x: x.sin() * x.exp(), vec(torch))


@program()
def inputs_in_a_list(torch: Any) -> Any:
    return tried(torch, "", lambda x: x.sin(), [vec(torch)])


@program()
def inputs_of_all_kinds(torch: Any) -> Any:
    return tried(torch, "", lambda x, y, n: x * y * n, (vec(torch), torch.tensor(2.0), 3))


@program()
def several_outputs(torch: Any) -> Any:
    return tried(torch, "", lambda x, y: [x * y, (x / y).sum()], (vec(torch), other(torch)))


@program()
def an_input_that_is_not_used(torch: Any) -> Any:
    return tried(torch, "", lambda x, y: x * 2, (vec(torch), other(torch)))


@program()
def the_same_input_twice(torch: Any) -> Any:
    x = vec(torch)
    return tried(torch, "", lambda a, b: a * b, (x, x))


@program()
def an_integer_output(torch: Any) -> Any:
    return tried(torch, "", lambda x: (x * 3, x.argmax()), vec(torch))


@program()
def an_output_that_is_partly_detached(torch: Any) -> Any:
    return tried(torch, "", lambda x: (x * 3, x.detach() * 2), vec(torch))


@program()
def constant_outputs(torch: Any) -> Any:
    return tried(torch, "", lambda x: torch.ones(2), vec(torch))


@program()
def no_outputs(torch: Any) -> Any:
    return tried(torch, "", lambda x: (), vec(torch))


@program()
def the_input_itself(torch: Any) -> Any:
    return tried(torch, "", lambda x: x, vec(torch))


@program()
def an_input_that_is_not_contiguous(torch: Any) -> Any:
    x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).t().requires_grad_()
    return tried(torch, "", lambda x: x * x, x)


@program()
def an_input_that_is_not_a_leaf(torch: Any) -> Any:
    return tried(torch, "", lambda x: x * x, vec(torch) * 2)


@program()
def outputs_that_overlap(torch: Any) -> Any:
    return tried(torch, "", lambda x: x.expand(2, 3), vec(torch))


@program()
def a_single_number(torch: Any) -> Any:
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    return tried(torch, "", lambda x: x**3, x)


@program()
def an_empty_input(torch: Any) -> Any:
    return tried(torch, "", lambda x: x * 2, torch.zeros(0, dtype=torch.float64, requires_grad=True))


@program()
def a_write_into_a_copy(torch: Any) -> Any:
    return tried(torch, "", lambda x: x.clone().mul_(x), vec(torch))


@program()
def complex_to_complex(torch: Any) -> Any:
    return tried(torch, "", lambda z: z * z.conj() * z, comp(torch))


@program()
def complex_to_real(torch: Any) -> Any:
    return tried(torch, "", lambda z: z.abs(), comp(torch))


@program()
def real_to_complex(torch: Any) -> Any:
    return tried(torch, "", lambda x: x * (1 + 2j), vec(torch))


@program()
def complex_and_real_together(torch: Any) -> Any:
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    return tried(torch, "", lambda x, z: (x * z, x * 2, z.real), (x, comp(torch)))


@program()
def batched_gradients(torch: Any) -> Any:
    return tried(torch, "", lambda x: x.sin(), vec(torch), check_batched_grad=True)


@program()
def batched_gradients_of_outputs_that_do_not_use_every_input(torch: Any) -> Any:
    def f(x: Any, y: Any) -> Any:
        return x * y, x.sum(), y.exp()

    inputs = (vec(torch), other(torch))
    options = {"check_batched_grad": True, "check_forward_ad": True, "check_batched_forward_grad": True}
    again = {"check_batched_grad": True, "check_fwd_over_rev": True}
    return (
        quietly(torch.autograd.gradcheck, f, inputs, **options),
        quietly(torch.autograd.gradcheck, f, inputs, fast_mode=True, **options),
        quietly(torch.autograd.gradgradcheck, lambda x, y: x * y.exp(), inputs, **again),
    )


@program()
def dtypes_of_gradients(torch: Any) -> Any:
    return tried(torch, "", lambda x: x.sin(), vec(torch), check_grad_dtypes=True, masked=True)


@program(warns="Input #0 requires gradient and is not a double precision")
def single_precision(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return torch.autograd.gradcheck(lambda x: x * 2, x, eps=1e-2, atol=1e-2)


@program()
def inputs_are_left_as_they_were(torch: Any) -> Any:
    x = vec(torch)
    torch.autograd.gradcheck(lambda x: x.sin(), x)
    torch.autograd.gradcheck(lambda x: x.sin(), x, fast_mode=True)
    return x, x.grad


@program()
def how_often_and_where_the_function_is_called(torch: Any) -> Any:
    seen: list[Any] = []
    torch.autograd.gradcheck(lambda x: (seen.append(x.detach().clone()), x * 2)[1], vec(torch), eps=0.5)
    return seen[:7]


@program()
def undefined_gradients_that_are_handled(torch: Any) -> Any:
    def backward(x: Any, g: Any, h: Any) -> Any:
        return (x * 0 if g is None else g * 2) + (0 if h is None else h)

    both = custom(torch, lambda x: (x * 2, x.sum()), backward, materialize=False)
    return tried(torch, "", both, vec(torch))


# -- what does not ----------------------------------------------------------------------------------------------------


@program()
def a_wrong_gradient(torch: Any) -> Any:
    return tried(
        torch,
        "^Jacobian mismatch for output 0 with respect to input 0,\nnumerical:",
        wrong_square(torch),
        vec(torch),
    )


@program()
def a_wrong_gradient_of_the_second_output(torch: Any) -> Any:
    square = wrong_square(torch)
    return tried(
        torch,
        "^Jacobian mismatch for output 1 with respect to input 0",
        lambda x: (x * 2, square(x)),
        vec(torch),
    )


@program()
def a_wrong_gradient_of_the_second_input(torch: Any) -> Any:
    square = wrong_square(torch)
    inputs = (vec(torch), other(torch))
    return tried(
        torch, "^Jacobian mismatch for output 0 with respect to input 1", lambda x, y: x * square(y), inputs
    )


@program()
def fast_mode_shows_the_whole_jacobians(torch: Any) -> Any:
    phrase = r"Numerical:\s+tensor(.|\n)*Analytical:\s+tensor(.|\n)*per-element difference \(slow mode\) is: [23]\.\d"
    return attempt(phrase, torch.autograd.gradcheck, wrong_square(torch), vec(torch), fast_mode=True)


@program()
def a_gradient_that_is_missing(torch: Any) -> Any:
    lost = custom(torch, lambda x: x * 2, lambda x, g: None)
    return tried(torch, "Jacobian mismatch", lost, vec(torch))


@program()
def a_gradient_that_is_nan(torch: Any) -> Any:
    return tried(torch, "Jacobian mismatch", lambda x: x * float("nan"), vec(torch))


@program()
def a_kink(torch: Any) -> Any:
    return tried(
        torch, "Jacobian mismatch", torch.relu, torch.zeros(1, dtype=torch.float64, requires_grad=True)
    )


@program()
def a_path_that_is_detached(torch: Any) -> Any:
    return tried(
        torch, "Jacobian mismatch .* input 1", lambda x, y: x * y.detach(), (vec(torch), other(torch))
    )


@program()
def an_output_that_is_detached(torch: Any) -> Any:
    return tried(
        torch, "Numerical gradient for function expected to be zero", lambda x: x.detach() * 2, vec(torch)
    )


@program()
def outputs_that_are_whole_numbers(torch: Any) -> Any:
    x = torch.tensor(
        [1.0, 2.0], dtype=torch.float64, requires_grad=True
    )  # where a small step changes x.long()
    return [
        torch.autograd.gradcheck(lambda x: x.long(), (x,)),
        torch.autograd.gradcheck(lambda x: x.long(), (x,), check_batched_grad=True),
        torch.autograd.gradcheck(lambda x: (x * 2, x.long()), (x,)),
        tried(torch, "expected to be zero", lambda x: (x.long(), x.detach()), x),
        attempt("expected to be zero", torch.autograd.gradcheck, lambda x: x.long(), (x,), fast_mode=True),
    ]


@program()
def under_no_grad(torch: Any) -> Any:
    with torch.no_grad():
        return tried(torch, "expected to be zero", lambda x: x.sin(), vec(torch))


@program()
def a_wrong_gradient_of_complex_numbers(torch: Any) -> Any:
    phrase = "^While considering the imaginary part of complex outputs only, Jacobian mismatch for output 0"
    return tried(torch, phrase, wrong_square(torch), comp(torch))


@program()
def a_wrong_gradient_of_the_real_part(torch: Any) -> Any:
    phrase = "^While considering the real part of complex outputs only, Jacobian mismatch"
    return tried(torch, phrase, custom(torch, lambda x: x * 2, lambda x, g: g * 2 + g.real), comp(torch))


@program()
def a_wrong_gradient_from_complex_to_real(torch: Any) -> Any:
    return tried(
        torch, "^Jacobian mismatch", custom(torch, lambda z: z.abs(), lambda z, g: g * 1j), comp(torch)
    )


@program()
def a_backward_that_ignores_its_gradient(torch: Any) -> Any:
    constant = custom(torch, lambda x: x.sum(), lambda x, g: x * 0 + 1)
    return tried(torch, "backward not multiplied by grad_output", constant, vec(torch))


@program()
def a_backward_that_is_not_repeatable(torch: Any) -> Any:
    runs = [0]

    def backward(x: Any, g: Any) -> Any:
        runs[0] += 1
        return g * 2 + g * (1e-7 * (runs[0] % 2))

    drifting = custom(torch, lambda x: x * 2, backward)
    phrase = "Backward is not reentrant(.|\n)*tolerance for nondeterminism was 0.0"
    return tried(torch, phrase, drifting, vec(torch)), tried(torch, "", drifting, vec(torch), nondet_tol=1e-5)


@program(warns="check_undefined_grad=False")
def undefined_gradients_taken_for_ones(torch: Any) -> Any:
    ones = custom(torch, lambda x: x.sum(), lambda x, g: x * 0 + (1 if g is None else g), materialize=False)
    return tried(torch, "Expected all input grads to be undefined or zero", ones, vec(torch))


@program(warns="check_undefined_grad=False")
def undefined_gradients_that_are_refused(torch: Any) -> Any:
    def backward(x: Any, g: Any) -> Any:
        if g is None:
            raise RuntimeError("no gradient")
        return x * 0 + g

    refusing = custom(torch, lambda x: x.sum(), backward, materialize=False)
    phrase = "Expected backward function to handle undefined output grads"
    return [
        tried(torch, phrase, refusing, vec(torch)),
        tried(torch, "", refusing, vec(torch), check_undefined_grad=False),
    ]


@program()
def errors_of_the_function_come_through(torch: Any) -> Any:
    failing = custom(torch, lambda x: x * 2, lambda x, g: {}["g"])
    return [
        tried(torch, "division by zero", lambda x: 1 / 0, vec(torch)),
        tried(torch, "'g'", failing, vec(torch)),
    ]


# -- arguments --------------------------------------------------------------------------------------------------------


@program()
def nothing_that_requires_a_gradient(torch: Any) -> Any:
    phrase = "gradcheck expects at least one input tensor to require gradient"
    x = vec(torch).detach()
    return [tried(torch, phrase, lambda *x: x, inputs) for inputs in (x, (), 3, {"x": vec(torch)})]


@program()
def an_input_whose_elements_share_memory(torch: Any) -> Any:
    x = torch.ones(1, dtype=torch.float64, requires_grad=True).expand(3)
    return tried(torch, "The 0th input has a dimension with stride 0", lambda x: x * 2, x)


@program()
def flags_that_do_not_fit(torch: Any) -> Any:
    check, again = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    f, x = torch.sin, vec(torch)
    forward = {"check_forward_ad": True, "check_backward_ad": False}
    return [
        attempt(
            "at least one of check_forward_ad or check_backward_ad", check, f, x, check_backward_ad=False
        ),
        attempt("requires check_backward_ad to be True", check, f, x, check_batched_grad=True, **forward),
        attempt("requires check_forward_ad to be True", check, f, x, check_batched_forward_grad=True),
        attempt("at least one of check_fwd_over_rev or", again, f, x, check_rev_over_rev=False),
        attempt(
            "requires check_rev_over_rev", again, f, x, check_fwd_over_rev=True, check_rev_over_rev=False
        ),
    ]


@program()
def options_are_keywords(torch: Any) -> Any:
    return attempt("takes 2 positional arguments", torch.autograd.gradcheck, torch.sin, vec(torch), 1e-6)


# -- gradgradcheck ----------------------------------------------------------------------------------------------------


@program()
def right_second_gradients(torch: Any) -> Any:
    return tried_twice(torch, "", lambda x: (x.sin(), (x * x).sum()), vec(torch))


@program()
def right_second_gradients_of_two_inputs(torch: Any) -> Any:
    return tried_twice(torch, "", lambda x, y: x / y, (vec(torch), other(torch)))


@program()
def right_second_gradients_of_complex_numbers(torch: Any) -> Any:
    return tried_twice(torch, "", lambda z: z * z * z, comp(torch))


@program()
def second_gradients_of_a_linear_function(torch: Any) -> Any:
    return tried_twice(torch, "", lambda x: x * 2, vec(torch))


@program()
def second_gradients_with_gradients_given(torch: Any) -> Any:
    ones = torch.ones(3, dtype=torch.float64)
    return [
        tried_twice(torch, "", torch.sin, vec(torch), ones),
        tried_twice(torch, "", torch.sin, vec(torch), [ones.clone().requires_grad_()]),
        tried_twice(torch, "Mismatch in shape", torch.sin, vec(torch), ones[:2]),
    ]


@program()
def second_gradients_with_gradients_apart_in_memory(torch: Any) -> Any:
    options = {"gen_non_contig_grad_outputs": True, "check_batched_grad": True}
    return tried_twice(torch, "", lambda x: x.reshape(3, 1).sin() * x, vec(torch), **options)


@program()
def a_wrong_first_gradient_is_none_of_its_business(torch: Any) -> Any:
    return tried_twice(torch, "", wrong_square(torch), vec(torch))


@program()
def a_wrong_second_gradient(torch: Any) -> Any:
    cut = custom(torch, lambda x: x * x, lambda x, g: g * 2 * x.detach())
    check = torch.autograd.gradgradcheck
    return [
        tried_twice(torch, "Jacobian mismatch for output 0 with respect to input 0", cut, vec(torch)),
        check(cut, vec(torch), raise_exception=False),
    ]


@program()
def second_gradients_without_an_input_to_check(torch: Any) -> Any:
    return tried_twice(torch, "expects at least one input tensor", lambda x: x * 2, vec(torch).detach())


# -- forward mode -----------------------------------------------------------------------------------------------------


@program()
def right_tangents(torch: Any) -> Any:
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    return quietly(
        tried, torch, "", lambda x, y: (x.sin() * y, x.sum()), (vec(torch), other(torch)), **options
    )


@program()
def right_tangents_of_complex_numbers(torch: Any) -> Any:
    return quietly(tried, torch, "", lambda z: (z * z, z.real), comp(torch), check_forward_ad=True)


@program()
def wrong_tangents(torch: Any) -> Any:
    tripled = custom(torch, lambda x: x * 2, lambda x, g: g * 2, lambda t: t * 3)
    phrase = "^Jacobian computed with forward mode mismatch for output 0 with respect to input 0"
    return [
        quietly(tried, torch, phrase, tripled, vec(torch), check_forward_ad=True),
        quietly(tried, torch, phrase, tripled, vec(torch), check_forward_ad=True, check_backward_ad=False),
    ]


@program()
def wrong_tangents_of_complex_numbers(torch: Any) -> Any:
    tripled = custom(torch, lambda x: x * 2, lambda x, g: g * 2, lambda t: t * 3)
    phrase = (
        "^While considering the imaginary part of complex inputs only, Jacobian computed with forward mode"
    )
    return quietly(tried, torch, phrase, tripled, comp(torch), check_forward_ad=True)


@program()
def forward_over_reverse(torch: Any) -> Any:
    return quietly(tried_twice, torch, "", lambda x: x.sin() * x, vec(torch), check_fwd_over_rev=True)


@program()
def outputs_that_depend_on_where_the_inputs_are(torch: Any) -> Any:
    phrase = "Expected `func` to return outputs with the same (shape|dtype) when inputs are perturbed"
    found = []
    for other in (lambda x: x[:1], lambda x: x.float()):
        for fast in (False, True):
            function = lambda x, other=other: x if x.detach()[0] <= 1 else other(x)  # noqa: E731
            x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
            found.append(quietly(attempt, phrase, torch.autograd.gradcheck, function, x, fast_mode=fast))
    return found


def product(torch: Any, jvp: Any) -> Any:
    """A product whose `jvp` gets undefined tangents as None."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_forward(x, y)
            ctx.save_for_backward(x, y)
            ctx.set_materialize_grads(False)
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return (None, None) if g is None else (g * y, g * x)

    Product.jvp = staticmethod(lambda ctx, t, u: jvp(*ctx.saved_tensors, t, u))
    return Product.apply


@program()
def undefined_tangents(torch: Any) -> Any:
    def right(x: Any, y: Any, t: Any, u: Any) -> Any:
        return x * u if t is None else t * y if u is None else t * y + x * u

    def doubled(x: Any, y: Any, t: Any, u: Any) -> Any:
        return x * u if t is None else t * y * 2 if u is None else t * y + x * u

    def needs_both(x: Any, y: Any, t: Any, u: Any) -> Any:
        return t * y + x * u

    phrase = "Mismatch in tangent values|unsupported operand"
    found = []
    for jvp in (right, doubled, needs_both):
        for checked in (True, False):
            options = {"check_forward_ad": True, "check_undefined_grad": checked}
            inputs = (vec(torch), vec(torch))
            check = torch.autograd.gradcheck
            found.append(quietly(attempt, phrase, check, product(torch, jvp), inputs, **options))
    return found


@program()
def batches_of_tangents(torch: Any) -> Any:
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    return [
        quietly(tried, torch, "", lambda x: (x.sin() * x, x.sum()), vec(torch), **options),
        quietly(tried, torch, "", lambda z: z.abs(), comp(torch), **options),
        quietly(
            tried,
            torch,
            "While computing batched gradients",
            lambda x: x * torch.rand(()).mul(0).add(1),
            vec(torch),
            **options,
        ),
    ]


@program()
def outputs_that_are_conjugates(torch: Any) -> Any:
    z = torch.tensor([0.5 + 1j, 1 - 0.25j], dtype=torch.complex128, requires_grad=True)

    def check(**options: Any) -> bool:
        return torch.autograd.gradcheck(
            lambda z: (z.conj(), z.conj().imag), (z,), check_forward_ad=True, **options
        )

    return check(), check(fast_mode=True)


@program()
def inputs_without_elements(torch: Any) -> Any:
    x = torch.ones(0, 3, dtype=torch.float64, requires_grad=True)
    line = torch.ones(0, 1, dtype=torch.float64).expand(0, 3).requires_grad_()
    return (
        torch.autograd.gradcheck(torch.sin, (x,)),
        torch.autograd.gradcheck(lambda t: t.sum(0), (x,)),
        line.shape,
    )


@program()
def jacobians_of_pytorchs_own_tests(torch: Any) -> Any:
    check = torch.autograd.gradcheck.__globals__
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([2.0], dtype=torch.float64)
    found = check["_get_numerical_jacobian"](lambda a, b: (a.sin(), a * b), (x, y), eps=1e-6)
    return (
        found,
        [t.shape for t in check["_iter_tensors"]([x, (y,)])],
        len(list(check["_iter_tensors"]([x, y], True))),
    )
