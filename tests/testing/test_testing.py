"""`assert_close` and `make_tensor`: what they say and make is PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

NAN, INF = float("nan"), float("inf")


def cases(t):
    """Pairs that do or do not agree, and what is asked for."""
    f = t.tensor
    m = f([[1.0, 2.0], [3.0, 4.0]])
    return [
        (f([1.0, 2, 3]), f([1.0, 2, 4]), {}),
        (f([1.0, 2, 3]), f([1.0, 2, 3.0000001]), {}),
        (f([1, 2, 3]), f([1, 2, 5]), {}),
        (f([1.0, 2, 3]), f([1.0, 2, 4]), {"rtol": 0, "atol": 0}),
        (f(1.0), f(2.0), {}),
        (1.0, 2.0, {}), (1, 2, {}), (1, 1.0, {}), (1, 1.0, {"check_dtype": False}), (1 + 1j, 1 + 2j, {}),
        (True, False, {}), (True, True, {}), (NAN, NAN, {}), (NAN, NAN, {"equal_nan": True}),
        (f([1.0]), f([1.0], dtype=t.float64), {}),
        (f([1.0]), f([1.5], dtype=t.float64), {"check_dtype": False}),
        (f([1.0, 2]), f([1.0]), {}),
        (f([NAN]), f([NAN]), {}),
        (f([NAN]), f([NAN]), {"equal_nan": True}),
        ([f([1.0]), f([2.0])], [f([1.0]), f([3.0])], {}),
        ({"a": f([1.0])}, {"a": f([2.0])}, {}),
        ({"a": f([1.0])}, {"b": f([1.0])}, {}),
        ([1.0], [1.0, 2.0], {}), ([1.0], (1.0,), {}), ([[1.0]], [[2.0]], {}), ({1: 2.0}, {1: 3.0}, {}),
        ("a", "b", {}), ([1, "a"], [1, "a"], {}), (None, None, {}), (None, 1, {}),
        (f([1.0]), 1.0, {}), (5, f(5), {}), (f([1.0]), [1.0], {}), (f([1.0]), np.array([1.0], np.float32), {}),
        (np.array([1.0]), np.array([2.0]), {}), (np.float32(1), np.float32(2), {}),
        (f([1.0]), f([2.0]), {"rtol": 0.1}), (f([1.0]), f([2.0]), {"atol": 0.1}),
        (f([1.0]), f([1.05]), {"rtol": 0.1, "atol": 0.0}),
        (f([1.0]), f([2.0]), {"msg": "hello"}), (f([1.0]), f([2.0]), {"msg": lambda m: f"X {m}"}),
        (m, m.t().contiguous().t(), {"check_stride": True}),
        (m, f([[1.0, 9], [3, 4]]), {}),
        (f([1.0], dtype=t.float16), f([1.0009765625], dtype=t.float16), {}),
        (f([1.0], dtype=t.float16), f([1.0625], dtype=t.float16), {}),
        (f([True, False]), f([True, True]), {}), (f([1 + 1j]), f([1 + 2j]), {}), (f([]), f([]), {}),
        (t.nn.Parameter(f([1.0])), f([1.0]), {}),
        (f([INF]), f([1.0]), {}), (f([INF]), f([INF]), {}), (f([0.0]), f([1e-3]), {}), (f([1.0]), f([0.0]), {}),
        (f([1], dtype=t.uint8), f([3], dtype=t.uint8), {}), (f([1.0]), f([1]), {}),
        (t.ones(2, device="meta"), t.ones(2, device="meta"), {}), (t.ones(2, device="meta"), t.ones(2), {}),
        (f([1.0], dtype=t.bfloat16), f([1.0078125], dtype=t.bfloat16), {}),
        (f([1.0], dtype=t.bfloat16), f([1.0625], dtype=t.bfloat16), {}),
        (m.to("meta"), m.to("meta"), {}), (m, m.to("meta"), {"check_device": False}), (m, m.to("meta"), {}),
    ]  # fmt: skip


def said(library, actual, expected, options):
    try:
        library.testing.assert_close(actual, expected, **options)
    except Exception as error:
        return type(error), str(error).replace("retrograd.core.tensor", "torch")
    return None


@pytest.mark.parametrize("i", range(len(cases(rg))))
def test_what_is_said_is_what_pytorch_says(i, torch):
    assert said(rg, *cases(rg)[i]) == said(torch, *cases(torch)[i])


def test_classes_must_be_the_same_if_asked():
    p, t = rg.nn.Parameter(rg.ones(1)), rg.ones(1)
    rg.testing.assert_close(p, t)
    with pytest.raises(TypeError, match="No comparison pair"):
        rg.testing.assert_close(p, t, allow_subclasses=False)


ASKED = [
    {"dtype": "float32"}, {"dtype": "int64"}, {"dtype": "uint8"}, {"dtype": "bool"}, {"dtype": "complex64"},
    {"dtype": "float16"}, {"dtype": "float32", "low": 2, "high": 3}, {"dtype": "int64", "low": 2, "high": 3},
    {"dtype": "float32", "noncontiguous": True}, {"dtype": "float64", "requires_grad": True},
    {"dtype": "int64", "exclude_zero": True}, {"dtype": "float32", "low": 5, "high": 1},
    {"dtype": "int64", "requires_grad": True}, {"dtype": "float32", "low": NAN},
    {"dtype": "uint8", "low": -5, "high": 300}, {"dtype": "uint8", "low": -5, "high": -3},
    {"dtype": "bool", "low": 0, "high": 1}, {"dtype": "int64", "low": 3.5, "high": 4.5},
]  # fmt: skip


def made(library, asked):
    """What can be said of a tensor that is random."""
    try:
        t = library.testing.make_tensor(
            (40, 5), device="cpu", **{**asked, "dtype": getattr(library, asked["dtype"])}
        )
    except Exception as error:
        return type(error), str(error)
    values = t.detach().abs() if t.is_complex() else t.detach().double()
    facts = (tuple(t.shape), str(t.dtype), t.is_contiguous(), t.requires_grad, t.stride())
    return (
        *facts,
        bool((values.abs() <= 14).all()),
        round(values.max().item() / 4),
        bool((t == 0).any()) and not t.is_floating_point(),
    )


@pytest.mark.parametrize("limits", [(0.5, 2.5), (-1.5, 1.5), (0, 2.2), (-2.5, -0.5)])
def test_random_integers_lie_within_limits_that_are_none(limits, torch):
    found = []
    for library in (rg, torch):
        library.manual_seed(0)
        low, high = limits
        t = library.testing.make_tensor((100,), dtype=library.int64, device="cpu", low=low, high=high)
        found.append(t.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_random_tensors_are_what_was_asked_for(asked, torch):
    if asked.get("high") == 300:
        assert made(rg, asked)[:5] == made(torch, asked)[:5]
    else:
        assert made(rg, asked) == made(torch, asked)
