"""Custom Functions gone wrong: exceptions with their phrases, and what is tolerated."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program
from .programs_function import custom, leaf, square


def backward_with(torch: Any, backward: Any, phrase: str = "") -> Any:
    """The error, or the gradient, of a Function of one argument with this backward."""
    x = leaf(torch)
    y = custom(torch, lambda ctx, x: x * 1, backward).apply(x)
    return attempt(phrase, y.sum().backward), x.grad


@program(phrase="You must implement the forward function for custom autograd.Function")
def missing_forward(torch: Any) -> Any:
    custom(torch, None, lambda ctx, g: g).apply(leaf(torch))


@program(phrase="You must implement either the backward or vjp method for your custom autograd.Function")
def missing_backward(torch: Any) -> Any:
    custom(torch, lambda ctx, x: x * 1, None).apply(leaf(torch)).sum().backward()


@program()
def missing_backward_that_is_never_asked_for(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x * 1, None)
    return f.apply(leaf(torch)), f.apply(torch.ones(2))


@program(phrase="Implementing both 'backward' and 'vjp' for a custom Function is not allowed")
def backward_and_vjp(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x * 1, lambda ctx, g: g, vjp=lambda ctx, g: g)
    f.apply(leaf(torch)).sum().backward()


@program()
def wrong_number_of_gradients(torch: Any) -> Any:
    phrase = r"function CustomBackward returned an incorrect number of gradients \(expected 1, got 2\)"
    return backward_with(torch, lambda ctx, g: (g, g), phrase)


@program(phrase=r"returned an incorrect number of gradients \(expected 2, got 1\)")
def too_few_gradients(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, y: x + y, lambda ctx, g: g)
    f.apply(leaf(torch), leaf(torch)).sum().backward()


@program(phrase=r"returned an incorrect number of gradients \(expected 3, got 1\)")
def too_few_gradients_for_other_arguments(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, n, m: x * n, lambda ctx, g: g)
    f.apply(leaf(torch), 2, 3).sum().backward()


@program(phrase=r"returned an incorrect number of gradients \(expected 1, got 0\)")
def no_gradients_at_all(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x: x * 1, lambda ctx, g: ())
    f.apply(leaf(torch)).sum().backward()


@program()
def gradient_of_wrong_shape(torch: Any) -> Any:
    phrase = r"CustomBackward returned an invalid gradient at index 0 - got \[2\] but expected shape compatible with"
    return backward_with(torch, lambda ctx, g: g[:2], phrase)


@program()
def gradient_that_broadcasts_is_not_enough(torch: Any) -> Any:
    return (
        backward_with(torch, lambda ctx, g: g.sum(), r"got \[\] but expected shape compatible with \[3\]"),
        backward_with(torch, lambda ctx, g: g[:1], r"got \[1\] but expected shape compatible with \[3\]"),
        backward_with(
            torch, lambda ctx, g: g.view(3, 1), r"got \[3, 1\] but expected shape compatible with \[3\]"
        ),
    )


@program()
def gradient_of_a_larger_shape_is_summed(torch: Any) -> Any:
    return (
        backward_with(torch, lambda ctx, g: g.expand(2, 3)),
        backward_with(torch, lambda ctx, g: torch.ones(4, 1, 3, dtype=torch.float64)),
    )


@program()
def second_gradient_of_wrong_shape_names_its_index(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, n, y: x + y, lambda ctx, g: (g, None, g[:2]))
    phrase = "returned an invalid gradient at index 1 - got"
    return attempt(phrase, f.apply(leaf(torch), 1, leaf(torch)).sum().backward)


@program()
def gradient_of_another_float_dtype_is_cast(torch: Any) -> Any:
    return (
        backward_with(torch, lambda ctx, g: g.float()),
        backward_with(torch, lambda ctx, g: g.half()),
        backward_with(torch, lambda ctx, g: g.to(torch.int64)),
    )


@program()
def real_gradient_of_a_complex_input(torch: Any) -> Any:
    x = torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)
    f = custom(torch, lambda ctx, x: x.abs(), lambda ctx, g: g)
    f.apply(x).sum().backward()
    return x.grad


@program()
def gradient_that_is_no_tensor(torch: Any) -> Any:
    return (
        backward_with(torch, lambda ctx, g: 1.0, r"expected Variable or None \(got float\)"),
        backward_with(torch, lambda ctx, g: "gradient", r"expected Variable or None \(got str\)"),
        backward_with(torch, lambda ctx, g: [g], r"expected Variable or None \(got list\)"),
    )


@program()
def gradient_for_an_argument_that_is_no_tensor(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, n: x * n, lambda ctx, g: (g, g))
    phrase = (
        "returned a gradient different than None at position 2, but the corresponding forward input was not"
    )
    return attempt(phrase, f.apply(leaf(torch), 2).sum().backward)


@program()
def gradient_for_a_constant_is_dropped(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, c: x * c, lambda ctx, g: (g, g))
    x, c = leaf(torch), torch.ones(3, dtype=torch.float64)
    f.apply(x, c).sum().backward()
    return x.grad, c.grad


@program()
def gradient_for_an_integer_tensor_is_dropped(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, i: x[i], lambda ctx, g: (g, g))
    x = leaf(torch)
    f.apply(x, torch.arange(3)).sum().backward()
    return x.grad


@program()
def wrong_shape_for_a_constant_goes_unnoticed(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, c: x * c, lambda ctx, g: (g, g[:1]))
    x = leaf(torch)
    f.apply(x, torch.ones(3, dtype=torch.float64)).sum().backward()
    return x.grad


@program(phrase="save_for_backward can only save variables, but argument 0 is of type int")
def number_saved(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(3)
        return x * 1

    custom(torch, forward, lambda ctx, g: g).apply(leaf(torch))


@program(phrase="save_for_backward can only save variables, but argument 1 is of type list")
def list_saved(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, [x])
        return x * 1

    custom(torch, forward, lambda ctx, g: g).apply(leaf(torch))


@program()
def number_saved_where_nothing_is_recorded(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(3)
        return x * 1

    return attempt(
        "save_for_backward can only save variables", custom(torch, forward, None).apply, torch.ones(2)
    )


@program()
def outputs_that_are_no_tensors_pass(torch: Any) -> Any:
    return [
        custom(torch, lambda ctx, x, out=out: out, None).apply(leaf(torch))
        for out in (3, "text", None, [1.0])
    ]


@program()
def tensors_inside_a_list_of_outputs_are_not_linked(torch: Any) -> Any:
    result = custom(torch, lambda ctx, x: [x * 1, x * 2], None).apply(leaf(torch))
    return type(result) is list, result


@program()
def wrong_number_of_arguments(torch: Any) -> Any:
    return (
        attempt("missing 1 required positional argument: 'x'", square(torch).apply),
        attempt(
            "takes 2 positional arguments but 3 were given", square(torch).apply, leaf(torch), leaf(torch)
        ),
    )


@program()
def keyword_that_forward_does_not_have(torch: Any) -> Any:
    x = leaf(torch)
    return attempt("unexpected keyword argument 'factor'", lambda: square(torch).apply(x, factor=2))


@program()
def wrong_arguments_of_backward(torch: Any) -> Any:
    return (
        backward_with(torch, lambda ctx: None, "positional argument"),
        backward_with(torch, lambda ctx, g, h: g, "positional argument"),
    )


@program()
def exception_inside_forward(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        raise ValueError("broken forward")

    error = attempt("broken forward", custom(torch, forward, None).apply, leaf(torch))
    return error, torch.is_grad_enabled(), (leaf(torch) * 2).requires_grad


@program()
def exception_inside_backward(torch: Any) -> Any:
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("broken backward")

    found = backward_with(torch, backward, "broken backward")
    x = leaf(torch)
    (x * 2).sum().backward()
    return found, x.grad, torch.is_grad_enabled()


@program()
def exceptions_keep_their_class(torch: Any) -> Any:
    def raising(error: BaseException) -> Any:
        def backward(ctx: Any, g: Any) -> Any:
            raise error

        return backward_with(torch, backward, "")

    return (
        raising(KeyError("k")),
        raising(ZeroDivisionError("z")),
        raising(StopIteration("s")),
        raising(IndexError()),
    )


@program(phrase="trying to differentiate twice a function that was marked with @once_differentiable")
def once_differentiable_twice(torch: Any) -> Any:
    backward = torch.autograd.function.once_differentiable(lambda ctx, g: g * 2)
    x = leaf(torch)
    y = custom(torch, lambda ctx, x: x * 2, backward).apply(x).pow(2).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.sum().backward()


@program(warns="should not be instantiated")
def instance_of_a_function(torch: Any) -> Any:
    return type(square(torch)()).__name__


@program(phrase="does not require grad")
def backward_from_a_result_without_a_graph(torch: Any) -> Any:
    square(torch).apply(torch.ones(3)).sum().backward()


@program(phrase="does not require grad")
def backward_from_a_non_differentiable_output(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 1
        ctx.mark_non_differentiable(y)
        return y

    custom(torch, forward, lambda ctx, g: g).apply(leaf(torch)).sum().backward()


@program()
def integer_output_only(torch: Any) -> Any:
    y = custom(torch, lambda ctx, x: x.long(), lambda ctx, g: g).apply(leaf(torch))
    return y, y.requires_grad


@program(warns=r"mark_dirty\(\) received a tensor that was not an input")
def dirty_mark_on_what_is_no_input(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 1
        ctx.mark_dirty(y)
        return y

    return custom(torch, forward, lambda ctx, g: g).apply(leaf(torch) * 1)


@program()
def dirty_input_that_is_not_returned(torch: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x * 1

    phrase = "marked as dirty during the forward method were not returned as output"
    return attempt(phrase, custom(torch, forward, lambda ctx, g: g).apply, leaf(torch) * 1)


@program()
def marks_that_are_no_tensors(torch: Any) -> Any:
    def dirty(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(3)
        return x * 1

    def plain(ctx: Any, x: Any) -> Any:
        ctx.mark_non_differentiable(3)
        return x * 1

    cases = (
        (dirty, "mark_dirty can only accept variables"),
        (plain, "mark_non_differentiable only accepts variable"),
    )
    return [attempt(phrase, custom(torch, f, lambda ctx, g: g).apply, leaf(torch)) for f, phrase in cases]


@program()
def anomaly_free_nan_gradient(torch: Any) -> Any:
    return backward_with(torch, lambda ctx, g: g * float("nan"))


@program()
def gradient_returned_twice_is_not_shared(torch: Any) -> Any:
    f = custom(torch, lambda ctx, x, y: x + y, lambda ctx, g: (g, g))
    x, y = leaf(torch), leaf(torch)
    f.apply(x, y).sum().backward()
    x.grad.mul_(10)
    return x.grad, y.grad


@program()
def saved_tensor_returned_as_a_gradient(torch: Any) -> Any:
    x = leaf(torch)
    c = torch.ones(3, dtype=torch.float64)

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(c)
        return x * 1

    y = custom(torch, forward, lambda ctx, g: ctx.saved_tensors[0]).apply(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return x.grad, c


@program()
def gradient_written_inside_backward(torch: Any) -> Any:
    x = leaf(torch)
    y = custom(torch, lambda ctx, x: x * 1, lambda ctx, g: g.mul_(10)).apply(x)
    seed = torch.ones(3, dtype=torch.float64)
    y.backward(seed)
    return x.grad, seed


@program()
def inference_tensor_saved(torch: Any) -> Any:
    with torch.inference_mode():
        i = torch.ones(3, dtype=torch.float64)

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(i)
        return x * i

    phrase = "Inference tensors cannot be saved for backward"
    return attempt(phrase, custom(torch, forward, lambda ctx, g: g).apply, leaf(torch))


@program()
def apply_in_inference_mode(torch: Any) -> Any:
    x = leaf(torch)
    with torch.inference_mode():
        y = square(torch).apply(x)
    return y, y.requires_grad, y.is_inference()
