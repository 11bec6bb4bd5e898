"""`nn.attention.flex_attention` beside PyTorch's, and its gradients beside those of attention with a mask."""

from __future__ import annotations

import importlib
import math
import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn.attention import flex_attention as ours

CALLS = {
    "plain": {},
    "a bias of distance": {"score_mod": lambda s, b, h, q, k: s - (q - k)},
    "a bias of heads": {"score_mod": lambda s, b, h, q, k: s * (h + 1) + b},
    "a causal mask": {"mask": lambda b, h, q, k: q >= k},
    "a window, by heads": {"mask": lambda b, h, q, k: (q - k < h + 2) & (q >= k), "heads": 4},
    "both": {"score_mod": lambda s, b, h, q, k: s.tanh(), "mask": lambda b, h, q, k: k % 2 == 0},
    "nothing to look at": {"mask": lambda b, h, q, k: q < k},
    "a scale": {"scale": 0.3},
}


def numbers() -> list[Any]:
    random = np.random.default_rng(0)
    return [random.normal(size=shape).astype("f4") for shape in ((2, 4, 10, 8), (2, 2, 12, 8), (2, 2, 12, 6))]


def call(
    lib: Any, module: Any, tensors: list[Any], mask: Any = None, heads: Any = None, **options: Any
) -> Any:
    if mask is not None:
        options["block_mask"] = module.create_block_mask(
            mask, None, heads, 10, 12, device="cpu", BLOCK_SIZE=4
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module.flex_attention(*tensors, enable_gqa=True, return_lse=True, **options)


@pytest.mark.parametrize("name", CALLS)
def test_results_are_pytorchs(name: str, torch: Any) -> None:
    theirs = importlib.import_module("torch.nn.attention.flex_attention")
    expected = call(torch, theirs, [torch.from_numpy(a) for a in numbers()], **CALLS[name])
    found = call(rg, ours, [rg.from_numpy(a) for a in numbers()], **CALLS[name])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("size", [4, (4, 8), 128])
def test_blocks_are_pytorchs(size: Any, torch: Any) -> None:
    theirs = importlib.import_module("torch.nn.attention.flex_attention")
    for mask in (lambda b, h, q, k: q >= k, lambda b, h, q, k: (q - k < h + 2) & (q >= k)):
        made = [
            m.create_block_mask(mask, 2, 2, 10, 12, device="cpu", BLOCK_SIZE=size) for m in (ours, theirs)
        ]
        assert (str(made[0]), repr(made[0])) == (str(made[1]), repr(made[1]))
        tensors = [name for name in vars(made[0]) if name.endswith(("blocks", "indices"))]
        assert len(tensors) == 8
        for name in tensors:
            assert getattr(made[0], name).tolist() == getattr(made[1], name).tolist(), name
        assert made[0].to_dense().tolist() == made[1].to_dense().tolist()
        assert made[0][1, :, 0].kv_indices.tolist() == made[1][1, :, 0].kv_indices.tolist()
        assert (made[0].shape, made[0].numel()) == (made[1].shape, made[1].numel())


def test_gradients_are_those_of_attention_with_a_mask() -> None:
    q, k, v = (rg.tensor(a, dtype=rg.float64, requires_grad=True) for a in numbers())
    causal = ours.create_block_mask(lambda b, h, q, k: q >= k, None, None, 10, 12, device="cpu")
    found = rg.autograd.grad(
        ours.flex_attention(q, k, v, block_mask=causal, enable_gqa=True).sin().sum(), [q, k, v]
    )
    mask = ours.create_mask(causal.mask_mod, None, None, 10, 12)
    plain = rg.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    for a, b in zip(found, rg.autograd.grad(plain.sin().sum(), [q, k, v]), strict=True):
        assert rg.allclose(a, b)


def test_a_learned_bias_gets_its_gradient() -> None:
    q, k, v = (rg.tensor(a, dtype=rg.float64) for a in numbers())
    bias = rg.zeros(4, 22, dtype=rg.float64, requires_grad=True)
    out = ours.flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[h, i - j + 12], enable_gqa=True)
    out.sin().sum().backward()
    i, j = rg.arange(10)[:, None], rg.arange(12)
    copy = bias.detach().requires_grad_()
    rg.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=copy[:, i - j + 12], enable_gqa=True
    ).sin().sum().backward()
    assert rg.allclose(bias.grad, copy.grad)


def test_queries_that_look_at_nothing_have_no_gradient() -> None:
    q, k, v = (rg.tensor(a, requires_grad=True) for a in numbers())
    mask = ours.create_block_mask(lambda b, h, q, k: q < 0, None, None, 10, 12, device="cpu")
    out, aux = ours.flex_attention(
        q, k, v, block_mask=mask, enable_gqa=True, return_aux=ours.AuxRequest(lse=True, max_scores=True)
    )
    out.sum().backward()
    assert not out.any()
    assert (aux.lse == -math.inf).all()
    assert aux.max_scores.shape == (2, 4, 10)
    assert [t.grad.abs().sum().item() for t in (q, k, v)] == [0, 0, 0]


def test_a_long_list_of_tables_is_cut() -> None:
    mask = ours.create_block_mask(ours.noop_mask, 2, 3, 10, 12, device="cpu")
    assert str(mask).count("██") == 4
    assert "2 more" in str(mask)
    assert mask.to_string(limit=6).count("██") == 6


BAD = {
    "flex_attention(q, k, v)": ValueError,
    "flex_attention(q[0], k, v)": NotImplementedError,
    "flex_attention(q, k[..., :4], v, enable_gqa=True)": ValueError,
    "flex_attention(q[:1], k, v, enable_gqa=True)": ValueError,
    "flex_attention(q[:, :3], k, v, enable_gqa=True)": ValueError,
    "flex_attention(q, k, v[:, :, :3], enable_gqa=True)": RuntimeError,
    "flex_attention(q, k, v, return_lse=True, return_aux=AuxRequest(), enable_gqa=True)": ValueError,
    "flex_attention(q, k, v, None, create_block_mask(noop_mask, 1, 1, 20, 12, device='cpu'), None, True)": ValueError,
    "create_block_mask(3, None, None, 4, 4, device='cpu')": TypeError,
    "create_mask(lambda a, b: a, 1, 1, 2, 2, device='cpu')": AssertionError,
    "and_masks(3)": RuntimeError,
}  # fmt: skip


# PyTorch warns at the first call of a process that nothing is compiled.
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("expression", BAD)
def test_what_does_not_go_together_is_refused(expression: str, torch: Any) -> None:
    theirs = importlib.import_module("torch.nn.attention.flex_attention")
    words = []
    for lib, module in ((torch, theirs), (rg, ours)):
        q, k, v = (lib.from_numpy(a) for a in numbers())
        with pytest.raises(BAD[expression]) as caught:
            eval(expression, {**vars(module), "q": q, "k": k, "v": v})
        words.append(str(caught.value)[:25])
    assert words[0] == words[1] or "[:, :, :3]" in expression
