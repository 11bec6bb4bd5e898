"""Every row of the op table inside of vmap: all samples at once give what a loop over them gives."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd import func
from tests.ops.case import Case, find
from tests.ops.cases import CASES
from tests.ops.checks import about, differentiable, results, some
from tests.ops.samples import Array, Sample, laid_out

SAMPLES = 3
CLOSE = {"rtol": 1e-9, "atol": 1e-11}

# Rows that a check does not fit, and why.
NOT_BATCHED = {
    "Tensor.to-another device": "a batch lives on the CPU",
}
WRITTEN_INTO = "the tensor that is written into is shared, and has no room for all samples"
SHARED_OPERAND = {
    f"Tensor.{name}": WRITTEN_INTO
    for name in (
        "copy_", "__setitem__-broadcast", "__setitem__-element", "__setitem__-ellipsis", "__setitem__-mask",
        "__setitem__-mask_of_one", "__setitem__-row", "__setitem__-slice", "__setitem__-tensor",
        *(f"{op}_-tensor" for op in ("eq", "fill", "ge", "gt", "le", "lt", "ne")),
    )
}  # fmt: skip
DYNAMIC = "how large the result is depends on the argument"
BATCHED_ARGUMENTS = {
    "masked_select": DYNAMIC,
    "repeat_interleave": DYNAMIC,
    **{f"segment_reduce-{how}": DYNAMIC for how in ("max", "mean", "min", "prod", "sum")},
}
FORWARD_MODE = {"linalg.svd-full": "has no forward-mode derivative"}

every_row = pytest.mark.parametrize("case", CASES, ids=str)


def over_samples(function: Callable[..., Any], in_dims: Any = 0) -> Callable[..., Any]:
    """vmap, in which a row that falls back on a loop fails."""

    def call(*args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "There is a performance drop")
            return func.vmap(function, in_dims=in_dims, randomness="same")(*args)

    return call


def excused(case: Case, *reasons: dict[str, str]) -> None:
    for table in (NOT_BATCHED, *reasons):
        if str(case) in table:
            pytest.skip(table[str(case)])


def batches(case: Case) -> Iterator[tuple[Sample, list[list[Array]]]]:
    """Every sample of a row in every dtype, as several with other numbers."""
    for dtype in case.dtypes:
        for sample in case.samples:
            with about(case, sample, dtype):
                yield sample, [_arrays(case, sample, dtype, i) for i in range(SAMPLES)]


def _arrays(case: Case, sample: Sample, dtype: str, number: int) -> list[Array]:
    rng = np.random.default_rng(zlib.crc32(repr(sample.shapes).encode()) + number)
    made = []
    for i, shape in enumerate(sample.shapes):
        count = int(np.prod(shape))
        values = case.domains[i % len(case.domains)](rng, count)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * rng.uniform(0.3, 1.2, count) * rng.choice([-1.0, 1.0], count)
        made.append(laid_out(values.astype(dtype).reshape(shape), sample.layout))
    return made


def tensors(arrays: Sequence[Array]) -> tuple[rg.Tensor, ...]:
    return tuple(rg.Tensor(np.asarray(a), share=True) for a in arrays)


def stacked(rows: Sequence[Sequence[Array]]) -> list[Array]:
    return [np.stack([np.asarray(v) for v in column]) for column in zip(*rows, strict=True)]


def close(found: Sequence[rg.Tensor], wanted: Sequence[Array]) -> None:
    assert len(found) == len(wanted)
    for f, w in zip(found, wanted, strict=True):
        assert f.shape == w.shape
        assert f.dtype == w.dtype
        np.testing.assert_allclose(f.detach().array, w, **CLOSE)


def values(found: Any) -> list[Array]:
    return [t.detach().array for t in results(found)]


@every_row
def test_forward(case):
    excused(case)
    for sample, rows in batches(case):
        with about(case, sample):
            wanted = stacked([values(case.run(sample, tensors(row))) for row in rows])
            f = over_samples(lambda *xs: tuple(results(case.run(sample, list(xs)))))
            close(f(*tensors(stacked(rows))), wanted)


@every_row
def test_one_operand_has_samples_and_the_others_are_shared(case):
    excused(case, SHARED_OPERAND)
    for sample, rows in batches(case):
        count = len(sample.shapes)
        for k in range(count if count > 1 else 0):
            with about(case, sample, f"operand {k}"):
                chosen = [[row[k] if j == k else rows[0][j] for j in range(count)] for row in rows]
                wanted = stacked([values(case.run(sample, tensors(row))) for row in chosen])
                args = [stacked(rows)[k] if j == k else rows[0][j] for j in range(count)]
                dims = tuple(0 if j == k else None for j in range(count))
                f = over_samples(lambda *xs: tuple(results(case.run(sample, list(xs)))), dims)
                close(f(*tensors(args)), wanted)


@every_row
def test_gradients(case):
    """By vjp inside of vmap, by a backward through vmap, and by a batch of gradients through one graph."""
    excused(case)
    for sample, rows in batches(case):
        with about(case, sample):
            xs = tensors(stacked(rows))
            gs = some(
                stacked([values(differentiable(case.run(sample, tensors(row)))) for row in rows]), seed=6
            )
            wanted = stacked([_gradients(case, sample, row, gs, i) for i, row in enumerate(rows)])

            def f(*xs: Any) -> Any:
                return tuple(differentiable(case.run(sample, list(xs))))

            inside = over_samples(lambda xs, gs: func.vjp(f, *xs)[1](gs))
            close(inside(xs, tensors(gs)), wanted)
            leaves = [x.requires_grad_() for x in xs]
            outs = over_samples(f)(*leaves)
            options = {"allow_unused": True, "materialize_grads": True}
            close(rg.autograd.grad(outs, leaves, tensors(gs), **options), wanted)
            seeded = over_samples(func.vjp(f, *tensors(rows[0]))[1])(tensors(gs))
            close(seeded, stacked([_gradients(case, sample, rows[0], gs, i) for i in range(SAMPLES)]))


def _gradients(case: Case, sample: Sample, row: list[Array], gs: Sequence[Array], i: int) -> list[Array]:
    xs = [x.requires_grad_() for x in tensors(row)]
    outs = differentiable(case.run(sample, xs))
    seeds = tensors([g[i] for g in gs])
    found = rg.autograd.grad(outs, xs, seeds, allow_unused=True, materialize_grads=True)
    return [f.array for f in found]


@every_row
def test_tangents(case):
    """By jvp inside of vmap, and by a batch of tangents of one input."""
    excused(case, FORWARD_MODE)
    for sample, rows in batches(case):
        with about(case, sample):
            ts = some(stacked(rows), seed=5)

            def push(xs: Any, ts: Any) -> Any:
                return func.jvp(lambda *xs: tuple(differentiable(case.run(sample, list(xs)))), xs, ts)[1]

            own = [tensors([t[i] for t in ts]) for i in range(SAMPLES)]
            wanted = stacked([values(push(tensors(row), t)) for row, t in zip(rows, own, strict=True)])
            close(over_samples(push)(tensors(stacked(rows)), tensors(ts)), wanted)
            wanted = stacked([values(push(tensors(rows[0]), t)) for t in own])
            close(over_samples(lambda t: push(tensors(rows[0]), t))(tensors(ts)), wanted)


@every_row
def test_indices_and_other_arguments_have_samples_too(case):
    excused(case, BATCHED_ARGUMENTS)
    for sample, rows in batches(case):
        given = [a for a in (*sample.args, *sample.kwargs.values()) if isinstance(a, np.ndarray)]
        if not given:
            continue
        with about(case, sample):
            count = len(sample.shapes)
            wanted = stacked([values(case.run(sample, tensors(row))) for row in rows])
            f = over_samples(lambda *xs: _with_arguments(case, sample, xs[:count], xs[count:]))
            arguments = tensors([np.stack([a] * SAMPLES) for a in given])
            close(f(*tensors(stacked(rows)), *arguments), wanted)
            only = over_samples(lambda *args: _with_arguments(case, sample, tensors(rows[0]), args))
            close(only(*arguments), stacked([values(case.run(sample, tensors(rows[0])))] * SAMPLES))


def _with_arguments(case: Case, sample: Sample, xs: Sequence[Any], given: Sequence[Any]) -> Any:
    """The op with other tensors in the place of its array arguments."""
    left = iter(given)
    args = [next(left) if isinstance(a, np.ndarray) else a for a in sample.args]
    kwargs = {k: next(left) if isinstance(a, np.ndarray) else a for k, a in sample.kwargs.items()}
    return tuple(results((case.call or find(case.name))(*xs, *args, **kwargs)))


def test_every_excuse_names_a_row():
    rows = {str(case) for case in CASES}
    for table in (NOT_BATCHED, SHARED_OPERAND, BATCHED_ARGUMENTS, FORWARD_MODE):
        assert set(table) <= rows
