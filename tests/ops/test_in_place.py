"""In-place forms: what `f_` does to a tensor is what `f` gives, in value, gradient and graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.ops.case import Case, as_argument
from tests.ops.cases import CASES
from tests.ops.checks import about, leaves, some
from tests.ops.samples import Sample


def method(case: Case) -> str:
    return case.name.rpartition(".")[2] + "_"


# Rows that call the function in a way of their own are forms of rows that do not.
TWINS = [
    c for c in CASES if c.call is None and hasattr(rg.Tensor, method(c)) and not c.name.startswith("nn.")
]


def written(case: Case, sample: Sample, target: Any, others: Any) -> Any:
    args = [as_argument(a) for a in sample.args]
    kwargs = {k: as_argument(v) for k, v in sample.kwargs.items()}
    return getattr(target, method(case))(*others, *args, **kwargs)


def fits(case: Case, sample: Sample, arrays: Any) -> bool:
    """Whether the result can take the place of the first input."""
    with rg.no_grad():
        out = case.run(sample, [rg.Tensor(a, share=True) for a in arrays])
    return isinstance(out, rg.Tensor) and out.shape == arrays[0].shape and out.dtype == arrays[0].dtype


def gradients(out: Any, xs: Any) -> list[Any]:
    (g,) = some([out.detach().array], seed=1)
    found = rg.autograd.grad(out, xs, rg.Tensor(g, share=True), materialize_grads=True)
    return [f.array for f in found]


def test_there_are_in_place_forms():
    assert len(TWINS) > 50


@pytest.mark.parametrize("case", TWINS, ids=str)
def test_an_in_place_form_does_what_its_function_does(case):
    for dtype in case.dtypes:
        for sample in case.samples:
            arrays = case.arrays(sample, dtype)
            if not fits(case, sample, arrays):
                continue
            with about(case, sample, dtype):
                xs, ys = leaves(arrays), leaves(arrays)
                wanted = case.run(sample, [xs[0] * 1, *xs[1:]])
                target = ys[0] * 1
                memory = target.array
                found = written(case, sample, target, ys[1:])
                assert found is target
                assert np.shares_memory(found.array, memory) or not memory.size
                assert found._version >= 1
                np.testing.assert_array_equal(found.detach().array, wanted.detach().array)
                for f, w in zip(gradients(found, ys), gradients(wanted, xs), strict=True):
                    np.testing.assert_allclose(f, w, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("case", TWINS, ids=str)
def test_an_in_place_form_refuses_a_leaf_and_changes_nothing(case):
    sample = case.samples[0]
    arrays = case.arrays(sample, case.dtypes[0])
    xs = leaves(arrays)
    before = arrays[0].copy()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        written(case, sample, xs[0], xs[1:])
    np.testing.assert_array_equal(xs[0].array, before)
    assert xs[0]._version == 0
