"""Words of errors and warnings that scripts and people look for."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


@program()
def who_made_what_was_overwritten(torch: Any) -> Any:
    def run(make: Any) -> Any:
        x = torch.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
        y = make(x)
        z = y.sin()
        with torch.no_grad():
            y.add_(1)
        z.sum().backward()

    return [
        attempt("which is output 0 of Sum1, is at version 1; expected version 0", run, lambda x: x.sum(0)),
        attempt("which is output 0 of Sum, is at", run, lambda x: x.sum()),
        attempt("which is output 0 of Mul, is at", run, lambda x: x * 2),
        attempt("output 0 of Max, is", run, lambda x: x.max(0)[0]),
        attempt("output 0 of Max1, is", run, lambda x: x.max()),
        attempt("output 0 of Mean1, is", run, lambda x: x.mean(0)),
    ]


@program()
def which_view_is_written(torch: Any) -> Any:
    def run(make: Any) -> Any:
        y = torch.ones(2, 2, requires_grad=True).clone()
        make(y)[0].mul_(2)

    return [
        attempt("Output 0 of Split is a view and is being modified", run, lambda y: y.split(1)),
        attempt("Output 0 of Unbind is a view and is being modified", run, lambda y: y.unbind()),
        attempt("Output 0 of SplitWithSizes is a view and is being modified", run, lambda y: y.split([1, 1])),
    ]


@program()
def keywords_of_a_custom_function(torch: Any) -> Any:
    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: Any = 2) -> Any:
            return x * n

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None

    class Apart(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, n: Any = 2) -> Any:
            return x * n

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None

    x = torch.ones(2, requires_grad=True)
    return [
        attempt("apply() takes no keyword arguments|unexpected keyword argument", Plain.apply, x, m=3),
        attempt("unexpected keyword argument", Apart.apply, x, m=3),
        attempt("", Plain.apply, x, n=3),
        attempt("", Apart.apply, x, n=3),
        attempt("", Plain.apply),
        attempt("", Apart.apply),
    ]


@program(
    warns="Backwards compatibility: New undefined gradient support checking feature is enabled by default"
)
def gradcheck_of_a_backward_that_needs_its_gradient(torch: Any) -> Any:
    class Needs(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if g is None:
                raise RuntimeError("a gradient is missing")
            return g * 2

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    return attempt(
        "Expected backward function to handle undefined output grads",
        torch.autograd.gradcheck,
        Needs.apply,
        x,
    )
