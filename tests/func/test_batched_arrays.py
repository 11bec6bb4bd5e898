"""Batched arrays: every function of NumPy that has a rule does to a batch what it does to each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from retrograd.backends.batch.array import (
    RULES,
    BatchedArray,
    Level,
    constant,
    on_levels,
    packed,
    summed_over,
    unpacked,
)
from retrograd.backends.batch.backend import backend_on
from retrograd.backends.batch.shape import DataDependent, Unbatchable

COUNT = 4
rng = np.random.default_rng(0)
A, B, V = (
    rng.standard_normal((COUNT, 3, 5)),
    rng.standard_normal((COUNT, 5, 2)),
    rng.standard_normal((COUNT, 5)),
)
SHARED = rng.standard_normal((3, 5))
I = np.array([[0, 2], [1, 1], [2, 0], [0, 0]])
SQUARE = rng.standard_normal((COUNT, 3, 3)) + 4 * np.eye(3)
COMPLEX = A + 1j * rng.standard_normal(A.shape)
WIDE = rng.standard_normal((COUNT, 3, 5, 6))


def check(function: Callable[..., Any], *batched: Any) -> None:
    """Compares with a loop, on batched operands and on those that are the same for all samples."""
    level = Level(COUNT)
    found = function(*[BatchedArray(b, level) for b in batched])
    close(found, [function(*[b[i] for b in batched]) for i in range(COUNT)], level)
    same = [BatchedArray(b[:1], level) for b in batched]
    close(function(*same), [function(*[b[0] for b in batched])] * COUNT, level)
    outer, inner = Level(COUNT), Level(2)
    nested = function(*[BatchedArray(BatchedArray(np.stack([b, b], 1), outer), inner) for b in batched])
    for twice, once in zip(parts(nested), parts(found), strict=True):
        wanted = unpacked(once, level)
        np.testing.assert_allclose(unpacked(unpacked(twice, outer), inner), [wanted, wanted], atol=1e-12)


def parts(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def close(found: Any, rows: list[Any], level: Level) -> None:
    for k, part in enumerate(parts(found)):
        wanted = np.stack([np.asarray(parts(r)[k]) for r in rows])
        value = unpacked(part, level)
        assert value.shape == wanted.shape
        assert value.dtype == wanted.dtype
        np.testing.assert_allclose(value, wanted, atol=1e-12)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "operators": (lambda a, v: -(a + v) * 2 - a / 3 + v**2 + abs(a) // 1 + a % 2, (A, V)),
    "with what is shared": (lambda a: a * SHARED + SHARED[0] - SHARED[:, :1], (A,)),
    "comparisons": (lambda a, v: ((a > v) & (a <= 1)) | ~(a == v), (A, V)),
    "two results of a ufunc": (lambda a: np.frexp(a), (A,)),
    "out": (lambda a, v: np.add(a, v, out=np.zeros_like(a)), (A, V)),
    "where": (lambda a, v: np.add(a, v, out=a.copy(), where=a > 0), (A, V)),
    "reduce": (lambda a: (a.sum(), a.sum(0), a.max(axis=-1, keepdims=True), a.mean((0, 1)), a.var(1)), (A,)),
    "reduce methods": (lambda a: (np.add.reduce(a, 1), np.maximum.accumulate(a, axis=1)), (A,)),
    "outer": (lambda a: np.multiply.outer(a, a), (A,)),
    "reduceat": (lambda a: np.add.reduceat(a, [0, 2], axis=1), (A,)),
    "any and all": (lambda a: ((a > 0).any(1), (a > 0).all(), (a > 9).any()), (A,)),
    "places of extrema": (lambda a: (a.argmax(), a.argmin(1), np.argmax(a, axis=0, keepdims=True)), (A,)),
    "running": (lambda a: (a.cumsum(), a.cumsum(1), np.cumprod(a, axis=0), np.diff(a), np.diff(a, axis=0)), (A,)),
    "order": (lambda a: (np.sort(a), np.sort(a, axis=None), np.argsort(a, axis=0), np.partition(a, 1, axis=1)), (A,)),
    "medians": (lambda a: (np.median(a), np.median(a, axis=0), np.quantile(a, [0.25, 0.5], axis=1), np.ptp(a)), (A,)),
    "count": (lambda a: (np.count_nonzero(a > 0), np.count_nonzero(a > 0, axis=1)), (A,)),
    "turns": (lambda a: (np.flip(a), np.flip(a, 1), np.roll(a, 2), np.roll(a, 1, 0), np.rot90(a)), (A,)),
    "repeat": (lambda a: (np.repeat(a, 2), np.repeat(a, 2, 0), np.tile(a, 2), np.tile(a, (2, 1, 1))), (A,)),
    "shape": (lambda a: (a.reshape(5, 3), a.reshape(-1), a.ravel(), a.T, a.transpose(1, 0), a.swapaxes(0, 1)), (A,)),
    "axes": (lambda a: (np.moveaxis(a, 0, 1), np.expand_dims(a, (0, -1)), a[None].squeeze(0), a[None].squeeze()), (A,)),
    "at least": (lambda v: (np.atleast_1d(v), np.atleast_2d(v), np.atleast_3d(v)), (V,)),
    "broadcast": (lambda v: (np.broadcast_to(v, (2, 5)), np.broadcast_arrays(v, np.ones((2, 1)))[0]), (V,)),
    "triangles": (lambda a: (np.tril(a), np.triu(a, 1), a.diagonal(), a.trace(), np.diagonal(a, 1)), (A,)),
    "split": (lambda a: (*np.split(a, [2], 1), *np.array_split(a, 2)), (A,)),
    "join": (lambda a, v: (np.concatenate([a, v[None]]), np.stack([a, a], 1), np.append(a, v)), (A, V)),
    "join with shared": (lambda a: (np.concatenate([a, SHARED], 1), np.stack([SHARED, a])), (A,)),
    "like": (lambda a: (np.zeros_like(a), np.ones_like(a), np.full_like(a, 3), np.copy(a)), (A,)),
    "elementwise": (lambda a: (np.where(a > 0, a, 0), np.clip(a, -1, 1), np.nan_to_num(a), np.round(a, 1)), (A,)),
    "complex": (lambda c: (c.real, c.imag, c.conj(), np.angle(c), np.abs(c)), (COMPLEX,)),
    "close": (lambda a: np.isclose(a, a + 1e-12), (A,)),
    "matmul": (lambda a, b, v: (a @ b, a @ v, v @ b, v @ v), (A, B, V)),
    "matmul with shared": (lambda a, v: (a @ SHARED.T, SHARED @ v, v @ SHARED.T, SHARED.T @ a), (A, V)),
    "more matmul": (lambda w, b: (w @ np.ones((6, 2)), np.ones((4, 1, 2, 3)) @ w[:, 0], b.T @ w[0]), (WIDE, B)),
    "dot": (lambda a, b, v: (np.dot(a, b), np.dot(v, v), np.inner(a, v), np.outer(v, v), np.vdot(v, v)), (A, B, V)),
    "tensordot": (lambda a, b: (np.tensordot(a, b, 1), np.tensordot(a, a, ([0, 1], [0, 1]))), (A, B)),
    "einsum": (lambda a, b: (np.einsum("ij,jk->ik", a, b), np.einsum("ij,kj", a, SHARED)), (A, B)),
    "einsum to a number": (lambda a: np.einsum("ij->", a), (A,)),
    "cross": (lambda s: np.cross(s, s[::-1]), (SQUARE,)),
    "inverse": (lambda s: (np.linalg.inv(s), np.linalg.det(s), *np.linalg.slogdet(s)), (SQUARE,)),
    "factors": (lambda s: (*np.linalg.qr(s), np.linalg.cholesky(s @ s.swapaxes(0, 1))), (SQUARE,)),
    "solve": (lambda s: (np.linalg.solve(s, s), np.linalg.solve(s, np.ones(3))), (SQUARE,)),
    "fft": (lambda a: (np.fft.fft(a), np.fft.rfft(a, axis=0), np.fft.fftn(a), np.fft.fftshift(a)), (A,)),
    "basic index": (lambda a: (a[0], a[:, 1], a[..., None], a[1:, ::2], a[-1, -1], a[:, None, 0]), (A,)),
    "index of each": (lambda a, i: (a[i], a[:, i], a[i, i], a[i, :, None], a[..., i]), (A, I)),
    "shared index": (lambda a: (a[[0, 2]], a[:, [1, 2]], a[[0, 1], [2, 3]], a[0, [2, 3]]), (A,)),
    "shared mask": (lambda a: a[np.array([True, False, True])], (A,)),
    "wide index": (lambda w, i: (w[i, :, i], w[:, i, i], w[:, i, 0], w[0, :, i], w[[0, 1], :, [2, 3]]), (WIDE, I)),
    "take": (lambda a, i: (np.take(a, i, 0), np.take(a, i), np.take_along_axis(a[:2], i[:, None], 1)), (A, I)),
    "search": (lambda a, v: (np.searchsorted(np.sort(v), a), np.searchsorted(np.sort(v), v, side="right")), (A, V)),
    "isin": (lambda i: (np.isin(i, [0, 1]), np.isin(np.arange(3), i)), (I,)),
    "bincount": (lambda i: (np.bincount(i, minlength=4), np.bincount(i, weights=i * 2.0, minlength=4)), (I,)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_batch_is_what_its_samples_are(name):
    function, operands = FUNCTIONS[name]
    check(function, *operands)


def written(write: Callable[..., None]) -> Callable[..., Any]:
    def run(a: Any, *more: Any) -> Any:
        out = a.copy()
        write(out, *more)
        return out

    return run


WRITES: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
    "all": (lambda a, v: a.__setitem__(..., v), (A, V)),
    "row": (lambda a, v: a.__setitem__(0, v), (A, V)),
    "number": (lambda a: a.__setitem__((slice(None), 1), 7.0), (A,)),
    "rows of each": (lambda a, i, v: a.__setitem__(i, v), (A, I, V)),
    "columns of each": (lambda w, i: w.__setitem__((slice(None), i), 5.0), (WIDE, I)),
    "apart": (lambda w, i: w.__setitem__((i, slice(None), i), np.ones((2, 5))), (WIDE, I)),
    "mask of each": (lambda a, m: a.__setitem__(m > 0, 0.0), (A, A)),
    "added": (lambda a, i: np.add.at(a, i, 1.0), (A, I)),
    "added in columns": (lambda a, i: np.add.at(a, (slice(None), i), 1.0), (A, I)),
    "along": (lambda a, i: np.put_along_axis(a, i[None] * np.ones((3, 1), int), 9.0, 1), (A, I)),
    "copyto": (lambda a, v: np.copyto(a, v, where=a > 0), (A, V)),
    "in place": (lambda a, v: a.__iadd__(v), (A, V)),
    "sorted": (lambda a: a.sort(0), (A,)),
    "filled": (lambda a: a.fill(2.0), (A,)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_writes(name):
    write, operands = WRITES[name]
    if name == "rows of each":
        operands = (A, np.array([[0, 2], [1, 0], [2, 0], [0, 1]]), V)
    level = Level(COUNT)
    found = written(write)(*[BatchedArray(o, level) for o in operands])
    close(found, [written(write)(*[o[i] for o in operands]) for i in range(COUNT)], level)


def test_no_rule_is_for_a_function_that_does_not_exist():
    assert all(callable(rule) for rule in RULES.functions.values())


def test_nested_levels_are_those_of_numpy_with_more_dimensions():
    outer, inner = Level(2), Level(COUNT)
    value = rng.standard_normal((2, COUNT, 3))
    x = on_levels(value, (inner, outer))
    assert x.shape == (3,)
    assert x.shape.levels == (inner, outer)
    found = np.exp(x) @ SHARED + SHARED[0]
    np.testing.assert_allclose(unpacked(unpacked(found, inner), outer), np.exp(value) @ SHARED + SHARED[0])


def test_into_and_out_of_a_level_that_is_not_the_newest():
    old, new = Level(2), Level(COUNT)
    value = rng.standard_normal((3, COUNT, 2))
    x = packed(packed(value, 2, old), 1, new)
    assert x.shape == (3,)
    assert packed(packed(value, 1, new), 1, old).level is new
    np.testing.assert_allclose(unpacked(unpacked(x, old), new), value.transpose(1, 2, 0))
    np.testing.assert_allclose(unpacked(summed_over(x, old), new), value.sum(2).T)
    np.testing.assert_allclose(summed_over(constant(value, (old,)), old), value * 2)


def test_new_arrays_have_room_for_every_sample():
    level = Level(COUNT)
    xp = backend_on((level,))
    for made in (xp.zeros(3), xp.ones((2, 3)), xp.empty(3), xp.full((3,), 2.0)):
        assert made.value.shape[0] == COUNT
    assert xp.full((3,), BatchedArray(np.arange(4.0), level)).value[2, 1] == 2.0
    assert xp.arange(3).shape == (3,)


@pytest.mark.parametrize(
    "ask", [bool, int, float, complex, np.asarray, BatchedArray.item, BatchedArray.tolist]
)
def test_no_sample_is_told_from_the_others(ask):
    with pytest.raises(DataDependent):
        ask(BatchedArray(np.ones(COUNT), Level(COUNT)))


def test_what_has_no_room_is_not_written_into():
    level = Level(COUNT)
    x = BatchedArray(A, level)
    with pytest.raises(Unbatchable, match="inplace arithmetic"):
        np.add(x, 1, out=np.zeros((3, 5)))
    with pytest.raises(Unbatchable, match="inplace arithmetic"):
        BatchedArray(A[:1].copy(), level)[...] = x


def test_a_function_without_a_rule_says_so():
    with pytest.raises(Unbatchable, match="there is no rule for"):
        np.interp(BatchedArray(V, Level(COUNT)), [0.0, 1.0], [0.0, 1.0])


@pytest.mark.parametrize(
    "function", [np.nonzero, np.unique, lambda x: x[x > 0], lambda x: np.bincount(x > 0)]
)
def test_results_of_unknown_size_are_refused(function):
    with pytest.raises(Unbatchable, match="dynamic shape"):
        function(BatchedArray(V, Level(COUNT)))
