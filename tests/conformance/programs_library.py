"""Operations that programs define: `torch.library`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .harness import attempt, program


def sine(torch: Any, name: str = "sin") -> Any:
    """An operation computed by NumPy."""

    def function(x: Any) -> Any:
        return torch.tensor(torch.sin(x).tolist(), dtype=x.dtype)

    function.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    return torch.library.custom_op(f"conformance::{name}", function, mutates_args=())


def keep_input(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])


def leaf(torch: Any) -> Any:
    return torch.tensor([0.5, 1.0, -2.0], requires_grad=True)


@contextmanager
def library(torch: Any, *schemas: str) -> Iterator[Any]:
    with torch.library._scoped_library("conformance_more", "FRAGMENT") as made:
        for schema in schemas:
            made.define(schema)
        yield made


@program()
def an_operation_of_a_function(torch: Any) -> Any:
    op, x = sine(torch), leaf(torch)
    same = torch.ops.conformance.sin
    return (
        op(x.detach()),
        same(x.detach()),
        same.default(x=x.detach()),
        str(same.default),
        same.default.name(),
    )


@program(phrase="no autograd formula was registered")
def an_operation_without_a_gradient(torch: Any) -> Any:
    y = sine(torch)(leaf(torch))
    assert y.requires_grad
    y.sum().backward()


@program()
def an_operation_with_a_gradient(torch: Any) -> Any:
    op, x = sine(torch), leaf(torch)
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0].cos(), setup_context=keep_input)
    y = op(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return y, first, torch.autograd.grad(first.sum(), x)


@program()
def arguments_that_do_not_fit(torch: Any) -> Any:
    op, x = sine(torch), leaf(torch)
    return (
        attempt("Expected a value of type 'Tensor'", op, 1),
        attempt("is missing value for argument 'x'", op),
        attempt("expected at most 1 argument", op, x, x),
        attempt("expected at most 1 argument", op, x, y=1),
    )


@program()
def lists_of_tensors(torch: Any) -> Any:
    def function(xs: Any, k: Any = 2, *, s: Any = 1.0) -> Any:
        return xs[0] * k * s, xs[1].clone()

    t = torch.Tensor
    function.__annotations__ = {"xs": list[t], "k": int, "s": float, "return": tuple[t, t]}
    op = torch.library.custom_op("conformance::two", function, mutates_args=())
    needs = []

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1] * keyword_only_inputs["s"]
        needs.append(ctx.needs_input_grad[:2])

    op.register_autograd(lambda ctx, a, b: ([a * ctx.factor, b], None), setup_context=setup)
    x, y = leaf(torch), leaf(torch)
    first, second = op([x, y], 3, s=2.0)
    return (
        first,
        second,
        torch.autograd.grad(first.sum(), [x, y]),
        needs,
        attempt("'int' for argument 'k'", op, [x, y], 2.5),
    )


@program()
def what_is_written_counts_as_written(torch: Any) -> Any:
    def function(x: Any) -> None:
        x.numpy()[:] = 7

    function.__annotations__ = {"x": torch.Tensor, "return": None}
    op = torch.library.custom_op("conformance::fill", function, mutates_args={"x"})
    x = torch.zeros(2)
    before = x._version
    op(x)
    return x, x._version - before, attempt("non-functional operator", op.register_autograd, lambda ctx, g: g)


@program()
def results_share_no_memory(torch: Any) -> Any:
    def function(x: Any) -> Any:
        return x.view(-1)

    function.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op("conformance::view", function, mutates_args=())
    return attempt("may not alias any inputs", op, torch.ones(2, 2))


@program()
def kernels_of_devices(torch: Any) -> Any:
    op, x = sine(torch, "devices"), torch.ones(2)
    none = attempt("no fake impl", op, x.to("meta"))
    op.register_fake(lambda x: torch.empty_like(x))
    op.register_kernel("cpu", lambda x: x + 5)
    with op.set_kernel_enabled("cpu", False):
        other = op(x)
    return none, op(x.to("meta")).shape, op(x), other


@program()
def schemas_of_functions(torch: Any) -> Any:
    t = torch.Tensor

    def described(**hints: Any) -> Any:
        def function(x: Any, y: Any = 3, *, z: Any = "a") -> Any: ...

        function.__annotations__ = hints
        return attempt("infer_schema", torch.library.infer_schema, function, mutates_args=())

    return (
        described(x=t, y=int, z=str, **{"return": t}),
        described(x=list[t], y=float | None, z=str, **{"return": tuple[t, t]}),
        described(x=torch.device, y=list[int], z=str, **{"return": None}),
        described(x=dict, y=int, z=str, **{"return": t}),
        described(x=t, y=int, z=str),
        described(y=int, z=str, **{"return": t}),
    )


@program()
def a_schema_and_its_kernels(torch: Any) -> Any:
    x = torch.ones(2)
    with library(torch, "scaled(Tensor x, int n=2) -> Tensor", "all(Tensor x) -> Tensor") as made:
        space = torch.ops.conformance_more
        none = attempt("Could not run 'conformance_more::scaled'", space.scaled, x)
        made.impl("scaled", lambda x, n=2: x * n, "CPU")
        made.impl("all", lambda x: x * 2, "CompositeImplicitAutograd")
        found = space.scaled(x), space.scaled(x, n=5), space.all(leaf(torch))
        again = attempt("multiple times", made.define, "scaled(Tensor x) -> Tensor")
    return none, found, again, attempt("has no attribute 'scaled'", getattr, space, "scaled")


@program(warns="an autograd kernel was not registered")
def a_kernel_without_a_gradient(torch: Any) -> Any:
    x = leaf(torch)
    with library(torch, "scaled(Tensor x) -> Tensor") as made:
        made.impl("scaled", lambda x: x * 2, "CPU")
        torch.ops.conformance_more.scaled(x).sum().backward()
    return x.grad


@program()
def a_kernel_of_autograds_layer(torch: Any) -> Any:
    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch._C._AutoDispatchBelowAutograd():
                return torch.ops.conformance_more.tripled(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

    with library(torch, "tripled(Tensor x) -> Tensor") as made:
        made.impl("tripled", Tripled.apply, "Autograd")
        made.impl("tripled", lambda x: x * 3, "CPU")
        return torch.ops.conformance_more.tripled(leaf(torch))


@program()
def an_operation_goes_over_a_batch_by_its_rule(torch: Any) -> Any:
    op, x = sine(torch, "batched"), torch.ones(2, 3)
    seen = []

    def rule(info: Any, in_dims: Any, x: Any) -> Any:
        seen.append((info.batch_size, in_dims))
        return op(x), in_dims[0]

    op.register_vmap(rule)
    return torch.func.vmap(op)(x), seen


@program()
def a_rule_gets_keyword_arguments(torch: Any) -> Any:
    def scaled(x: Any, *, by: Any = 2.0) -> Any:
        return x * by

    scaled.__annotations__ = {"x": torch.Tensor, "by": float, "return": torch.Tensor}
    op = torch.library.custom_op("conformance::scaled_by", scaled, mutates_args=())
    op.register_vmap(lambda info, in_dims, x, *, by: (op(x, by=by), in_dims[0]))
    x = torch.ones(2, 3)
    return torch.vmap(lambda x: op(x, by=3.0))(x)


@program()
def a_gradient_goes_through_a_rule(torch: Any) -> Any:
    op, x = sine(torch, "batched_with_gradient"), leaf(torch)
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0].cos(), setup_context=keep_input)
    op.register_vmap(lambda info, in_dims, x: (op(x), in_dims[0]))
    y = torch.vmap(op)(x)
    y.sum().backward()
    return y.detach(), x.grad


@program()
def libraries_that_cannot_be(torch: Any) -> Any:
    return (
        attempt("Unsupported kind: FOO", torch.library.Library, "conformance", "FOO"),
        attempt("reserved namespace", torch.library.Library, "prim", "DEF"),
        attempt("has no attribute 'none'", torch.library.register_autograd, "conformance::none", print),
    )


@program()
def an_operation_is_checked(torch: Any) -> Any:
    op = sine(torch, "checked")
    op.register_fake(lambda x: torch.empty_like(x))
    found = torch.library.opcheck(op, (torch.ones(2),), test_utils=("test_schema", "test_faketensor"))
    return found


@program()
def operations_that_give_back_what_they_have_written(torch: Any) -> Any:
    tag = (
        importlib.import_module("retrograd.library.tags").Tag if torch.__name__ == "retrograd" else torch.Tag
    )

    def twice_(x: Any) -> Any:
        x.mul_(2)
        return x

    def twice_out(x: Any, *, out: Any) -> Any:
        out.copy_(x * 2)
        return out

    twice_.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    twice_out.__annotations__ = {"x": torch.Tensor, "out": torch.Tensor, "return": torch.Tensor}
    make, x, out = torch.library.custom_op, torch.ones(2), torch.empty(2)
    in_place = make("conformance::twice_", twice_, mutates_args={"x"}, tags=tag.inplace)
    into = make("conformance::twice_out", twice_out, mutates_args={"out"}, tags=tag.out)
    return in_place(x) is x, x, into(x, out=out) is out, out


@program()
def kernels_in_the_older_form(torch: Any) -> Any:
    library = torch.library.Library("older_form", "DEF")
    library.define("square(Tensor x) -> Tensor")

    @torch.library.impl(library, "square", "CompositeExplicitAutograd")
    def square(x: Any) -> Any:
        return x * x

    found = torch.ops.older_form.square(torch.tensor([3.0])), square(torch.tensor([2.0]))
    library._destroy()
    return found


@program()
def schemas_with_dtypes(torch: Any) -> Any:
    def cast(x: Any, to: Any = torch.float32, *, where: Any = "cpu") -> Any: ...

    cast.__annotations__ = {"x": torch.Tensor, "to": torch.dtype, "where": str, "return": torch.Tensor}
    return torch.library.infer_schema(cast, mutates_args=())


@program()
def a_check_names_what_was_written(torch: Any) -> Any:
    def add(x: Any, y: Any) -> Any:
        y.add_(1)
        return x + y

    add.__annotations__ = {"x": torch.Tensor, "y": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op("checked_writes::add", add, mutates_args=())
    return attempt(
        "Argument y is not defined as mutable but was mutated",
        lambda: torch.library.opcheck(op, (torch.ones(2), torch.ones(2)), test_utils="test_schema"),
    )
