"""Products of matrices: the pack's own against NumPy's, in every layout."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from tests.native.networks import (
    FLOATS,
    assert_close,
    check,
    check_threads,
    layouts,
    moderate,
    needs_pack,
    normal,
)

pytestmark = needs_pack

SIZES = list(itertools.product((0, 1, 2, 9, 33), (0, 1, 7, 64, 200), (0, 1, 16, 17, 50, 130)))


def pair(m: int, k: int, n: int, dtype: str, turned: int) -> tuple[Any, Any]:
    """Matrices to multiply; bit 0 of `turned` lays the first out by columns, bit 1 the second."""
    a = normal((k, m), dtype, 1).T if turned & 1 else normal((m, k), dtype, 1)
    b = normal((n, k), dtype, 2).T if turned & 2 else normal((k, n), dtype, 2)
    return a, b


def assert_product(found: Any, a: Any, b: Any) -> None:
    """As exact as a sum of `k` products can be."""
    wanted = np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)
    assert_close(np.asarray(found), np.asarray(wanted))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("turned", range(4))
def test_matrices_of_all_sizes(dtype: str, turned: int) -> None:
    for m, k, n in SIZES:
        a, b = pair(m, k, n, dtype, turned)
        assert_product(PACK.matmul(a, b), a, b)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("turned", range(4))
def test_large_matrices(dtype: str, turned: int) -> None:
    a, b = pair(300, 500, 270, dtype, turned)
    assert_product(PACK.matmul(a, b), a, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_operand_turned_by_the_kernel(dtype: str) -> None:
    for m, k, n in SIZES[::7]:
        a, b = pair(m, k, n, dtype, 0)
        assert_product(PACK.matmul_nt(a, np.ascontiguousarray(b.T)), a, b)
        assert_product(PACK.matmul_tn(np.ascontiguousarray(a.T), b), a, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_vectors(dtype: str) -> None:
    a, b = normal((70, 40), dtype), normal((40, 70), dtype, 1)
    for x, y in (
        (a[0], b[:, 0]), (a[0], a[1]), (a, a[0]), (a.T, b[0]), (a[:, 0], a), (b[0], a), (a[3], b),
        (a[::-1], a[0, ::-1]),
    ):  # fmt: skip
        assert_product(PACK.matmul(x, y), x, y)


def test_batches_broadcast() -> None:
    x, y = normal((5, 1, 6, 7), "float32"), normal((3, 7, 4), "float32")
    for a, b in ((x, y), (x, y[0]), (x[0, 0], y), (x, y[0, :, 0]), (x[0, 0, 0], y), (x[:0], y)):
        assert_product(PACK.matmul(a, b), a, b)
    many = normal((64, 33, 40), "float64")
    assert_product(PACK.matmul_nt(many, many), many, many.swapaxes(1, 2))
    assert_product(PACK.matmul_tn(many, many), many.swapaxes(1, 2), many)


@pytest.mark.parametrize("dtype", FLOATS)
def test_layouts(dtype: str) -> None:
    for a in layouts(normal((40, 50), dtype)):
        for b in layouts(normal((50, 33), dtype, 1)):
            assert_product(PACK.matmul(a, b), a, b)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 20, 7), (40, 33, 50), (1, 40, 30), (30, 40, 1)])
def test_special_numbers_stay_where_they_belong(shape: tuple[int, int, int], dtype: str) -> None:
    m, k, n = shape
    a, b = moderate((m, k), dtype, 3), moderate((k, n), dtype, 4)
    b[:, ::2] = normal((k, n), dtype)[:, ::2]  # finite columns, which must not see their neighbours
    with np.errstate(all="ignore"):
        wanted = np.matmul(a, b)
        np.testing.assert_array_equal(np.isnan(PACK.matmul(a, b)), np.isnan(wanted))
    np.testing.assert_array_equal(np.isnan(PACK.matmul(b.T, a.T)), np.isnan(wanted.T))


@pytest.mark.parametrize("shape", [(9,), (1, 9), (7, 9), (7, 1), (1, 1), ()])
def test_something_added(shape: tuple[int, ...]) -> None:
    x, a, b = normal(shape, "float32"), normal((7, 20), "float32", 1), normal((20, 9), "float32", 2)
    assert_close(PACK.addmm(x, a, b), (x + a.astype(np.float64) @ b).astype(np.float32))


def test_what_is_not_served_goes_to_numpy_or_is_said() -> None:
    a = np.arange(6).reshape(2, 3)
    assert PACK.matmul(a, a.T).dtype == a.dtype
    assert PACK.matmul_nt(a, a) is None
    assert PACK.matmul_tn(a.astype(np.complex64), a.astype(np.complex64)) is None
    single, double = a.astype(np.float32), a.astype(np.float64)
    assert PACK.matmul(single, double.T).dtype == np.float64
    assert PACK.addmm(single[0], double, double.T) is None
    out = np.empty((2, 2))
    assert PACK.matmul(double, double.T, out=out) is out
    with pytest.raises(ValueError, match="matmul"):
        PACK.matmul(double, double)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients(dtype: str) -> None:
    for turned in range(4):
        a, b = pair(12, 34, 20, dtype, turned)
        check(lambda x, y: x @ y, [a, b], "gg")
        check(lambda x, y, z: rg.addmm(z, x, y), [a, b, normal((20,), dtype)], "ggg")
        check(lambda x, y: rg.addmm(rg.zeros(1, 20, dtype=x.dtype), x, y, alpha=2), [a, b], "gg")
    check(lambda x, y: x @ y, [a, normal((34,), dtype)], "gg")
    check(rg.bmm, [normal((4, 5, 6), dtype), normal((4, 6, 7), dtype)], "gg")
    check(
        rg.nn.functional.linear, [normal((2, 5, 6), dtype), normal((7, 6), dtype), normal((7,), dtype)], "ggg"
    )


def test_a_gradient_lies_in_memory_as_its_operand_does() -> None:
    x, w = rg.from_numpy(normal((8, 5), "float32")), rg.from_numpy(normal((6, 5), "float32")).requires_grad_()
    seen: list[Any] = []
    turned = w.t()
    turned.register_hook(lambda g: seen.append(g.numpy().flags.f_contiguous))
    (x @ turned).sum().backward()
    assert seen == [True]


@pytest.mark.parametrize("shape", [(300, 200, 150), (1, 3000, 900), (900, 3000, 1), (16, 16, 9000)])
def test_no_bit_depends_on_the_number_of_threads(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    check_threads(lambda x, y: x @ y, [normal((m, k), "float32"), normal((k, n), "float32")], "gg")


def test_batches_do_not_depend_on_the_number_of_threads() -> None:
    check_threads(rg.bmm, [normal((90, 20, 30), "float64"), normal((90, 30, 40), "float64")], "gg")


def test_a_layout_is_known_only_where_the_row_to_add_fits() -> None:
    x, y = np.ones((2, 3), "float32"), np.ones((3, 4), "float32")
    known = PACK.layout(x, y)
    assert known
    assert PACK.layout(x, y, np.ones(4, "float32")) == known
    for row in (np.ones(3, "float32"), np.ones(4), np.ones((1, 4), "float32"), np.float32(1), None):
        assert PACK.layout(x, y, row) == 0
