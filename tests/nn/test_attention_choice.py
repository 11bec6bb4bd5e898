"""nn.attention, factory_kwargs and merge_masks beside PyTorch."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import retrograd as rg


def told(call: Any) -> Any:
    try:
        return call()
    except (RuntimeError, ValueError, TypeError, AssertionError) as error:
        kinds = (AssertionError, ValueError, TypeError, RuntimeError)
        return next(k.__name__ for k in kinds if isinstance(error, k))


CHOICES = {
    "composed": lambda a: a.SDPBackend.MATH,
    "fused": lambda a: a.SDPBackend.FLASH_ATTENTION,
    "both": lambda a: [a.SDPBackend.MATH, a.SDPBackend.FLASH_ATTENTION],
    "of a GPU": lambda a: a.SDPBackend.CUDNN_ATTENTION,
    "none": lambda a: [],
    "a number": lambda a: 3,
    "a list of numbers": lambda a: [3],
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_kernel_is_chosen(torch, name):
    def seen(t: Any) -> Any:
        attention, q = t.nn.attention, t.linspace(0, 1, 8).reshape(1, 1, 2, 4).requires_grad_()
        with attention.sdpa_kernel(CHOICES[name](attention)):
            out = t.nn.functional.scaled_dot_product_attention(q, q, q)
            return [b.name for b in attention._cur_sdpa_kernel_backends()], "Flash" in out.grad_fn.name()

    assert told(lambda: seen(rg)) == told(lambda: seen(torch))
    assert len(rg.nn.attention._cur_sdpa_kernel_backends()) == 5


def test_names_and_numbers_of_kernels(torch):
    ours, theirs = rg.nn.attention.SDPBackend, torch.nn.attention.SDPBackend
    assert {n: int(k) for n, k in ours.__members__.items()} == {
        n: int(k) for n, k in theirs.__members__.items()
    }
    assert (repr(ours.MATH), str(ours.MATH)) == (repr(theirs.MATH), str(theirs.MATH))
    assert ours.FLASH_ATTENTION != 1


def test_queries_that_see_nothing_are_warned_of(torch):
    for t in (torch, rg):
        bias = importlib.import_module(f"{t.__name__}.nn.attention.bias")
        with pytest.warns(UserWarning, match="will produce NaNs"):
            bias.causal_lower_right(3, 2)


@pytest.mark.filterwarnings("ignore:Lower right causal bias:UserWarning")
@pytest.mark.parametrize("sizes", [(2, 3), (3, 2), (2, 2)])
@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
def test_causal_masks(torch, name, sizes):
    found = []
    for t in (torch, rg):
        bias = importlib.import_module(f"{t.__name__}.nn.attention.bias")
        mask = getattr(bias, name)(*sizes)
        q, k = (
            t.linspace(0, 2, sizes[0] * 4).reshape(1, 1, -1, 4),
            t.linspace(-1, 2, sizes[1] * 4).reshape(1, 1, -1, 4),
        )
        out = t.nn.functional.scaled_dot_product_attention(q, k, k, mask)
        plain = mask._materialize()
        found.append(
            (out.nan_to_num(0.0).tolist(), plain.tolist(), repr(mask), mask.variant.name, mask.seq_len_kv)
        )
        assert told(lambda m=mask, q=q, k=k, t=t: _causal_twice(t, q, k, m)) == "ValueError"
        assert told(lambda b=bias: getattr(b, name)(2)) == "AssertionError"
        assert told(lambda b=bias: b.CausalBias(3, 2, 2)) == "AssertionError"
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    assert found[1][1:] == found[0][1:]


def _causal_twice(t: Any, q: Any, k: Any, mask: Any) -> Any:
    return t.nn.functional.scaled_dot_product_attention(q, k, k, mask, is_causal=True)


OPTIONS = (
    None, {}, {"device": "cpu", "dtype": 1}, {"factory_kwargs": {"dtype": 1}, "device": "cpu"}, {"foo": 1},
    {"factory_kwargs": {"dtype": 1}, "dtype": 2}, {"memory_format": 3},
)  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_factory_kwargs(torch, options):
    assert told(lambda: rg.nn.factory_kwargs(options)) == told(lambda: torch.nn.factory_kwargs(options))


MASKS = {
    "none": lambda t: (None, None),
    "of pairs": lambda t: (t.ones(3, 3), None),
    "of keys": lambda t: (None, t.ones(2, 3)),
    "both": lambda t: (t.ones(3, 3), t.ones(2, 3)),
    "of heads": lambda t: (t.arange(36.0).reshape(4, 3, 3), t.ones(2, 3)),
    "booleans": lambda t: (t.ones(3, 3) > 0, None),
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_are_merged(torch, name):
    def merged(t: Any) -> Any:
        mask, kind = t.nn.MultiheadAttention(4, 2).merge_masks(*MASKS[name](t), t.ones(2, 3, 4))
        return kind, None if mask is None else mask.tolist()

    assert merged(rg) == merged(torch)
