"""Rows of sorting, quantiles, running extrema, distances, and the calculus of samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.spatial.distance

from tests.ops.case import Case
from tests.ops.samples import along, call_with, distinct, each

NO_ORDER = {"complex": "complex numbers have no order"}
REAL = {"complex": "PyTorch takes real tensors only"}
LINES = (
    *along(0, 1, -1),
    *along(1, shape=(2, 3, 2)),
    *along(0, shape=()),
    call_with((2, 3), layout="transposed", dim=0),
    call_with((2, 3), layout="strided", dim=1),
)


def placed(places: Callable[..., Any]) -> Callable[..., Any]:
    """Values and indices, by a function that says where they are along an axis that stays."""

    def reference(x: Any, *args: Any, dim: int = -1, keepdim: bool = True, **options: Any) -> Any:
        found = places(np.atleast_1d(x), *args, axis=dim, **options)
        values = np.take_along_axis(np.atleast_1d(x), found, dim)
        if not keepdim:
            values, found = np.squeeze(values, dim), np.squeeze(found, dim)
        return (values, found) if x.ndim else (values.reshape(()), found.reshape(()))

    return reference


def order(x: Any, axis: int, descending: bool = False, stable: bool = True) -> Any:
    return np.argsort(-x if descending else x, axis=axis, kind="stable")


def top(x: Any, k: int, axis: int, largest: bool = True) -> Any:
    return np.take(order(x, axis, largest), range(k), axis)


def ranked(x: Any, k: int, axis: int) -> Any:
    return np.take(order(x, axis), [k - 1], axis)


def reduced(places: Callable[..., Any]) -> Callable[..., Any]:
    """The same where the dimension goes unless it is kept."""
    return lambda x, *args, dim=-1, keepdim=False: placed(places)(x, *args, dim=dim, keepdim=keepdim)


def lower_middle(x: Any) -> Any:
    return np.sort(x, axis=None)[(x.size - 1) // 2]


SORTED = (
    Case("sort", (*LINES, *each(LINES[:2], {"descending": True}), *along(0, shape=(0,)), *along(1, shape=(2, 0))),
         placed(order), distinct, NO_ORDER),
    Case("sort", each(LINES[:3], {"stable": True}), placed(order), distinct, NO_ORDER, form="stable"),
    Case("msort", (call_with((3,)), call_with((2, 3)), call_with(()), call_with((2, 3), layout="transposed")),
         lambda x: np.sort(x, 0) if x.ndim else x, distinct, NO_ORDER),
    Case("topk", (call_with((4,), args=(2,)), call_with((4,), args=(0,)), call_with((3, 2), args=(3,), dim=0),
         call_with((2, 4), args=(1,), largest=False), call_with((), args=(1,))),
         placed(top), distinct, NO_ORDER),
    Case("kthvalue", (call_with((4,), args=(2,)), call_with((3, 2), args=(3,), dim=0), call_with((), args=(1,)),
         call_with((2, 4), args=(1,), dim=1, keepdim=True)),
         reduced(ranked), distinct, NO_ORDER),
    Case("median", (call_with((4,)), call_with((2, 3)), call_with(())), lower_middle, distinct, NO_ORDER),
    Case("nanmedian", (call_with((4,)), call_with((2, 3)), call_with(())), lower_middle, distinct, NO_ORDER),
    *(
        Case(name, (*LINES, *each(LINES[:2], {"keepdim": True})),
             reduced(lambda x, axis: ranked(x, (x.shape[axis] + 1) // 2, axis)), distinct, NO_ORDER, form="dim")
        for name in ("median", "nanmedian")
    ),
    Case("mode", (*LINES, *each(LINES[:2], {"keepdim": True})), reduced(lambda x, axis: ranked(x, 1, axis)), distinct,
         NO_ORDER),
)  # fmt: skip

LEVELS = np.array([0.3, 0.0, 0.85])
COMPOSED = {"jvp": "sorted, gathered and interpolated", "float32": "the levels must have the input's dtype"}


def quantile(x: Any, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear") -> Any:
    return np.quantile(x, q, axis=dim if x.ndim else None, keepdims=keepdim, method=interpolation)


QUANTILES = tuple(
    Case(name, (call_with((5,), args=(0.3,)), call_with((2, 3), args=(LEVELS,)), call_with((), args=(0.5,)),
         call_with((2, 3), args=(LEVELS,), dim=0), call_with((3, 4), args=(0.4,), dim=1, keepdim=True),
         *each((call_with((4,), args=(0.3,)),), *({"interpolation": i} for i in
               ("lower", "higher", "midpoint", "nearest")))),
         quantile, distinct, NO_ORDER | COMPOSED)
    for name in ("quantile", "nanquantile")
)  # fmt: skip


def running(ufunc: Any) -> Callable[..., Any]:
    def reference(x: Any, dim: int) -> Any:
        if not x.ndim:
            return x, np.array(0)
        values = ufunc.accumulate(x, axis=dim)
        line = np.arange(x.shape[dim]).reshape([-1 if i == dim % x.ndim else 1 for i in range(x.ndim)])
        return values, np.maximum.accumulate(np.where(x == values, line, 0), axis=dim)

    return reference


SCANS = (
    Case("cummax", (*LINES, *along(0, shape=(0,))), running(np.maximum), distinct, NO_ORDER),
    Case("cummin", (*LINES, *along(0, shape=(0,))), running(np.minimum), distinct, NO_ORDER),
    Case("logcumsumexp", (*LINES, *along(0, shape=(6,)), *along(0, shape=(0,))),
         lambda x, dim: np.log(np.cumsum(np.exp(x), axis=dim)) if x.ndim else x),
)  # fmt: skip


# -- distances -------------------------------------------------------------------------------------

POWERS = (0.5, 1.0, 1.5, 2.0, 3.0, float("inf"))


def length(d: Any, p: float, axis: Any = -1, keepdims: bool = False) -> Any:
    size = np.abs(d)
    if p == float("inf"):
        return size.max(axis=axis, keepdims=keepdims)
    return (size**p).sum(axis=axis, keepdims=keepdims) ** (1 / p)


def shortened(x: Any, p: float, dim: int, most: float) -> Any:
    norm = length(x, p, tuple(i for i in range(x.ndim) if i != dim % x.ndim), True)
    return x * np.where(norm > most, most / (norm + 1e-7), 1)


def cosine(x: Any, y: Any, dim: int = 1) -> Any:
    along_dim = {"axis": dim, "keepdims": True}
    x, y = np.broadcast_arrays(x, y)
    return (x / length(x, 2, **along_dim) * (y / length(y, 2, **along_dim))).sum(axis=dim)


DISTANCES = (
    *(
        Case("dist", (call_with((2, 3), (2, 3), p=p), call_with((2, 3), (3,), p=p), call_with((), (), p=p)),
             lambda x, y, p: length(x - y, p, None), distinct, form=f"order_{p}")
        for p in POWERS
    ),
    *(
        Case("cdist", (call_with((3, 2), (4, 2), p=p), call_with((2, 3, 2), (2, 1, 2), p=p),
             call_with((3, 2), (4, 2), layout="transposed", p=p), call_with((0, 2), (2, 2), p=p)),
             lambda x, y, p: length(x[..., :, None, :] - y[..., None, :, :], p), distinct, REAL, form=f"order_{p}")
        for p in POWERS
    ),
    Case("cdist", (call_with((3, 2), (4, 2), compute_mode="use_mm_for_euclid_dist"), call_with((27, 2), (2, 2))),
         lambda x, y, compute_mode="": scipy.spatial.distance.cdist(x, y), distinct,
         REAL | {"jvp": "reshaped afterwards"}, form="by_product"),
    *(
        Case("pdist", (call_with((3, 2), p=p), call_with((4, 3), layout="strided", p=p)),
             lambda x, p: length(x[np.triu_indices(len(x), 1)[0]] - x[np.triu_indices(len(x), 1)[1]], p),
             distinct, REAL, form=f"order_{p}")
        for p in POWERS
    ),
    *(
        Case("renorm", (call_with((3, 2), args=(p, 0, 0.9)), call_with((2, 3), args=(p, -1, 1.1)),
             call_with((2, 2, 2), args=(p, 1, 0.5))),
             shortened, distinct, form=f"order_{p}")
        for p in POWERS
    ),
    Case("cosine_similarity", (call_with((2, 3), (2, 3)), call_with((2, 3), (3,)), call_with((3,), (3,), dim=0),
         call_with((2, 3, 2), (2, 3, 2), dim=-2)),
         cosine, excuses=REAL | {"jvp": "divided, multiplied and summed"}),
    Case("pairwise_distance", (call_with((2, 3), (2, 3)), call_with((2, 3), (3,), keepdim=True),
         call_with((3,), (3,), p=3.0)),
         lambda x, y, p=2.0, keepdim=False: length(x - y + 1e-6, p, -1, keepdim),
         excuses={"jvp": "the norm of a difference"}),
    Case("nn.functional.normalize", (call_with((2, 3)), call_with((2, 3), dim=0, p=3.0), call_with((2, 3, 2), dim=(0, 1))),
         lambda x, p=2.0, dim=1: x / length(x, p, dim, True), excuses={"jvp": "divided by the norm"}),
    Case("norm_except_dim", (call_with((2, 3)), call_with((2, 3), args=(1, 1)), call_with((2, 3, 2), args=(2, 1)),
         call_with((2, 3), args=(3, -1))),
         lambda x, p=2, dim=0: length(x, p, None if dim < 0 else tuple(i for i in range(x.ndim) if i != dim), dim >= 0),
         excuses={"jvp": "the norm of a matrix"}),
    Case("_weight_norm", (call_with((2, 3), (2, 1)), call_with((2, 3, 2), (1, 1, 2), args=(2,))),
         lambda v, g, dim=0: v * (g / length(v, 2, tuple(i for i in range(v.ndim) if i != dim), True)), excuses=REAL),
)  # fmt: skip


# -- calculus and statistics -----------------------------------------------------------------------

SLICED = {"jvp": "made of slices"}


def integral(y: Any, x: Any = None, dx: float = 1.0, dim: int = -1) -> Any:
    return np.trapezoid(y, x, dx, dim)


def so_far(y: Any, x: Any = None, dx: float = 1.0, dim: int = -1) -> Any:
    return scipy.integrate.cumulative_trapezoid(y, x, dx, dim)


def slopes(x: Any, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    given = [] if spacing is None else list(spacing) if isinstance(spacing, tuple) else [spacing]
    found = np.gradient(x, *given, axis=dim, edge_order=edge_order)
    return found if isinstance(found, (tuple, list)) else (found,)


CALCULUS = (
    Case("diff", (call_with((4,)), call_with((4,), n=2), call_with((2, 3), dim=0), call_with((2, 3), layout="strided"),
         call_with((0,)), call_with((1,))),
         lambda x, n=1, dim=-1: np.diff(x, n, dim), excuses=SLICED),
    Case("diff", (call_with((2, 3), prepend=np.ones((2, 1)), append=np.ones((2, 2))),),
         lambda x, prepend, append: np.diff(x, 1, -1, prepend, append), excuses=SLICED | {
             "float32": "what is put before and behind is double precision"}, form="with_more"),
    *(
        Case(name, (call_with((3,)), call_with((2, 3), dx=0.5), call_with((3, 2), dim=0)), reference, excuses=SLICED)
        for name, reference in (("trapezoid", integral), ("trapz", integral), ("cumulative_trapezoid", so_far))
    ),
    *(
        Case(name, (call_with((3,), (3,)), call_with((2, 3), (2, 3)), call_with((3, 2), (3, 2), dim=0)), reference,
             excuses=SLICED, form="places")
        for name, reference in (("trapezoid", integral), ("cumulative_trapezoid", so_far))
    ),
    Case("gradient", (call_with((4,)), call_with((3, 3)), call_with((3, 4), dim=1, edge_order=2, spacing=0.5),
         call_with((3, 2), dim=0, spacing=2.0)),
         slopes, excuses=SLICED),
    Case("nanmean", (call_with((3,)), *along(0, (0, 1)), *along(-1, keepdim=True), call_with(())),
         lambda x, dim=None, keepdim=False: np.nanmean(x, axis=dim, keepdims=keepdim),
         excuses=REAL | {"jvp": "a sum, divided"}),
    Case("cov", (call_with((3,)), call_with((2, 4)), call_with((2, 4), correction=0), call_with((3, 4), layout="strided"),
         call_with((2, 3), fweights=np.array([1, 2, 1]))),
         lambda x, correction=1, fweights=None: np.cov(x, ddof=correction, fweights=fweights),
         excuses={"jvp": "a product of matrices"}),
    Case("corrcoef", (call_with((2, 4)), call_with((3, 5), layout="strided")), np.corrcoef,
         excuses={"jvp": "a product of matrices, divided"}),
)  # fmt: skip

SORTING = (*SORTED, *QUANTILES, *SCANS, *DISTANCES, *CALCULUS)
