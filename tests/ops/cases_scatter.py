"""Rows of scattering that reduces, of tensors written into parts of others, of blocks and combinations, of copies."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

import retrograd as rg
from tests.ops.case import Case
from tests.ops.cases_strided import windows
from tests.ops.samples import ONE, call_with, distinct

COMPOSED = {"jvp": "several nodes"}
INDEX = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 1]])
ROWS = np.array([0, 2, 0])
UFUNCS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def reduced(x: Any, y: Any, where: Any, reduce: str, include_self: bool) -> Any:
    """A source reduced into flat positions, an element at a time."""
    out = np.array(x, order="C")
    flat, count = out.reshape(-1), np.full(x.size, int(include_self))
    for place, value in zip(where.reshape(-1), y.reshape(-1), strict=True):
        fresh = not include_self and count[place] == 0
        flat[place] = value if fresh else UFUNCS[reduce](flat[place], value)
        count[place] += 1
    if reduce == "mean":
        flat /= np.maximum(count, 1)
    return out


def numbers(x: Any) -> Any:
    return np.arange(x.size).reshape(x.shape)


def scatter_reduced(x: Any, y: Any, dim: int, index: Any, reduce: str, include_self: bool = True) -> Any:
    places = np.take_along_axis(numbers(x), index, dim) if x.ndim else index
    y = y[tuple(slice(n) for n in index.shape)]
    return reduced(x, y, places, reduce, include_self)


def index_reduced(x: Any, y: Any, dim: int, index: Any, reduce: str, include_self: bool = True) -> Any:
    return reduced(x, y, np.take(numbers(x), index, dim), reduce, include_self)


def scatter_reduce(x: Any, y: Any, dim: int, index: Any, *args: Any, **options: Any) -> Any:
    return rg.scatter_reduce(x, dim, index, y, *args, **options)


def index_reduce(x: Any, y: Any, dim: int, index: Any, *args: Any, **options: Any) -> Any:
    return rg.index_reduce(x, dim, index, y, *args, **options)


def reductions(name: str, reduce: str, numpy: Any, call: Any, samples: Any) -> Case:
    ordered = reduce in ("amax", "amin")
    excuses = {"complex": "complex numbers have no order"} if ordered else {}
    if name == "index_reduce":
        excuses = {"complex": "takes real numbers only"}
    both = [
        call_with(*s, args=(dim, index, reduce), include_self=include)
        for s, dim, index in samples
        for include in (True, False)
    ]
    domain = distinct if ordered else Case.domain
    return Case(name, tuple(both), numpy, domain, excuses, call, reduce)


ALONG = ((((2, 3), (3, 3)), 0, INDEX), (((3, 2), (3, 3)), 1, INDEX), (((3,), (4,)), -1, np.array([2, 0, 2])),
         (((), ()), 0, np.array(0)))  # fmt: skip
AT_ROWS = ((((3, 2), (3, 2)), 0, ROWS), (((2, 3), (2, 3)), -1, ROWS), (((4,), (3,)), 0, ROWS))

REDUCED = (
    *(reductions("scatter_reduce", r, scatter_reduced, scatter_reduce, ALONG) for r in UFUNCS),
    *(reductions("index_reduce", r, index_reduced, index_reduce, AT_ROWS) for r in list(UFUNCS)[1:]),
)


def written(x: Any, part: Any, value: Any) -> Any:
    """A copy with a value in the place of a view of it."""
    out = np.array(x, order="C")
    out.reshape(-1)[part(numbers(x))] = value
    return out


def put(x: Any, y: Any, index: Any, accumulate: bool = False) -> Any:
    out = np.array(x, order="C")
    if accumulate:
        np.add.at(out.reshape(-1), index.reshape(-1), y.reshape(-1))
    else:
        out.reshape(-1)[index.reshape(-1)] = y.reshape(-1)
    return out


def sliced(dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return lambda x: x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


# PyTorch differentiates some of these for real numbers only: a row with a `call` is not compared with it.
WRITTEN = (
    Case("put", (call_with((2, 3), (2,), args=(np.array([1, -1]),)),
                 call_with((2, 3), (2, 2), args=(np.array([[1, 4], [0, 2]]),)),
                 call_with((2, 3), (3,), args=(np.array([1, 4, 1]),), accumulate=True),
                 call_with((2, 3), (2,), args=(np.array([5, 2]),), layout="transposed")),
         put, call=lambda x, y, i, **o: rg.put(x, i, y, **o)),
    Case("diagonal_scatter", (call_with((3, 3), (3,)), call_with((2, 3), (2,), args=(1,)),
                              call_with((2, 3, 2), (3, 2), args=(0, 2, 0)), call_with((3, 2), (1,), args=(-2,))),
         lambda x, y, *a: written(x, lambda v: np.diagonal(v, *a), y)),
    Case("select_scatter", (call_with((2, 3), (3,), args=(0, 1)), call_with((2, 3), (2,), args=(-1, -3)),
                            call_with((3,), (), args=(0, 2))),
         lambda x, y, dim, i: written(x, lambda v: np.take(v, i, dim), y), call=rg.select_scatter),
    Case("slice_scatter", (call_with((4, 2), (2, 2), args=(0, 1, 3)), call_with((2, 5), (2, 2), args=(1, 1, None, 2)),
                           call_with((3,), (3,)), call_with((3, 2), (1, 2), args=(0, -1))),
         lambda x, y, *a: written(x, sliced(*a), y), call=rg.slice_scatter),
)  # fmt: skip


def block_diag(*blocks: Any) -> Any:
    blocks = [np.atleast_2d(b) for b in blocks]
    out = np.zeros(np.sum([b.shape for b in blocks], 0), blocks[0].dtype)
    row = column = 0
    for b in blocks:
        out[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return out


def chosen(x: Any, r: int = 2) -> Any:
    rows = list(combinations(x, r))
    return np.array(rows, x.dtype).reshape(len(rows), r)


COMBINED = (
    Case("block_diag", (call_with((2, 3), (1, 2)), call_with((2,), (), (3, 1)), call_with((0, 2), (2,))), block_diag),
    Case("cartesian_prod", (call_with((2,), (3,)), call_with((2,), (1,), (2,))),
         lambda *xs: np.array(list(product(*xs))), excuses=COMPOSED),
    Case("combinations", (call_with((4,)), call_with((3,), args=(3,)), call_with((2,), args=(3,))), chosen,
         excuses=COMPOSED),
    Case("Tensor.sum_to_size", (call_with((2, 3), args=(1, 3)), call_with((2, 3), args=(2, 1))),
         lambda x, *size: x.sum(tuple(i for i, n in enumerate(size) if n == 1), keepdims=True)),
    Case("Tensor.sum_to_size", (call_with((2, 3), args=(3,)),), lambda x, n: x.sum(0), excuses=COMPOSED,
         form="fewer dimensions"),
    Case("Tensor.__reversed__", (call_with((3,)), call_with((2, 3))), lambda x: x[::-1], call=lambda x: reversed(x)),
    Case("constant_pad_nd", (call_with((2, 3), args=((1, 2),)), call_with((2, 3), args=((1, 0, 0, 2), 1.5))),
         lambda x, pad, value=0: np.pad(x, [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[-2::-2], pad[::-2],
         strict=True)), constant_values=value)),
)  # fmt: skip


def pieces(name: str, numpy: Any, *args: Any) -> Case:
    return Case(name, tuple(call_with(shape, args=a) for shape, a in args), numpy)


def cut(x: Any, size: Any, dim: int = 0) -> Any:
    at = list(range(size, x.shape[dim], size)) if isinstance(size, int) else np.cumsum(size)[:-1]
    return np.split(x, at, dim)


COPIES = (
    Case("alias_copy", ONE, np.copy),
    Case("diagonal_copy", (call_with((2, 3)), call_with((2, 3), args=(1,)), call_with((2, 3, 2), args=(0, 2, 1))),
         np.diagonal),
    Case("expand_copy", (call_with((3,), args=((2, 3),)), call_with((2, 1), args=((2, 3),)), call_with((), args=((2,),)),
                         call_with((2, 1), args=((4, -1, 3),))),
         lambda x, size: np.broadcast_to(x, [x.shape[i - len(size)] if n < 0 else n for i, n in enumerate(size)])),
    Case("view_copy", (call_with((2, 3), args=((3, 2),)), call_with((2, 3), args=((-1,),)),
                       call_with((2, 3), args=((6,),), layout="transposed")), np.reshape),
    Case("squeeze_copy", (call_with((1, 3, 1)), call_with((2, 3))), np.squeeze),
    Case("squeeze_copy", (call_with((1, 3, 1), args=(0,)), call_with((2, 1), args=(-1,))), np.squeeze, form="dim"),
    Case("squeeze_copy", (call_with((1, 3, 1), args=((0, 2),)),), np.squeeze, form="dims"),
    Case("unsqueeze_copy", (call_with((2, 3), args=(0,)), call_with((), args=(-1,))), np.expand_dims),
    Case("t_copy", (call_with((2, 3)), call_with((3,))), np.transpose),
    Case("transpose_copy", (call_with((2, 3), args=(0, 1)), call_with((2, 3, 2), args=(-1, 0))), np.swapaxes),
    Case("permute_copy", (call_with((2, 3), args=((1, 0),)), call_with((2, 3, 1), args=((2, 0, -2),))), np.transpose),
    Case("select_copy", (call_with((2, 3), args=(0, 1)), call_with((2, 3), args=(-1, -2))),
         lambda x, dim, i: np.take(x, i, dim), call=rg.select_copy),
    Case("slice_copy", (call_with((4, 2), args=(0, 1, 3)), call_with((2, 5), args=(1, None, None, 2)),
                        call_with((3,))), lambda x, *a: sliced(*a)(x), call=rg.slice_copy),
    Case("narrow_copy", (call_with((4, 2), args=(0, 1, 2)), call_with((2, 3), args=(-1, -2, 1))),
         lambda x, dim, start, n: np.take(x, range(start % x.shape[dim], start % x.shape[dim] + n), dim)),
    Case("unfold_copy", (call_with((5,), args=(0, 2, 1)), call_with((3, 4), args=(1, 3, 1))), windows),
    Case("view_as_real_copy", (call_with((2, 3)), call_with((3,))), lambda x: np.stack((x.real, x.imag), -1),
         excuses={"real": "takes complex numbers only"}),
    Case("view_as_complex_copy", (call_with((3, 2)), call_with((2,))), lambda x: x[..., 0] + 1j * x[..., 1], call=rg.view_as_complex_copy,
         excuses={"complex": "takes pairs of real numbers"}),
    pieces("split_copy", cut, ((5, 2), (2,)), ((2, 3), (2, 1))),
    pieces("split_with_sizes_copy", cut, ((5,), ((1, 4),)), ((2, 3), ((2, 1), 1))),
    pieces("unbind_copy", lambda x, dim=0: list(np.moveaxis(x, dim, 0)), ((2, 3), ()), ((2, 3), (1,))),
    pieces("unsafe_split", cut, ((5, 2), (2,)), ((2, 3), (2, 1))),
    pieces("unsafe_split_with_sizes", cut, ((5,), ((1, 4),))),
    pieces("unsafe_chunk", lambda x, n, dim=0: np.split(x, n, dim), ((6, 2), (3,)), ((2, 4), (2, 1))),
)  # fmt: skip

SCATTER: tuple[Case, ...] = (*REDUCED, *WRITTEN, *COMBINED, *COPIES)
