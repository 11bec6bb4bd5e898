"""Operations without a derivative, which have no row in the op table: all samples at once give what a loop gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd import func

F = rg.nn.functional
X = rg.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=rg.float64)
Y = rg.tensor([[0.5, 1.0, -2.0], [1.5, 0.5, -0.75]], dtype=rg.float64)
M = rg.tensor([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 2.0], [2.0, 4.0]]], dtype=rg.float64)
I = rg.tensor([[3, 1, 2], [1, 1, 3]])
J = rg.tensor([[1, 2, 2], [3, 1, 1]])
B = rg.tensor([[True, False, True], [True, True, False]])

ROWS: dict[str, tuple[Any, ...]] = {
    "eq": (lambda x, y: x == y, X, Y),
    "lt": (rg.lt, X, Y),
    "isclose": (rg.isclose, X, Y),
    "isposinf": (lambda x: rg.isposinf(x / 0), X),
    "isneginf": (lambda x: rg.isneginf(x / 0), X),
    "isfinite": (lambda x: rg.isfinite(x / (x - 0.5)), X),
    "signbit": (rg.signbit, X),
    "signbit of whole numbers": (lambda i: rg.signbit(i - 2), I),
    "floor_divide": (rg.floor_divide, X, Y),
    "division of whole numbers": (rg.div, I, J),
    "division by a number": (lambda i: i / 2, I),
    "atan2 of whole numbers": (rg.atan2, I, J),
    "xlogy of whole numbers": (rg.xlogy, I, J),
    "bitwise": (lambda i, j: (i & j) ^ (i | j), I, J),
    "shift": (lambda i, j: i << j, I, J),
    "gcd": (rg.gcd, I, J),
    "logical": (lambda b, x: rg.logical_and(b, x > 0), B, X),
    "all, any": (lambda b: (b.all(), b.any(), b.any(0)), B),
    "count_nonzero": (rg.count_nonzero, B),
    "argmax": (lambda x: (x.argmax(), x.argmin(0, keepdim=True)), X),
    "argsort": (lambda x: rg.argsort(x, descending=True), X),
    "isin": (rg.isin, I, J),
    "searchsorted": (lambda x, y: rg.searchsorted(x.sort().values, y), X, Y),
    "bucketize": (lambda x: rg.bucketize(x, rg.tensor([-1.0, 0.5, 1.0], dtype=rg.float64)), X),
    "one_hot": (lambda i: F.one_hot(i, 5), I),
    "bincount": (lambda i: rg.bincount(i, minlength=6), I),
    "bincount of the same largest number": (rg.bincount, I),
    "bincount with weights": (lambda i, x: rg.bincount(i, x, 6), I, X),
    "histc": (lambda x: rg.histc(x, 4, -1.5, 1.5), X),
    "histogram": (lambda x: tuple(rg.histogram(x, 4, range=(-1.5, 1.5))), X),
    "histogram with edges and weights": (
        lambda x, y: tuple(rg.histogram(x, rg.tensor([-1.0, 0.0, 2.0], dtype=x.dtype), weight=y, density=True)), X, Y,
    ),
    "matrix_rank": (rg.linalg.matrix_rank, M),
    "matrix_rank of Hermitian matrices": (lambda m: rg.linalg.matrix_rank(m, hermitian=True), M),
    "nextafter": (rg.nextafter, X, Y),
    "cross_entropy, smoothed and weighted": (
        lambda x, i: F.cross_entropy(rg.stack([x, -x]), i[:2] - 1, weight=x.exp(), label_smoothing=0.2), X, I,
    ),
    "cross_entropy, smoothed and with a class left out": (
        lambda x, i: F.cross_entropy(rg.stack([x, -x]), i[:2] - 1, ignore_index=2, label_smoothing=0.2), X, I,
    ),
}  # fmt: skip


def results(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("name", ROWS)
def test_all_samples_at_once(name):
    f, *args = ROWS[name]
    single = [results(f(*[a[i] for a in args])) for i in range(2)]
    wanted = [np.stack([np.asarray(s.array) for s in column]) for column in zip(*single, strict=True)]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "There is a performance drop")
        found = results(func.vmap(f)(*args))
        nested = results(func.vmap(func.vmap(f))(*[rg.stack([a, a]) for a in args]))
    for f, n, w in zip(found, nested, wanted, strict=True):
        assert f.dtype == w.dtype
        np.testing.assert_allclose(f.array, w)
        np.testing.assert_allclose(n.array, np.stack([w, w]))


def test_results_whose_size_differs():
    with pytest.raises(RuntimeError, match="output dynamic shape: bincount without a minlength"):
        func.vmap(rg.bincount)(rg.tensor([[1, 2], [1, 3]]))
