"""The op table against PyTorch on tensors that do not lie row after row: what may be viewed there may be viewed here.

Where PyTorch's result is contiguous ours is too, so that `view(-1)` works and writes through `reshape(-1)` arrive. The
other way round we are free: some results are contiguous here that lie by columns there (LAPACK's, for instance).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.ops.case import Case
from tests.ops.cases import CASES
from tests.ops.checks import about, results
from tests.ops.samples import Array
from tests.ops.twins import NO_TWIN, Twin

ROWS = [c for c in CASES if str(c) not in NO_TWIN]

# What is laid out otherwise.
AS_ITS_INPUT = "a function of each element keeps the layout of its input"
EXCEPTIONS = {
    ("pow-of_number", "turned"): AS_ITS_INPUT,
    ("pow-of_zero", "turned"): AS_ITS_INPUT,
    ("nn.functional.logsigmoid", "turned"): AS_ITS_INPUT,
    ("nn.functional.rrelu", "turned"): AS_ITS_INPUT,
    ("as_strided_scatter", "stretched"): "it is about memory, of which there is less",
    ("linalg.lstsq", "stretched"): "the rank depends on rounding, and with it what is returned",
    ("linalg.tensorsolve", "stretched"): "whether the matrix is singular depends on rounding",
}


def dense(module: Any, array: Array) -> Any:
    array = np.array(array, order="C")
    if module is rg:
        return rg.Tensor(array, share=True)
    return module.tensor(array) if array.size else module.zeros(array.shape, dtype=module.tensor(array).dtype)


def permuted(order: Callable[[int], list[int]]) -> Callable[[Any, Array], Any]:
    """The same values, with dimensions in another order in memory."""

    def laid(module: Any, array: Array) -> Any:
        dims = order(array.ndim)
        back = [dims.index(d) for d in range(array.ndim)]
        return dense(module, array.transpose(dims)).permute(back)

    return laid


def strided(module: Any, array: Array) -> Any:
    return dense(module, np.repeat(array, 2, -1))[..., ::2] if array.ndim else dense(module, array)


def stretched(module: Any, array: Array) -> Any:
    """The first of a dimension in the place of all."""
    return (
        dense(module, array[:1]).expand(*array.shape) if array.size and array.ndim else dense(module, array)
    )


LAYOUTS = {
    "turned": permuted(lambda n: list(range(n))[::-1]),
    "channels last": permuted(lambda n: [0, *range(2, n), 1] if n > 2 else list(range(n))),
    "strided": strided,
    "stretched": stretched,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", ROWS, ids=str)
def test_what_is_contiguous_in_pytorch_is_contiguous(torch: Any, case: Case, layout: str) -> None:
    if (str(case), layout) in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[str(case), layout])
    twin, lay = Twin(torch), LAYOUTS[layout]
    for sample in case.samples:
        arrays = case.arrays(sample, case.dtypes[0])
        with about(case, sample, layout):
            try:
                wanted = twin.run(case, sample, [lay(torch, a) for a in arrays])
            except RuntimeError:
                continue  # a singular matrix, or strides that do not fit
            found = results(case.run(sample, [lay(rg, a) for a in arrays]))
            for ours, theirs in zip(found, wanted, strict=True):
                assert ours.shape == tuple(theirs.shape)
                assert str(ours.dtype) == str(theirs.dtype)
                assert ours.is_contiguous() or not theirs.is_contiguous(), (ours.stride(), theirs.stride())


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (3, 3)])
def test_steps_are_never_negative(shape):
    a, b = rg.eye(shape[0]), rg.ones(shape)
    pivots = rg.arange(1, shape[0] + 1).int()
    found = [
        rg.linalg.solve_triangular(a, b, upper=True),
        rg.linalg.solve_triangular(a, b.mT, upper=False, left=False),
        rg.linalg.lu_solve(a, pivots, b),
        rg.linalg.inv_ex(a * 0).inverse,
    ]
    assert all(step > 0 for t in found for step in t.stride())
