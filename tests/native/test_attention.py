"""Attention: the kernels, by blocks of queries and by lanes of small heads, against the formula over all scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.backends.pack import PACK
from tests.native.networks import FLOATS, check, check_threads, needs_pack, normal

pytestmark = needs_pack

F = rg.nn.functional

# Batch, heads, how many of them share keys, queries, keys, columns.
SIZES = [
    (1, 1, 1, 1, 1, 1),
    (2, 3, 1, 5, 7, 4),
    (1, 2, 2, 17, 33, 16),
    (2, 4, 4, 140, 90, 33),
    (1, 2, 1, 300, 300, 8),
]

# Heads small enough for a lane each; the last group of lanes is not full.
SMALL = [(5, 4, 1, 10, 10, 8), (3, 7, 1, 6, 9, 19), (1, 4, 1, 1, 3, 33), (9, 2, 1, 12, 1, 1)]


def operands(size: tuple[int, ...], dtype: str, turned: bool = False) -> list[Any]:
    """Queries, keys and values; turned ones lie in memory as (batch, row, head, column)."""
    batch, heads, shared, queries, keys, columns = size
    shapes = [(batch, heads, queries, columns), *[(batch, heads // shared, keys, columns)] * 2]
    found = [normal(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    return [np.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2) for a in found] if turned else found


def attend(**options: Any) -> Any:
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True, **options)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", SIZES + SMALL)
def test_sizes_and_layouts(size: tuple[int, ...], causal: bool, turned: bool, dtype: str) -> None:
    check(attend(is_causal=causal), operands(size, dtype, turned), "ggg")
    check(attend(is_causal=causal, scale=0.2), operands(size, dtype, turned), "ggg")


@pytest.mark.parametrize("wanted", ["g--", "-g-", "--g", "gg-", "-gg"])
@pytest.mark.parametrize("size", [SIZES[2], SMALL[0]])
def test_gradients_that_are_wanted(wanted: str, size: tuple[int, ...]) -> None:
    check(attend(), operands(size, "float64"), wanted)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES[1:4] + SMALL[:2])
def test_masks(size: tuple[int, ...], dtype: str) -> None:
    batch, heads, _, queries, keys, _ = size
    for shape in (
        (queries, keys), (1, keys), (queries, 1), (batch, 1, queries, keys), (1, heads, 1, keys),
        (batch, heads, queries, keys),
    ):  # fmt: skip
        mask = normal(shape, dtype, 5)
        check(attend(attn_mask=rg.from_numpy(mask)), operands(size, dtype), "ggg")
        check(attend(attn_mask=rg.from_numpy(mask > -0.5)), operands(size, dtype), "ggg")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [SIZES[2], SMALL[0]])
def test_queries_that_see_nothing(dtype: str, size: tuple[int, ...]) -> None:
    mask = np.zeros(size[3:5], dtype)
    mask[3] = mask[9, 1:] = -np.inf
    mask[5, 4] = np.inf
    mask[6, 7] = np.nan
    check(attend(attn_mask=rg.from_numpy(mask)), operands(size, dtype), "ggg")
    everything = rg.from_numpy(np.full_like(mask, -np.inf))
    check(attend(attn_mask=everything), operands(size, dtype), "ggg")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [SIZES[1], (2, 3, 1, 40, 50, 16)])
def test_special_numbers(dtype: str, size: tuple[int, ...]) -> None:
    q, k, v = operands(size, dtype)
    q[0, 0, 0, 0], k[1, 1, 2, 3], v[1, 2, 0, 0], v[0, 1, 2, 2] = np.nan, np.inf, -np.inf, np.nan
    check(attend(), [q, k, v], "ggg")


def test_a_gradient_that_was_expanded() -> None:
    check(lambda q, k, v: attend()(q, k, v).sum((1, 2, 3)), operands(SIZES[2], "float32"), "ggg")


@pytest.mark.parametrize("turned", [False, True])
def test_the_output_lies_in_memory_as_the_queries_do(turned: bool) -> None:
    q, k, v = (rg.from_numpy(a) for a in operands(SIZES[1], "float32", turned))
    out = F.scaled_dot_product_attention(q, k, v)
    assert out.numpy().swapaxes(1, 2).flags.c_contiguous is turned


@pytest.mark.parametrize("need_weights", [False, True])
def test_several_heads(need_weights: bool) -> None:
    def run(x: Any, w: Any, b: Any) -> Any:
        rest = (None, None, False, 0.0, w[:12], b[:12])
        return F.multi_head_attention_forward(x, x, x, 12, 3, w, b, *rest, need_weights=need_weights)[0]

    check(
        run,
        [normal((9, 2, 12), "float32"), normal((36, 12), "float32", 1), normal((36,), "float32", 2)],
        "ggg",
    )


@pytest.mark.parametrize(
    "size", [(2, 8, 1, 130, 140, 32), (1, 2, 1, 300, 400, 64), (1, 4, 4, 400, 200, 64), (70, 4, 1, 10, 10, 8)]
)
@pytest.mark.parametrize("causal", [False, True])
def test_no_bit_depends_on_the_number_of_threads(size: tuple[int, ...], causal: bool) -> None:
    check_threads(attend(is_causal=causal), operands(size, "float32"), "ggg")


def test_what_is_not_served_is_said() -> None:
    q, k, v = operands(SIZES[1], "float32")
    scale = 1 / math.sqrt(4)
    assert PACK.attention(q, k, v, None, False, scale) is not None
    assert PACK.attention(q, k.astype(np.float64), v, None, False, scale) is None
    assert PACK.attention(q[0], k[0], v[0], None, False, scale) is None
    assert PACK.attention(q, k, v, np.zeros((4, 7), np.float32), False, scale) is None
    assert PACK.attention(q, k, v, np.zeros((5, 7)), False, scale) is None
    assert PACK.attention_back(q[:1], q, k, v, None, False, scale, 7) is None
