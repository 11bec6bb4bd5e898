"""The page on adding an operation is followed: its code makes an operation with right derivatives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import gradcheck, gradgradcheck

PAGE = Path(__file__).resolve().parents[2] / "docs" / "inside" / "how-to-add-an-op.md"


@pytest.fixture
def swish() -> Any:
    """What the page's program defines."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {"__name__": "swish"}
    exec(compile(block, str(PAGE), "exec"), names)
    return names["swish"]


def test_following_the_page_makes_an_operation(swish):
    x = rg.linspace(-2, 2, 7, dtype=rg.float64, requires_grad=True)
    out = swish(x, beta=1.5)
    assert type(out.grad_fn).__name__ == "SwishBackward0"
    np.testing.assert_allclose(out.detach().numpy(), (x * rg.sigmoid(1.5 * x)).detach().numpy())
    assert gradcheck(lambda x: swish(x, beta=1.5), (x,), check_forward_ad=True)
    assert gradgradcheck(lambda x: swish(x, beta=1.5), (x,))
    assert swish(rg.tensor([1, 2])).dtype == rg.float32


def test_its_declaration_makes_methods_and_in_place_forms(swish):
    x: Any = rg.tensor([0.5, -1.0])
    expected = x.swish()
    assert x.swish_() is x
    np.testing.assert_array_equal(x.numpy(), expected.numpy())


def test_it_goes_over_batches(swish):
    x = rg.randn(4, 3)
    np.testing.assert_allclose(rg.vmap(swish)(x).numpy(), swish(x).numpy())
