"""Rows of operations that move, join, split and repeat elements."""

from __future__ import annotations

from typing import Any

import numpy as np

import retrograd as rg
from tests.ops.case import Case
from tests.ops.samples import ONE, call_with, each

MATRIX = (call_with((2, 3)), call_with((2, 3), layout="transposed"), call_with((2, 3), layout="strided"))
CUBE = (call_with((2, 3, 2)),)
NUMPY_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
COMPOSED = {"jvp": "several nodes"}
SAME = {"jvp": "gives its argument back, or several nodes"}


def sized(*shapes: Any, of: tuple[int, ...] = (2, 3), **options: Any) -> tuple[Any, ...]:
    """One sample per argument that is a shape or a dimension."""
    return tuple(call_with(of, args=(s,), **options) for s in shapes)


def flattened(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    last = end_dim % max(x.ndim, 1)
    return x.reshape(*x.shape[:start_dim], int(np.prod(x.shape[start_dim : last + 1])), *x.shape[last + 1 :])


SIZES = (
    Case("reshape", (*sized((6,), (3, -1), (1, 2, 3)), *sized((), of=(1,)), *sized((0, 4), of=(2, 0))), np.reshape),
    Case("reshape", (*sized((6,), layout="transposed"), *sized((6,), layout="strided")), np.reshape,
         form="copy", excuses=COMPOSED),
    Case("Tensor.view", (*sized((6,), (3, -1), (1, 2, 3)), *sized((), of=(1,)), *sized((0, 4), of=(2, 0))),
         np.reshape),
    Case("Tensor.view_as", MATRIX[:1], lambda x: x.reshape(3, 2), call=lambda x: x.view_as(rg.zeros(3, 2))),
    Case("Tensor.reshape_as", MATRIX, lambda x: x.reshape(3, 2), call=lambda x: x.reshape_as(rg.zeros(3, 2)),
         excuses={"jvp": "copies what cannot be viewed"}),
    Case("flatten", (*ONE, *CUBE, *each(CUBE, {"start_dim": 1}, {"end_dim": 1})),
         flattened, excuses=SAME),
    Case("unflatten", (call_with((6, 2), args=(0, (2, 3))), call_with((6, 2), args=(0, (-1, 2)))),
         lambda x, dim, sizes: x.reshape(*sizes, 2)),
    Case("ravel", ONE, np.ravel, excuses=SAME),
    Case("squeeze", (call_with((1, 3, 1)), call_with((1,)), call_with((2, 3)), *sized(0, 2, (0, 2),
         of=(1, 3, 1)), *sized(0)),
         lambda x, dim=None: np.squeeze(x,
         tuple(d for d in np.atleast_1d(dim) if x.shape[d] == 1)) if dim is not None else np.squeeze(x)),
    Case("unsqueeze", (*sized(0, 1, -1), *sized(0, -1, of=()), *sized(1, layout="transposed")), np.expand_dims),
    Case("Tensor.expand", (*sized((2, 3), (4, 2, 3), of=(2, 1)), *sized((2, 3), (-1,), of=(3,)),
         *sized((2,), (2, 0), of=())),
         lambda x, s: np.broadcast_to(x, [x.shape[i - len(s)] if n == -1 else n for i, n in enumerate(s)])),
    Case("Tensor.expand_as", (call_with((3,)), call_with((2, 1))), lambda x: np.broadcast_to(x, (2, 3)),
         call=lambda x: x.expand_as(rg.zeros(2, 3))),
    Case("broadcast_to", (*sized((2, 3), (4, 2, 3), of=(2, 1)), *sized((2, 3), of=())), np.broadcast_to),
    Case("broadcast_tensors", (call_with((2, 1), (3,)), call_with((), (2,))),
         lambda x, y: np.broadcast_arrays(x, y), excuses=COMPOSED),
    Case("Tensor.repeat", (*sized((2, 1), (1, 2), (2, 1, 3)), *sized((3,), of=()), *sized((0,), of=(2,))), np.tile),
    Case("tile", (*sized((2,), (2, 1), (2, 1, 3)), *sized((3,), of=())), np.tile, excuses=SAME),
    *(Case(f"atleast_{n}d", (*ONE[:3], *CUBE), function, excuses=SAME)
      for n, function in ((1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d))),
)  # fmt: skip

ORDER = (
    Case("transpose", (call_with((2, 3), args=(0, 1)), call_with((2, 3, 2), args=(0, -1)),
         call_with((), args=(0, -1)),
                       call_with((2, 3), args=(1, 0), layout="strided")),
         lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else x),
    Case("swapaxes", (call_with((2, 3), args=(0, 1)),), np.swapaxes),
    Case("t", (*MATRIX, call_with((3,)), call_with(())), np.transpose),
    Case("Tensor.T", MATRIX, np.transpose, call=lambda x: x.T),
    Case("Tensor.mT", (*MATRIX, *CUBE), lambda x: np.swapaxes(x, -1, -2), call=lambda x: x.mT),
    Case("Tensor.H", MATRIX, lambda x: x.conj().T, call=lambda x: x.H, excuses=COMPOSED),
    Case("Tensor.mH", CUBE, lambda x: np.swapaxes(x, -1, -2).conj(), call=lambda x: x.mH, excuses=COMPOSED),
    Case("adjoint", (*MATRIX, *CUBE), lambda x: np.swapaxes(x, -1, -2).conj(), excuses=COMPOSED),
    Case("permute", (call_with((2, 3), args=((1, 0),)), call_with((2, 3, 2), args=((2, 0, 1),)),
         call_with((2, 3, 2), args=((-1, 0, 1),)),
                     call_with((), args=((),))), np.transpose),
    Case("movedim", (call_with((2, 3, 2), args=(0, 2)), call_with((2, 3, 2), args=((0, 1), (1, 2)))), np.moveaxis),
    Case("flip", (*sized((0,), (0, 1), (-1,)), *sized((0,), of=(0,)), *sized((0,), layout="transposed")), np.flip),
    Case("fliplr", MATRIX, np.fliplr),
    Case("flipud", MATRIX, np.flipud),
    Case("roll", (*sized(1, -2, 7), *(call_with((2, 3), args=a) for a in ((1, 0), (1, -1), ((1, 2), (0, 1)))),
         *sized(1, of=(0,))),
         np.roll, excuses={"jvp": "rolling over all dimensions flattens and restores"}),
    Case("rot90", (*MATRIX, *sized(2, 3, -1), *sized(0), call_with((2, 3, 2), args=(1, (1, 2)))), np.rot90),
    Case("tril", (*MATRIX, *sized(1, -1), *CUBE, call_with((0, 3))), np.tril),
    Case("triu", (*MATRIX, *sized(1, -1), *CUBE, call_with((0, 3))), np.triu),
    Case("diagonal", (*MATRIX, *sized(1, -1), call_with((2, 3, 2), args=(0, 0, 2)), *sized(5)),
         lambda x, offset=0, a=0, b=1: np.diagonal(x, offset, a, b)),
    Case("diag", (*MATRIX, *sized(1, -1), call_with((3,)), *sized(1, -1, of=(2,))), np.diag),
    Case("diagflat", (call_with((3,)), call_with((2, 2)), *sized(1, of=(2,))), np.diagflat, excuses=COMPOSED),
    Case("diag_embed", (call_with((3,)), call_with((2, 3)), *sized(1, -1, of=(2,))),
         lambda x, offset=0: embedded(x, offset)),
    Case("repeat_interleave", (call_with((3,), args=(2,)), call_with((2, 3), args=(2, 1)),
         call_with((2, 3), args=(np.array([1, 2]), 0)),
                               call_with((2, 3), args=(2,))), np.repeat, excuses={**COMPOSED,
                               "name": "PyTorch expands and copies where it can"}),
    Case("nn.functional.pad", (*sized((1, 2), (1, 0, 2, 1), (-1, 1)), *sized((1, 1), of=(0,))),
         lambda x, p: padded(x, p)),
)  # fmt: skip


def embedded(x: Any, offset: int) -> Any:
    return np.stack([np.diag(row, offset) for row in np.atleast_2d(x)]).reshape(
        *x.shape[:-1], *2 * (x.shape[-1] + abs(offset),)
    )


PADDED = (
    *(Case("nn.functional.pad", (call_with((2, 3), args=((1, 2),)), call_with((2, 1, 3), args=((2, 1),))),
           lambda x, p, mode=mode: np.pad(x, [(0, 0)] * (x.ndim - 1) + [p], mode=NUMPY_MODES[mode]),
           call=lambda x, p, mode=mode: rg.nn.functional.pad(x, p, mode=mode), form=mode)
      for mode in ("reflect", "replicate", "circular")),
    *(Case("nn.functional.pad", (call_with((1, 2, 3), args=((1, 0, 0, 1),)), call_with((1, 2, 2, 2),
         args=((1, 0, 0, 1, 1, 1),))),
           lambda x, p, mode=mode: np.pad(x,
           [(0, 0)] * (x.ndim - len(p) // 2) + [p[i : i + 2] for i in range(0, len(p), 2)][::-1],
           mode=NUMPY_MODES[mode]),
           call=lambda x, p, mode=mode: rg.nn.functional.pad(x, p, mode=mode), form=f"{mode}_dims")
      for mode in ("reflect", "replicate", "circular")),
    Case("nn.functional.pad", (call_with((2, 3), args=((1, 2),)),), lambda x, p: np.pad(x, ((0, 0), p),
         constant_values=1.5),
         call=lambda x, p: rg.nn.functional.pad(x, p, value=1.5), form="value"),
)  # fmt: skip


def padded(x: Any, widths: tuple[int, ...]) -> Any:
    pairs = [widths[i : i + 2] for i in range(0, len(widths), 2)][::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    cut = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))]
    return np.pad(cut, [(max(a, 0), max(b, 0)) for a, b in pairs])


IN_A_COPY = {"jvp": "a copy is written into"}
IN_PLACE = (
    Case("Tensor.t_", MATRIX, np.transpose, call=lambda x: (x * 1).t_(), excuses=IN_A_COPY),
    Case("Tensor.transpose_", CUBE, lambda x: np.swapaxes(x, 0, 2), call=lambda x: (x * 1).transpose_(0, 2),
         excuses=IN_A_COPY),
    Case("Tensor.squeeze_", (call_with((1, 3, 1)), *sized(0, (0, 2), of=(1, 3, 1))), np.squeeze,
         call=lambda x, *dim: (x * 1).squeeze_(*dim), excuses=IN_A_COPY),
    Case("Tensor.unsqueeze_", sized(0, -1), np.expand_dims, call=lambda x, dim: (x * 1).unsqueeze_(dim),
         excuses=IN_A_COPY),
    Case("Tensor.zero_", ONE, np.zeros_like, call=lambda x: (x * 1).zero_(), excuses=IN_A_COPY),
    Case("Tensor.fill_", ONE, lambda x: np.full_like(x, 1.5), call=lambda x: (x * 1).fill_(1.5),
         excuses=IN_A_COPY, form="number"),
    Case("Tensor.fill_", (call_with((2, 3), ()),), np.full_like, call=lambda x, y: (x * 1).fill_(y),
         excuses=IN_A_COPY, form="tensor"),
    Case("Tensor.copy_", (call_with((2, 3), (2, 3)), call_with((2, 3), (3,)), call_with((2,), ())),
         lambda x, y: np.broadcast_to(y, x.shape),
         call=lambda x, y: (x * 1).copy_(y), excuses=IN_A_COPY),
    Case("Tensor.fill_diagonal_", MATRIX, lambda x: np.where(np.eye(*x.shape, dtype=bool), 1.5, x),
         call=lambda x: (x * 1).fill_diagonal_(1.5),
         excuses=IN_A_COPY),
)  # fmt: skip


def joined(name: str) -> Any:
    return lambda *xs, **options: getattr(rg, name)(xs, **options)


def joining(function: Any) -> Any:
    return lambda *xs, dim=0: function(xs, axis=dim)


JOINS = (
    Case("cat", (call_with((2, 3), (1, 3)), call_with((2, 3), (2, 1), (2, 0), dim=1), call_with((2,)),
         call_with((3,), (2,), dim=-1),
                 call_with((2, 3), (2, 3), layout="transposed")), joining(np.concatenate), call=joined("cat")),
    Case("concat", (call_with((2, 3), (1, 3)),), joining(np.concatenate), call=joined("concat")),
    Case("stack", (call_with((2, 3), (2, 3)), call_with((2,), (2,), dim=1), call_with((), (), dim=-1),
         call_with((0,), (0,)),
                   call_with((2, 3), (2, 3), layout="strided", dim=1)), joining(np.stack), call=joined("stack")),
    Case("hstack", (call_with((2, 3), (2, 1)), call_with((3,), (2,)), call_with((), ())),
         lambda *xs: np.hstack(xs), call=joined("hstack"),
         excuses=COMPOSED),
    Case("vstack", (call_with((2, 3), (1, 3)), call_with((3,), (3,))), lambda *xs: np.vstack(xs),
         call=joined("vstack"), excuses=COMPOSED),
    Case("dstack", (call_with((2, 3), (2, 3)), call_with((3,), (3,))), lambda *xs: np.dstack(xs),
         call=joined("dstack"), excuses=COMPOSED),
    Case("column_stack", (call_with((2, 3), (2,)), call_with((3,), (3,))), lambda *xs: np.column_stack(xs),
         call=joined("column_stack"),
         excuses=COMPOSED),
    Case("meshgrid", (call_with((2,), (3,)),), lambda x, y: np.meshgrid(x, y, indexing="ij"),
         call=lambda x, y: rg.meshgrid(x, y, indexing="ij"),
         excuses=COMPOSED),
)  # fmt: skip

SPLITS = (
    Case("split", (call_with((5, 2), args=(2,)), call_with((2, 3), args=(2, 1)),
         call_with((5,), args=((1, 4),)), call_with((4,), args=(2,), layout="reversed")),
         lambda x, n, dim=0: np.split(x, list(range(n, x.shape[dim], n)) if isinstance(n,
         int) else np.cumsum(n)[:-1], dim)),
    Case("split_with_sizes", (call_with((5,), args=((1, 4),)),), lambda x, n: np.split(x, np.cumsum(n)[:-1])),
    Case("chunk", (call_with((6, 2), args=(3,)), call_with((2, 4), args=(2, 1))),
         lambda x, n, dim=0: np.split(x, n, dim)),
    Case("tensor_split", (call_with((5, 2), args=(2,)), call_with((2, 4), args=((1, 3), 1))), np.array_split,
         excuses=COMPOSED),
    *(Case(name, (call_with((2, 4, 2), args=(2,)),), function, excuses=COMPOSED)
      for name, function in (("hsplit", np.hsplit), ("vsplit", np.vsplit), ("dsplit", np.dsplit))),
    Case("unbind", (*MATRIX, *each(MATRIX, {"dim": 1}), call_with((3,))), lambda x, dim=0: list(np.moveaxis(x,
         dim, 0))),
    Case("select", (call_with((2, 3), args=(0, 1)), call_with((2, 3), args=(-1, -1)), call_with((3,), args=(0, 2))),
         lambda x, dim, i: np.take(x, i, dim)),
    Case("narrow", (call_with((2, 3), args=(1, 0, 2)), call_with((4,), args=(-1, 1, 2)),
         call_with((2, 3), args=(0, 1, 0))),
         lambda x, dim, start, n: np.take(x, range(start, start + n), dim)),
)  # fmt: skip

SHAPE = (*SIZES, *ORDER, *PADDED, *IN_PLACE, *JOINS, *SPLITS)
