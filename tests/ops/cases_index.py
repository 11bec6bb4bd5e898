"""Rows of operations that read or write chosen elements."""

from __future__ import annotations

from typing import Any

import numpy as np

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import call_with

INDEX = np.array([[0, 1, 1], [1, 0, 0]])
LONG = np.array([2, 0, 0])
MASK = np.array([[True, False, True], [False, False, True]])
ADVANCED = {"jvp": "several nodes"}


def indexed(*items: Any, of: tuple[int, ...] = (2, 3), form: str, **options: Any) -> Case:
    """Reading with each of these indices."""
    samples = tuple(call_with(of, args=(Index(i),)) for i in items)
    return Case(
        "Tensor.__getitem__",
        samples,
        lambda x, i: x[i.value],
        call=lambda x, i: x[i.as_tensors()],
        form=form,
        **options,
    )


class Index:
    """An index that is written the same for tensors and arrays."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def as_tensors(self) -> Any:
        parts = self.value if isinstance(self.value, tuple) else (self.value,)
        made = tuple(rg.Tensor(p, share=True) if isinstance(p, np.ndarray) else p for p in parts)
        return made if isinstance(self.value, tuple) else made[0]

    def __repr__(self) -> str:
        return f"[{self.value}]"


READS = (
    indexed(0, -1, form="integer"),
    indexed((1, 2), (0, -1), form="integers", excuses=ADVANCED),
    indexed(slice(1), slice(None, None, 2), slice(5, 9), form="slice"),
    indexed((slice(1), slice(1, None)), (slice(None), 1), form="slices", excuses=ADVANCED),
    indexed(..., None, (..., 0), (None, 0), (0, ..., None), form="ellipsis_and_none", excuses=ADVANCED),
    indexed(LONG, np.array([[1, 0], [0, 0]]), np.array([], int), form="tensor", of=(3, 2)),
    indexed([1, 0, 0], ([0, 1], [2, 2]), form="lists"),
    indexed((LONG, np.array([1, 1, 0])), form="tensors", of=(3, 2)),
    indexed(MASK, np.array([False, True]), np.zeros((2, 3), bool), form="mask"),
    indexed((slice(None), np.array([2, 0])), (0, np.array([2, 0])), (np.array([1, 0]), None, slice(2)),
    form="mixed", excuses=ADVANCED),
)  # fmt: skip


def written(index: Any) -> Any:
    """x with y written at `index`: a copy, so that x itself stays."""

    def write(x: Any, y: Any) -> Any:
        z = x.clone() if isinstance(x, rg.Tensor) else x.copy()
        z[index.as_tensors() if isinstance(x, rg.Tensor) else index.value] = y
        return z

    return write


def assigned(form: str, value: Any, shape: tuple[int, ...]) -> Case:
    write = written(Index(value))
    return Case(
        "Tensor.__setitem__",
        (call_with((2, 3), shape),),
        write,
        call=write,
        form=form,
        excuses={"jvp": "a clone is written into"},
    )


WRITES = (
    assigned("row", 0, (3,)),
    assigned("element", (1, 2), ()),
    assigned("slice", (slice(None), slice(1, None)), (2, 2)),
    assigned("broadcast", slice(None), (2, 1)),
    assigned("tensor", np.array([1]), (1, 3)),
    assigned("mask", MASK, (3,)),
    assigned("mask_of_one", MASK, ()),
    assigned("ellipsis", ..., ()),
)


def gathered(x: Any, dim: int, index: Any) -> Any:
    if not x.ndim:
        return x
    places = list(np.indices(index.shape))
    places[dim] = index
    return x[tuple(places)]


CHOSEN = (
    Case("gather", (call_with((2, 3), args=(0, INDEX)), call_with((2, 3), args=(1, INDEX)),
         call_with((3,), args=(0, LONG)),
                    call_with((2, 3), args=(-1, np.zeros((2, 0), int))), call_with((), args=(0, np.array(0))),
                    call_with((2, 3), args=(0, INDEX[:1]), layout="transposed")),
         gathered),
    Case("take_along_dim", (call_with((2, 3), args=(INDEX, 0)), call_with((2, 3), args=(np.array([5, 1]),))),
         lambda x, i, dim=None: x.ravel()[i] if dim is None else np.take_along_axis(x, i, dim), excuses=ADVANCED),
    Case("index_select", (call_with((3, 2), args=(0, LONG)), call_with((2, 3), args=(-1, LONG)),
         call_with((3,), args=(0, LONG)),
                          call_with((3, 2), args=(0, np.zeros(0, int)))), lambda x, dim, i: np.take(x, i, dim)),
    Case("take", (call_with((2, 3), args=(np.array([5, 0, 0]),)),
         call_with((2, 3), args=(np.array([[1], [-1]]),))), np.take),
    Case("masked_select", (call_with((2, 3), args=(MASK,)), call_with((3,), args=(MASK,))),
         lambda x, m: np.broadcast_to(x, m.shape)[m], excuses=ADVANCED),
    Case("masked_fill", (call_with((2, 3), args=(MASK, 1.5)), call_with((3,), args=(MASK, 1.5)),
         call_with((), args=(MASK, 1.5))),
         lambda x, m, v: np.where(m, v, x), excuses={"jvp": "a smaller argument is expanded first"}),
    Case("masked_fill", (call_with((2, 3), ()),), lambda x, y: np.where(MASK, y, x),
         call=lambda x, y: rg.masked_fill(x, rg.Tensor(MASK, share=True), y), form="tensor"),
)  # fmt: skip


def scattered(add: bool) -> Any:
    def reference(x: Any, y: Any, dim: int, index: Any) -> Any:
        out = x.copy()
        places = list(np.indices(index.shape))
        places[dim] = index
        source = y[tuple(slice(n) for n in index.shape)]
        if add:
            np.add.at(out, tuple(places), source)
        else:
            out[tuple(places)] = source
        return out

    return reference


def indexed_rows(change: Any) -> Any:
    def reference(x: Any, y: Any, dim: int, index: Any) -> Any:
        out = np.moveaxis(x.copy(), dim, 0)
        change(out, index, np.moveaxis(y, dim, 0))
        return np.moveaxis(out, 0, dim)

    return reference


ROWS = np.array([2, 0])

SCATTERS = (
    Case("scatter_add", (call_with((2, 3), (2, 3), args=(0, INDEX)), call_with((3,), (4,), args=(0, LONG)),
         call_with((2, 3), (2, 3), args=(1, INDEX))),
         scattered(True), call=lambda x, y, dim, i: rg.scatter_add(x, dim, i, y)),
    Case("scatter", (call_with((2, 3), (2, 3), args=(0, INDEX)),), scattered(False),
         call=lambda x, y, dim, i: rg.scatter(x, dim, i, y)),
    Case("scatter", (call_with((2, 3), args=(0, INDEX)),), lambda x, dim, i: scattered(False)(x,
         np.full(i.shape, 1.5), dim, i),
         call=lambda x, dim, i: rg.scatter(x, dim, i, 1.5), form="number"),
    Case("index_add", (call_with((3, 2), (3, 2), args=(0, LONG)), call_with((2, 3), (2, 2), args=(-1, ROWS))),
         indexed_rows(lambda out, i, y: np.add.at(out, i, y)), call=lambda x, y, dim, i: rg.index_add(x, dim,
         i, y)),
    Case("index_copy", (call_with((3, 2), (2, 2), args=(0, ROWS)), call_with((2, 3), (2, 2), args=(1, ROWS))),
         indexed_rows(lambda out, i, y: out.__setitem__(i, y)), call=lambda x, y, dim, i: rg.index_copy(x, dim,
         i, y)),
    Case("index_fill", (call_with((3, 2), args=(0, ROWS)),),
         lambda x, dim, i: indexed_rows(lambda out, i, y: out.__setitem__(i, 1.5))(x, x, dim, i),
         call=lambda x, dim, i: rg.index_fill(x, dim, i, 1.5)),
    Case("index_fill", (call_with((3, 2), (), args=(0, ROWS)),),
         lambda x, y, dim, i: indexed_rows(lambda out, i, _: out.__setitem__(i, y))(x, x, dim, i),
         call=lambda x, y, dim, i: rg.index_fill(x, dim, i, y), form="tensor"),
)  # fmt: skip

PUTS = (
    Case("index_put", (call_with((3, 2), (2, 2), args=((ROWS,),)), call_with((2, 3), (2,),
         args=((np.array([0, 1]), ROWS),))),
         lambda x, y, i: put(x, y, i, False),
         call=lambda x, y, i: rg.index_put(x, tuple(rg.Tensor(v, share=True) for v in i), y)),
    Case("index_put", (call_with((3, 2), (3, 2), args=((LONG,),)), call_with((2, 3), (2,),
         args=((np.array([0, 1]), ROWS),))),
         lambda x, y, i: put(x, y, i, True), call=lambda x, y, i: rg.index_put(x,
         tuple(rg.Tensor(v, share=True) for v in i), y, accumulate=True),
         form="accumulate"),
    Case("masked_scatter", (call_with((2, 3), (3,)), call_with((2, 3), (2, 2))),
         lambda x, y: scattered_by_mask(x, y),
         call=lambda x, y: rg.masked_scatter(x, rg.Tensor(MASK, share=True), y)),
)  # fmt: skip


def put(x: Any, y: Any, index: Any, add: bool) -> Any:
    out = x.copy()
    if add:
        np.add.at(out, index, y)
    else:
        out[index] = y
    return out


def scattered_by_mask(x: Any, y: Any) -> Any:
    out = x.copy()
    out[MASK] = y.ravel()[: MASK.sum()]
    return out


INDEXING = (*READS, *WRITES, *CHOSEN, *SCATTERS, *PUTS)
