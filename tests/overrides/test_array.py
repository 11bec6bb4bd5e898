"""Subclasses of Tensor that have something of their own under the name of ours for the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.__config__ import is_compiled


def test_a_property_array_does_not_hide_the_numbers():
    class Pictured(rg.Tensor):
        """Has a property `array`, as classes of PyTorch's tensors may."""

        @property
        def array(self) -> Any:
            """Its numbers, from the tensor's own methods: without end if the tensor asked for it in turn."""
            return self.detach().clone().numpy()

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs)

    x = rg.ones(2, 3).as_subclass(Pictured)
    y = (x * 2).copy_(rg.full((2, 3), 5.0))
    assert type(y) is Pictured
    np.testing.assert_array_equal(y.array, np.full((2, 3), 5.0))


def test_one_without_a_torch_function_does_not_either():
    class Named(rg.Tensor):
        array = "its name"

    x = rg.ones(2).as_subclass(Named) + 1
    assert x.tolist() == [2.0, 2.0]


@pytest.mark.skipif(is_compiled(), reason="functions in C have no __kwdefaults__ (docs/differences.md)")
def test_functions_that_ask_tell_their_defaults():
    assert rg.meshgrid.__kwdefaults__ is None or "indexing" in rg.meshgrid.__kwdefaults__
