"""Sorting, order statistics, running extrema, sets and counts: values, gradients, edges, errors."""

from __future__ import annotations

from typing import Any

from .derivatives import derivatives
from .harness import attempt, program

NAN, INF = float("nan"), float("inf")
MATRIX = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]]
CUBE = [[[1.0, 2.0], [3.0, -4.0]], [[0.5, 6.0], [-7.0, 8.0]]]
TIES = [2.0, 5.0, 5.0, 3.0, 3.0, 3.0]
WILD = [3.0, NAN, 1.0, NAN, -INF, INF, 1.0, -0.0, 0.0]


def values(result: Any) -> Any:
    return result[0]


# -- sorting ---------------------------------------------------------------------------------------


@program()
def sort_in_its_forms(torch: Any) -> Any:
    forms = (
        lambda x: values(x.sort()), lambda x: values(x.sort(0)), lambda x: values(torch.sort(x, 1, True)),
        lambda x: values(torch.sort(x, dim=-2, descending=True)), lambda x: values(torch.sort(x, stable=True)),
        lambda x: torch.msort(x), lambda x: x.sort(axis=0).values,
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def sort_places_nan_last_and_keeps_equal_elements_in_order(torch: Any) -> Any:
    x = torch.tensor(WILD)
    return [tuple(torch.sort(x, stable=True, descending=d)) for d in (False, True)], x.argsort(
        descending=True
    )


@program()
def sort_of_nothing_and_of_one(torch: Any) -> Any:
    return [tuple(torch.tensor(d).sort()) for d in (2.0, [], [[]])], tuple(torch.ones(2, 0, 3).sort(0))


@program()
def sort_of_integers_and_bools(torch: Any) -> Any:
    kinds = torch.uint8, torch.int16, torch.int64, torch.bool
    return [tuple(torch.tensor([3, 0, 2]).to(k).sort(descending=True)) for k in kinds]


@program()
def sort_names_its_results(torch: Any) -> Any:
    x = torch.tensor([3.0, 1.0])
    found = torch.sort(x)
    return (
        found.values,
        found.indices,
        str(found),
        str(x.topk(1)),
        str(x.median(0)),
        str(x.mode()),
        str(x.cummax(0)),
    )


@program()
def sort_into_out(torch: Any) -> Any:
    out = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.sort(torch.tensor([3.0, 1.0]), out=out)
    wrong = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.int64)
    return out, attempt("dtype float, but got double", torch.sort, torch.tensor([3.0, 1.0]), out=wrong)


@program()
def sort_errors(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return (
        attempt("Dimension out of range", x.sort, 1),
        attempt("does not support complex", torch.tensor([1j]).sort),
        attempt("sort", torch.sort, x, True),
        attempt("must be Tensor", torch.sort, [1.0]),
    )


@program()
def sort_twice_differentiated_after_a_power(torch: Any) -> Any:
    return derivatives(torch, lambda x: (x**3).sort(1, descending=True)[0], MATRIX)


@program(phrase="modified by an inplace operation")
def sort_notices_that_its_indices_were_overwritten(torch: Any) -> Any:
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    found = x.sort()
    found.indices.add_(1)
    found.values.sum().backward()


# -- order statistics ------------------------------------------------------------------------------


@program()
def topk_in_its_forms(torch: Any) -> Any:
    forms = (
        lambda x: values(x.topk(2)), lambda x: values(x.topk(1, 0)), lambda x: values(torch.topk(x, 2, largest=False)),
        lambda x: values(x.topk(0)), lambda x: values(x.topk(3, dim=-1, sorted=True)),
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def topk_edges_and_errors(torch: Any) -> Any:
    x = torch.tensor([1.0, NAN, 3.0])
    return (
        tuple(x.topk(2)), tuple(x.topk(1, largest=False)), tuple(torch.tensor(2.0).topk(1)),
        attempt("selected index k out of range", x.topk, 4), attempt("selected index k out of range", x.topk, -1),
        attempt("must be int", x.topk, 1.5), attempt("bool", torch.tensor([True]).topk, 1),
        attempt("complex", torch.tensor([1j]).topk, 1), attempt("Dimension out of range", x.topk, 1, 2),
    )  # fmt: skip


@program()
def kthvalue_in_its_forms(torch: Any) -> Any:
    forms = (
        lambda x: values(x.kthvalue(2)),
        lambda x: values(x.kthvalue(1, 0)),
        lambda x: values(torch.kthvalue(x, 3, dim=1, keepdim=True)),
    )
    return [derivatives(torch, f, MATRIX) for f in forms], tuple(torch.tensor(2.0).kthvalue(1))


@program()
def kthvalue_errors(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return (
        attempt("k out of range for dimension 0", x.kthvalue, 3),
        attempt("k out of range for dimension 0", x.kthvalue, 0),
        attempt("to have non-zero size", torch.ones(0).kthvalue, 1),
        attempt('"kthvalue_cpu" not implemented', torch.tensor([True]).kthvalue, 1),
    )


@program()
def median_in_its_forms(torch: Any) -> Any:
    forms = (
        lambda x: x.median(), lambda x: values(x.median(0)), lambda x: values(x.median(1, keepdim=True)),
        lambda x: x.nanmedian(), lambda x: values(x.nanmedian(dim=-1)),
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def median_of_all_shares_among_equal_elements(torch: Any) -> Any:
    return [
        derivatives(torch, f, TIES) for f in (torch.median, torch.nanmedian, lambda x: values(x.median(0)))
    ]


@program()
def median_with_nan(torch: Any) -> Any:
    found = []
    for function in (torch.median, torch.nanmedian):
        for data in (WILD, [NAN, NAN], [1.0, NAN, 3.0, NAN]):
            x = torch.tensor(data, requires_grad=True)
            function(x).backward()
            found += [function(x).detach(), x.grad, tuple(t.detach() for t in function(x, 0))]
    return found


@program()
def median_of_nothing(torch: Any) -> Any:
    empty = torch.ones(0)
    return (
        empty.median(), empty.nanmedian(), torch.ones(0, dtype=torch.int64).median(), tuple(torch.ones(0, 2).median(1)),
        attempt("to have non-zero size", empty.median, 0), attempt("missing 1 required", empty.median, keepdim=True),
        attempt("not implemented for", torch.tensor([1j]).median),
    )  # fmt: skip


@program()
def mode_in_its_forms(torch: Any) -> Any:
    data = [[1.0, 2.0, 2.0], [3.0, 3.0, 1.0]]
    forms = lambda x: values(x.mode()), lambda x: values(x.mode(0)), lambda x: values(x.mode(1, True))
    whole = tuple(torch.tensor([1, 2, 2, 1, 3]).mode()), tuple(torch.tensor([True, False, True]).mode())
    return [derivatives(torch, f, data) for f in forms], whole, attempt("non-zero size", torch.ones(0).mode)


@program()
def quantile_in_its_forms(torch: Any) -> Any:
    levels = torch.tensor([0.0, 0.3, 0.5, 1.0], dtype=torch.float64)
    forms = (
        lambda x: torch.quantile(x, 0.3), lambda x: torch.quantile(x, levels), lambda x: x.quantile(0.4, dim=1),
        lambda x: torch.quantile(x, levels, 0), lambda x: torch.quantile(x, levels, 1, keepdim=True),
        lambda x: torch.quantile(x, 0.7, keepdim=True), lambda x: torch.nanquantile(x, levels, 0),
    )  # fmt: skip
    return [derivatives(torch, f, MATRIX) for f in forms]


@program()
def quantile_interpolations(torch: Any) -> Any:
    levels = torch.tensor([0.0, 0.125, 0.25, 0.5, 0.625, 0.75, 1.0], dtype=torch.float64)
    kinds = "linear", "lower", "higher", "midpoint", "nearest"
    return [
        derivatives(
            torch,
            lambda x, kind=kind: torch.quantile(x, levels, interpolation=kind),
            [4.0, 1.0, 3.0, 2.0, 9.0],
        )
        for kind in kinds
    ]


@program()
def quantile_is_differentiable_by_the_level(torch: Any) -> Any:
    return derivatives(torch, lambda x, q: torch.quantile(x, q), [4.0, 1.0, 3.0, 2.0], 0.3)


@program()
def quantile_with_nan_and_infinity(torch: Any) -> Any:
    levels = torch.tensor([0.25, 0.5])
    rows = torch.tensor([[1.0, NAN, 3.0], [4.0, 5.0, 6.0], [NAN, NAN, NAN]])
    return (
        rows.quantile(levels, 1), rows.nanquantile(levels, 1), rows.nanquantile(0.5), rows.quantile(0.5),
        torch.tensor([INF, -INF, 1.0]).quantile(levels),
    )  # fmt: skip


@program()
def quantile_errors(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return (
        attempt("must be in the range", torch.quantile, x, 1.5),
        attempt("values must be in the range", torch.quantile, x, torch.tensor([1.5])),
        attempt("same dtype as the input", torch.quantile, x, torch.tensor(0.5, dtype=torch.float64)),
        attempt("float or double", torch.quantile, torch.tensor([1, 2]), 0.5),
        attempt("non-empty", torch.quantile, torch.ones(0), 0.5),
        attempt("scalar or 1D", torch.quantile, x, torch.ones(1, 1)),
        attempt("interpolation must be one of", torch.quantile, x, 0.5, interpolation="none"),
    )


# -- running ---------------------------------------------------------------------------------------


@program()
def running_extrema_in_their_forms(torch: Any) -> Any:
    forms = (
        lambda x: values(x.cummax(1)), lambda x: values(x.cummin(0)), lambda x: values(torch.cummax(x, dim=-1)),
        lambda x: values(torch.cummin(x, axis=1)),
    )  # fmt: skip
    return [derivatives(torch, f, CUBE) for f in forms]


@program()
def running_extrema_take_the_last_of_equal_elements(torch: Any) -> Any:
    x = torch.tensor(TIES, requires_grad=True)
    high, low = x.cummax(0), x.cummin(0)
    (high.values.sum() + 2 * low.values.sum()).backward()
    nan = torch.tensor([1.0, NAN, 5.0, NAN])
    return (
        high.indices,
        low.indices,
        x.grad,
        tuple(nan.cummax(0)),
        tuple(nan.cummin(0)),
        tuple(torch.ones(0).cummax(0)),
    )


@program()
def logcumsumexp_in_its_forms(torch: Any) -> Any:
    forms = lambda x: x.logcumsumexp(0), lambda x: torch.logcumsumexp(x, dim=-1)
    return [derivatives(torch, f, data) for f in forms for data in (MATRIX, CUBE)]


@program()
def logcumsumexp_of_huge_and_infinite_numbers(torch: Any) -> Any:
    found = []
    for data in (
        [1000.0, 1000.0],
        [-1000.0, 0.0, 1000.0],
        [-INF, -INF, 1.0, 2.0],
        [INF, 1.0],
        [1.0, NAN, 2.0],
        [],
        2.0,
    ):
        x = torch.tensor(data, requires_grad=True)
        out = torch.logcumsumexp(x, 0)
        out.sum().backward()
        found.append((out.detach(), x.grad))
    return found


@program()
def logcumsumexp_of_complex_numbers(torch: Any) -> Any:
    return derivatives(torch, lambda x: x.logcumsumexp(0), [1j, 2 + 1j, -1 - 0.5j], dtype="complex128")


@program()
def running_errors(torch: Any) -> Any:
    x = torch.tensor([1.0])
    return (
        attempt("missing 1 required positional argument", torch.cummax, x),
        attempt("missing 1 required positional argument", torch.logcumsumexp, x),
        attempt("Dimension out of range", torch.cummin, x, 1),
        attempt('"cummax_cpu" not implemented', torch.cummax, torch.tensor([1j]), 0),
        attempt('"logcumsumexp_out_cpu" not implemented', torch.logcumsumexp, torch.tensor([1]), 0),
    )


# -- sets and counts -------------------------------------------------------------------------------


@program()
def unique_in_its_forms(torch: Any) -> Any:
    x, rows = torch.tensor(WILD), torch.tensor([[1, 2], [1, 2], [3, 4], [0, 5]])
    return (
        x.unique(), torch.unique(x, return_inverse=True, return_counts=True), rows.unique(return_counts=True),
        torch.unique(rows, dim=0, return_inverse=True, return_counts=True), rows.unique(dim=1),
        torch.unique(torch.tensor(1.0), return_inverse=True), torch.ones(0).unique(return_counts=True),
        torch.unique_consecutive(torch.tensor([1, 1, 2, 1]), return_inverse=True, return_counts=True),
        torch.unique_consecutive(rows, dim=0, return_inverse=True, return_counts=True),
        attempt("has no dimensions", torch.tensor(1.0).unique, dim=0),
        attempt("0 sized dimensions", torch.ones(2, 0).unique, dim=0),
        attempt("not implemented for", torch.tensor([1j]).unique),
    )  # fmt: skip


@program()
def unique_and_counts_refuse_a_derivative(torch: Any) -> Any:
    x = torch.tensor([[2.0, 1.0], [2.0, 1.0]], requires_grad=True)
    outs = (
        (x.unique(), "derivative for '_unique2'"),
        (x.unique(dim=0), "derivative for 'unique_dim'"),
        (x.unique_consecutive(), "derivative for 'unique_consecutive'"),
        (torch.bincount(torch.tensor([0, 1]), x[0]), "derivative for aten::bincount"),
        (torch.histogram(x, 2).hist, "derivative for aten::histogram"),
    )
    return (
        [(out, attempt(phrase, out.sum().backward)) for out, phrase in outs],
        x.histc(2).requires_grad,
        x.grad,
    )


@program()
def bincount_in_its_forms(torch: Any) -> Any:
    x = torch.tensor([0, 1, 1, 3])
    return (
        x.bincount(), torch.bincount(x, minlength=6), torch.bincount(x, torch.tensor([0.5, 1.0, 2.0, 4.0])),
        torch.bincount(x, torch.tensor([1, 2, 3, 4])), torch.ones(0, dtype=torch.int64).bincount(minlength=2),
        attempt("non-negative integral", torch.tensor([-1]).bincount), attempt("1-d", torch.ones(1, 1).long().bincount),
        attempt("same length as input", x.bincount, torch.ones(1)),
        attempt("minlength should be", x.bincount, None, -1),
        attempt('"bincount_cpu" not implemented', torch.ones(1).bincount),
    )  # fmt: skip


@program()
def histc_in_its_forms(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 1.0, 5.0])
    return (
        x.histc(4), torch.histc(x, 4, 0, 4), torch.histc(x, bins=3, min=1, max=2), torch.ones(2).histc(4),
        torch.ones(0).histc(2), torch.tensor(WILD).histc(4, 0, 4), attempt("bins must be > 0", x.histc, 0),
        attempt("max must be larger than min", x.histc, 4, 5, 1), attempt("is not finite", torch.tensor(WILD).histc, 4),
        attempt("not implemented for", torch.tensor([1]).histc, 4),
    )  # fmt: skip


@program()
def histogram_in_its_forms(torch: Any) -> Any:
    x, weight = torch.tensor([4.0, 1.0, 3.0, 2.0]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    found = torch.histogram(x, 2)
    return (
        found.hist, found.bin_edges, tuple(torch.histogram(x, torch.tensor([0.0, 2.0, 3.0]))),
        tuple(torch.histogram(x, 4, range=(0.0, 2.0))), tuple(x.histogram(2, weight=weight, density=True)),
        tuple(torch.ones(3).histogram(2)), tuple(torch.ones(0).histogram(2)),
        attempt("bins must be > 0", x.histogram, 0),
        attempt("min should not exceed max", x.histogram, 2, range=(3.0, 1.0)),
        attempt("same shape as the input", x.histogram, 2, weight=torch.ones(1)),
    )  # fmt: skip


@program()
def histogram_of_points(torch: Any) -> Any:
    x = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]])
    edges = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, 0.5, 1.0])
    found = [torch.histogramdd(x, b) for b in ([2, 2], 3, edges)]
    found.append(torch.histogramdd(x, [2, 2], weight=torch.tensor([1.0, 2.0, 3.0]), density=True))
    return [(f.hist, list(f.bin_edges)) for f in found]


@program()
def isin_in_its_forms(torch: Any) -> Any:
    x = torch.tensor([[1, 2], [3, 4]])
    return (
        torch.isin(x, torch.tensor([2, 4])), torch.isin(x, torch.tensor([2, 4]), invert=True), torch.isin(x, 2),
        torch.isin(2, x), torch.isin(x, torch.tensor([1.5, 2.0])), torch.isin(torch.tensor([NAN]), torch.tensor([NAN])),
        torch.isin(x, torch.ones(0)), attempt("Unsupported input type", torch.isin, torch.tensor([True]), 1),
        attempt("invalid combination", torch.isin, 1, 2),
    )  # fmt: skip


@program()
def searchsorted_in_its_forms(torch: Any) -> Any:
    rows, v = torch.tensor([1.0, 3.0, 3.0, 7.0]), torch.tensor([0.0, 3.0, 8.0, NAN])
    table = torch.tensor([[1, 2, 3], [4, 5, 6]])
    return (
        torch.searchsorted(rows, v), torch.searchsorted(rows, v, right=True), torch.searchsorted(rows, v, side="right"),
        torch.searchsorted(rows, 3), torch.searchsorted(rows, v, out_int32=True),
        torch.searchsorted(rows, torch.ones(0)),
        torch.searchsorted(table, torch.tensor([[2], [7]])), torch.searchsorted(rows, v.reshape(2, 2)),
        torch.searchsorted(torch.tensor([5.0, 1.0]), v, sorter=torch.tensor([1, 0])),
        torch.bucketize(v, rows), torch.bucketize(v, rows, right=True), torch.bucketize(3, rows),
    )  # fmt: skip


@program()
def searchsorted_errors(torch: Any) -> Any:
    rows, table = torch.tensor([1.0, 3.0]), torch.ones(2, 3)
    return (
        attempt("side can only be", torch.searchsorted, rows, rows, side="x"),
        attempt("can't be set to opposites", torch.searchsorted, rows, rows, side="left", right=True),
        attempt("can be a scalar only when", torch.searchsorted, table, 1.0),
        attempt("dimensions of boundaries", torch.searchsorted, table, rows),
        attempt("must have the same size", torch.searchsorted, rows, rows, sorter=torch.tensor([0])),
        attempt("index out of range", torch.searchsorted, rows, rows, sorter=torch.tensor([0, 2])),
        attempt("must be 1 dimension", torch.bucketize, rows, table),
    )


@program()
def numbers_are_searched_for_in_a_common_dtype(torch: Any) -> Any:
    seen = []
    for rows in (torch.bool, torch.uint8, torch.float32, torch.complex64):
        for values in (torch.bool, torch.int64, torch.float16, torch.complex128):
            numbers = torch.ones(2, dtype=values)
            words = '"searchsorted_out_cpu" not implemented for'
            seen.append(attempt(words, torch.bucketize, numbers, torch.ones(2, dtype=rows)))
            seen.append(attempt(words, torch.searchsorted, torch.ones(2, dtype=rows), numbers))
    return seen
