"""Reductions: value, gradient and second-order gradient; dims, keepdim, ties, correction."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import program

MATRIX = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]]
CUBE = [[[1.0, 2.0], [3.0, -4.0]], [[0.5, 6.0], [-7.0, 8.0]]]
TIES = [[2.0, 5.0, 5.0], [3.0, 3.0, 3.0]]


@program()
def sum_in_its_forms(torch: Any) -> Any:
    forms = (
        lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.sum(-1), lambda x: x.sum(dim=(0, 2)),
        lambda x: x.sum(1, keepdim=True), lambda x: x.sum([]), lambda x: torch.sum(x, dim=[0, 1, 2], keepdim=True),
    )  # fmt: skip
    return [derivatives(torch, f, CUBE) for f in forms]


@program()
def mean_in_its_forms(torch: Any) -> Any:
    forms = (
        lambda x: x.mean(),
        lambda x: x.mean(0),
        lambda x: x.mean((0, 2)),
        lambda x: x.mean(-1, keepdim=True),
    )
    return [derivatives(torch, f, CUBE) for f in forms]


@program()
def numpy_names_of_arguments(torch: Any) -> Any:
    x = torch.tensor(MATRIX)
    return x.sum(axis=1, keepdims=True), x.mean(axis=0), torch.sum(x, axis=0)


@program()
def prod_in_its_forms(torch: Any) -> Any:
    forms = lambda x: x.prod(), lambda x: x.prod(1), lambda x: x.prod(0, keepdim=True)
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def prod_with_zeros(torch: Any) -> Any:
    one, two = [[2.0, 0.0, 3.0]], [[0.0, 5.0, 0.0]]
    return [derivatives(torch, lambda x: x.prod(1), data) for data in (one, two)], derivatives(
        torch, torch.prod, one
    )


@program()
def var_in_its_forms(torch: Any) -> Any:
    forms = (
        lambda x: x.var(), lambda x: x.var(1), lambda x: x.var(0, keepdim=True), lambda x: x.var(unbiased=False),
        lambda x: x.var(1, unbiased=False), lambda x: x.var(1, correction=0), lambda x: torch.var(x, (0, 1)),
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def std_in_its_forms(torch: Any) -> Any:
    forms = (
        lambda x: x.std(),
        lambda x: x.std(1),
        lambda x: x.std(1, correction=0, keepdim=True),
        lambda x: x.std(unbiased=False),
    )
    return [derivatives(torch, f, MATRIX) for f in forms]


@program(warns="degrees of freedom is <= 0")
def var_of_one_element_is_nan(torch: Any) -> Any:
    return torch.tensor([1.0]).var()


@program()
def max_and_min_of_all(torch: Any) -> Any:
    return derivatives(torch, torch.max, MATRIX), derivatives(torch, torch.min, MATRIX)


@program()
def max_and_min_of_all_share_the_gradient_at_ties(torch: Any) -> Any:
    return derivatives(torch, torch.max, TIES), derivatives(torch, torch.min, [1.0, 1.0, 2.0])


@program()
def max_and_min_along_a_dim(torch: Any) -> Any:
    forms = (
        lambda x: x.max(1)[0],
        lambda x: x.min(0).values,
        lambda x: torch.max(x, dim=1, keepdim=True).values,
    )
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def max_along_a_dim_gives_values_and_indices(torch: Any) -> Any:
    x = torch.tensor(MATRIX)
    result = x.max(dim=1)
    values, indices = result
    return values, indices, result.values, result.indices, result[1], x.min(0)


@program()
def max_along_a_dim_gives_all_the_gradient_to_one_at_ties(torch: Any) -> Any:
    x = torch.tensor([[2.0, 5.0, 5.0], [4.0, 0.0, 4.0]], requires_grad=True)
    values, _ = x.max(dim=1)
    values.sum().backward()
    return values, x.grad.sum(1), (x.grad > 0).sum(1)


@program()
def amax_and_amin(torch: Any) -> Any:
    forms = (
        lambda x: x.amax(1), lambda x: x.amin(0), lambda x: x.amax(), lambda x: x.amax((0, 1), keepdim=True),
        lambda x: torch.amin(x, dim=(0, 1)),
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def amax_and_amin_share_the_gradient_at_ties(torch: Any) -> Any:
    return derivatives(torch, lambda x: x.amax(1), TIES), derivatives(torch, lambda x: x.amin(1), TIES)


@program()
def argmax_and_argmin(torch: Any) -> Any:
    x = torch.tensor(MATRIX)
    return (
        x.argmax(),
        x.argmax(0),
        x.argmax(1, keepdim=True),
        x.argmin(),
        x.argmin(dim=-1),
        torch.argmax(x, dim=1),
    )


@program()
def any_and_all(torch: Any) -> Any:
    b = torch.tensor([[True, False], [True, True]])
    f = torch.tensor([0.0, 2.0])
    return b.any(), b.all(), b.any(0), b.all(1), b.all(dim=1, keepdim=True), f.any(), f.all(), torch.any(b, 1)


@program()
def logsumexp(torch: Any) -> Any:
    forms = (
        lambda x: x.logsumexp(1),
        lambda x: torch.logsumexp(x, (0, 1)),
        lambda x: x.logsumexp(0, keepdim=True),
    )
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def logsumexp_is_stable(torch: Any) -> Any:
    inf = float("inf")
    x = torch.tensor([[1000.0, 1000.0], [-1000.0, -1001.0], [-inf, 0.0], [-inf, -inf]])
    return x.logsumexp(1)


@program()
def softmax(torch: Any) -> Any:
    forms = (
        lambda x: x.softmax(1),
        lambda x: torch.softmax(x, dim=0),
        lambda x: torch.nn.functional.softmax(x, dim=-1),
    )
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def softmax_is_stable(torch: Any) -> Any:
    return torch.softmax(torch.tensor([1000.0, 1001.0]), 0), torch.log_softmax(torch.tensor([1000.0, 0.0]), 0)


@program()
def softmax_with_a_dtype(torch: Any) -> Any:
    x = torch.tensor([1, 2])
    return torch.softmax(x, 0, dtype=torch.float64), torch.log_softmax(x.float(), 0, dtype=torch.float64)


@program()
def log_softmax(torch: Any) -> Any:
    forms = lambda x: x.log_softmax(1), lambda x: torch.nn.functional.log_softmax(x, dim=0)
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def cumsum(torch: Any) -> Any:
    return derivatives(torch, lambda x: x.cumsum(1), MATRIX), derivatives(
        torch, lambda x: torch.cumsum(x, dim=0), MATRIX
    )


@program()
def norm_of_all(torch: Any) -> Any:
    forms = lambda x: x.norm(), lambda x: x.norm(1), lambda x: x.norm(3), lambda x: torch.norm(x, p=2)
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def norm_along_dims(torch: Any) -> Any:
    forms = lambda x: x.norm(dim=1), lambda x: x.norm(2, 0, keepdim=True), lambda x: x.norm(dim=(0, 1))
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def norm_of_infinite_order(torch: Any) -> Any:
    inf = float("inf")
    x = torch.tensor([3.0, -4.0, 1.0], requires_grad=True)
    y = x.norm(inf)
    y.backward()
    return y.detach(), x.grad, torch.tensor(MATRIX).norm(inf, dim=1), torch.tensor(MATRIX).norm(-inf)


@program()
def norm_at_zero_has_a_zero_gradient(torch: Any) -> Any:
    x = torch.zeros(3, requires_grad=True)
    x.norm().backward()
    return x.grad


@program()
def frobenius_norm_by_name(torch: Any) -> Any:
    return derivatives(torch, lambda x: x.norm("fro"), MATRIX)


@program()
def reductions_of_zero_dim(torch: Any) -> Any:
    return [
        derivatives(torch, f, 2.0) for f in (torch.sum, torch.mean, torch.prod, torch.max, lambda x: x.sum(0))
    ]


@program()
def reductions_of_empty(torch: Any) -> Any:
    x = torch.ones(0, 3)
    return x.sum(), x.sum(0), x.prod(), x.sum(1), x.any(), x.all(), x.mean(1)


@program()
def mean_of_empty_is_nan(torch: Any) -> Any:
    return torch.ones(0).mean()


@program()
def reductions_of_half_precision(torch: Any) -> Any:
    x = torch.ones(2048, dtype=torch.float16) * 0.5
    return x.sum(), x.mean()


@program()
def negative_dims_count_from_the_end(torch: Any) -> Any:
    x = torch.tensor(CUBE)
    return x.sum(-1), x.amax((-1, -3)), x.cumsum(-2), x.softmax(-1), x.argmax(-1)


@program()
def sum_of_a_python_list(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    total = sum([x * 2, x * 3])
    total.sum().backward()
    return total, x.grad
