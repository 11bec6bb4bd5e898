"""Scattering that reduces, tensors written into parts of others, blocks and combinations, copies of views, memory."""

from __future__ import annotations

import warnings
from typing import Any

from .harness import attempt, program

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def matrix(torch: Any, grad: bool = True) -> Any:
    return torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], dtype=torch.float64, requires_grad=grad)


def source(torch: Any, *values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def derivatives(torch: Any, f: Any, *xs: Any) -> Any:
    """Value, gradients, and the gradients of their size."""
    y = f(*xs)
    first = torch.autograd.grad((y * y * y).sum(), xs, create_graph=True, allow_unused=True)
    size = sum((g * g).sum() for g in first if g is not None)
    second = torch.autograd.grad(size, xs, allow_unused=True, materialize_grads=True)
    return y, [None if g is None else g.detach() for g in first], second


def at_index(torch: Any, function: str, reduce: str, x: Any, y: Any, **options: Any) -> Any:
    return getattr(torch, function)(x, 0, torch.tensor([0, 0, 2, 0]), y, reduce, **options)


def reduced(torch: Any, function: str, xs: Any, ys: Any) -> Any:
    kinds = REDUCTIONS if function == "scatter_reduce" else REDUCTIONS[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that index_reduce is in beta
        return [
            derivatives(
                torch,
                lambda x, y, r=r, s=s: at_index(torch, function, r, x, y, include_self=s),
                source(torch, *xs),
                source(torch, *ys),
            )
            for r in kinds
            for s in (True, False)
        ]


@program()
def scatter_reduce_of_different_numbers(torch: Any) -> Any:
    return reduced(torch, "scatter_reduce", (1.5, 2.0, -3.0), (5.0, -1.0, 3.0, 0.5))


@program()
def scatter_reduce_of_equal_numbers(torch: Any) -> Any:
    return reduced(torch, "scatter_reduce", (1.0, 2.0, 3.0), (1.0, 1.0, 3.0, 1.0))


@program()
def scatter_reduce_with_a_zero(torch: Any) -> Any:
    return reduced(torch, "scatter_reduce", (0.0, 2.0, 0.0), (0.0, 2.0, 3.0, 4.0))


@program()
def index_reduce_of_different_numbers(torch: Any) -> Any:
    return reduced(torch, "index_reduce", (1.5, 2.0, -3.0), (5.0, -1.0, 3.0, 0.5))


@program()
def index_reduce_of_equal_numbers(torch: Any) -> Any:
    return reduced(torch, "index_reduce", (1.0, 2.0, 3.0), (1.0, 1.0, 3.0, 1.0))


@program()
def index_reduce_with_a_zero(torch: Any) -> Any:
    return reduced(torch, "index_reduce", (0.0, 2.0, 0.0), (0.0, 2.0, 3.0, 4.0))


@program("Double backward is unsupported")
def a_product_with_two_zeros_is_differentiated_once(torch: Any) -> Any:
    return derivatives(
        torch,
        lambda x, y: at_index(torch, "scatter_reduce", "prod", x, y),
        source(torch, 1.0, 2.0, 3.0),
        source(torch, 0.0, 0.0, 3.0, 4.0),
    )


@program()
def scatter_reduce_along_dimensions(torch: Any) -> Any:
    index = torch.tensor([[0, 1, 0], [1, 1, 0]])
    found = []
    for dim in (0, 1, -1):
        for r in REDUCTIONS:
            y = matrix(torch).detach().flip(0).requires_grad_()
            found.append(
                derivatives(
                    torch, lambda a, b, d=dim, r=r: a.scatter_reduce(d, index, b, r), matrix(torch), y
                )
            )
    return found


@program()
def scatter_reduce_of_integers(torch: Any) -> Any:
    index = torch.tensor([0, 0, 2, 0])
    found = []
    for kind in (torch.int64, torch.uint8, torch.int32):
        x, y = torch.tensor([7, 2, 9], dtype=kind), torch.tensor([5, 1, 4, 3], dtype=kind)
        found += [x.scatter_reduce(0, index, y, r, include_self=s) for r in REDUCTIONS for s in (True, False)]
    return found


@program()
def scatter_reduce_of_nan_and_infinities(torch: Any) -> Any:
    inf, nan = float("inf"), float("nan")
    x, y = torch.tensor([nan, 1.0, -inf]), torch.tensor([1.0, nan, inf])
    index = torch.tensor([0, 1, 2])
    return [x.scatter_reduce(0, index, y, r, include_self=s) for r in REDUCTIONS for s in (True, False)]


@program()
def reductions_of_single_numbers_and_of_nothing(torch: Any) -> Any:
    x, i = torch.tensor(2.0), torch.tensor(0)
    empty = torch.zeros(0, dtype=torch.int64)
    return [
        *[
            x.scatter_reduce(0, i, torch.tensor(3.0), r, include_self=s)
            for r in REDUCTIONS
            for s in (True, False)
        ],
        *[torch.ones(2).scatter_reduce(0, empty, torch.ones(0), r) for r in REDUCTIONS],
    ]


@program()
def what_reductions_save(torch: Any) -> Any:
    node = at_index(
        torch, "scatter_reduce", "amax", source(torch, 1.0, 2.0, 3.0), source(torch, 1, 2, 3, 4)
    ).grad_fn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = at_index(
            torch, "index_reduce", "mean", source(torch, 1.0, 2.0, 3.0), source(torch, 1, 2, 3, 4)
        ).grad_fn
    saved = node._saved_self, node._saved_src, node._saved_result, node._saved_index
    return node, other, saved, node._saved_dim, node._saved_reduce, node._saved_include_self


@program()
def reductions_in_place(torch: Any) -> Any:
    x, y = source(torch, 1.0, 2.0, 3.0), source(torch, 5.0, -1.0, 3.0, 0.5)
    z = x * 1
    z.scatter_reduce_(0, torch.tensor([0, 0, 2, 0]), y, "prod")
    (z * z).sum().backward()
    return z, z._version, x.grad, y.grad


@program()
def wrong_reductions(torch: Any) -> Any:
    x, y, i = torch.ones(3), torch.ones(3), torch.tensor([0, 0, 2])
    f = torch.scatter_reduce
    return [
        attempt("reduce argument must be either sum, prod, mean, amax or amin", f, x, 0, i, y, "x"),
        attempt("Expected dtype int32/int64 for index", f, x, 0, i.bool(), y, "sum"),
        attempt("Expected self.dtype to be equal to src.dtype", f, x, 0, i, y.double(), "sum"),
        attempt("no larger size than src", f, x, 0, i, y[:2], "sum"),
        attempt("index 3 is out of bounds for dimension 0 with size 3", f, x, 0, i + 1, y, "sum"),
        attempt("Dimension out of range", f, x, 1, i, y, "sum"),
        attempt("must be Tensor, not float", f, x, 0, i, 2.0, "sum"),
        attempt("not implemented for 'ComplexFloat'", f, x + 0j, 0, i, y + 0j, "amax"),
        attempt("not implemented for 'Bool'", f, x.bool(), 0, i, y.bool(), "mean"),
    ]


@program()
def wrong_index_reductions(torch: Any) -> Any:
    x, y, i = torch.ones(3), torch.ones(3), torch.tensor([0, 0, 2])
    f = torch.index_reduce
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            attempt(
                "Expected reduce to be one of prod, mean, amax or amin but got sum", f, x, 0, i, y, "sum"
            ),
            attempt("Number of indices \\(3\\) should be equal", f, x, 0, i, y[:2], "prod"),
            attempt("must have the same scalar type", f, x, 0, i, y.double(), "prod"),
            attempt("Expected dtype int32/int64 for index", f, x, 0, i.bool(), y, "prod"),
            attempt("index out of range in self", f, x, 0, i + 1, y, "prod"),
            attempt("Index is supposed to be a vector", f, x, 0, i[None], y, "prod"),
            attempt("must match self tensor shape", f, torch.ones(2, 3), 1, i, torch.ones(3, 3), "prod"),
        ]


# -- into a part ---------------------------------------------------------------------------------------------------


@program()
def put_writes_and_adds(torch: Any) -> Any:
    index = torch.tensor([1, -1, 3])
    found = []
    for accumulate in (False, True):
        y = source(torch, 7.0, 8.0, 9.0)
        found.append(derivatives(torch, lambda a, b, acc=accumulate: a.put(index, b, acc), matrix(torch), y))
    z = matrix(torch) * 1
    z.put_(index, source(torch, 7.0, 8.0, 9.0), accumulate=True)
    return found, z, z.grad_fn._saved_accumulate


@program()
def wrong_put(torch: Any) -> Any:
    x, i, y = torch.ones(2, 3), torch.tensor([0, 5]), torch.ones(2)
    return [
        attempt("tried to access index 6 on a tensor of 6 elements", torch.put, x, i + 1, y),
        attempt("self and source expected to have the same dtype", torch.put, x, i, y.double()),
        attempt("same number of elements", torch.put, x, i, torch.ones(3)),
        attempt("Expected a long tensor for index", torch.put, x, i.int(), y),
    ]


@program()
def index_put_at_indices_without_dimensions(torch: Any) -> Any:
    one, found = torch.tensor(1), []
    for accumulate in (False, True):
        for keys in (
            (one,),
            (one, torch.tensor([1, 0, 0])),
            (one.int(), -one),
            (one, torch.tensor([True, False, True])),
        ):
            y = torch.tensor(7.0, dtype=torch.float64, requires_grad=True)

            def put(a: Any, b: Any, keys: Any = keys, accumulate: bool = accumulate) -> Any:
                return a.index_put(keys, b, accumulate=accumulate)

            found.append(derivatives(torch, put, matrix(torch), y))
            found.append(matrix(torch).detach().index_put_(keys, y.detach(), accumulate))
    x, value = torch.ones(2, 3), torch.tensor(5.0)
    masks = [(torch.tensor(True),), (torch.tensor(False),), (torch.tensor(True), one)]
    return found, [x.index_put(m, value) for m in masks], x.index_put((one,), torch.arange(3.0))


@program()
def wrong_index_put(torch: Any) -> Any:
    x, y = torch.ones(2, 3), torch.ones(())
    return [
        attempt("index 2 is out of bounds for dimension 0 with size 2", x.index_put, (torch.tensor(2),), y),
        attempt("too many indices for tensor of dimension 2", x.index_put, (torch.tensor(0),) * 3, y),
        attempt("tensors used as indices must be", x.index_put, (torch.tensor(0.5),), y),
        attempt("shape mismatch: value tensor", x.index_put, (torch.tensor(1),), torch.ones(2)),
        attempt(r"\[1, 3\] cannot be broadcast.*\[3\]", x.index_put, (torch.tensor(1),), torch.ones(1, 3)),
        attempt(
            "argument 'indices'.*must be tuple of Tensors, not Tensor", x.index_put, torch.tensor([1]), y
        ),
        attempt("expected Tensor as element 0", x.index_put, (None, torch.tensor(1)), y),
        attempt("", x.index_put, (), y),
    ]


@program()
def written_into_views(torch: Any) -> Any:
    x = matrix(torch)
    return [
        derivatives(torch, lambda a, b: torch.diagonal_scatter(a, b, 1), x, source(torch, 7.0, 8.0)),
        derivatives(torch, lambda a, b: a.diagonal_scatter(b, 0, 1, 0), x, source(torch, 7.0, 8.0)),
        derivatives(torch, lambda a, b: torch.select_scatter(a, b, 0, -1), x, source(torch, 7.0, 8.0, 9.0)),
        derivatives(torch, lambda a, b: a.select_scatter(b, 1, 2), x, source(torch, 7.0, 8.0)),
        derivatives(
            torch, lambda a, b: torch.slice_scatter(a, b[None], 0, 1), x, source(torch, 7.0, 8.0, 9.0)
        ),
        derivatives(torch, lambda a, b: a.slice_scatter(b[:, None], 1, 0, 3, 3), x, source(torch, 7.0, 8.0)),
    ]


@program()
def written_into_views_in_another_dtype(torch: Any) -> Any:
    x, y = matrix(torch), torch.ones(3, requires_grad=True)
    z = torch.select_scatter(x, y, 0, 1)
    z.sum().backward()
    return z, x.grad, y.grad


@program()
def wrong_writes_into_views(torch: Any) -> Any:
    x, y = torch.ones(2, 3), torch.ones(3)
    return [
        attempt("src size = \\[3\\], slice size = \\[2\\]", torch.diagonal_scatter, x, y),
        attempt("src size = \\[3\\], slice size = \\[2\\]", torch.select_scatter, x, y, 1, 0),
        attempt("index 5 out of range", torch.select_scatter, x, y, 0, 5),
        attempt("slice size = \\[2, 3\\]", torch.slice_scatter, x, y, 0),
        attempt("slice step must be positive", torch.slice_scatter, x, x, 0, 0, 2, 0),
        attempt("Dimension out of range", torch.slice_scatter, x, x, 2),
    ]


# -- blocks, tuples, combinations ----------------------------------------------------------------------------------


@program()
def blocks_on_a_diagonal(torch: Any) -> Any:
    x, y = matrix(torch), source(torch, 7.0, 8.0)
    return [
        derivatives(torch, torch.block_diag, x, y),
        torch.block_diag(x, torch.tensor(2), torch.ones(0, 2), torch.ones(1, dtype=torch.complex64)),
        torch.block_diag(),
        attempt("must have 2 or fewer dimensions. Input 1 has 3", torch.block_diag, x, torch.ones(1, 1, 1)),
        attempt("expected Tensor as element 0", torch.block_diag, [x]),
    ]


@program()
def tuples_of_elements(torch: Any) -> Any:
    x, y = source(torch, 1.0, 2.0), source(torch, 7.0, 8.0, 9.0)
    return [
        derivatives(torch, torch.cartesian_prod, x, y),
        torch.cartesian_prod(x),
        attempt("Expect a 1D vector, but got shape \\[\\]", torch.cartesian_prod, x, torch.tensor(1.0)),
        attempt("same dtype", torch.cartesian_prod, x, torch.tensor([1])),
    ]


@program()
def combinations_of_elements(torch: Any) -> Any:
    x = source(torch, 1.0, 2.0, 4.0, 8.0)
    return [
        derivatives(torch, torch.combinations, x),
        derivatives(torch, lambda v: torch.combinations(v, 3, with_replacement=True), x),
        torch.combinations(x, 1),
        torch.combinations(x, 0),
        torch.combinations(x, 5),
        attempt("Expect a non-negative number", torch.combinations, x, -1),
        attempt("Expect a 1D vector", torch.combinations, matrix(torch)),
    ]


@program()
def sums_to_a_size(torch: Any) -> Any:
    x = matrix(torch)
    return [
        derivatives(torch, lambda v: v.sum_to_size(1, 3), x),
        derivatives(torch, lambda v: v.sum_to_size((3,)), x),
        x.sum_to_size(2, 3) is x,
        x.sum_to_size(1),
        attempt("is not expandable to size", x.sum_to_size, 2),
    ]


@program()
def indices_from_numbers(torch: Any) -> Any:
    return [
        torch.unravel_index(torch.tensor([[1, 5], [0, 4]]), (2, 3)),
        torch.unravel_index(torch.tensor(4), 6),
        torch.unravel_index(torch.tensor([6, -1]), (2, 3)),
        attempt("integer dtype", torch.unravel_index, torch.tensor([1.0]), (2, 3)),
        attempt("cannot have negative values", torch.unravel_index, torch.tensor([1]), (2, -3)),
        torch.nonzero_static(torch.tensor([[1, 0], [2, 3]]), size=2),
        torch.nonzero_static(torch.tensor([1, 0, 2]), size=4, fill_value=9),
        torch.nonzero_static(torch.tensor(1.0), size=2),
        attempt("non-negative integer", torch.nonzero_static, torch.ones(2), size=-1),
    ]


# -- copies --------------------------------------------------------------------------------------------------------


@program()
def copies_of_views(torch: Any) -> Any:
    x = matrix(torch)
    functions = [
        torch.alias_copy, torch.diagonal_copy, lambda v: torch.expand_copy(v, (2, 2, 3)),
        lambda v: torch.narrow_copy(v, 1, 1, 2), lambda v: torch.permute_copy(v, (1, 0)),
        lambda v: torch.select_copy(v, 1, 2), lambda v: torch.slice_copy(v, 1, 0, None, 2), torch.squeeze_copy,
        lambda v: torch.squeeze_copy(v, 0), lambda v: torch.squeeze_copy(v, (0, 1)), torch.t_copy,
        lambda v: torch.transpose_copy(v, 0, 1), lambda v: torch.unfold_copy(v, 1, 2, 1),
        lambda v: torch.unsqueeze_copy(v, 1), lambda v: torch.view_copy(v, (3, -1)),
    ]  # fmt: skip
    return [derivatives(torch, f, x) for f in functions], [f(x)._is_view() for f in functions]


@program()
def copies_of_several_views(torch: Any) -> Any:
    x = matrix(torch)
    functions = [
        lambda v: torch.split_copy(v, 2, 1), lambda v: torch.split_with_sizes_copy(v, (1, 2), 1), torch.unbind_copy,
        lambda v: torch.unsafe_split(v, 2, 1), lambda v: torch.unsafe_chunk(v, 2),
        lambda v: v.unsafe_split_with_sizes((2, 1), 1),
    ]  # fmt: skip
    return [(f(x), derivatives(torch, lambda v, f=f: f(v)[0], x), f(x)[0]._is_view()) for f in functions]


@program()
def copies_into_out(torch: Any) -> Any:
    x = matrix(torch, False)
    out = torch.empty(3, 2, dtype=torch.float64)
    return torch.t_copy(x, out=out) is out, out, torch.expand_copy(x[0], (2, 3)).stride()


@program()
def complex_pairs_copied(torch: Any) -> Any:
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
    pairs = torch.view_as_real_copy(z)
    (pairs * pairs).sum().backward()
    return (
        pairs,
        z.grad,
        torch.view_as_complex_copy(pairs.detach()),
        torch.view_copy(z.detach(), dtype=torch.float64),
    )


@program()
def wrong_copies(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return [
        attempt("index 5 out of range", torch.select_copy, x, 0, 5),
        attempt("Dimension out of range", torch.transpose_copy, x, 0, 2),
        attempt("is invalid for input of size 6", torch.view_copy, x, (4,)),
        attempt("must match the existing size", torch.expand_copy, x, (3, 3)),
        attempt("exceeds dimension size", torch.narrow_copy, x, 0, 1, 2),
        attempt("<= 2 dimensions", torch.t_copy, x[None]),
        attempt("split_size", torch.split_copy, x, -1),
        attempt("slice step must be positive", torch.slice_copy, x, 0, 0, 1, 0),
    ]


# -- memory --------------------------------------------------------------------------------------------------------


@program()
def memory_with_strides(torch: Any) -> Any:
    made = torch.empty_strided((2, 3), (1, 2), dtype=torch.float64)
    return [
        made.shape, made.stride(), made.dtype, torch.empty_permuted((2, 3, 4), (1, 0, 2)).stride(),
        made.new_empty_strided((2, 2), (3, 1)).stride(), torch.empty_strided((2, 3), (0, 1)).stride(),
        made.dim_order(), made.is_set_to(made), made.is_set_to(made[:1]), made.is_set_to(made.clone()),
        attempt("dimensionality of sizes", torch.empty_strided, (2, 3), (1,)),
        attempt("negative dimension", torch.empty_strided, (2, -3), (1, 2)),
        attempt("overflow", torch.empty_strided, (2, 3), (1, -2)),
        attempt("Duplicate dim", torch.empty_permuted, (2, 3), (1, 1)),
        attempt("does not match the length", torch.empty_permuted, (2, 3), (1,)),
    ]  # fmt: skip


@program()
def tensors_over_buffers(torch: Any) -> Any:
    buffer = bytearray(range(8))
    shared = torch.frombuffer(buffer, dtype=torch.uint8)
    buffer[0] = 9
    f = torch.frombuffer
    return [
        shared, f(buffer, dtype=torch.int16, count=2, offset=2), f(buffer, dtype=torch.int32),
        f(bytearray(8), dtype=torch.float32, requires_grad=True),
        attempt("multiple of element size", f, bytearray(7), dtype=torch.float32),
        attempt("must not be 0", f, bytearray(0), dtype=torch.float32),
        attempt("must not be 0", f, bytearray(8), dtype=torch.float32, count=0),
        attempt("must not be greater than actual buffer length", f, bytearray(8), dtype=torch.float32, count=3),
        attempt("must be non-negative and no greater than", f, bytearray(8), dtype=torch.float32, offset=9),
        attempt("buffer protocol", f, 5, dtype=torch.float32),
    ]  # fmt: skip


@program()
def memory_lent_by_dlpack(torch: Any) -> Any:
    x = torch.arange(3.0)
    y = torch.from_dlpack(x)
    y.add_(1)
    return x, y, x.__dlpack_device__()[1], attempt("require gradient", torch.from_dlpack, matrix(torch))


@program(warns="range is deprecated")
def ranges_with_their_end(torch: Any) -> Any:
    r = torch.range
    return [
        r(1, 4), r(1, 4, 0.5), r(0, -3, -1, dtype=torch.int64), r(0, 1, 0.3),
        attempt("inconsistent with step sign", r, 1, 0), attempt("step must be nonzero", r, 0, 4, 0),
    ]  # fmt: skip


@program()
def reversed_tensors(torch: Any) -> Any:
    x = matrix(torch)
    return [derivatives(torch, reversed, x), list(reversed(x)), torch.tensor(3).__reversed__()]


@program()
def questions_as_functions(torch: Any) -> Any:
    x = matrix(torch)
    return [
        torch.is_signed(x), torch.is_signed(x.bool()), torch.is_neg(x), torch.get_device(x), torch.detach(x),
        torch.constant_pad_nd(x, (1, 0), 2.0),
    ]  # fmt: skip


@program(warns="reduce argument of torch.scatter with Tensor src is deprecated")
def scatter_that_combines(torch: Any) -> Any:
    x, i = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 0, 2])
    y = torch.tensor([5.0, -1.0, 2.0])
    return [
        x.scatter(0, i, y, reduce="add"),
        torch.scatter(x, 0, i, y, reduce="multiply"),
        x.scatter(0, i, 2.0, reduce="multiply"),
        x.clone().scatter_(0, i, 2.0, reduce="add"),
        attempt("must be either add or multiply", x.scatter, 0, i, 2.0, reduce="sum"),
    ]


@program()
def indices_repeated(torch: Any) -> Any:
    return [
        torch.repeat_interleave(torch.tensor([1, 0, 3])),
        attempt("non-negative|be negative", torch.repeat_interleave, torch.tensor([1, -1])),
    ]
