"""Writes through views that are refused, or only look as if they were; a refused one writes nothing."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


def matrix(torch: Any, requires_grad: bool = False) -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=requires_grad)


@program(phrase="a view of a leaf Variable that requires grad is being used in an in-place operation")
def write_to_a_view_of_a_leaf(torch: Any) -> Any:
    matrix(torch, True)[0].add_(1)


@program(phrase="a view of a leaf Variable that requires grad is being used in an in-place operation")
def write_to_a_view_of_a_view_of_a_leaf(torch: Any) -> Any:
    matrix(torch, True).t()[0].zero_()


@program()
def refused_writes_change_nothing(torch: Any) -> Any:
    x = matrix(torch, True)
    phrase = "leaf Variable that requires grad is being used in an in-place operation"
    errors = [
        attempt(phrase, x.add_, 1), attempt(phrase, x.zero_), attempt(phrase, x.fill_, 3), attempt(phrase, x.exp_),
        attempt(phrase, x[0].add_, 1), attempt(phrase, x.t().zero_), attempt(phrase, x.view(-1).fill_, 3),
        attempt(phrase, x.copy_, torch.zeros(2, 3)), attempt(phrase, x.__setitem__, 0, 1.0),
        attempt(phrase, x.__setitem__, (0, [1]), 1.0), attempt(phrase, x.masked_fill_, x > 2, 0.0),
        attempt(phrase, x.unsqueeze_, 0), attempt(phrase, x.t_), attempt(phrase, x.clamp_, 0, 1),
    ]  # fmt: skip
    return errors, x, x._version, x.shape


@program()
def multi_output_views_cannot_be_written(torch: Any) -> Any:
    def refused(function: Any) -> Any:
        y = matrix(torch, True) * 1
        part = function(y)[0]
        phrase = "is a view and is being modified inplace. This view is the output of a function that returns multiple"
        return attempt(phrase, part.mul_, 2), attempt(phrase, part.zero_), y, y._version

    return [
        refused(f)
        for f in (
            lambda y: y.unbind(), lambda y: y.split(1), lambda y: y.chunk(2), lambda y: tuple(y),
            lambda y: y.split([1, 1]),
        )
    ]  # fmt: skip


@program()
def multi_output_views_name_their_function(torch: Any) -> Any:
    y = matrix(torch, True) * 1
    return (
        attempt(
            "Output 1 of Unbind(Backward0)? is a view and is being modified inplace", y.unbind()[1].mul_, 2
        ),
        attempt("Output 0 of Split(Backward0)? is a view", y.split(1)[0].mul_, 2),
    )


@program()
def multi_output_views_of_constants_may_be_written(torch: Any) -> Any:
    x = matrix(torch)
    for k, row in enumerate(x):
        row.mul_(k + 10)
    a, b = x.chunk(2)
    a.add_(1)
    b -= 1
    return x, x._version


@program(phrase="is a view and its base or another view of its base has been modified inplace")
def multi_output_view_asked_after_its_base_changed(torch: Any) -> Any:
    y = matrix(torch, True) * 1
    a, _ = y.unbind()
    y.mul_(2)
    return a.grad_fn


@program()
def multi_output_view_used_after_its_base_changed(torch: Any) -> Any:
    x = matrix(torch, True)
    y = x * 1
    a, b = y.unbind()
    used = a * 2
    y.mul_(2)
    phrase = "is a view and its base or another view of its base has been modified inplace"
    errors = attempt(phrase, lambda: a + 1), attempt(phrase, lambda: b.sum()), attempt(phrase, lambda: a[0])
    return errors, a.detach(), torch.autograd.grad(used.sum(), x)


@program(phrase="is a view and is being modified inplace")
def view_of_a_multi_output_view_written(torch: Any) -> Any:
    y = matrix(torch, True) * 1
    y.unbind()[0][1:].mul_(2)


@program()
def multi_output_views_written_under_no_grad(torch: Any) -> Any:
    x = matrix(torch, True)
    y = x * 1
    with torch.no_grad():
        for part in y.unbind():
            part.mul_(3)
    y.sum().backward()
    return y, x.grad


@program()
def loop_over_rows_reads_gradients(torch: Any) -> Any:
    x = matrix(torch, True)
    total = sum(row.sum() * k for k, row in enumerate(x))
    total.backward()
    return x.grad


@program()
def write_to_an_expanded_tensor(torch: Any) -> Any:
    x = torch.tensor([[1.0], [2.0]])
    e = x.expand(2, 3)
    phrase = "unsupported operation: more than one element of the written-to tensor refers to a single memory location"
    return [
        attempt(phrase, e.add_, 1), attempt(phrase, e.mul_, e), attempt(phrase, e.__setitem__, 0, torch.ones(3)),
        attempt(phrase, e.copy_, torch.ones(2, 3)), attempt(phrase, e.exp_), x, x._version,
    ]  # fmt: skip
