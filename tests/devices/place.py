"""The device that these tests run on: the strict one, or, by `make test-gpu`, a GPU."""

from __future__ import annotations

import os

import pytest

from tests.devices import strict

HERE = os.environ.get("RETROGRAD_TEST_DEVICE", "strict:0")
KIND = HERE.partition(":")[0]
if KIND == "strict":
    strict.install()

# A GPU sums in another order, and its functions end in another last bit.
TOLERANCE = {"f": 1e-9, "d": 1e-9} if KIND == "strict" else {"f": 2e-4, "F": 2e-4, "d": 1e-7, "D": 1e-7}

strict_only = pytest.mark.skipif(KIND != "strict", reason="about the strict device itself")
